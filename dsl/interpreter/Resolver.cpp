//===-- dsl/interpreter/Resolver.cpp - A program for one call -------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/interpreter/Resolved.h"
#include "dsl/interpreter/Uses.h"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace h3::interpreter {

namespace {

/// More values than this are not kept: 2 GiB of bit patterns.
constexpr int64_t MaxStorage = int64_t(1) << 28;

/// A row that needs no computing: a tensor or the storage of a local, with the places of its
/// leading axes. `axes` are those that are left.
struct View {
  bool isTensor = false;
  unsigned tensor = 0;
  unsigned local = 0;
  const Binding *prepare = nullptr;
  std::vector<Place> places;
  struct Axis {
    int64_t extent, stride;
  };
  std::vector<Axis> axes;
  std::vector<ScalarType> types; ///< of one element
};

class Resolver {
public:
  Resolver(const Program &program, const std::vector<int64_t> &dims,
           const std::vector<std::vector<int64_t>> &strides)
      : program(program), dims(dims), strides(strides), out(std::make_unique<Resolved>()),
        names(program.locals.size()) {
    out->variables = unsigned(program.indexVariables.size());
  }

  std::unique_ptr<Resolved> run(std::string &error) {
    out->body = statement(program.body);
    if (out->storage > MaxStorage)
      fail(fmt::format("'{}' keeps more than {} values for these extents, which is more than the "
                       "interpreter allows",
                       program.name, MaxStorage));
    error = failure;
    return failure.empty() ? std::move(out) : nullptr;
  }

private:
  // ---- Sizes and types.

  int64_t number(const Size *size) {
    if (std::optional<int64_t> value = size ? evaluate(*size, dims) : std::nullopt)
      return *value;
    fail(fmt::format("size {} does not fit 64 bits", size ? toString(*size, program) : "?"));
    return 0;
  }

  std::vector<ScalarType> typesOf(const Type &type) {
    if (!type.record)
      return {type.scalar};
    std::vector<ScalarType> types;
    for (const RecordType::Field &field : type.record->fields)
      types.push_back(field.type);
    return types;
  }

  /// The product of the extents, times \p width; capped a little above what can be kept.
  int64_t elements(const std::vector<Extent> &extents, int64_t width) {
    for (const Extent &extent : extents)
      if (__builtin_mul_overflow(width, number(extent.size), &width))
        width = MaxStorage + 1;
    return width;
  }

  int64_t widthOf(const Type &type) {
    return elements(type.extents, int64_t(typesOf(type).size()));
  }

  std::vector<Loop> loops(const std::vector<unsigned> &variables, const Extent &extent) {
    std::vector<Loop> result;
    if (variables.size() == 1)
      return {{variables[0], number(extent.size)}};
    for (size_t k = 0; k < variables.size(); ++k)
      result.push_back({variables[k], number(extent.factors[k])});
    return result;
  }

  unsigned newLocal(int64_t width) {
    Storage storage{out->storage, width};
    if (__builtin_add_overflow(out->storage, width, &out->storage) || width > MaxStorage)
      out->storage = MaxStorage + 1;
    out->locals.push_back(storage);
    return unsigned(out->locals.size() - 1);
  }

  // ---- Nodes.

  Node &make(Node::Kind kind, std::vector<ScalarType> types, int64_t width = 1) {
    Node &node = out->nodes.emplace_back();
    node.kind = kind;
    node.types = std::move(types);
    node.width = width;
    return node;
  }

  Node *constant(ScalarType type, int64_t value) {
    Node &node = make(Node::Kind::Constant, {type});
    node.isInteger = true;
    node.number = value;
    return &node;
  }

  Node *variable(ScalarType type, unsigned id) {
    Node &node = make(Node::Kind::Variable, {type});
    node.isInteger = true;
    node.index = id;
    return &node;
  }

  /// As an operand of something that is a value.
  const Node *lifted(const Node *operand) {
    if (!operand->isInteger)
      return operand;
    Node &node = make(Node::Kind::Lift, operand->types);
    node.operands = {operand};
    return &node;
  }

  const Node *value(const Expr &expr) { return lifted(build(expr)); }

