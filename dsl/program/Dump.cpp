//===-- dsl/program/Dump.cpp - The typed program as text ------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/program/Dump.h"
#include "dsl/scalar/Format.h"

#include <fmt/format.h>

namespace h3 {

namespace {

class Dumper {
public:
  explicit Dumper(const Program &program) : program(program) {}

  std::string all() {
    line("op " + program.name);
    ++indent;
    for (const auto &[name, type] : program.typeArguments)
      line(fmt::format("type {} = {}", name, h3::name(type)));
    if (program.each)
      line("each");
    line(program.usesApproximation ? "class approx" : "class ieee");
    dims();
    for (const Parameter &parameter : program.parameters)
      line(fmt::format("param {}: {}{}", parameter.name, name(parameter.type),
                       parameter.defaultBits
                           ? " = " + scalar::format(parameter.type, *parameter.defaultBits)
                           : ""));
    for (const Tensor &tensor : program.tensors)
      line(text(tensor));
    for (const Requirement &requirement : program.requirements)
      line(fmt::format("require {} // {}", expr(*requirement.condition), requirement.text));
    statements(program.body);
    return out;
  }

  /// Nested values go to lines of their own; the text is what stands in their place.
  std::string expr(const Expr &e) {
    switch (e.kind) {
    case Expr::Kind::Literal:
      return fmt::format("{}:{}", scalar::format(e.type.scalar, e.bits), name(e.type.scalar));
    case Expr::Kind::Parameter:
      return program.parameters[e.id].name;
    case Expr::Kind::SizeValue:
      return fmt::format("size({})", toString(*e.size, program));
    case Expr::Kind::Index:
      return index(e.id);
    case Expr::Kind::Local:
      return local(e.id);
    case Expr::Kind::Tensor:
      return program.tensors[e.id].name;
    case Expr::Kind::Builtin:
      return builtin(e);
    case Expr::Kind::Convert:
      return fmt::format("{}{}{}({})", name(e.type.scalar), suffix(e.rounding),
                         e.saturate ? ".sat" : "", expr(*e.operands[0]));
    case Expr::Kind::If:
      return fmt::format("if({}, {}, {})", expr(*e.operands[0]), expr(*e.operands[1]),
                         expr(*e.operands[2]));
    case Expr::Kind::Access: {
      std::string subscripts;
      for (const Subscript &one : e.subscripts)
        subscripts += (subscripts.empty() ? "" : ", ") + subscript(one);
      return fmt::format("{}[{}]", expr(*e.operands[0]), subscripts);
    }
    case Expr::Kind::Row: {
      std::string binders;
      for (const Binder &one : e.binders)
        binders += (binders.empty() ? "" : ", ") + binder(one);
      return fmt::format("[{}] {}", binders, expr(*e.operands[0]));
    }
    case Expr::Kind::Record:
      return e.type.record->name + operands(e);
    case Expr::Kind::Field:
      return fmt::format("{}.{}", expr(*e.operands[0]),
                         e.operands[0]->type.record->fields[e.id].name);
    case Expr::Kind::Reduce:
      return reduce(*e.reduce);
    case Expr::Kind::Block: {
      std::string text = "{";
      ++indent;
      for (const Let &let : e.lets)
        text += newLine() + definition(let);
      text += newLine() + "give " + expr(*e.operands[0]);
      --indent;
      return text + newLine() + "}";
    }
    }
    return "?";
  }

private:
  void line(const std::string &text) { out += std::string(2 * indent, ' ') + text + "\n"; }
  std::string newLine() const { return "\n" + std::string(2 * indent, ' '); }

  std::string index(unsigned id) const {
    return fmt::format("{}.{}", program.indexVariables[id].name, id);
  }
  std::string local(unsigned id) const { return fmt::format("%{}{}", program.locals[id].name, id); }
  static std::string suffix(Rounding rounding) {
    return rounding == Rounding::TowardZero ? ".rz"
           : rounding == Rounding::Down     ? ".rm"
           : rounding == Rounding::Up       ? ".rp"
                                            : "";
  }

  std::string operands(const Expr &e) {
    std::string text;
    for (const Expr *operand : e.operands)
      text += (text.empty() ? "" : ", ") + expr(*operand);
    return "(" + text + ")";
  }

  std::string builtin(const Expr &e) {
    std::string called(spelling(e.op));
    if (e.op == Builtin::FromBits || e.op == Builtin::ToBits)
      called = std::string(name(e.type.scalar)) + ".bits";
    if (e.op == Builtin::Neg)
      called = "neg";
    return called + suffix(e.rounding) + operands(e);
  }

