//===-- dsl/explain/TextReport.cpp - Explanations as text -----------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/explain/Report.h"
#include "dsl/interpreter/OrderText.h"
#include "dsl/scalar/Format.h"

#include <fmt/format.h>

#include <algorithm>

namespace h3 {

std::string dimSource(const Dim &dim, const Program &program) {
  if (dim.fixed)
    return fmt::format("fixed, {}", *dim.fixed);
  if (dim.definition)
    return toString(*dim.definition, program);
  const Dim::Binding &binding = *dim.binding;
  std::string divisor = toString(*binding.divisor, program);
  std::string text =
      fmt::format("extent {} of {}", binding.axis, program.tensors[binding.tensor].name);
  if (divisor == "1")
    return text;
  return fmt::format("{} / {}, exactly", text,
                     divisor.find(' ') == std::string::npos ? divisor : "(" + divisor + ")");
}

std::string tensorContract(const Tensor &tensor, const Program &program) {
  std::string strides;
  for (const std::optional<int64_t> &stride : tensor.strides)
    strides += (strides.empty() ? "" : ", ") + (stride ? std::to_string(*stride) : "any");
  std::string text = fmt::format("strides ({})", strides);
  if (tensor.align > 1)
    text += fmt::format(", address a multiple of {} elements ({} bytes)", tensor.align,
                        tensor.align * byteWidth(tensor.type));
  if (tensor.mayAlias)
    text += fmt::format(", may be the same tensor as {}", program.tensors[*tensor.mayAlias].name);
  return text;
}

std::string place(const SourceRange &range) {
  if (!range.file)
    return "";
  const std::string &path = range.file->path;
  size_t slash = path.rfind('/');
  return fmt::format("{}:{}", slash == std::string::npos ? path : path.substr(slash + 1),
                     lineColumn(*range.file, range.begin).line);
}

namespace {

using Item = ExplainedItem;

/// Longer source texts are cut.
constexpr size_t MaxSource = 56;

std::string shortened(const std::string &text) {
  return text.size() <= MaxSource ? text : text.substr(0, MaxSource - 3) + "...";
}

class TextReport {
public:
  explicit TextReport(const Explanation &explanation)
      : explanation(explanation), program(*explanation.program) {}

  std::vector<std::string> write();

private:
  void line(unsigned indent, const std::string &text) {
    std::string made = text.empty() ? "" : std::string(2 * indent, ' ') + text;
    while (made.ends_with(' '))
      made.pop_back();
    lines.push_back(std::move(made));
  }
  void documentation(unsigned indent, const std::string &text);
  void contract();
  void functions();
  void section(const ExplainedSection &section, const ExplainedSection *earlier);
  void items(unsigned indent, const std::vector<Item> &list);
  void step(unsigned indent, const Item &item);
  void trees(const ExplainedCase &one);
  void tree(const ExplainedTree &tree);
  void costs(const ExplainedCase &one);
  void traffic(std::string_view what, const ExplainedTraffic &traffic);
  std::string text(const Amount &amount) const { return explanation.amounts.text(amount); }

