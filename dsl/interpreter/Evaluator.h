//===-- dsl/interpreter/Evaluator.h - The meaning of programs --*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Evaluates a resolved program over a domain of values: bit patterns make it the reference
// interpreter, terms make it the specification's side of a proof. Indices and sizes are numbers in
// every domain.
//
//===----------------------------------------------------------------------===//

#ifndef H3_DSL_INTERPRETER_EVALUATOR_H
#define H3_DSL_INTERPRETER_EVALUATOR_H

#include "dsl/interpreter/Reduction.h"
#include "dsl/interpreter/Resolved.h"

#include <algorithm>
#include <concepts>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace h3::interpreter {

/// What the evaluator needs of a domain. A tensor's element is named by its offset in elements, the
/// sum of index times stride with the strides that the program was resolved with.
template <class D>
concept EvaluationDomain =
    requires(D d, const typename D::Value &v, const typename D::Value *operands, ScalarType type,
             unsigned id, int64_t offset, Bits bits, const Operation &operation,
             const Conversion &conversion) {
      { d.literal(type, bits) } -> std::convertible_to<typename D::Value>;
      { d.parameter(id) } -> std::convertible_to<typename D::Value>;
      { d.load(id, offset) } -> std::convertible_to<typename D::Value>; // NaN is canonical
      d.store(id, offset, v);                                           // likewise
      { d.operation(operation, operands) } -> std::convertible_to<typename D::Value>;
      { d.convert(conversion, v) } -> std::convertible_to<typename D::Value>;
      {
        d.select(type, v, v, v)
      } -> std::convertible_to<typename D::Value>;          // condition, then, else
      { d.decide(v) } -> std::same_as<std::optional<bool>>; // a condition, where it is known
      { d.integer(type, v) } -> std::same_as<std::optional<int64_t>>; // of i32 or i64, where known
    };

