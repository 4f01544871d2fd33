//===-- dsl/program/Orders.cpp - Reduction orders -------------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/program/Orders.h"

#include <fmt/format.h>

namespace h3 {

namespace {

constexpr size_t maxDigits = 64;
constexpr int64_t maxSlots = 1 << 20;

/// Reports what is wrong with one stage; its digit, if it names one.
std::optional<unsigned> checkStage(const ast::Order::Stage &stage, const ast::Order &order,
                                   Diagnostics &diagnostics) {
  unsigned at = 0;
  while (at < order.digits.size() && order.digits[at].name.text != stage.digit.text)
    ++at;
  if (at == order.digits.size() || stage.digit.text == "_") {
    diagnostics.error(stage.digit.range,
                      fmt::format("the order has no digit `{}` to join", stage.digit.text),
                      "a stage joins one of the named digits; `_` is walked, not joined");
    return std::nullopt;
  }
  const ast::Order::Digit &digit = order.digits[at];
  if (stage.kind.text == "serial")
    return at;
  if (!digit.radix) {
    diagnostics.error(
        stage.digit.range,
        fmt::format("`{}` needs a written radix, and digit `{}` has none", stage.kind.text,
                    digit.name.text),
        fmt::format("write its radix, as in `{}: 32`, or join it by `serial`", digit.name.text));
    return std::nullopt;
  }
  if (*digit.radix <= 0 || (*digit.radix & (*digit.radix - 1)) != 0) {
    diagnostics.error(
        stage.digit.range,
        fmt::format("`{}` needs a radix that is a power of two, and digit `{}` has {}",
                    stage.kind.text, digit.name.text, *digit.radix),
        "`serial` joins any number of states");
    return std::nullopt;
  }
  return at;
}

/// A state is kept for each slot, so the number of slots has a limit.
void checkRadices(const ast::Order &order, Diagnostics &diagnostics) {
  int64_t all = 1, slots = 1;
  for (const ast::Order::Digit &digit : order.digits) {
    int64_t radix = digit.radix && *digit.radix > 0 ? *digit.radix : 1;
    bool overflow = __builtin_mul_overflow(all, radix, &all) || all > INT32_MAX;
    if (digit.name.text != "_")
      overflow |= __builtin_mul_overflow(slots, radix, &slots) || slots > maxSlots;
    if (!overflow)
      continue;
    diagnostics.error(
        digit.range,
        fmt::format("the radices of an order multiply to at most {}, those of its named "
                    "digits to at most {}",
                    INT32_MAX, maxSlots));
    return;
  }
}

} // namespace

std::optional<Order> makeOrder(const ast::Order &order, std::string name,
                               Diagnostics &diagnostics) {
  size_t before = diagnostics.size();
  if (order.digits.size() > maxDigits) {
    diagnostics.error(order.range, fmt::format("an order has at most {} digits, found {}",
                                               maxDigits, order.digits.size()));
    return std::nullopt;
  }
  Order made;
  made.name = std::move(name);
  made.documentation = order.documentation;
  const ast::Order::Digit *open = nullptr;
  for (const ast::Order::Digit &digit : order.digits) {
    bool named = digit.name.text != "_";
    for (const ast::Order::Digit &other : order.digits) {
      if (&other == &digit)
        break;
      if (named && other.name.text == digit.name.text) {
        diagnostics
            .error(digit.name.range, fmt::format("the order has two digits `{}`", digit.name.text),
                   "give each digit a name of its own, or write `_` for one that is only walked")
            .notes.push_back({other.name.range, "the first one is here"});
        break;
      }
    }
    if (digit.radix && *digit.radix < 1)
      diagnostics.error(digit.range, fmt::format("a radix is at least 1, found {}", *digit.radix));
    if (!digit.radix) {
      if (open)
        diagnostics
            .error(digit.range, "the order has two digits without a radix",
                   "at most one digit takes what the others leave; write a radix for the others")
            .notes.push_back({open->range, "the first one is here"});
      else
        open = &digit;
    }
    made.digits.push_back({named ? digit.name.text : std::string(), digit.radix});
  }

  checkRadices(order, diagnostics);

  std::vector<const ast::Order::Stage *> joinedBy(order.digits.size(), nullptr);
  for (const ast::Order::Stage &stage : order.stages) {
    std::optional<unsigned> digit = checkStage(stage, order, diagnostics);
    if (!digit)
      continue;
    if (const ast::Order::Stage *earlier = joinedBy[*digit]) {
      diagnostics
          .error(stage.digit.range, fmt::format("digit `{}` is joined twice", stage.digit.text),
                 "a stage removes its digit, so each named digit is joined by one stage")
          .notes.push_back({earlier->digit.range, "it is joined here first"});
      continue;
    }
    joinedBy[*digit] = &stage;
    Order::Join join = stage.kind.text == "serial"    ? Order::Join::Serial
                       : stage.kind.text == "halving" ? Order::Join::Halving
                                                      : Order::Join::Adjacent;
    made.stages.push_back({join, *digit});
  }
  // A digit whose stage is wrong has its message already.
  if (diagnostics.size() == before)
    for (size_t i = 0; i < order.digits.size(); ++i)
      if (made.digits[i].isNamed() && !joinedBy[i])
        diagnostics.error(
            order.digits[i].range,
            fmt::format("digit `{}` is joined by no stage", made.digits[i].name),
            fmt::format("add `then serial {0}` (or halving, adjacent), or write `_` if "
                        "it is walked inside a slot",
                        made.digits[i].name));
  if (diagnostics.size() != before)
    return std::nullopt;
  return made;
}

std::optional<int64_t> capacity(const Order &order) {
  int64_t total = 1;
  for (const Order::Digit &digit : order.digits)
    if (!digit.radix || __builtin_mul_overflow(total, *digit.radix, &total))
      return std::nullopt;
  return total;
}

} // namespace h3