  /// An integer or a value. One expression may be met several times; it gets one node.
  const Node *build(const Expr &expr) {
    auto [entry, isNew] = built.try_emplace(&expr, nullptr);
    if (!isNew)
      return entry->second;
    const Node *node = buildNew(expr);
    built[&expr] = node;
    return node;
  }

  const Node *buildNew(const Expr &expr) {
    const bool canBeInteger = expr.type.isScalar() && (expr.type.scalar == ScalarType::I64 ||
                                                       expr.type.scalar == ScalarType::Bool);
    switch (expr.kind) {
    case Expr::Kind::Literal: {
      if (canBeInteger)
        return constant(expr.type.scalar, int64_t(expr.bits));
      Node &node = make(Node::Kind::Literal, typesOf(expr.type));
      node.bits = expr.bits;
      return &node;
    }
    case Expr::Kind::Parameter: {
      Node &node = make(Node::Kind::Parameter, typesOf(expr.type));
      node.index = expr.id;
      return &node;
    }
    case Expr::Kind::SizeValue:
      return constant(expr.type.scalar, number(expr.size));
    case Expr::Kind::Index:
      return variable(expr.type.scalar, expr.id);
    case Expr::Kind::Local:
      return expr.type.isRow() ? rowOf(viewOf(expr)) : local(expr);
    case Expr::Kind::Tensor:
    case Expr::Kind::Access:
      return expr.type.isRow() ? rowOf(viewOf(expr)) : elementOf(viewOf(expr));
    case Expr::Kind::Builtin:
      return builtin(expr, canBeInteger);
    case Expr::Kind::Convert: {
      Node &node = make(Node::Kind::Convert, typesOf(expr.type));
      node.operands = {value(*expr.operands[0])};
      node.conversion = {node.operands[0]->type(), expr.type.scalar, expr.rounding, expr.saturate};
      return &node;
    }
    case Expr::Kind::If:
      return conditional(expr, canBeInteger);
    case Expr::Kind::Row:
      return row(expr);
    case Expr::Kind::Record: {
      Node &node = make(Node::Kind::Record, typesOf(expr.type), widthOf(expr.type));
      for (const Expr *field : expr.operands)
        node.operands.push_back(value(*field));
      return &node;
    }
    case Expr::Kind::Field:
      return field(expr);
    case Expr::Kind::Reduce:
      return reduction(expr);
    case Expr::Kind::Block:
      return block(expr);
    }
    __builtin_unreachable();
  }

  /// A scalar or record that a `let` or a reduction has named.
  const Node *local(const Expr &expr) {
    const Name &name = names[expr.id];
    if (name.kind == Name::Kind::Integer)
      return variable(expr.type.scalar, name.variable);
    if (name.kind != Name::Kind::Value)
      return unbound(expr);
    Node &node = make(Node::Kind::Local, typesOf(expr.type), out->locals[name.local].width);
    node.local = name.local;
    node.storage = out->locals[name.local];
    return &node;
  }

  const Node *unbound(const Expr &expr) {
    fail(fmt::format("internal error: local '{}' is used before it is bound",
                     program.locals[expr.id].name));
    return constant(ScalarType::I64, 0);
  }

  const Node *builtin(const Expr &expr, bool canBeInteger) {
    std::vector<const Node *> operands;
    bool isInteger = canBeInteger, isConstant = true;
    for (const Expr *operand : expr.operands) {
      operands.push_back(build(*operand));
      isInteger &= operands.back()->isInteger;
      isConstant &= operands.back()->kind == Node::Kind::Constant;
    }
    Operation operation{expr.op, expr.type.scalar, operands[0]->type(), expr.rounding};
    if (operands.size() != operandCount(expr.op)) {
      fail(
          fmt::format("internal error: '{}' with {} operands", spelling(expr.op), operands.size()));
      return constant(expr.type.scalar, 0);
    }
    if (isInteger && isConstant) {
      Bits bits[3];
      for (size_t k = 0; k < operands.size(); ++k)
        bits[k] = Bits(operands[k]->number);
      return constant(expr.type.scalar, int64_t(apply(operation, bits)));
    }
    Node &node = make(Node::Kind::Operation, typesOf(expr.type));
    node.isInteger = isInteger;
    node.operation = operation;
    for (const Node *operand : operands)
      node.operands.push_back(isInteger ? operand : lifted(operand));
    return &node;
  }