  std::string subscript(const Subscript &s) {
    if (s.isData)
      return fmt::format("index({})", expr(*s.digits[0]));
    if (s.digits.size() == 1)
      return expr(*s.digits[0]);
    std::string digits;
    for (size_t i = 0; i < s.digits.size(); ++i)
      digits += fmt::format("{}{}:{}", i ? ", " : "", expr(*s.digits[i]),
                            toString(*s.radices[i], program));
    return "(" + digits + ")";
  }

  std::string binder(const Binder &b) {
    std::string digits;
    for (size_t i = 0; i < b.variables.size(); ++i)
      digits += fmt::format("{}{}: {}", i ? ", " : "", index(b.variables[i]),
                            toString(*b.extent.factors[i], program));
    return b.variables.size() == 1 ? digits : "(" + digits + ")";
  }

  std::string reduce(const Reduce &r) {
    std::string text = fmt::format("reduce {} by {} ", binder(r.binder),
                                   r.order ? r.order->name : std::string("any"));
    if (r.hasSeed())
      text += fmt::format("from {} = {} step {}", local(r.state), expr(*r.seed), expr(*r.step));
    else
      text += fmt::format("of {}", expr(*r.element));
    return text + fmt::format(" join ({}, {}) = {}", local(r.left), local(r.right), expr(*r.join));
  }

  std::string definition(const Let &let) {
    return fmt::format("let {}: {} = {}", local(let.local),
                       toString(program.locals[let.local].type, program), expr(*let.value));
  }

  std::string extent(const Extent &e) const {
    std::string text = toString(*e.size, program);
    if (e.factors.size() < 2)
      return text;
    std::string factors;
    for (const Size *factor : e.factors)
      factors += (factors.empty() ? "" : ", ") + toString(*factor, program);
    return fmt::format("{} ({})", text, factors);
  }

  std::string text(const Tensor &tensor) const {
    std::string extents, strides;
    for (const Extent &e : tensor.extents)
      extents += (extents.empty() ? "" : ", ") + extent(e);
    for (const std::optional<int64_t> &stride : tensor.strides)
      strides += (strides.empty() ? "" : ", ") + (stride ? std::to_string(*stride) : "_");
    return fmt::format("{} {}: {}[{}] strides({}) align({}){}", tensor.isOutput ? "out" : "in",
                       tensor.name, name(tensor.type), extents, strides, tensor.align,
                       tensor.mayAlias ? " may alias " + program.tensors[*tensor.mayAlias].name
                                       : "");
  }

  void dims() {
    for (const Dim &dim : program.dims)
      if (dim.fixed)
        line(fmt::format("dim {} = {}", dim.name, *dim.fixed));
      else if (dim.definition)
        line(fmt::format("dim {} = {}", dim.name, toString(*dim.definition, program)));
    for (unsigned id : program.bindingOrder) {
      const Dim::Binding &binding = *program.dims[id].binding;
      std::string divisor = toString(*binding.divisor, program);
      line(fmt::format("dim {} from {} axis {}{}", program.dims[id].name,
                       program.tensors[binding.tensor].name, binding.axis,
                       divisor == "1" ? "" : " by " + divisor));
    }
  }

  void statements(const std::vector<Statement> &body) {
    for (const Statement &statement : body) {
      if (statement.kind == Statement::Kind::Let) {
        line(definition(statement.let));
      } else if (statement.kind == Statement::Kind::Equation) {
        equation(statement.equation);
      } else {
        std::string variables;
        for (const auto &[id, extent] : statement.variables)
          variables += fmt::format("{}{}: {}", variables.empty() ? "" : ", ", index(id),
                                   toString(*extent.size, program));
        line("for " + variables);
        ++indent;
        statements(statement.body);
        --indent;
      }
    }
  }

  void equation(const Equation &e) {
    std::string places;
    for (const Equation::Place &place : e.places)
      places += (places.empty() ? "" : ", ") + binder({place.variables, place.extent});
    line(fmt::format("{}[{}] = {}", program.tensors[e.tensor].name, places, expr(*e.value)));
  }

  const Program &program;
  std::string out;
  unsigned indent = 0;
};

} // namespace

std::string dump(const Program &program) { return Dumper(program).all(); }

std::string dump(const Expr &expr, const Program &program) { return Dumper(program).expr(expr); }

} // namespace h3
