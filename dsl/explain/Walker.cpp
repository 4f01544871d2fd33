//===-- dsl/explain/Walker.cpp - The walk through one case ----------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/explain/Walker.h"
#include "dsl/program/Names.h"

#include <fmt/format.h>

namespace h3 {

namespace {

bool isApproximation(Builtin op) { return op >= Builtin::RsqrtApprox && op <= Builtin::SqrtApprox; }

const char *suffix(Rounding rounding) {
  switch (rounding) {
  case Rounding::NearestEven:
    return "";
  case Rounding::TowardZero:
    return ".rz";
  case Rounding::Down:
    return ".rm";
  case Rounding::Up:
    return ".rp";
  }
  __builtin_unreachable();
}

/// "add", not "+", so that rows of steps read alike.
std::string operationName(const Expr &expr) {
  switch (expr.op) {
  case Builtin::Add:
    return "add";
  case Builtin::Sub:
    return "sub";
  case Builtin::Mul:
    return "mul";
  case Builtin::Div:
    return "div";
  default:
    return std::string(spelling(expr.op));
  }
}

/// Whether the operation may round (or is approximate).
bool rounds(const Expr &expr) {
  if (expr.kind == Expr::Kind::Convert)
    return !isExactConversion(expr.operands[0]->type.scalar, expr.type.scalar);
  if (expr.kind != Expr::Kind::Builtin || !isFloat(expr.type.scalar))
    return false;
  switch (expr.op) {
  case Builtin::Add:
  case Builtin::Sub:
  case Builtin::Mul:
  case Builtin::Div:
  case Builtin::Fma:
  case Builtin::Sqrt:
    return true;
  default:
    return isApproximation(expr.op);
  }
}

} // namespace

std::optional<bool> Walker::decide(const Expr &condition) {
  if (!isUniform(condition))
    return std::nullopt;
  std::string text = conditionText(condition, program);
  auto at = decisions.find(text);
  if (at != decisions.end())
    return at->second;
  if (!mayDecide)
    return std::nullopt;
  if (!undecided)
    undecided = text;
  return true; // this walk is thrown away
}

/// Marks the locals that the value of \p expr is made of.
void Walker::need(const Expr &expr) {
  if (!needed.insert(&expr).second)
    return;
  if (expr.kind == Expr::Kind::Local) {
    if (const Expr *value = dependencies.definition(expr.id)) {
      neededLocals.insert(expr.id);
      need(*value);
    }
    return;
  }
  if (expr.kind == Expr::Kind::Block)
    return need(*expr.operands[0]);
  if (expr.kind == Expr::Kind::If)
    if (std::optional<bool> known = decide(*expr.operands[0]))
      return need(*expr.operands[*known ? 1 : 2]);
  forEachChild(expr, [this](const Expr *child) { need(*child); });
}

void Walker::walk(const Expr &expr) {
  // A row function of one index is listed where it is used element by element; everything else
  // once.
  if (!walked.insert(&expr).second)
    return;
  for (int call = expr.call; call >= 0; call = program.calls[call].outer)
    calls.insert(call);
  switch (expr.kind) {
  case Expr::Kind::Literal:
  case Expr::Kind::Parameter:
  case Expr::Kind::SizeValue:
  case Expr::Kind::Index:
  case Expr::Kind::Local:
    return;
  case Expr::Kind::Tensor:
    reads.push_back({expr.id, nullptr});
    return;
  case Expr::Kind::Builtin:
  case Expr::Kind::Convert:
    placed(expr, [&] {
      for (const Expr *operand : expr.operands)
        walk(*operand);
      if (rounds(expr))
        addStep(expr);
    });
    return;
  case Expr::Kind::If:
    placed(expr, [&] { walkChoice(expr); });
    return;
  case Expr::Kind::Access:
    return walkElement(*expr.operands[0], expr.subscripts);
  case Expr::Kind::Row:
    placed(expr, [&] { loopOver(expr.binders, *expr.operands[0]); });
    return;
  case Expr::Kind::Record:
  case Expr::Kind::Field:
    for (const Expr *operand : expr.operands)
      walk(*operand);
    return;
  case Expr::Kind::Reduce:
    placed(expr, [&] { walkReduce(expr); });
    return;
  case Expr::Kind::Block:
    walkLets(expr.lets);
    return walk(*expr.operands[0]);
  }
}

void Walker::walkLets(const std::vector<Let> &lets) {
  for (const Let &let : lets)
    if (neededLocals.count(let.local))
      walk(*let.value);
}

/// An element, or a row of fewer axes, of the row \p row.
void Walker::walkElement(const Expr &row, const std::vector<Subscript> &subscripts) {
  for (const Subscript &subscript : subscripts)
    for (const Expr *digit : subscript.digits)
      walk(*digit);
  switch (row.kind) {
  case Expr::Kind::Tensor:
    reads.push_back({row.id, &subscripts});
    return;
  case Expr::Kind::Block:
    walkLets(row.lets);
    return walkElement(*row.operands[0], subscripts);
  case Expr::Kind::If:
    if (std::optional<bool> known = decide(*row.operands[0])) {
      walk(*row.operands[0]);
      return walkElement(*row.operands[*known ? 1 : 2], subscripts);
    }
    return walk(row);
  case Expr::Kind::Row: {
    if (subscripts.size() != row.binders.size())
      return walk(row);
    // The element is computed where it is used: the row's own indices belong to the loops that the
    // subscripts depend on.
    for (size_t axis = 0; axis < subscripts.size(); ++axis) {
      std::set<Bound> own;
      for (unsigned variable : row.binders[axis].variables)
        own.insert({false, variable});
      size_t depth = stack.size();
      bool found = false;
      while (depth-- > 1 && !found)
        for (const Expr *digit : subscripts[axis].digits)
          for (const Bound &bound : dependencies.of(*digit))
            if (stack[depth].bound.count(bound) && !found) {
              stack[depth].bound.insert(own.begin(), own.end());
              if (digit->kind == Expr::Kind::Index && subscripts[axis].digits.size() == 1)
                stack[depth].sameIndex[row.binders[axis].variables[0]] = digit->id;
              found = true;
            }
    }
    return walk(*row.operands[0]);
  }
  default:
    return walk(row);
  }
}

void Walker::walkChoice(const Expr &expr) {
  walk(*expr.operands[0]);
  if (std::optional<bool> known = decide(*expr.operands[0]))
    return walk(*expr.operands[*known ? 1 : 2]);
  // `if .. then .. else if ..` is one choice. The range of the index that the conditions are about
  // says how often each branch is taken.
  Item choice{Item::Kind::Choice, {}, {}};
  const Expr *at = &expr;
  IndexRange range;
  std::string before;
  while (true) {
    const Expr &condition = *at->operands[0];
    std::string text = conditionText(condition, program);
    std::optional<IndexRange::Split> split = range.split(condition, program, result.amounts);
    if (at != &expr)
      walk(condition);
    size_t count = choice.items.size();
    walkBranch(choice, before + text, *at->operands[1]);
    if (split && choice.items.size() > count)
      choice.items.back().times = iterations(*split, split->then);
    before = "else ";
    const Expr *otherwise = at->operands[2];
    bool goesOn = otherwise->kind == Expr::Kind::If && !isUniform(*otherwise->operands[0]) &&
                  walked.insert(otherwise).second;
    if (!goesOn) {
      count = choice.items.size();
      walkBranch(choice, "otherwise", *otherwise);
      if (split && choice.items.size() > count)
        choice.items.back().times = iterations(*split, split->otherwise);
      break;
    }
    at = otherwise;
  }
  if (!choice.items.empty())
    stack.back().items.push_back(std::move(choice));
}

/// How many iterations of the innermost loop have one of \p values values of the split index; empty
/// if that is not one of the loop's own.
std::optional<Amount> Walker::iterations(const IndexRange::Split &split,
                                         const Amount &values) const {
  auto loop = std::find_if(stack.rbegin(), stack.rend(),
                           [](const Context &context) { return !context.isBranch; });
  if (loop == stack.rend())
    return std::nullopt;
  auto same = loop->sameIndex.find(split.variable);
  unsigned variable = same == loop->sameIndex.end() ? split.variable : same->second;
  Amount times = values;
  bool found = false;
  for (unsigned own : loop->variables)
    if (own == variable)
      found = true;
    else
      times = times * result.amounts.of(*program.indexVariables[own].extent);
  return found ? std::optional<Amount>(times) : std::nullopt;
}

void Walker::walkBranch(Item &choice, std::string title, const Expr &value) {
  stack.push_back({{}, true, {}, {}, {}});
  walk(value);
  Item branch{Item::Kind::Branch, std::move(title), std::move(stack.back().items)};
  stack.pop_back();
  if (!branch.items.empty())
    choice.items.push_back(std::move(branch));
}

std::string Walker::binderText(const Binder &binder) const {
  std::string text;
  for (size_t k = 0; k < binder.variables.size(); ++k)
    text += fmt::format("{}{}: {}", k ? ", " : "", program.indexVariables[binder.variables[k]].name,
                        toString(*binder.extent.factors[k], program));
  return binder.variables.size() > 1 ? "(" + text + ")" : text;
}

void Walker::loopOver(const std::vector<Binder> &binders, const Expr &body) {
  Item loop{Item::Kind::Loop, {}, {}};
  Context context;
  Amount times = Amount::of(1);
  for (const Binder &binder : binders) {
    loop.title += (loop.title.empty() ? "" : ", ") + binderText(binder);
    times = times * result.amounts.of(*binder.extent.size);
    for (unsigned variable : binder.variables) {
      context.bound.insert({false, variable});
      context.variables.push_back(variable);
    }
  }
  loop.times = times;
  inside(std::move(loop), std::move(context), [&] { walk(body); });
}

unsigned Walker::treeOf(const Reduce &reduce) {
  for (size_t i = 0; i < made.trees.size(); ++i)
    if (made.trees[i].order == reduce.order && made.trees[i].extent == reduce.binder.extent.size &&
        made.trees[i].hasSeed == reduce.hasSeed())
      return static_cast<unsigned>(i);
  made.trees.push_back(
      explainTree(reduce.order, *reduce.binder.extent.size, reduce.hasSeed(), result.amounts));
  return static_cast<unsigned>(made.trees.size() - 1);
}

void Walker::walkReduce(const Expr &expr) {
  const Reduce &reduce = *expr.reduce;
  Item item{Item::Kind::Reduction, {}, {}};
  item.title = fmt::format("{} by {}", binderText(reduce.binder),
                           reduce.order ? reduce.order->name : std::string("any"));
  item.range = expr.range;
  item.tree = treeOf(reduce);
  const ExplainedTree tree = made.trees[*item.tree];
  Amount elements = result.amounts.of(*reduce.binder.extent.size);

  auto part = [&](Item::Kind kind, const Expr *value, std::set<Bound> bound, Amount times) {
    if (!value)
      return;
    Item made{kind, {}, {}};
    made.times = std::move(times);
    inside(std::move(made), {std::move(bound), false, {}, {}, {}}, [&] { walk(*value); });
  };
  std::set<Bound> indices;
  for (unsigned variable : reduce.binder.variables)
    indices.insert({false, variable});
  // Inside the item, so that its parts are found below it.
  stack.push_back({{}, true, {}, {}, {}});
  part(Item::Kind::Seed, reduce.seed, {}, tree.slots);
  std::set<Bound> stepped = indices;
  if (reduce.hasSeed())
    stepped.insert({true, reduce.state});
  part(Item::Kind::Element, reduce.hasSeed() ? reduce.step : reduce.element, stepped, elements);
  // With a seed every slot takes part; without, each join takes in one more element.
  part(Item::Kind::Join, reduce.join, {{true, reduce.left}, {true, reduce.right}},
       (reduce.hasSeed() ? tree.slots : elements) - Amount::of(1));
  item.items = std::move(stack.back().items);
  stack.pop_back();
  stack.back().items.push_back(std::move(item));
}

void Walker::addStep(const Expr &expr) {
  Item step{Item::Kind::Step, {}, {}};
  step.type = expr.type.scalar;
  step.rounding = expr.rounding;
  step.range = expr.range;
  step.source = sourceText(expr.range);
  if (expr.kind == Expr::Kind::Convert) {
    step.title = fmt::format("{} round{}{}", name(expr.type.scalar), suffix(expr.rounding),
                             expr.saturate ? ".sat" : "");
    if (isInteger(expr.operands[0]->type.scalar))
      step.title += fmt::format(" of {}", name(expr.operands[0]->type.scalar));
  } else {
    step.title =
        fmt::format("{} {}{}", name(expr.type.scalar), operationName(expr), suffix(expr.rounding));
    step.flops = expr.op == Builtin::Fma ? 2 : 1;
    step.isApproximation = isApproximation(expr.op);
    std::string used(spelling(expr.op));
    if (step.isApproximation &&
        std::find(result.approximations.begin(), result.approximations.end(), used) ==
            result.approximations.end() &&
        !undecided)
      result.approximations.push_back(used);
  }
  stack.back().items.push_back(std::move(step));
}

} // namespace h3
