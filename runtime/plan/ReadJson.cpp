//===-- runtime/plan/ReadJson.cpp - A plan from its canonical JSON --------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/json/Fields.h"
#include "runtime/plan/OperatorNames.h"
#include "runtime/plan/Plan.h"

#include <charconv>
#include <map>
#include <tuple>

namespace h3::plan {

namespace {

class PlanReader {
public:
  Result<OperatorPlan, JsonError> run(const json::Value &value) {
    readPlan(value);
    if (problem.isEmpty())
      if (std::string error = verify(plan); !error.empty())
        problem.report("the plan is not well-formed", error);
    if (!problem.isEmpty())
      return JsonError{problem.message()};
    return std::move(plan);
  }

private:
  using Fields = json::Fields;
  using Value = json::Value;

  /// In two passes: expressions name dims, tensors and parameters that stand behind them.
  void readPlan(const Value &value) {
    Fields fields(value, "", problem);
    const auto bindings = fields.array("bindings"), dims = fields.array("dims");
    if (const std::optional<Value> each = fields.takeOptional("each")) {
      plan.each = each->boolean().value_or(false);
      if (!plan.each)
        fields.report("'each' is true or not there");
    }
    plan.name = fields.string("name");
    const auto parameters = fields.array("parameters"), requirements = fields.array("requirements"),
               tensors = fields.array("tensors"), types = fields.array("type_arguments"),
               variants = fields.array("variants");
    fields.finish();
    if (!problem.isEmpty())
      return;
    readDims(*dims);
    readParameters(*parameters);
    readTensorNames(*tensors);
    if (!problem.isEmpty())
      return;
    for (const Value &type : *types)
      plan.typeArguments.push_back(text(type, "a type argument"));
    readTensors(*tensors);
    readBindings(*bindings);
    readConditions(*requirements, "requirement", plan.requirements);
    for (const Value &variant : *variants)
      readVariant(variant);
  }

  std::string text(const Value &value, const std::string &what) {
    if (!value.string())
      problem.report("", what + " is " + std::string(nameOf(value.kind())) + ", expected a string");
    return std::string(value.string().value_or(""));
  }

  template <typename List> static std::string numbered(const char *what, const List &list) {
    return std::string(what) + " " + std::to_string(list.size());
  }

  /// Names are how expressions refer to things.
  void define(std::map<std::string, uint32_t, std::less<>> &names, const char *what,
              const std::string &name) {
    if (!names.emplace(name, static_cast<uint32_t>(names.size())).second)
      problem.report("", std::string(what) + " '" + name + "' is there twice");
  }

  uint32_t resolve(const std::map<std::string, uint32_t, std::less<>> &names, const char *what,
                   const std::string &name) {
    const auto found = names.find(name);
    if (found != names.end())
      return found->second;
    problem.report("", "there is no " + std::string(what) + " '" + name + "'");
    return 0;
  }

  void readDims(const Value &list) {
    for (const Value &value : list) {
      Fields fields(value, numbered("dim", plan.dims), problem);
      DimSpec dim;
      if (std::optional<Value> fixed = fields.takeOptional("fixed")) {
        dim.fixed = fixed->integer();
        if (!dim.fixed)
          fields.report("'fixed' is no number");
      }
      dim.name = fields.string("name");
      fields.finish();
      define(dimNames, "dim", dim.name);
      plan.dims.push_back(std::move(dim));
    }
  }

  DType readType(Fields &fields) {
    const std::string name = fields.string("dtype");
    const std::optional<DType> type = dtypeNamed(name);
    if (!type)
      fields.report("there is no type '" + name + "'");
    return type.value_or(DType::F32);
  }

  void readParameters(const Value &list) {
    for (const Value &value : list) {
      Fields fields(value, numbered("parameter", plan.parameters), problem);
      ParameterSpec spec;
      if (std::optional<Value> bits = fields.takeOptional("default"))
        spec.defaultBits = hex(bits->string().value_or(""), fields);
      spec.dtype = readType(fields);
      spec.name = fields.string("name");
      fields.finish();
      define(parameterNames, "parameter", spec.name);
      plan.parameters.push_back(std::move(spec));
    }
  }

