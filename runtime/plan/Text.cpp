//===-- runtime/plan/Text.cpp - Plans and declines for people ---*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/plan/Plan.h"

namespace h3::plan {

namespace {

struct Spelling {
  const char *text;
  int precedence; ///< higher binds tighter; 0: written as a function
};

Spelling spelling(ExprOp op) {
  switch (op) {
  case ExprOp::Or:
    return {" or ", 1};
  case ExprOp::And:
    return {" and ", 2};
  case ExprOp::Not:
    return {"not ", 3};
  case ExprOp::Eq:
    return {" == ", 4};
  case ExprOp::Ne:
    return {" != ", 4};
  case ExprOp::Lt:
    return {" < ", 4};
  case ExprOp::Le:
    return {" <= ", 4};
  case ExprOp::Gt:
    return {" > ", 4};
  case ExprOp::Ge:
    return {" >= ", 4};
  case ExprOp::Add:
    return {" + ", 5};
  case ExprOp::Sub:
    return {" - ", 5};
  case ExprOp::Mul:
    return {" * ", 6};
  case ExprOp::FloorDiv:
    return {" floordiv ", 6};
  case ExprOp::FloorMod:
    return {" floormod ", 6};
  case ExprOp::Min:
    return {"min", 0};
  case ExprOp::Max:
    return {"max", 0};
  default:
    return {"", 0};
  }
}

/// `least` is the precedence the surroundings ask for; what binds less is put in parentheses.
void print(const OperatorPlan &plan, ExprId expr, int least, std::string &out) {
  const ExprNode &node = plan.nodes[expr];
  const Spelling op = spelling(node.op);
  switch (node.op) {
  case ExprOp::Constant:
    out += std::to_string(node.value);
    return;
  case ExprOp::Dim:
    out += plan.dims[node.lhs].name;
    return;
  case ExprOp::Stride:
    out += "stride(" + plan.tensors[node.lhs].name + ", " + std::to_string(node.rhs) + ")";
    return;
  case ExprOp::Address:
    out += "address(" + plan.tensors[node.lhs].name + ")";
    return;
  case ExprOp::Parameter:
    out += plan.parameters[node.lhs].name;
    return;
  case ExprOp::Min:
  case ExprOp::Max:
    out += std::string(op.text) + "(";
    print(plan, node.lhs, 0, out);
    out += ", ";
    print(plan, node.rhs, 0, out);
    out += ")";
    return;
  default:
    break;
  }
  const bool parentheses = op.precedence < least;
  if (parentheses)
    out += "(";
  if (node.op == ExprOp::Not) {
    out += op.text;
    print(plan, node.lhs, op.precedence, out);
  } else {
    // Operators group to the left; comparisons do not chain.
    print(plan, node.lhs, op.precedence + (op.precedence == 4), out);
    out += op.text;
    print(plan, node.rhs, op.precedence + 1, out);
  }
  if (parentheses)
    out += ")";
}

std::string hex(int64_t value) {
  static const char *digits = "0123456789abcdef";
  std::string text;
  auto bits = static_cast<uint64_t>(value);
  do
    text.insert(text.begin(), digits[bits & 15]);
  while (bits >>= 4);
  return "0x" + text;
}

std::string dtypeText(int64_t dtype) {
  if (dtype < 0 || dtype >= static_cast<int64_t>(DType::Other))
    return "of a type that no operator has";
  return std::string(name(static_cast<DType>(dtype)));
}

std::string count(int64_t number, const char *noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

/// Reads one decline against its plan.
class Describer {
public:
  Describer(const OperatorPlan &plan, const Decline &decline) : plan(plan), decline(decline) {}

  std::string sentence() const {
    const std::string f = std::to_string(decline.found);
    const std::string e = std::to_string(decline.expected);
    const std::string inAxis = " in axis " + std::to_string(decline.axis);
    switch (decline.detail) {
    case DeclineDetail::None:
      break;
    case DeclineDetail::TensorCount:
      return plan.name + " takes " + count(decline.expected, "tensor") + ", found " + f;
    case DeclineDetail::ParameterCount:
      return plan.name + " takes " + count(decline.expected, "parameter") + ", found " + f;
    case DeclineDetail::DTypeMismatch:
      return tensor() + " is " + dtypeText(decline.found) + ", the contract says " +
             dtypeText(decline.expected);
    case DeclineDetail::RankTooSmall:
      return tensor() + " has rank " + f + ", the contract says at least " + e;
    case DeclineDetail::RankTooLarge:
      return tensor() + " has rank " + f + ", the most that can be passed is " + e;
    case DeclineDetail::NotSingleElement:
      return tensor() + " has extent " + f + inAxis +
             " of the tensor passed, the contract says a single element";
    case DeclineDetail::NegativeExtent:
      return tensor() + " has extent " + f + inAxis +
             " of the tensor passed, the contract says 0 or more";
    case DeclineDetail::ExtentMismatch:
      return tensor() + " has extent " + f + inAxis + ", the contract says " + extentText(e);
    case DeclineDetail::ExtentNotDivisible:
      return tensor() + " has extent " + f + inAxis + ", the contract says " + extent() +
             ", a multiple of " + e;
    case DeclineDetail::DimUndetermined:
      return tensor() + " has extent " + f + inAxis + ", from which " + dim() +
             " cannot be found: the other factors of " + extent() + " are " + e;
    case DeclineDetail::NegativeStride:
      return tensor() + " has stride " + f + inAxis +
             " of the tensor passed, the contract says 0 or more";
    case DeclineDetail::NotCollapsible:
      return "axes " + std::to_string(decline.axis) + " and " + std::to_string(decline.index) +
             " of the tensor passed as " + tensor() + " do not merge into " +
             toText(plan, spec().extents[0]) + ": the stride" + inAxis + " is " + f +
             ", merging needs " + e;
    case DeclineDetail::StrideClause:
      return tensor() + " has stride " + f + inAxis + ", the contract says " + e;
    case DeclineDetail::ElementAlignment:
      return tensor() + " has address " + hex(decline.found) + ", " +
             std::string(name(spec().dtype)) + " needs a multiple of " +
             count(decline.expected, "byte");
    case DeclineDetail::AlignClause:
      return tensor() + " has address " + hex(decline.found) + ", the contract says align(" +
             std::to_string(spec().align) + "), a multiple of " + count(decline.expected, "byte");
    case DeclineDetail::SelfOverlap:
      return "elements of " + tensor() + " share an address, an output needs one for each";
    case DeclineDetail::Overlap:
      return tensor() + " overlaps " + other() + ", the contract keeps them apart";
    case DeclineDetail::AliasNotIdentical:
      return tensor() + " overlaps " + other() +
             " in part, the contract says the same address, extents and strides or none in common";
    case DeclineDetail::RequirementFailed:
      return plan.requirements[decline.index].text + " does not hold";
    case DeclineDetail::ParameterMissing:
      return parameter() + " is not given and has no default";
    case DeclineDetail::ParameterDType:
      return parameter() + " is " + dtypeText(decline.found) + ", the contract says " +
             dtypeText(decline.expected);
    case DeclineDetail::ParameterBits:
      return parameter() + " has bits " + hex(decline.found) + ", more than " +
             dtypeText(decline.expected) + " holds";
    case DeclineDetail::ElementCount:
      return tensor() + " has 2^63 elements or more";
    case DeclineDetail::ByteSpan:
      return tensor() + " spans 2^63 bytes or more, or passes the end of the address space";
    case DeclineDetail::ExtentOverflow:
      return extent() + ", the extent of " + tensor() + inAxis + ", overflows 64 bits";
    case DeclineDetail::DimOverflow:
      return "the value of " + dim() + " overflows 64 bits";
    case DeclineDetail::GridRange:
      return "the grid's " + direction() + variant() + " is " + f + ", the launch allows 0 to " + e;
    case DeclineDetail::BlockRange:
      return "the block's " + direction() + variant() + " is " + f + ", the launch allows 1 to " +
             e;
    case DeclineDetail::BlockThreads:
      return "a block" + variant() + " has " + f + " threads, the launch allows " + e;
    case DeclineDetail::SharedRange:
      return "the shared memory" + variant() + " is " + count(decline.found, "byte") +
             ", the launch allows 0 to " + e;
    case DeclineDetail::ArgumentRange:
      return "argument " + std::to_string(decline.axis) + variant() + " is " + f +
             ", more than i32 holds";
    case DeclineDetail::ExpressionOverflow:
      return "a launch size or argument" + variant() + " overflows 64 bits";
    case DeclineDetail::NoVariant:
      return "no variant of " + plan.name + " admits this call";
    case DeclineDetail::MemberOverlap:
      return tensor() + " of member " + std::to_string(decline.member) + " overlaps " + other() +
             " of member " + std::to_string(decline.otherMember) +
             ", the contract keeps members apart";
    case DeclineDetail::NoData:
      return tensor() + " has elements and no data: its address is 0";
    case DeclineDetail::OtherDevice:
      return tensor() + " is on " + device(decline.found) + ", the first tensor on " +
             device(decline.expected);
    case DeclineDetail::NoDeviceDriver:
      return tensor() + " is on " + device(decline.found) + ", for which there is no driver";
    }
    return std::string(meaning(decline.reason));
  }

private:
  const TensorSpec &spec() const { return plan.tensors[decline.tensor]; }
  const std::string &tensor() const { return spec().name; }
  const std::string &other() const { return plan.tensors[decline.index].name; }
  const std::string &dim() const { return plan.dims[decline.index].name; }
  const std::string &parameter() const { return plan.parameters[decline.index].name; }
  std::string extent() const { return toText(plan, spec().extents[decline.axis]); }
  std::string variant() const { return " of variant " + plan.variants[decline.index].name; }
  /// Of DLPack's device type in the upper half and its number in the lower.
  static std::string device(int64_t number) {
    return "device " + std::to_string(static_cast<int32_t>(number)) + " of DLPack type " +
           std::to_string(number >> 32);
  }
  std::string direction() const { return std::string(1, "xyz"[decline.axis]) + " extent"; }

  /// `r = 48`, or `48` where the contract has the number itself.
  std::string extentText(const std::string &value) const {
    std::string text = extent();
    return text == value ? value : text + " = " + value;
  }

  const OperatorPlan &plan;
  const Decline &decline;
};

} // namespace

std::string toText(const OperatorPlan &plan, ExprId expr) {
  std::string text;
  print(plan, expr, 0, text);
  return text;
}

std::string describe(const OperatorPlan &plan, const Decline &decline) {
  std::string where;
  if (decline.member >= 0 && decline.otherMember < 0)
    where = "member " + std::to_string(decline.member) + ": ";
  return "declined: " + std::string(name(decline.reason)) + ": " + where +
         Describer(plan, decline).sentence();
}

} // namespace h3::plan
