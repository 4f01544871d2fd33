//===-- runtime/plan/Json.cpp - The canonical JSON of a plan ----*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/plan/Plan.h"

namespace h3::plan {

namespace {

/// Writes JSON without spaces. Callers give keys in sorted order.
class Writer {
public:
  std::string take() { return std::move(out); }

  void string(std::string_view text) {
    static const char *digits = "0123456789abcdef";
    out += '"';
    for (char c : text) {
      if (c == '"' || c == '\\') {
        out += '\\';
        out += c;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        out += "\\u00";
        out += digits[c >> 4];
        out += digits[c & 15];
      } else {
        out += c;
      }
    }
    out += '"';
  }

  void integer(int64_t value) { out += std::to_string(value); }
  void boolean(bool value) { out += value ? "true" : "false"; }
  void null() { out += "null"; }

  void hex(uint64_t value) {
    static const char *digits = "0123456789abcdef";
    std::string text;
    do
      text.insert(text.begin(), digits[value & 15]);
    while (value >>= 4);
    string(text);
  }

  template <typename Range, typename Function> void array(const Range &range, Function element) {
    out += '[';
    const char *separator = "";
    for (const auto &item : range) {
      out += separator;
      separator = ",";
      element(item);
    }
    out += ']';
  }

  void open(char bracket) {
    out += bracket;
    first = true;
  }
  void close(char bracket) {
    out += bracket;
    first = false;
  }
  void key(std::string_view name) {
    item();
    string(name);
    out += ':';
  }
  /// The comma in front of an element or a key, except the first after `open`.
  void item() {
    if (!first)
      out += ',';
    first = false;
  }

private:
  std::string out;
  bool first = true;
};

const char *operatorName(ExprOp op) {
  switch (op) {
  case ExprOp::Constant:
    return "constant";
  case ExprOp::Dim:
    return "dim";
  case ExprOp::Stride:
    return "stride";
  case ExprOp::Address:
    return "address";
  case ExprOp::Parameter:
    return "parameter";
  case ExprOp::Add:
    return "+";
  case ExprOp::Sub:
    return "-";
  case ExprOp::Mul:
    return "*";
  case ExprOp::FloorDiv:
    return "floordiv";
  case ExprOp::FloorMod:
    return "floormod";
  case ExprOp::Min:
    return "min";
  case ExprOp::Max:
    return "max";
  case ExprOp::Eq:
    return "==";
  case ExprOp::Ne:
    return "!=";
  case ExprOp::Lt:
    return "<";
  case ExprOp::Le:
    return "<=";
  case ExprOp::Gt:
    return ">";
  case ExprOp::Ge:
    return ">=";
  case ExprOp::And:
    return "and";
  case ExprOp::Or:
    return "or";
  case ExprOp::Not:
    return "not";
  }
  return "";
}

class PlanWriter {
public:
  explicit PlanWriter(const OperatorPlan &plan) : plan(plan) {}

  std::string run() {
    w.open('{');
    w.key("bindings");
    w.array(plan.bindings, [&](const BindingStep &step) { binding(step); });
    w.key("dims");
    w.array(plan.dims, [&](const DimSpec &dim) {
      w.open('{');
      if (dim.fixed) {
        w.key("fixed");
        w.integer(*dim.fixed);
      }
      w.key("name");
      w.string(dim.name);
      w.close('}');
    });
    if (plan.each) {
      w.key("each");
      w.boolean(true);
    }
    w.key("name");
    w.string(plan.name);
    w.key("parameters");
    w.array(plan.parameters, [&](const ParameterSpec &spec) { parameter(spec); });
    w.key("requirements");
    conditions(plan.requirements);
    w.key("tensors");
    w.array(plan.tensors, [&](const TensorSpec &spec) { tensor(spec); });
    w.key("type_arguments");
    w.array(plan.typeArguments, [&](const std::string &text) { w.string(text); });
    w.key("variants");
    w.array(plan.variants, [&](const Variant &v) { variant(v); });
    w.close('}');
    return w.take();
  }

private:
  void expr(ExprId id) {
    if (id == kNoExpr)
      return w.null();
    const ExprNode &node = plan.nodes[id];
    if (node.op == ExprOp::Constant)
      return w.integer(node.value);
    w.open('[');
    w.item();
    w.string(operatorName(node.op));
    w.item();
    switch (node.op) {
    case ExprOp::Dim:
      w.string(plan.dims[node.lhs].name);
      break;
    case ExprOp::Parameter:
      w.string(plan.parameters[node.lhs].name);
      break;
    case ExprOp::Stride:
    case ExprOp::Address:
      w.string(plan.tensors[node.lhs].name);
      if (node.op == ExprOp::Stride) {
        w.item();
        w.integer(node.rhs);
      }
      break;
    default:
      expr(node.lhs);
      if (operandCount(node.op) == 2) {
        w.item();
        expr(node.rhs);
      }
      break;
    }
    w.close(']');
  }