  /// Hexadecimal digits in lower case, without leading zeros.
  uint64_t hex(std::string_view digits, Fields &fields) {
    uint64_t bits = 0;
    const char *end = digits.data() + digits.size();
    const auto [stop, code] = std::from_chars(digits.data(), end, bits, 16);
    const bool isShortest = !digits.empty() && (digits[0] != '0' || digits.size() == 1);
    const bool isLower = digits.find_first_of("ABCDEF") == std::string_view::npos;
    if (code != std::errc() || stop != end || !isShortest || !isLower)
      fields.report("'default' is no hexadecimal number in its shortest form");
    return bits;
  }

  void readTensorNames(const Value &list) {
    for (const Value &value : list) {
      const std::optional<Value> name = value.find("name");
      define(tensorNames, "tensor", std::string(name ? name->string().value_or("") : ""));
      plan.tensors.emplace_back();
    }
  }

  void readTensors(const Value &list) {
    size_t index = 0;
    for (const Value &value : list) {
      TensorSpec &spec = plan.tensors[index];
      Fields fields(value, "tensor " + std::to_string(index++), problem);
      spec.align = fields.integer("align", 1, INT64_MAX);
      spec.dtype = readType(fields);
      if (std::optional<Value> extents = fields.array("extents"))
        for (const Value &extent : *extents)
          spec.extents.push_back(expr(extent));
      if (std::optional<Value> alias = fields.takeOptional("may_alias"))
        spec.mayAlias = static_cast<int16_t>(
            resolve(tensorNames, "tensor", text(*alias, "'may_alias' of a tensor")));
      spec.name = fields.string("name");
      const std::string role = fields.string("role");
      if (role != "in" && role != "out")
        fields.report("'role' is '" + role + "', expected 'in' or 'out'");
      spec.isOutput = role == "out";
      if (std::optional<Value> strides = fields.array("strides"))
        for (const Value &stride : *strides) {
          if (!stride.isNull() && !stride.integer())
            fields.report("a stride is " + std::string(nameOf(stride.kind())) +
                          ", expected a number or null");
          spec.strides.push_back(stride.integer());
        }
      fields.finish();
    }
  }

  void readBindings(const Value &list) {
    for (const Value &value : list) {
      Fields fields(value, numbered("binding", plan.bindings), problem);
      BindingStep step;
      const bool isExtent = value.find("axis").has_value();
      if (isExtent)
        step.axis = static_cast<uint16_t>(fields.integer("axis", 0, kMaxRank - 1));
      step.dim = static_cast<uint16_t>(resolve(dimNames, "dim", fields.string("dim")));
      if (isExtent) {
        if (std::optional<Value> over = fields.take("over"))
          step.expr = optionalExpr(*over);
        step.tensor =
            static_cast<uint16_t>(resolve(tensorNames, "tensor", fields.string("tensor")));
      } else {
        step.kind = BindingStep::Kind::Define;
        if (std::optional<Value> is = fields.take("is"))
          step.expr = optionalExpr(*is);
      }
      fields.finish();
      plan.bindings.push_back(step);
    }
  }

  void readConditions(const Value &list, const char *what, std::vector<Condition> &conditions) {
    for (const Value &value : list) {
      Fields fields(value, numbered(what, conditions), problem);
      Condition condition;
      if (std::optional<Value> tree = fields.take("expr"))
        condition.expr = expr(*tree);
      condition.text = fields.string("text");
      fields.finish();
      conditions.push_back(std::move(condition));
    }
  }

  void readVariant(const Value &value) {
    Fields fields(value, numbered("variant", plan.variants), problem);
    Variant variant;
    readArguments(fields, "arguments", variant.arguments);
    readSizes(fields, "block", variant.block);
    variant.entry = fields.string("entry");
    readSizes(fields, "grid", variant.grid);
    if (std::optional<Value> guards = fields.array("guards"))
      readConditions(*guards, "guard", variant.guards);
    if (plan.each) {
      readArguments(fields, "member_arguments", variant.memberArguments);
      variant.memberCapacity =
          static_cast<uint32_t>(fields.integer("member_capacity", 0, kMaxMembers));
    }
    variant.name = fields.string("name");
    if (std::optional<Value> shared = fields.take("shared_bytes"))
      variant.sharedBytes = optionalExpr(*shared);
    fields.finish();
    plan.variants.push_back(std::move(variant));
  }

