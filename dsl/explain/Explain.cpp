//===-- dsl/explain/Explain.cpp - What a spec says, for people ------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/explain/Costs.h"
#include "dsl/explain/Dependencies.h"
#include "dsl/explain/Explanation.h"
#include "dsl/program/Names.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_set>

namespace h3 {

namespace {

using Item = ExplainedItem;
using Decisions = std::map<std::string, bool>;

/// So many conditions on sizes and parameters are decided, one after the other, which gives up to
/// 16 cases; the rest are shown as choices.
constexpr size_t MaxDecided = 4;

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

/// One case: walks the program along the chosen branches.
class Walker {
public:
  Walker(const Program &program, Explanation &result, const Decisions &decisions, bool mayDecide)
      : program(program), result(result), dependencies(program), decisions(decisions),
        mayDecide(mayDecide) {}

  ExplainedCase run();
  /// The first condition met that is not decided.
  std::optional<std::string> undecided;
  /// The calls whose results are used.
  std::set<int> calls;

private:
  /// A place where items are collected.
  struct Context {
    std::set<Bound> bound;
    bool isBranch = false;
    std::vector<Item> items;
    std::vector<unsigned> variables;        ///< of a loop: its own, first to last
    std::map<unsigned, unsigned> sameIndex; ///< indices of rows that are one of `variables`
  };

  /// Runs \p visit where a value with the dependencies of \p expr belongs: the deepest loop that it
  /// depends on, and the branches directly inside that.
  template <class Visit> void placed(const Expr &expr, const Visit &visit) {
    const std::set<Bound> &needs = dependencies.of(expr);
    size_t depth = stack.size();
    while (depth > 1) {
      // Out of the branches and the loop around them, if the loop does not matter.
      size_t loop = depth - 1;
      while (loop > 0 && stack[loop].isBranch)
        --loop;
      if (loop == 0)
        break;
      const std::set<Bound> &bound = stack[loop].bound;
      if (std::any_of(bound.begin(), bound.end(), [&](const Bound &b) { return needs.count(b); }))
        break;
      depth = loop;
    }
    std::vector<Context> inner(std::make_move_iterator(stack.begin() + depth),
                               std::make_move_iterator(stack.end()));
    stack.resize(depth);
    visit();
    std::move(inner.begin(), inner.end(), std::back_inserter(stack));
  }

  /// Collects what \p visit adds as the items of \p item, which is added if there are any.
  template <class Visit> void inside(Item item, Context context, const Visit &visit) {
    stack.push_back(std::move(context));
    visit();
    item.items = std::move(stack.back().items);
    stack.pop_back();
    if (!item.items.empty())
      stack.back().items.push_back(std::move(item));
  }

  std::optional<bool> decide(const Expr &condition);
  void need(const Expr &expr);
  void walk(const Expr &expr);
  void walkLets(const std::vector<Let> &lets);
  void walkRow(const Expr &row);
  void walkElement(const Expr &row, const std::vector<Subscript> &subscripts);
  void walkChoice(const Expr &expr);
  void walkBranch(Item &choice, std::string title, const Expr &value);
  void walkReduce(const Expr &expr);
  void addStep(const Expr &expr);
  unsigned treeOf(const Reduce &reduce);
  void loopOver(const std::vector<Binder> &binders, const Expr &body);
  void section(const Statement &statement);
  std::optional<Amount> iterations(const IndexRange::Split &split, const Amount &values) const;
  std::string binderText(const Binder &binder) const;

