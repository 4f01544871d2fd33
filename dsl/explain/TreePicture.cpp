//===-- dsl/explain/TreePicture.cpp - A reduction tree as a drawing -------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/explain/TreePicture.h"
#include "dsl/explain/Report.h"
#include "dsl/interpreter/OrderText.h"
#include "dsl/interpreter/Reduction.h"

#include <fmt/format.h>

#include <algorithm>

namespace h3 {

using namespace interpreter;

namespace {

constexpr int64_t MaxDrawnSlots = 16;
/// Of a slot's elements so many are named.
constexpr size_t MaxElements = 4;
constexpr double LevelHeight = 40, BoxHeight = 30, Top = 64;

/// States that are nodes of a binary tree.
struct Nodes {
  struct Node {
    int64_t slot = -1; ///< a slot, else the two below
    int64_t left = -1, right = -1;
    double x = 0;
    int level = 0; ///< 0: a slot
  };
  std::vector<Node> nodes;
  std::vector<int64_t> states; ///< by slot: its node
  std::vector<std::vector<int64_t>> elements;

  Nodes(int64_t slots, double slotWidth) : states(size_t(slots)), elements(size_t(slots)) {
    for (int64_t slot = 0; slot < slots; ++slot) {
      states[slot] = slot;
      nodes.push_back({slot, -1, -1, (double(slot) + 0.5) * slotWidth, 0});
    }
  }
  void seed(int64_t) {}
  void step(int64_t slot, int64_t element) { elements[slot].push_back(element); }
  void first(int64_t slot, int64_t element) { step(slot, element); }
  void next(int64_t slot, int64_t element) { step(slot, element); }
  void join(int64_t into, int64_t left, int64_t right) {
    Node made;
    made.left = states[left];
    made.right = states[right];
    made.x = (nodes[made.left].x + nodes[made.right].x) / 2;
    made.level = std::max(nodes[made.left].level, nodes[made.right].level) + 1;
    states[into] = int64_t(nodes.size());
    nodes.push_back(made);
  }
  void move(int64_t into, int64_t from) { states[into] = states[from]; }
};

/// The order with radices small enough to draw, and what was made smaller.
Order drawable(const Order &order, std::string &smaller) {
  Order drawn = order;
  auto slots = [&] {
    int64_t total = 1;
    for (const Order::Digit &digit : drawn.digits)
      if (digit.isNamed())
        total *= digit.radix.value_or(2);
    return total;
  };
  while (slots() > MaxDrawnSlots) {
    Order::Digit *largest = nullptr;
    for (Order::Digit &digit : drawn.digits)
      if (digit.isNamed() && digit.radix && (!largest || *digit.radix > *largest->radix))
        largest = &digit;
    if (!largest || *largest->radix < 4)
      break;
    *largest->radix /= 2;
  }
  for (size_t d = 0; d < drawn.digits.size(); ++d) {
    if (!drawn.digits[d].radix && drawn.digits[d].isNamed()) {
      drawn.digits[d].radix = 2;
      smaller += fmt::format("{}{}: 2", smaller.empty() ? "" : ", ", drawn.digits[d].name);
    } else if (drawn.digits[d].radix != order.digits[d].radix) {
      smaller += fmt::format("{}{}: {} instead of {}", smaller.empty() ? "" : ", ",
                             drawn.digits[d].name, *drawn.digits[d].radix, *order.digits[d].radix);
    }
  }
  return drawn;
}

std::string slotLabel(const Order &order, const OrderShape &shape, int64_t slot) {
  std::vector<int64_t> digits = digitsOfSlot(shape, slot);
  std::string text;
  for (size_t d = 0; d < digits.size(); ++d)
    if (order.digits[d].isNamed())
      text += fmt::format("{}{} {}", text.empty() ? "" : " ", order.digits[d].name, digits[d]);
  return text.empty() ? "one slot" : text;
}

std::string elementLabel(const std::vector<int64_t> &elements) {
  std::string text;
  for (size_t k = 0; k < elements.size() && k < MaxElements; ++k)
    text += (k ? " " : "") + std::to_string(elements[k]);
  return elements.size() > MaxElements ? text + " .." : text;
}

} // namespace

std::string svgText(double x, double y, std::string_view text, std::string_view anchor,
                    std::string_view style) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y,
                     anchor, style.empty() ? "" : fmt::format(" style=\"{}\"", style),
                     escapeXml(text));
}

std::string svgBox(double x, double y, double width, double height, std::string_view fill) {
  return fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"4\" "
                     "fill=\"{}\" stroke=\"#555\"/>\n",
                     x, y, width, height, fill);
}