template <EvaluationDomain Domain> class Evaluator {
public:
  using Value = typename Domain::Value;

  Evaluator(const Resolved &program, Domain &domain)
      : program(program), domain(domain), variables(program.variables, 0), storage(program.storage),
        kept(program.bindingCount), stamps(program.locals.size(), 0) {}

  /// Computes every output. Returns what went wrong, if anything: `reduce ... of` over no elements,
  /// or an index outside its extent, which a checked program and a checked call do not have.
  std::optional<std::string> run() {
    execute(program.body);
    if (failure.empty())
      return std::nullopt;
    return failure;
  }

private:
  // ---- Statements.

  void execute(const Statement &statement) {
    forEach(statement.loops, [&] {
      for (const auto &item : statement.body) {
        if (const auto *binding = std::get_if<const Binding *>(&item))
          bind(**binding);
        else if (const auto *equation = std::get_if<Equation>(&item))
          execute(*equation);
        else
          execute(std::get<Statement>(item));
      }
    });
  }

  void execute(const Equation &equation) {
    forEach(equation.loops, [&] {
      if (equation.rest.empty()) {
        domain.store(equation.tensor, offsetOf(equation), value(*equation.value));
        return;
      }
      Value *element = at(equation.row);
      into(*equation.value, element);
      forEach(equation.rest,
              [&] { domain.store(equation.tensor, offsetOf(equation), *element++); });
    });
  }

  int64_t offsetOf(const Equation &equation) const {
    int64_t offset = 0;
    for (const Equation::Axis &axis : equation.axes) {
      int64_t index = 0;
      for (const Loop &digit : axis.digits)
        index = index * digit.count + variables[digit.variable];
      offset += index * axis.stride;
    }
    return offset;
  }

  void bind(const Binding &binding) {
    if (binding.isInteger) {
      variables[binding.variable] = integer(*binding.value);
      return;
    }
    if (binding.isKept && !noteChanges(binding))
      return;
    into(*binding.value, at(program.locals[binding.local]));
    stamps[binding.local] = ++clock;
  }

  /// Whether anything that the binding uses has changed since this was last asked.
  bool noteChanges(const Binding &binding) {
    std::vector<int64_t> &last = kept[binding.index];
    size_t count = binding.usedVariables.size() + binding.usedLocals.size();
    bool changed = last.empty();
    last.resize(count + 1);
    size_t k = 0;
    auto note = [&](int64_t now) {
      changed |= last[k] != now;
      last[k++] = now;
    };
    for (unsigned variable : binding.usedVariables)
      note(variables[variable]);
    for (unsigned local : binding.usedLocals)
      note(stamps[local]);
    return changed;
  }

  /// Runs \p body for every setting of the loops' variables, the last variable fastest.
  template <class Body> void forEach(std::span<const Loop> loops, const Body &body) {
    if (loops.empty()) {
      body();
      return;
    }
    for (int64_t i = 0; i < loops.front().count; ++i) {
      variables[loops.front().variable] = i;
      forEach(loops.subspan(1), body);
    }
  }

  // ---- Integers.

  int64_t integer(const Node &node) {
    if (node.kind == Node::Kind::Variable)
      return variables[node.index];
    return computeInteger(node);
  }

  int64_t computeInteger(const Node &node) {
    switch (node.kind) {
    case Node::Kind::Constant:
      return node.number;
    case Node::Kind::Operation: {
      Bits operands[3];
      for (size_t k = 0; k < node.operands.size(); ++k)
        operands[k] = Bits(integer(*node.operands[k]));
      return int64_t(apply(node.operation, operands));
    }
    case Node::Kind::If:
      return integer(*node.operands[integer(*node.operands[0]) ? 1 : 2]);
    case Node::Kind::Block:
      for (const Binding *binding : node.bindings)
        bind(*binding);
      return integer(*node.operands[0]);
    default:
      break;
    }
    fail("internal error: data where an index is needed");
    return 0;
  }

  // ---- Values.

  /// The value of a scalar.
  Value value(const Node &node) {
    switch (node.kind) {
    case Node::Kind::Lift:
      return domain.literal(node.type(), Bits(integer(*node.operands[0])));
    case Node::Kind::Literal:
      return domain.literal(node.type(), node.bits);
    case Node::Kind::Parameter:
      return domain.parameter(node.index);
    case Node::Kind::Local:
      return *at(node.storage);
    case Node::Kind::Operation: {
      Value operands[3]{};
      for (size_t k = 0; k < node.operands.size(); ++k)
        operands[k] = value(*node.operands[k]);
      return domain.operation(node.operation, operands);
    }
    case Node::Kind::Convert:
      return domain.convert(node.conversion, value(*node.operands[0]));
    case Node::Kind::If: {
      Condition condition = decide(*node.operands[0]);
      if (condition.known)
        return value(*node.operands[*condition.known ? 1 : 2]);
      Value then = value(*node.operands[1]);
      return domain.select(node.type(), condition.value, then, value(*node.operands[2]));
    }
    case Node::Kind::Block:
      for (const Binding *binding : node.bindings)
        bind(*binding);
      return value(*node.operands[0]);
    case Node::Kind::Field:
      into(*node.operands[0], at(node.storage));
      return at(node.storage)[node.index];
    default:
      break;
    }
    Value result;
    into(node, &result);
    return result;
  }

  /// Computes all `node.width` values of a scalar, record or row.
  void into(const Node &node, Value *out) {
    switch (node.kind) {
    case Node::Kind::Local:
      copy(at(node.storage), node.width, out);
      return;
    case Node::Kind::Load:
    case Node::Kind::Element:
      if (node.prepare)
        bind(*node.prepare);
      access(node, 0, 0, out);
      return;
    case Node::Kind::If:
      choose(node, out);
      return;
    case Node::Kind::Block:
      for (const Binding *binding : node.bindings)
        bind(*binding);
      into(*node.operands[0], out);
      return;
    case Node::Kind::Record:
      for (const Node *field : node.operands)
        *out++ = value(*field);
      return;
    case Node::Kind::Row:
      forEach(node.loops, [&] {
        into(*node.operands[0], out);
        out += node.operands[0]->width;
      });
      return;
    case Node::Kind::Reduce:
      reduce(*node.reduction, node, out);
      return;
    default:
      *out = value(node);
      return;
    }
  }

  /// A condition, and which way it goes where that is known.
  struct Condition {
    std::optional<bool> known;
    Value value{}; ///< set unless known
  };

  Condition decide(const Node &condition) {
    if (condition.isInteger)
      return {integer(condition) != 0, {}};
    Value result = value(condition);
    return {domain.decide(result), result};
  }

  /// The value of the chosen branch; where the domain cannot know which one that is, of both.
  void choose(const Node &node, Value *out) {
    Condition condition = decide(*node.operands[0]);
    if (condition.known) {
      into(*node.operands[*condition.known ? 1 : 2], out);
      return;
    }
    std::vector<Value> otherwise(node.width);
    into(*node.operands[1], out);
    into(*node.operands[2], otherwise.data());
    for (int64_t k = 0; k < node.width; ++k)
      out[k] =
          domain.select(node.types[k % node.types.size()], condition.value, out[k], otherwise[k]);
  }

  /// Reads the element at the places from \p axis on; those before give \p offset.
  void access(const Node &node, size_t axis, int64_t offset, Value *out) {
    for (; axis < node.places.size(); ++axis) {
      const Place &place = node.places[axis];
      int64_t index = 0;
      if (place.isData) {
        const Node &data = *node.places[axis].digits[0];
        Value position = value(data);
        std::optional<int64_t> known = domain.integer(data.type(), position);
        if (!known)
          return accessAny(node, axis, offset, position, out);
        index = *known;
        if (index < 0 || index >= place.extent)
          return readNothing(node, out);
      } else {
        for (size_t k = 0; k < place.digits.size(); ++k) {
          int64_t digit = integer(*place.digits[k]);
          if (digit < 0 || digit >= place.radices[k])
            return failOutside(node, digit, place.radices[k], out);
          index = index * place.radices[k] + digit;
        }
      }
      offset += index * place.stride;
    }
    if (node.kind == Node::Kind::Load)
      *out = domain.load(node.index, offset);
    else
      copy(at(node.storage) + offset * node.width, node.width, out);
  }

  /// An index that the domain does not know selects among all that the axis has, or nothing.
  void accessAny(const Node &node, size_t axis, int64_t offset, const Value &position, Value *out) {
    const Place &place = node.places[axis];
    ScalarType type = place.digits[0]->type();
    std::vector<Value> element(node.width);
    readNothing(node, out);
    for (int64_t index = 0; index < place.extent; ++index) {
      access(node, axis + 1, offset + index * place.stride, element.data());
      Value operands[3]{position, domain.literal(type, bitsOfInteger(type, index)), {}};
      Value isThis = domain.operation({Builtin::Equal, ScalarType::Bool, type}, operands);
      for (int64_t k = 0; k < node.width; ++k)
        out[k] = domain.select(node.types[k], isThis, element[k], out[k]);
    }
  }

  static Bits bitsOfInteger(ScalarType type, int64_t number) {
    return type == ScalarType::I32 ? Bits(uint32_t(number)) : Bits(number);
  }

  void readNothing(const Node &node, Value *out) {
    for (int64_t k = 0; k < node.width; ++k)
      out[k] = domain.literal(node.types[k], nothing(node.types[k]));
  }

  // ---- Reductions: the states that Reduction.h works on.

  struct States {
    Evaluator &evaluator;
    const Reduction &reduction;

    Value *at(int64_t slot) const {
      return evaluator.at(reduction.slots) + slot * reduction.state.width;
    }
    void seed(int64_t slot) { evaluator.into(*reduction.seed, at(slot)); }
    void step(int64_t slot, int64_t element) {
      evaluator.setDigits(reduction.digits, element);
      copy(at(slot), evaluator.at(reduction.state));
      evaluator.into(*reduction.step, at(slot));
    }
    void first(int64_t slot, int64_t element) {
      evaluator.setDigits(reduction.digits, element);
      evaluator.into(*reduction.element, at(slot));
    }
    void next(int64_t slot, int64_t element) {
      evaluator.setDigits(reduction.digits, element);
      evaluator.into(*reduction.element, evaluator.at(reduction.right));
      copy(at(slot), evaluator.at(reduction.left));
      evaluator.into(*reduction.join, at(slot));
    }
    void join(int64_t into, int64_t left, int64_t right) {
      copy(at(left), evaluator.at(reduction.left));
      copy(at(right), evaluator.at(reduction.right));
      evaluator.into(*reduction.join, at(into));
    }
    void move(int64_t into, int64_t from) {
      if (into != from)
        copy(at(from), at(into));
    }
    void copy(const Value *from, Value *to) const { std::copy_n(from, reduction.state.width, to); }
  };

  void reduce(const Reduction &reduction, const Node &node, Value *out) {
    States states{*this, reduction};
    ReductionForm form = reduction.hasSeed ? ReductionForm::From : ReductionForm::Of;
    if (runReduction(reduction.shape, form, states)) {
      states.copy(states.at(0), out);
      return;
    }
    fail("a reduction with 'of' has no elements: its extent is 0, and must be at least 1");
    readNothing(node, out);
  }

  void setDigits(std::span<const Loop> digits, int64_t number) {
    for (size_t d = digits.size(); d-- > 1;) {
      variables[digits[d].variable] = number % digits[d].count;
      number /= digits[d].count;
    }
    variables[digits[0].variable] = number;
  }

  // ---- Errors.

  void failOutside(const Node &node, int64_t digit, int64_t radix, Value *out) {
    fail("internal error: index " + std::to_string(digit) + " is outside 0 .. " +
         std::to_string(radix - 1));
    readNothing(node, out);
  }

  void fail(std::string message) {
    if (failure.empty())
      failure = std::move(message);
  }

  Value *at(const Storage &place) { return storage.data() + place.first; }

  /// Most often of one value, so without the call that std::copy makes.
  static void copy(const Value *from, int64_t width, Value *to) {
    for (int64_t k = 0; k < width; ++k)
      to[k] = from[k];
  }

  const Resolved &program;
  Domain &domain;
  std::vector<int64_t> variables;
  std::vector<Value> storage;
  std::vector<std::vector<int64_t>> kept; ///< per binding: what it used when last computed
  std::vector<int64_t> stamps;            ///< per local: when it was last computed
  int64_t clock = 0;
  std::string failure;
};

} // namespace h3::interpreter

#endif // H3_DSL_INTERPRETER_EVALUATOR_H