  void readSizes(Fields &fields, const char *name, std::array<ExprId, 3> &sizes) {
    const std::optional<Value> list = fields.array(name);
    if (!list)
      return;
    if (list->size() != 3)
      return fields.report("'" + std::string(name) + "' has " + std::to_string(list->size()) +
                           " sizes, expected 3");
    size_t i = 0;
    for (const Value &size : *list)
      sizes[i++] = optionalExpr(size);
  }

  void readArguments(Fields &fields, const char *name, std::vector<ArgumentSpec> &arguments) {
    const std::optional<Value> list = fields.array(name);
    if (!list)
      return;
    for (const Value &value : *list) {
      if (value.kind() != json::Kind::Array || value.size() != 2)
        return fields.report("an argument is no pair");
      Value::Iterator part = value.begin();
      const std::string kind = text(*part, "an argument's kind");
      ++part;
      ArgumentSpec &spec = arguments.emplace_back();
      if (kind == "address") {
        spec.index = resolve(tensorNames, "tensor", text(*part, "an argument"));
      } else if (kind == "parameter") {
        spec.kind = ArgumentSpec::Kind::Parameter;
        spec.index = resolve(parameterNames, "parameter", text(*part, "an argument"));
      } else if (kind == "i32" || kind == "i64") {
        spec.kind = kind == "i32" ? ArgumentSpec::Kind::I32 : ArgumentSpec::Kind::I64;
        spec.index = expr(*part);
      } else {
        return fields.report("there is no argument of kind '" + kind + "'");
      }
    }
  }

  ExprId optionalExpr(const Value &value) { return value.isNull() ? kNoExpr : expr(value); }

  /// Appends the nodes of an expression. No deeper than the document, which has a limit.
  ExprId expr(const Value &value) {
    ExprNode node;
    if (const std::optional<int64_t> constant = value.integer()) {
      node.value = *constant;
      return append(node);
    }
    const size_t parts = value.kind() == json::Kind::Array ? value.size() : 0;
    std::optional<ExprOp> op;
    if (parts) {
      const std::optional<std::string_view> name = (*value.begin()).string();
      op = opNamed(name.value_or(""));
    }
    if (!op)
      return bad("expected an expression: a number, or an array that begins with an operation");
    node.op = *op;
    const bool isStride = node.op == ExprOp::Stride;
    const size_t expected = 1 + std::max(1u, isStride ? 2u : operandCount(node.op));
    if (parts != expected)
      return bad("'" + std::string(jsonName(node.op)) + "' has " + std::to_string(parts - 1) +
                 " operands, expected " + std::to_string(expected - 1));
    Value::Iterator part = value.begin();
    ++part;
    if (operandCount(node.op) == 0) {
      const std::string name =
          text(*part, "an operand of '" + std::string(jsonName(node.op)) + "'");
      if (node.op == ExprOp::Dim)
        node.lhs = resolve(dimNames, "dim", name);
      else if (node.op == ExprOp::Parameter)
        node.lhs = resolve(parameterNames, "parameter", name);
      else
        node.lhs = resolve(tensorNames, "tensor", name);
      if (isStride) {
        ++part;
        const int64_t axis = (*part).integer().value_or(-1);
        if (axis < 0 || axis >= kMaxRank)
          return bad("a stride has no axis that a tensor can have");
        node.rhs = static_cast<uint32_t>(axis);
      }
      return append(node);
    }
    node.lhs = expr(*part);
    if (operandCount(node.op) == 2) {
      ++part;
      node.rhs = expr(*part);
    }
    return append(node);
  }

  ExprId bad(const std::string &what) {
    problem.report("", what);
    return 0;
  }

  /// Equal nodes are shared, as they were when the plan was made.
  ExprId append(const ExprNode &node) {
    const auto [known, isNew] = nodes.emplace(std::tuple(node.op, node.lhs, node.rhs, node.value),
                                              static_cast<ExprId>(plan.nodes.size()));
    if (isNew)
      plan.nodes.push_back(node);
    return known->second;
  }

  OperatorPlan plan;
  json::Problem problem;
  std::map<std::string, uint32_t, std::less<>> dimNames, parameterNames, tensorNames;
  std::map<std::tuple<ExprOp, uint32_t, uint32_t, int64_t>, ExprId> nodes;
};

} // namespace

Result<OperatorPlan, JsonError> fromJson(const json::Value &value) {
  return PlanReader().run(value);
}

} // namespace h3::plan