Picture drawTree(const ExplainedTree &tree, const Program &program) {
  Picture picture;
  std::string extent = toString(*tree.extent, program);
  if (!tree.order) {
    picture.svg = svgText(0, 16, fmt::format("any tree over {} elements: the same bits", extent),
                          "start", "font-weight:bold");
    picture.width = 420;
    picture.height = 24;
    return picture;
  }
  std::string smaller;
  Order drawn = drawable(*tree.order, smaller);
  // Elements are shown where they are those of the order itself.
  bool isExact = smaller.empty() && tree.elements && *tree.elements <= (int64_t(1) << 16);
  std::string error;
  std::optional<OrderShape> shape = shapeOf(drawn, isExact ? *tree.elements : 0, error);
  picture.svg = svgText(0, 16, fmt::format("{} over {} elements", tree.order->name, extent),
                        "start", "font-weight:bold");
  picture.svg += svgText(0, 34, orderText(*tree.order));
  picture.width = 7.2 * double(orderText(*tree.order).size() + 2);
  picture.height = Top;
  if (!shape || shape->slots > 4 * MaxDrawnSlots) {
    picture.svg += svgText(0, 52, "too many slots to draw");
    return picture;
  }
  if (!smaller.empty())
    picture.svg += svgText(0, 52, "drawn with " + smaller);

  // Wide enough for the longest name at 9 pixels.
  double slotWidth = 74;
  for (int64_t slot = 0; slot < shape->slots; ++slot)
    slotWidth = std::max(slotWidth, 5.6 * double(slotLabel(*tree.order, *shape, slot).size()) + 14);
  Nodes states(shape->slots, slotWidth);
  // Where the elements are not known, no slot is taken to be idle.
  Joiner<Nodes> joiner(states, shape->slots, tree.hasSeed || !isExact);
  runChains(*shape, ReductionForm::From, states, joiner);
  for (int64_t slot = 0; slot < shape->slots; ++slot)
    if (!states.elements[slot].empty())
      joiner.appear(slot);
  std::vector<std::pair<double, std::string>> stageNames;
  for (size_t s = 0; s < shape->stages.size(); ++s) {
    runStage(shape->stages[s], joiner);
    int deepest = 0;
    for (const Nodes::Node &node : states.nodes)
      deepest = std::max(deepest, node.level);
    const Order::Stage &stage = tree.order->stages[s];
    static constexpr const char *joins[] = {"serial", "halving", "adjacent"};
    stageNames.emplace_back(deepest, fmt::format("{} {}", joins[int(stage.join)],
                                                 tree.order->digits[stage.digit].name));
  }

  auto y = [](const Nodes::Node &node) { return Top + BoxHeight + node.level * LevelHeight; };
  for (const Nodes::Node &node : states.nodes)
    if (node.slot < 0)
      for (int64_t below : {node.left, node.right})
        picture.svg += fmt::format(
            "<path d=\"M{:.1f} {:.1f} L{:.1f} {:.1f}\" stroke=\"#555\" fill=\"none\"/>\n",
            states.nodes[below].x, y(states.nodes[below]), node.x, y(node));
  int deepest = 0;
  for (const Nodes::Node &node : states.nodes) {
    deepest = std::max(deepest, node.level);
    if (node.slot < 0) {
      picture.svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" fill=\"#333\"/>\n",
                                 node.x, y(node));
      continue;
    }
    const std::vector<int64_t> &elements = states.elements[node.slot];
    bool isIdle = isExact && elements.empty();
    picture.svg += svgBox(node.x - slotWidth / 2 + 3, Top, slotWidth - 6, BoxHeight,
                          isIdle ? "#eee" : "#d9e8f6");
    const char *style = "font-size:9px";
    picture.svg +=
        svgText(node.x, Top + 12, slotLabel(*tree.order, *shape, node.slot), "middle", style);
    picture.svg += svgText(node.x, Top + 24,
                           isIdle    ? std::string("idle")
                           : isExact ? elementLabel(elements)
                                     : std::string("its chain"),
                           "middle", style);
  }
  double width = double(shape->slots) * slotWidth;
  for (const auto &[level, name] : stageNames)
    picture.svg += svgText(width + 6, Top + BoxHeight + level * LevelHeight + 4, name, "start",
                           "font-size:10px");
  picture.width = std::max(picture.width, width + 100);
  picture.height = Top + BoxHeight + deepest * LevelHeight + 16;
  return picture;
}

} // namespace h3