  const Program &program;
  Explanation &result;
  Dependencies dependencies;
  const Decisions &decisions;
  bool mayDecide;
  ExplainedCase made;
  std::vector<Context> stack;
  std::unordered_set<const Expr *> walked, needed;
  std::unordered_set<unsigned> neededLocals;
  std::vector<TensorRead> reads;
};

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

// ---- Sections.

/// A variable over rows, or the last place of an equation.
struct RowLoop {
  std::string title;
  std::vector<unsigned> variables;
  Amount times;
};

void Walker::section(const Statement &statement) {
  ExplainedSection section;
  std::vector<RowLoop> loops;
  std::vector<const Equation *> equations;
  if (statement.kind == Statement::Kind::For) {
    std::string names;
    for (const auto &[id, extent] : statement.variables) {
      std::string text =
          fmt::format("{}: {}", program.indexVariables[id].name, toString(*extent.size, program));
      loops.push_back({text, {id}, result.amounts.of(*extent.size)});
      names += (names.empty() ? "" : ", ") + text;
    }
    section.title = "for " + names;
    for (const Statement &inner : statement.body)
      if (inner.kind == Statement::Kind::Equation)
        equations.push_back(&inner.equation);
  } else {
    const Equation &equation = statement.equation;
    equations.push_back(&equation);
    const Tensor &tensor = program.tensors[equation.tensor];
    size_t rowPlaces = equation.places.size();
    if (rowPlaces == tensor.extents.size() && rowPlaces > 0)
      --rowPlaces;
    section.title = tensor.name;
    for (size_t p = 0; p < rowPlaces; ++p) {
      const Equation::Place &place = equation.places[p];
      Binder binder{place.variables, place.extent};
      loops.push_back({binderText(binder), place.variables, result.amounts.of(*place.extent.size)});
      std::string names;
      for (unsigned variable : place.variables)
        names += (names.empty() ? "" : ", ") + program.indexVariables[variable].name;
      section.title += (p ? ", " : "[") + (place.variables.size() > 1 ? "(" + names + ")" : names);
    }
    section.title += rowPlaces ? "]" : "";
  }

  std::vector<unsigned> rowVariables;
  Amount rows = Amount::of(1);
  for (const RowLoop &loop : loops) {
    rows = rows * loop.times;
    rowVariables.insert(rowVariables.end(), loop.variables.begin(), loop.variables.end());
  }
  section.rows = result.amounts.text(rows);
  reads.clear();
  for (const Equation *one : equations)
    need(*one->value);
  if (statement.kind == Statement::Kind::For)
    for (const Statement &inner : statement.body)
      if (inner.kind == Statement::Kind::Let && neededLocals.count(inner.let.local))
        need(*inner.let.value);

  stack.push_back({});
  auto nest = [&](auto &self, size_t depth) -> void {
    if (depth < loops.size()) {
      Item loop{Item::Kind::Loop, loops[depth].title, {}};
      loop.times = loops[depth].times;
      loop.isRow = true;
      Context context;
      for (unsigned variable : loops[depth].variables)
        context.bound.insert({false, variable});
      inside(std::move(loop), std::move(context), [&] { self(self, depth + 1); });
      return;
    }
    if (statement.kind == Statement::Kind::For)
      for (const Statement &inner : statement.body)
        if (inner.kind == Statement::Kind::Let && neededLocals.count(inner.let.local))
          walk(*inner.let.value);
    for (const Equation *one : equations) {
      section.outputs.push_back(program.tensors[one->tensor].name);
      // The places that are not rows.
      Item loop{Item::Kind::Loop, {}, {}};
      Context context;
      Amount times = Amount::of(1);
      for (const Equation::Place &place : one->places) {
        std::vector<unsigned> own;
        for (unsigned variable : place.variables)
          if (std::find(rowVariables.begin(), rowVariables.end(), variable) == rowVariables.end())
            own.push_back(variable);
        if (own.empty())
          continue;
        Binder binder{place.variables, place.extent};
        loop.title += (loop.title.empty() ? "" : ", ") + binderText(binder);
        times = times * result.amounts.of(*place.extent.size);
        for (unsigned variable : own) {
          context.bound.insert({false, variable});
          context.variables.push_back(variable);
        }
      }
      loop.times = times;
      if (context.bound.empty())
        walk(*one->value);
      else
        inside(std::move(loop), std::move(context), [&] { walk(*one->value); });
    }
  };
  nest(nest, 0);
  section.items = std::move(stack.back().items);
  stack.pop_back();
  unsigned number = 0;
  numberSteps(section.items, number);
  addCosts(section, loops.size(), program, equations, rowVariables, reads, dependencies,
           result.amounts);
  made.sections.push_back(std::move(section));
}

ExplainedCase Walker::run() {
  for (const auto &[text, holds] : decisions)
    made.conditions.emplace_back(text, holds);
  // Lets of the whole operator come first, where an equation needs them.
  std::vector<const Statement *> lets;
  for (const Statement &statement : program.body) {
    if (statement.kind == Statement::Kind::Let)
      lets.push_back(&statement);
    else if (statement.kind == Statement::Kind::Equation)
      need(*statement.equation.value);
    else
      for (const Statement &inner : statement.body)
        if (inner.kind == Statement::Kind::Equation)
          need(*inner.equation.value);
  }
  ExplainedSection once;
  once.title = "once a call";
  once.rows = "1";
  stack.push_back({});
  for (const Statement *statement : lets)
    if (neededLocals.count(statement->let.local))
      walk(*statement->let.value);
  once.items = std::move(stack.back().items);
  stack.pop_back();
  if (!once.items.empty()) {
    unsigned number = 0;
    numberSteps(once.items, number);
    addCosts(once, 0, program, {}, {}, reads, dependencies, result.amounts);
    made.sections.push_back(std::move(once));
  }
  for (const Statement &statement : program.body)
    if (statement.kind != Statement::Kind::Let)
      section(statement);
  return std::move(made);
}

/// Up to the first full stop that ends a sentence, on one line.
std::string firstSentence(const std::string &text) {
  std::string line;
  for (char c : text)
    line += c == '\n' ? ' ' : c;
  size_t stop = line.find(". ");
  return stop == std::string::npos ? line : line.substr(0, stop + 1);
}

void addFunction(const Call &call, Explanation &result) {
  if (std::none_of(result.functions.begin(), result.functions.end(),
                   [&](const auto &known) { return known.first == call.function; }))
    result.functions.emplace_back(call.function, firstSentence(call.documentation));
}

/// The cases below \p decisions, in the order then, else.
void enumerate(const Program &program, Explanation &result, Decisions decisions,
               std::vector<std::string> order) {
  Walker walker(program, result, decisions, order.size() < MaxDecided);
  ExplainedCase made = walker.run();
  if (!walker.undecided) {
    made.conditions.clear();
    for (const std::string &text : order)
      made.conditions.emplace_back(text, decisions.at(text));
    result.cases.push_back(std::move(made));
    for (int call : walker.calls)
      addFunction(program.calls[call], result);
    return;
  }
  order.push_back(*walker.undecided);
  for (bool holds : {true, false}) {
    decisions[*walker.undecided] = holds;
    enumerate(program, result, decisions, order);
  }
}

} // namespace

Explanation explain(const Program &program) {
  Explanation result{&program, {}, {}, {}, AmountTable(program)};
  enumerate(program, result, {}, {});
  return result;
}

} // namespace h3