  const Explanation &explanation;
  const Program &program;
  std::vector<std::string> lines;
};

void TextReport::documentation(unsigned indent, const std::string &text) {
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    line(indent, text.substr(begin, end - begin));
    begin = end + 1;
  }
}

void TextReport::contract() {
  line(0, "");
  line(0, "contract");
  if (program.each)
    line(1, "one call takes a list of argument sets; outputs of all of them are disjoint");
  for (const Dim &dim : program.dims)
    line(1, fmt::format("dim {:<12} {}", dim.name, dimSource(dim, program)));
  for (const Parameter &parameter : program.parameters)
    line(1, fmt::format("parameter {}: {}{}", parameter.name, name(parameter.type),
                        parameter.defaultBits
                            ? ", default " + scalar::format(parameter.type, *parameter.defaultBits)
                            : ", no default"));
  size_t width = 0;
  std::vector<std::string> heads;
  for (const Tensor &tensor : program.tensors) {
    heads.push_back(fmt::format("{} {}: {}", tensor.isOutput ? "out" : "in ", tensor.name,
                                toString(Type{tensor.type, nullptr, tensor.extents}, program)));
    width = std::max(width, heads.back().size());
  }
  for (size_t i = 0; i < heads.size(); ++i)
    line(1,
         fmt::format("{:<{}}  {}", heads[i], width, tensorContract(program.tensors[i], program)));
  for (const Requirement &requirement : program.requirements)
    line(1, "require " + requirement.text);
  line(1, "any other overlap of an output with a tensor is declined");
}

void TextReport::functions() {
  if (explanation.functions.empty())
    return;
  line(0, "");
  line(0, "functions");
  for (const auto &[name, sentence] : explanation.functions)
    line(1, sentence.empty() ? name : fmt::format("{}: {}", name, sentence));
}

void TextReport::step(unsigned indent, const Item &item) {
  line(indent,
       fmt::format("{:>3}  {:<20} {:<{}}  {}", item.number, item.title, shortened(item.source),
                   MaxSource - 2 * std::min(indent, 8u), place(item.range)));
}

void TextReport::items(unsigned indent, const std::vector<Item> &list) {
  for (const Item &item : list) {
    switch (item.kind) {
    case Item::Kind::Step:
      step(indent, item);
      continue;
    case Item::Kind::Loop: {
      // Loops with nothing between them are one line.
      const Item *inner = &item;
      std::string title = item.title;
      while (inner->items.size() == 1 && inner->items[0].kind == Item::Kind::Loop) {
        inner = &inner->items[0];
        title += ", " + inner->title;
      }
      line(indent, "for each " + title);
      items(indent + 1, inner->items);
      continue;
    }
    case Item::Kind::Choice:
      for (const Item &branch : item.items) {
        line(indent, branch.title == "otherwise"        ? branch.title
                     : branch.title.starts_with("else") ? branch.title
                                                        : "where " + branch.title);
        items(indent + 1, branch.items);
      }
      continue;
    case Item::Kind::Branch:
      continue;
    case Item::Kind::Reduction:
      line(indent, "reduce " + item.title);
      break;
    case Item::Kind::Seed:
      line(indent, "each slot's initial value");
      break;
    case Item::Kind::Element:
      line(indent, fmt::format("each element, {} in all", text(*item.times)));
      break;
    case Item::Kind::Join:
      line(indent, fmt::format("each join, {} in all", text(*item.times)));
      break;
    }
    items(indent + 1, item.items);
  }
}

/// The steps alone, to tell whether two sections are alike.
void flatten(const std::vector<Item> &list, std::string &out) {
  for (const Item &item : list) {
    out += fmt::format("{}|{}|{}\n", int(item.kind),
                       item.kind == Item::Kind::Loop && item.isRow ? "" : item.title, item.source);
    flatten(item.items, out);
  }
}

bool areAlike(const ExplainedSection &a, const ExplainedSection &b) {
  std::string left, right;
  flatten(a.items, left);
  flatten(b.items, right);
  return left == right;
}

void TextReport::section(const ExplainedSection &section, const ExplainedSection *earlier) {
  line(0, "");
  line(0, section.title + (section.outputs.empty() ? ""
                           : section.outputs.size() > 1 || section.title.starts_with("for ")
                               ? fmt::format(": {}", fmt::join(section.outputs, ", "))
                               : ""));
  if (section.items.empty())
    line(1, "nothing rounds");
  else if (earlier)
    line(1, fmt::format("the same steps as {}", earlier->title));
  else
    items(1, section.items);
}

void TextReport::tree(const ExplainedTree &tree) {
  std::string extent = toString(*tree.extent, program);
  if (!tree.order) {
    line(1, fmt::format("any, over {} elements: all trees give the same bits", extent));
    return;
  }
  line(1, fmt::format("{} = {}", tree.order->name, orderText(*tree.order)));
  documentation(2, tree.order->documentation);
  std::string slots = fmt::format("{} slots over {} elements", text(tree.slots), extent);
  if (tree.idle)
    slots += *tree.idle == 0 ? ", none idle"
                             : fmt::format(", {} of them idle: {}", *tree.idle,
                                           tree.hasSeed ? "they hold the initial value and are "
                                                          "joined like the others"
                                                        : "absent, passed over by joins");
  else if (!tree.idleText.empty())
    slots += fmt::format("; {}{}", tree.idleText,
                         tree.hasSeed ? ": they hold the initial value and are joined like the "
                                        "others"
                                      : " (absent, passed over by joins)");
  line(2, slots);
  if (!tree.elements) {
    line(2, fmt::format("for the tree over N elements: h3gen tree '{}' --n N",
                        orderText(*tree.order)));
    return;
  }
  // Without its first two lines, which say the order and the number of elements again.
  std::string picture = treeText(*tree.order, *tree.elements);
  size_t begin = picture.find("\n\n");
  if (begin != std::string::npos)
    documentation(2, picture.substr(begin + 2));
}

void TextReport::trees(const ExplainedCase &one) {
  if (one.trees.empty())
    return;
  line(0, "");
  line(0, "reduction trees");
  for (const ExplainedTree &each : one.trees)
    tree(each);
}

void TextReport::traffic(std::string_view what, const ExplainedTraffic &traffic) {
  std::string notes;
  if (!traffic.sharedBy.empty())
    notes += fmt::format(", the same for every {}", fmt::join(traffic.sharedBy, ", "));
  if (traffic.isGathered)
    notes += ", where index data says";
  line(2, fmt::format("{} {}: {} bytes{}", what, program.tensors[traffic.tensor].name,
                      text(traffic.bytes), notes));
}

void TextReport::costs(const ExplainedCase &one) {
  line(0, "");
  line(0, "for each row");
  for (const ExplainedSection &section : one.sections) {
    line(1, section.rows == "1"
                ? section.title
                : fmt::format("{}; number of rows: {}", section.title, section.rows));
    line(2, fmt::format("{} flops{}", text(section.flopsPerRow),
                        section.flopsShared.isZero() ? ""
                                                     : fmt::format(", and {} once for all rows",
                                                                   text(section.flopsShared))));
    for (const ExplainedTraffic &read : section.reads)
      traffic("reads", read);
    for (const ExplainedTraffic &write : section.writes)
      traffic("writes", write);
    line(2, fmt::format("{} bytes in all", text(section.bytesPerRow)));
  }
  line(1, "An fma counts 2 flops, + - * / sqrt and an approximation 1, all else 0; of a choice on");
  line(1, "data the costlier side. Each element of a tensor counts once a row.");
}

std::vector<std::string> TextReport::write() {
  std::string types = typeArgumentsText(program);
  std::string approximations;
  for (const std::string &one : explanation.approximations)
    approximations += (approximations.empty() ? "" : ", ") + one;
  line(0, fmt::format("{}{}: {}", program.name, types.empty() ? "" : "<" + types + ">",
                      approximations.empty() ? "ieee (IEEE operations only)"
                                             : "approx (" + approximations + ")"));
  documentation(1, program.documentation);
  contract();
  functions();
  for (const ExplainedCase &one : explanation.cases) {
    if (!one.conditions.empty()) {
      std::string text;
      for (const auto &[condition, holds] : one.conditions)
        text += (text.empty() ? "" : " and ") + (holds ? condition : "not (" + condition + ")");
      line(0, "");
      line(0, "==== if " + text);
    }
    line(0, "");
    line(0, "rounding steps, to nearest even unless the name says otherwise");
    for (size_t i = 0; i < one.sections.size(); ++i) {
      const ExplainedSection *earlier = nullptr;
      for (size_t k = 0; k < i && !earlier; ++k)
        if (areAlike(one.sections[k], one.sections[i]))
          earlier = &one.sections[k];
      section(one.sections[i], earlier);
    }
    trees(one);
    costs(one);
  }
  return std::move(lines);
}

} // namespace

std::string explainText(std::span<const Explanation> instances) {
  std::string out;
  std::vector<std::string> first;
  for (const Explanation &instance : instances) {
    std::vector<std::string> lines = TextReport(instance).write();
    if (first.empty() || lines.size() != first.size()) {
      if (!out.empty())
        out += '\n';
      for (const std::string &line : lines)
        out += line + '\n';
      if (first.empty())
        first = std::move(lines);
      continue;
    }
    out +=
        '\n' + lines[0] + "\n  as with " + typeArgumentsText(*instances[0].program) + ", except\n";
    for (size_t i = 1; i < lines.size(); ++i)
      if (lines[i] != first[i])
        out += lines[i] + '\n';
  }
  return out;
}

} // namespace h3