  /// A condition on sizes alone is decided here, and the other branch forgotten.
  const Node *conditional(const Expr &expr, bool canBeInteger) {
    const Node *condition = build(*expr.operands[0]);
    if (condition->kind == Node::Kind::Constant)
      return build(*expr.operands[condition->number ? 1 : 2]);
    const Node *then = build(*expr.operands[1]), *otherwise = build(*expr.operands[2]);
    bool isInteger =
        canBeInteger && condition->isInteger && then->isInteger && otherwise->isInteger;
    if (!isInteger) {
      then = lifted(then);
      otherwise = lifted(otherwise);
    }
    Node &node = make(Node::Kind::If, typesOf(expr.type), then->width);
    node.isInteger = isInteger;
    node.operands = {condition, then, otherwise};
    return &node;
  }

  const Node *row(const Expr &expr) {
    const Node *element = value(*expr.operands[0]);
    Node &node = make(Node::Kind::Row, element->types, widthOf(expr.type));
    node.operands = {element};
    for (const Binder &binder : expr.binders)
      for (const Loop &loop : loops(binder.variables, binder.extent))
        node.loops.push_back(loop);
    return &node;
  }

  const Node *field(const Expr &expr) {
    const Node *record = build(*expr.operands[0]);
    if (record->kind == Node::Kind::Record)
      return record->operands[expr.id];
    bool isLocal = record->kind == Node::Kind::Local;
    unsigned local = isLocal ? record->local : newLocal(record->width);
    Node &node = make(isLocal ? Node::Kind::Local : Node::Kind::Field, typesOf(expr.type));
    node.local = local;
    node.storage = out->locals[local];
    if (isLocal) {
      node.storage.first += expr.id;
      node.storage.width = 1;
    } else {
      node.operands = {record};
      node.index = expr.id;
    }
    return &node;
  }

  const Node *block(const Expr &expr) {
    std::vector<const Binding *> bindings;
    for (const Let &let : expr.lets)
      if (const Binding *binding = bind(let))
        bindings.push_back(binding);
    const Node *result = build(*expr.operands[0]);
    if (bindings.empty())
      return result;
    Node &node = make(Node::Kind::Block, result->types, result->width);
    node.isInteger = result->isInteger;
    node.operands = {result};
    node.bindings = std::move(bindings);
    return &node;
  }

  // ---- Rows.

  static bool isView(const Expr &expr) {
    return expr.type.isRow() && (expr.kind == Expr::Kind::Tensor ||
                                 expr.kind == Expr::Kind::Local || expr.kind == Expr::Kind::Access);
  }

  View viewOf(const Expr &expr) {
    if (expr.kind == Expr::Kind::Tensor) {
      View view;
      view.isTensor = true;
      view.tensor = expr.id;
      view.types = {program.tensors[expr.id].type};
      for (size_t axis = 0; axis < program.tensors[expr.id].extents.size(); ++axis)
        view.axes.push_back(
            {number(program.tensors[expr.id].extents[axis].size), strides[expr.id][axis]});
      return view;
    }
    if (expr.kind == Expr::Kind::Access) {
      View view = viewOf(*expr.operands[0]);
      if (expr.subscripts.size() > view.axes.size()) {
        fail("internal error: more subscripts than axes");
        return view;
      }
      for (size_t k = 0; k < expr.subscripts.size(); ++k)
        view.places.push_back(place(expr.subscripts[k], view.axes[k]));
      view.axes.erase(view.axes.begin(), view.axes.begin() + ptrdiff_t(expr.subscripts.size()));
      return view;
    }
    if (expr.kind == Expr::Kind::Local) {
      const Name &name = names[expr.id];
      if (name.kind == Name::Kind::View)
        return name.view;
      if (name.kind != Name::Kind::Value)
        unbound(expr);
      return stored(name.local, expr.type, nullptr);
    }
    // Anything else is computed as if a `let` without a name stood here.
    auto [entry, isNew] = unnamed.try_emplace(&expr, nullptr);
    if (isNew)
      entry->second = bindValue(build(expr));
    const Binding *binding = unnamed[&expr];
    return stored(binding->local, expr.type, binding);
  }