  void conditions(const std::vector<Condition> &list) {
    w.array(list, [&](const Condition &condition) {
      w.open('{');
      w.key("expr");
      expr(condition.expr);
      w.key("text");
      w.string(condition.text);
      w.close('}');
    });
  }

  void binding(const BindingStep &step) {
    w.open('{');
    if (step.kind == BindingStep::Kind::FromExtent) {
      w.key("axis");
      w.integer(step.axis);
    }
    w.key("dim");
    w.string(plan.dims[step.dim].name);
    if (step.kind == BindingStep::Kind::Define) {
      w.key("is");
      expr(step.expr);
    } else {
      w.key("over");
      expr(step.expr);
      w.key("tensor");
      w.string(plan.tensors[step.tensor].name);
    }
    w.close('}');
  }

  void parameter(const ParameterSpec &spec) {
    w.open('{');
    if (spec.defaultBits) {
      w.key("default");
      w.hex(*spec.defaultBits);
    }
    w.key("dtype");
    w.string(name(spec.dtype));
    w.key("name");
    w.string(spec.name);
    w.close('}');
  }

  void tensor(const TensorSpec &spec) {
    w.open('{');
    w.key("align");
    w.integer(spec.align);
    w.key("dtype");
    w.string(name(spec.dtype));
    w.key("extents");
    w.array(spec.extents, [&](ExprId extent) { expr(extent); });
    if (spec.mayAlias >= 0) {
      w.key("may_alias");
      w.string(plan.tensors[spec.mayAlias].name);
    }
    w.key("name");
    w.string(spec.name);
    w.key("role");
    w.string(spec.isOutput ? "out" : "in");
    w.key("strides");
    w.array(spec.strides, [&](const std::optional<int64_t> &stride) {
      if (stride)
        w.integer(*stride);
      else
        w.null();
    });
    w.close('}');
  }

  void argument(const ArgumentSpec &spec) {
    w.open('[');
    w.item();
    switch (spec.kind) {
    case ArgumentSpec::Kind::Address:
      w.string("address");
      w.item();
      w.string(plan.tensors[spec.index].name);
      break;
    case ArgumentSpec::Kind::Parameter:
      w.string("parameter");
      w.item();
      w.string(plan.parameters[spec.index].name);
      break;
    case ArgumentSpec::Kind::I32:
    case ArgumentSpec::Kind::I64:
      w.string(spec.kind == ArgumentSpec::Kind::I32 ? "i32" : "i64");
      w.item();
      expr(spec.index);
      break;
    }
    w.close(']');
  }

  void variant(const Variant &v) {
    w.open('{');
    w.key("arguments");
    w.array(v.arguments, [&](const ArgumentSpec &spec) { argument(spec); });
    w.key("block");
    w.array(v.block, [&](ExprId id) { expr(id); });
    w.key("entry");
    w.string(v.entry);
    w.key("grid");
    w.array(v.grid, [&](ExprId id) { expr(id); });
    w.key("guards");
    conditions(v.guards);
    if (plan.each) {
      w.key("member_arguments");
      w.array(v.memberArguments, [&](const ArgumentSpec &spec) { argument(spec); });
      w.key("member_capacity");
      w.integer(v.memberCapacity);
    }
    w.key("name");
    w.string(v.name);
    w.key("shared_bytes");
    expr(v.sharedBytes);
    if (v.waits) {
      w.key("waits");
      w.boolean(true);
    }
    w.close('}');
  }

  const OperatorPlan &plan;
  Writer w;
};

} // namespace

std::string toJson(const OperatorPlan &plan) { return PlanWriter(plan).run(); }

} // namespace h3::plan
