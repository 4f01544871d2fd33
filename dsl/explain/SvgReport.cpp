//===-- dsl/explain/SvgReport.cpp - Explanations as a picture -------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/explain/Report.h"
#include "dsl/explain/TreePicture.h"
#include "dsl/syntax/Utf8.h"

#include <fmt/format.h>

#include <algorithm>

namespace h3 {

std::string escapeXml(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    Utf8Character c = decodeUtf8(text.substr(at));
    bool isAllowed = c.error == Utf8Error::None && c.code != 0xFFFE && c.code != 0xFFFF &&
                     (c.code >= 0x20 || c.code == '\n' || c.code == '\t');
    if (!isAllowed)
      out += "\xEF\xBF\xBD";
    else if (c.code == '&')
      out += "&amp;";
    else if (c.code == '<')
      out += "&lt;";
    else if (c.code == '>')
      out += "&gt;";
    else if (c.code == '"')
      out += "&quot;";
    else if (c.code == '\'')
      out += "&#39;";
    else
      out += text.substr(at, c.length);
    at += c.length;
  }
  return out;
}

namespace {

using Item = ExplainedItem;

constexpr double StepHeight = 22, StepWidth = 470, Indent = 18, Margin = 16;
constexpr size_t MaxSource = 44;

const char *fillOf(const Item &step) {
  if (step.isApproximation)
    return "#f7d9d9";
  switch (step.type) {
  case ScalarType::F16:
    return "#fbe5c8";
  case ScalarType::BF16:
    return "#f6efb8";
  case ScalarType::F32:
    return "#d7efd7";
  case ScalarType::F64:
    return "#d9e8f6";
  default:
    return "#e6dcf2";
  }
}

/// One column: the steps of a case, top to bottom, as they follow each other.
class Column {
public:
  explicit Column(const Explanation &explanation) : explanation(explanation) {}

  Picture draw(const ExplainedCase &one) {
    if (!one.conditions.empty()) {
      std::string text;
      for (const auto &[condition, holds] : one.conditions)
        text += (text.empty() ? "if " : " and ") + (holds ? condition : "not (" + condition + ")");
      label(0, text, "font-weight:bold");
    }
    for (const ExplainedSection &section : one.sections) {
      label(0, section.title, "font-weight:bold");
      if (section.items.empty())
        label(1, "nothing rounds", "");
      items(1, section.items);
      y += 8;
    }
    return {svg, StepWidth + 8 * Indent, y};
  }

private:
  void label(unsigned depth, const std::string &text, std::string_view style) {
    svg += svgText(depth * Indent, y + 14, text, "start", style);
    y += StepHeight - 2;
  }

  void items(unsigned depth, const std::vector<Item> &list) {
    double begin = y;
    for (const Item &item : list) {
      switch (item.kind) {
      case Item::Kind::Step:
        step(depth, item);
        continue;
      case Item::Kind::Loop:
        label(depth, "for each " + item.title, Muted);
        break;
      case Item::Kind::Branch:
        label(depth,
              item.title == "otherwise" || item.title.starts_with("else ") ? item.title
                                                                           : "where " + item.title,
              Muted);
        break;
      case Item::Kind::Choice:
        items(depth, item.items);
        continue;
      case Item::Kind::Reduction:
        label(depth, "reduce " + item.title, Muted);
        break;
      case Item::Kind::Seed:
        label(depth, "each slot's initial value", Muted);
        break;
      case Item::Kind::Element:
        label(depth, fmt::format("each element, {} in all", explanation.amounts.text(*item.times)),
              Muted);
        break;
      case Item::Kind::Join:
        label(depth, fmt::format("each join, {} in all", explanation.amounts.text(*item.times)),
              Muted);
        break;
      }
      items(depth + 1, item.items);
    }
    // A bar along what belongs together.
    double x = depth * Indent - 8;
    svg += fmt::format("<path d=\"M{0:.1f} {1:.1f} L{0:.1f} {2:.1f}\" stroke=\"#bbb\" "
                       "stroke-width=\"2\" fill=\"none\"/>\n",
                       x, begin + 2, y - 2);
  }

  void step(unsigned depth, const Item &item) {
    double x = depth * Indent;
    svg += svgBox(x, y, StepWidth, StepHeight - 4, fillOf(item));
    svg += svgText(x + 24, y + 13, std::to_string(item.number), "end", Muted);
    svg += svgText(x + 30, y + 13, item.title, "start", "font-weight:bold");
    std::string source =
        item.source.size() > MaxSource ? item.source.substr(0, MaxSource - 3) + "..." : item.source;
    svg += svgText(x + 165, y + 13, source);
    y += StepHeight;
  }

  static constexpr std::string_view Muted = "fill:#666";
  const Explanation &explanation;
  std::string svg;
  double y = 0;
};

std::string moved(const Picture &picture, double x, double y) {
  return fmt::format("<g transform=\"translate({:.1f} {:.1f})\">\n{}</g>\n", x, y, picture.svg);
}

} // namespace

std::string explainSvg(std::span<const Explanation> instances) {
  const Explanation &explanation = instances.front();
  const Program &program = *explanation.program;
  std::string types = typeArgumentsText(program);
  std::string title = program.name + (types.empty() ? "" : "<" + types + ">");

  std::string body =
      svgText(Margin, Margin + 12, title, "start", "font-size:16px;font-weight:bold");
  // What the colours mean.
  double x = Margin, y = Margin + 24;
  for (ScalarType type :
       {ScalarType::F16, ScalarType::BF16, ScalarType::F32, ScalarType::F64, ScalarType::E4M3}) {
    Item sample{Item::Kind::Step, {}, {}};
    sample.type = type;
    body += svgBox(x, y, 14, 14, fillOf(sample));
    body += svgText(x + 18, y + 11, type == ScalarType::E4M3 ? "8 bits" : name(type));
    x += 64;
  }
  Item sample{Item::Kind::Step, {}, {}};
  sample.isApproximation = true;
  body += svgBox(x, y, 14, 14, fillOf(sample));
  body += svgText(x + 18, y + 11, "approximation");
  y += 28;

  double width = x + 120;
  for (const ExplainedCase &one : explanation.cases) {
    Picture column = Column(explanation).draw(one);
    body += moved(column, Margin, y);
    double treeX = Margin + column.width + 20, treeY = y;
    for (const ExplainedTree &tree : one.trees) {
      Picture picture = drawTree(tree, program);
      body += moved(picture, treeX, treeY);
      treeY += picture.height + 20;
      width = std::max(width, treeX + picture.width + Margin);
    }
    width = std::max(width, Margin + column.width + Margin);
    y = std::max(y + column.height, treeY) + 16;
  }
  return fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" "
                     "height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
                     "font-family=\"monospace\" font-size=\"11\">\n<title>{2}</title>\n"
                     "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{3}</svg>\n",
                     width, y, escapeXml(title), body);
}

} // namespace h3