  /// A whole row in the storage of a local.
  View stored(unsigned local, const Type &type, const Binding *prepare) {
    View view;
    view.local = local;
    view.prepare = prepare;
    view.types = typesOf(type);
    int64_t stride = 1;
    for (size_t axis = type.extents.size(); axis-- > 0;) {
      int64_t extent = number(type.extents[axis].size);
      view.axes.insert(view.axes.begin(), {extent, stride});
      if (__builtin_mul_overflow(stride, extent, &stride))
        stride = 0; // too large to be kept, which `run` reports
    }
    return view;
  }

  Place place(const Subscript &subscript, const View::Axis &axis) {
    Place place{{}, {}, axis.extent, axis.stride, subscript.isData};
    if (subscript.isData) {
      place.digits = {value(*subscript.digits[0])};
      return place;
    }
    for (const Expr *digit : subscript.digits) {
      place.digits.push_back(build(*digit));
      if (!place.digits.back()->isInteger)
        fail("internal error: an index depends on data");
    }
    if (subscript.digits.size() == 1)
      place.radices = {axis.extent};
    else
      for (const Size *radix : subscript.radices)
        place.radices.push_back(number(radix));
    return place;
  }

  const Node *elementOf(View view) {
    Node &node = make(view.isTensor ? Node::Kind::Load : Node::Kind::Element, view.types,
                      int64_t(view.types.size()));
    node.index = view.tensor;
    node.local = view.local;
    if (!view.isTensor && view.local < out->locals.size())
      node.storage = out->locals[view.local];
    node.prepare = view.prepare;
    node.places = std::move(view.places);
    return &node;
  }

  /// The row that a view is, for where it has to be computed as a whole.
  const Node *rowOf(View view) {
    std::vector<Loop> loops;
    int64_t width = int64_t(view.types.size());
    for (const View::Axis &axis : view.axes) {
      Loop loop{out->variables++, axis.extent};
      loops.push_back(loop);
      view.places.push_back({{variable(ScalarType::I64, loop.variable)},
                             {axis.extent},
                             axis.extent,
                             axis.stride,
                             false});
      if (__builtin_mul_overflow(width, axis.extent, &width))
        width = MaxStorage + 1;
    }
    const Node *element = elementOf(std::move(view));
    Node &node = make(Node::Kind::Row, element->types, width);
    node.operands = {element};
    node.loops = std::move(loops);
    return &node;
  }

  // ---- Lets.

  /// Null for a view, which needs no computing.
  const Binding *bind(const Let &let) {
    Name &name = names[let.local];
    if (isView(*let.value)) {
      View view = viewOf(*let.value);
      name.kind = Name::Kind::View;
      name.view = std::move(view);
      return nullptr;
    }
    const Node *value = build(*let.value);
    if (value->isInteger) {
      Binding &binding = newBinding(value);
      binding.isInteger = true;
      binding.variable = out->variables++;
      name.kind = Name::Kind::Integer;
      name.variable = binding.variable;
      return &binding;
    }
    const Binding *binding = bindValue(value);
    name.kind = Name::Kind::Value;
    name.local = binding->local;
    return binding;
  }

  Binding &newBinding(const Node *value) {
    Binding &binding = out->bindings.emplace_back();
    binding.value = value;
    binding.index = out->bindingCount++;
    return binding;
  }

  const Binding *bindValue(const Node *value) {
    Binding &binding = newBinding(value);
    binding.local = newLocal(value->width);
    Uses uses = usesOf(*value);
    binding.usedVariables = std::move(uses.variables);
    binding.usedLocals = std::move(uses.locals);
    // What a reduction sets while it runs is not bound, so no change of it would be noticed.
    binding.isKept =
        uses.isCostly && std::none_of(binding.usedLocals.begin(), binding.usedLocals.end(),
                                      [&](unsigned local) { return reductionLocals.count(local); });
    return &binding;
  }

  // ---- Reductions.

