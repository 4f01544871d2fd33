//===-- dsl/program/Operator.cpp - Operators, parameters and tensors ------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/program/Analyzer.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

namespace h3 {

bool Analyzer::analyzeOperator(const ast::Operator &op, const TypeArguments &types) {
  Frame own;
  own.module = &index.root();
  frame = &own;
  program.name = op.name.text;
  program.documentation =
      op.documentation.empty() ? index.root().file->documentation : op.documentation;
  program.each = op.each;
  if (!declareTypes(op, types))
    return false;
  declareParameters(op);
  declareDims(op);
  declareTensors(op);
  // Without its tensors nothing else can be understood.
  if (errors > 0)
    return false;
  addRequirements(op);
  resolveAliases(op);
  bindDims();
  written.resize(program.tensors.size());
  analyzeStatements(op.body, program.body);
  checkOutputs();
  if (errors > 0)
    return false;
  checkAliases();
  findApproximations();
  return errors == 0;
}

bool Analyzer::declareTypes(const ast::Operator &op, const TypeArguments &types) {
  for (const ast::Generic &generic : op.generics) {
    auto given = types.find(generic.name.text);
    bool listed = false;
    for (const ast::Name &type : generic.types)
      listed |= given != types.end() && scalarTypeNamed(type.text) == given->second;
    if (!listed) {
      error(generic.name.range, given == types.end()
                                    ? fmt::format("no type is given for `{}`", generic.name.text)
                                    : fmt::format("`{}` is not one of the types of `{}`",
                                                  name(given->second), generic.name.text));
      return false;
    }
    Entity entity;
    entity.kind = Entity::Kind::Type;
    entity.type = given->second;
    if (!declare(generic.name, std::move(entity)))
      return false;
    program.typeArguments.emplace_back(generic.name.text, given->second);
  }
  return true;
}

void Analyzer::declareParameters(const ast::Operator &op) {
  for (const ast::Param &param : op.params) {
    Parameter made{param.name.text, ScalarType::F32, std::nullopt, param.name.range};
    bool isOrder = param.type.name.text == "order";
    std::optional<Type> type;
    if (!isOrder && param.type.extents.empty())
      type = namedType(param.type.name);
    if (isOrder || !param.type.extents.empty() || (type && type->record)) {
      error(param.type.range,
            fmt::format("a parameter of an operator is a scalar, found `{}`",
                        sourceText(param.type.range)),
            isOrder ? "write one operator for each order; they can share functions"
                    : "data that are not one number are tensors: `in`");
      type.reset();
    }
    if (!type) {
      declare(param.name, {});
      continue;
    }
    made.type = type->scalar;
    if (param.defaultValue) {
      const Expr *value = analyzeAs(*param.defaultValue, *type,
                                    fmt::format("the default of `{}`", param.name.text));
      if (value && value->kind != Expr::Kind::Literal)
        error(param.defaultValue->range, "a default is a literal",
              "write the number, as in `eps: f32 = 1e-5`");
      else if (value)
        made.defaultBits = value->bits;
    }
    Expr *use = make(Expr::Kind::Parameter, *type, param.name.range);
    use->id = static_cast<unsigned>(program.parameters.size());
    program.parameters.push_back(std::move(made));
    declare(param.name, valueEntity(use, {}));
  }
}

void Analyzer::declareTensors(const ast::Operator &op) {
  if (std::none_of(op.tensors.begin(), op.tensors.end(),
                   [](const ast::Tensor &t) { return t.isOutput; }))
    error(op.name.range, fmt::format("operator `{}` has no output", op.name.text),
          "add a tensor with `out`");
  for (const ast::Tensor &tensor : op.tensors)
    declareTensor(tensor);
}

void Analyzer::declareTensor(const ast::Tensor &tensor) {
  Tensor made;
  made.name = tensor.name.text;
  made.isOutput = tensor.isOutput;
  made.range = tensor.name.range;
  std::optional<Type> type =
      tensor.type.name.text == "order" ? std::nullopt : namedType(tensor.type.name);
  if (tensor.type.name.text == "order" || (type && type->record)) {
    error(tensor.type.range,
          fmt::format("a tensor holds scalars, found `{}`", sourceText(tensor.type.range)));
    type.reset();
  }
  if (type && tensor.type.extents.empty()) {
    error(tensor.type.range, fmt::format("tensor `{}` has no extents", tensor.name.text),
          tensor.isOutput
              ? fmt::format("for one element write `{}[1]`", tensor.type.name.text)
              : fmt::format("for one element write `{}[1]`, or make it a parameter of the "
                            "operator",
                            tensor.type.name.text));
    type.reset();
  }
  for (const ast::Expr *size : tensor.type.extents) {
    // That an extent is not negative is part of the contract.
    if (const Size *value = writtenSize(*size);
        value && !value->isConstant() && !follows(sizes, {}, sizes.polynomial(value)))
      facts.push_back({{{sizes.polynomial(value)}}});
    std::optional<Extent> extent = writtenExtent(*size);
    if (extent && type)
      type->extents.push_back(std::move(*extent));
    else
      type.reset();
  }
  size_t rank = tensor.type.extents.size();
  if (!tensor.strides.empty() && tensor.strides.size() != rank)
    error(tensor.stridesRange,
          fmt::format("`{}` has {} {}, found {} stride{}", tensor.name.text, rank,
                      rank == 1 ? "axis" : "axes", tensor.strides.size(),
                      tensor.strides.size() == 1 ? "" : "s"),
          "write one for each axis, `_` for any");
  if (tensor.align && *tensor.align < 1)
    error(tensor.alignRange,
          fmt::format("`align` is a positive number of elements, found {}", *tensor.align));
  if (!type) {
    declare(tensor.name, {});
    return;
  }
  made.type = type->scalar;
  made.extents = type->extents;
  made.strides = tensor.strides;
  made.strides.resize(rank);
  made.align = tensor.align.value_or(1);
  Entity entity;
  if (tensor.isOutput) {
    entity.kind = Entity::Kind::Output;
  } else {
    Expr *use = make(Expr::Kind::Tensor, *type, tensor.name.range);
    use->id = static_cast<unsigned>(program.tensors.size());
    entity = valueEntity(use, {});
  }
  declare(tensor.name, std::move(entity));
  program.tensors.push_back(std::move(made));
}

/// Rule 13, as far as it concerns the tensors; `checkAliases` looks at what is read.
void Analyzer::resolveAliases(const ast::Operator &op) {
  for (size_t i = 0; i < op.tensors.size(); ++i) {
    const std::optional<ast::Name> &alias = op.tensors[i].mayAlias;
    if (!alias)
      continue;
    Tensor &output = program.tensors[i];
    if (!output.isOutput) {
      error(alias->range,
            fmt::format("`may alias` is said of an output, and `{}` is an input", output.name));
      continue;
    }
    size_t at = 0;
    std::vector<std::string> inputs;
    for (const Tensor &tensor : program.tensors)
      if (!tensor.isOutput)
        inputs.push_back(tensor.name);
    while (at < program.tensors.size() && program.tensors[at].name != alias->text)
      ++at;
    if (at == program.tensors.size() || program.tensors[at].isOutput) {
      std::string near = closest(alias->text, inputs);
      error(alias->range, fmt::format("`may alias` names an input, and `{}` is none", alias->text),
            near.empty() ? "" : fmt::format("did you mean `{}`?", near));
      continue;
    }
    const Tensor &input = program.tensors[at];
    bool same = input.extents.size() == output.extents.size();
    for (size_t axis = 0; same && axis < input.extents.size(); ++axis)
      same = provablyEqual(input.extents[axis].size, output.extents[axis].size);
    if (!same) {
      error(alias->range,
            fmt::format("`{}` is {} and `{}` is {}, so they cannot be one tensor", output.name,
                        toText(Type{output.type, nullptr, output.extents}), input.name,
                        toText(Type{input.type, nullptr, input.extents})),
            "a tensor that may be passed for both has the same extents in both");
      continue;
    }
    if (input.type == output.type)
      output.mayAlias = static_cast<unsigned>(at);
  }
}

void Analyzer::addRequirements(const ast::Operator &op) {
  for (const ast::Expr *requirement : op.requirements)
    addRequirement(*requirement);
}

/// Each part of a conjunction is a condition with a message of its own.
void Analyzer::addRequirement(const ast::Expr &expr) {
  if (expr.kind == ast::Expr::Kind::Binary && expr.text == "and") {
    addRequirement(*expr.operands[0]);
    addRequirement(*expr.operands[1]);
    return;
  }
  const Expr *value = condition(expr);
  if (!value)
    return;
  if (!isUniform(*value)) {
    error(expr.range, "a requirement is made of sizes and parameters, and this reads data",
          "`require` is decided before the call; choose between values with `if`");
    return;
  }
  if (value->kind == Expr::Kind::Literal && !value->bits) {
    error(expr.range,
          fmt::format("`{}` never holds, so no call would be served", sourceText(expr.range)));
    return;
  }
  assume(*value, true);
  if (value->kind != Expr::Kind::Literal)
    program.requirements.push_back({value, sourceText(expr.range), expr.range});
}

/// Looks at what the body computes, without branches that were decided.
void Analyzer::findApproximations() {
  std::unordered_set<const Expr *> seen;
  std::vector<const Expr *> work;
  auto add = [&](const Expr *expr) {
    if (expr && seen.insert(expr).second)
      work.push_back(expr);
  };
  std::vector<const std::vector<Statement> *> bodies{&program.body};
  while (!bodies.empty()) {
    const std::vector<Statement> &body = *bodies.back();
    bodies.pop_back();
    for (const Statement &statement : body) {
      add(statement.let.value);
      add(statement.equation.value);
      bodies.push_back(&statement.body);
    }
  }
  while (!work.empty()) {
    const Expr &expr = *work.back();
    work.pop_back();
    if (expr.kind == Expr::Kind::Builtin && expr.op >= Builtin::RsqrtApprox &&
        expr.op <= Builtin::SqrtApprox)
      program.usesApproximation = true;
    forEachChild(expr, add);
  }
}

} // namespace h3
