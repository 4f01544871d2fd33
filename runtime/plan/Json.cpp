//===-- runtime/plan/Json.cpp - The canonical JSON of a plan ----*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/json/Writer.h"
#include "runtime/plan/OperatorNames.h"
#include "runtime/plan/Plan.h"

namespace h3::plan {

namespace {

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
    w.string(jsonName(node.op));
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
    w.close('}');
  }

  const OperatorPlan &plan;
  json::Writer w;
};

} // namespace

std::string toJson(const OperatorPlan &plan) { return PlanWriter(plan).run(); }

} // namespace h3::plan