  const Node *reduction(const Expr &expr) {
    const h3::Reduce &source = *expr.reduce;
    Reduction &r = out->reductions.emplace_back();
    int64_t n = number(source.binder.extent.size), width = widthOf(expr.type);
    std::string problem;
    std::optional<OrderShape> shape =
        source.order ? shapeOf(*source.order, n, problem) : singleChain(n);
    if (!shape) {
      fail(problem);
      shape = singleChain(0);
    }
    r.shape = std::move(*shape);
    r.hasSeed = source.hasSeed();
    r.digits = loops(source.binder.variables, source.binder.extent);

    auto name = [&](unsigned id) {
      unsigned local = newLocal(width);
      names[id].kind = Name::Kind::Value;
      names[id].local = local;
      r.ownLocals.push_back(local);
      reductionLocals.insert(local);
      return out->locals[local];
    };
    r.left = name(source.left);
    r.right = name(source.right);
    r.state = r.hasSeed ? name(source.state) : r.left;
    int64_t all;
    if (__builtin_mul_overflow(r.shape.slots, width, &all))
      all = MaxStorage + 1;
    r.slots = out->locals[newLocal(all)];

    if (r.hasSeed) {
      r.seed = value(*source.seed);
      r.step = value(*source.step);
    } else {
      r.element = value(*source.element);
    }
    r.join = value(*source.join);
    Node &node = make(Node::Kind::Reduce, typesOf(expr.type), width);
    node.reduction = &r;
    return &node;
  }

  // ---- Statements.

  Statement statement(const std::vector<h3::Statement> &body) {
    Statement result;
    for (const h3::Statement &item : body) {
      switch (item.kind) {
      case h3::Statement::Kind::Let:
        if (const Binding *binding = bind(item.let))
          result.body.emplace_back(binding);
        break;
      case h3::Statement::Kind::Equation:
        result.body.emplace_back(equation(item.equation));
        break;
      case h3::Statement::Kind::For: {
        Statement inner = statement(item.body);
        for (const auto &[variable, extent] : item.variables)
          inner.loops.push_back({variable, number(extent.size)});
        result.body.emplace_back(std::move(inner));
        break;
      }
      }
    }
    return result;
  }

  Equation equation(const h3::Equation &source) {
    const Tensor &tensor = program.tensors[source.tensor];
    Equation result;
    result.tensor = source.tensor;
    for (size_t axis = 0; axis < tensor.extents.size(); ++axis) {
      Equation::Axis place{{}, strides[source.tensor][axis]};
      if (axis < source.places.size()) {
        const h3::Equation::Place &written = source.places[axis];
        place.digits = loops(written.variables, written.extent);
        for (size_t k = 0; k < written.variables.size(); ++k)
          if (!written.bound[k])
            result.loops.push_back(place.digits[k]);
      } else {
        place.digits = {{out->variables++, number(tensor.extents[axis].size)}};
        result.rest.push_back(place.digits[0]);
      }
      result.axes.push_back(std::move(place));
    }
    result.value = value(*source.value);
    if (!result.rest.empty())
      result.row = out->locals[newLocal(result.value->width)];
    return result;
  }

  void fail(std::string message) {
    if (failure.empty())
      failure = std::move(message);
  }

  /// What a local of the program is here.
  struct Name {
    enum class Kind { Unbound, View, Integer, Value };
    Kind kind = Kind::Unbound;
    View view;
    unsigned variable = 0; ///< Integer
    unsigned local = 0;    ///< Value
  };

  const Program &program;
  const std::vector<int64_t> &dims;
  const std::vector<std::vector<int64_t>> &strides;
  std::unique_ptr<Resolved> out;
  std::vector<Name> names;
  std::unordered_map<const Expr *, const Node *> built;
  std::unordered_map<const Expr *, const Binding *> unnamed;
  /// Locals that reductions set.
  std::unordered_set<unsigned> reductionLocals;
  std::string failure;
};

} // namespace

std::unique_ptr<Resolved> resolve(const Program &program, const std::vector<int64_t> &dims,
                                  const std::vector<std::vector<int64_t>> &strides,
                                  std::string &error) {
  return Resolver(program, dims, strides).run(error);
}

} // namespace h3::interpreter
