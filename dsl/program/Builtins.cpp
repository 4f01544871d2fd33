//===-- dsl/program/Builtins.cpp - The closed list of builtins ------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/program/Builtins.h"

#include <map>

namespace h3 {

namespace {

using Group = BuiltinFunction::Group;
using Table = std::map<std::string, BuiltinFunction, std::less<>>;

Table makeTable() {
  Table table{
      {"fma", {Group::Float, 3, Builtin::Fma}},
      {"sqrt", {Group::Float, 1, Builtin::Sqrt}},
      {"abs", {Group::Float, 1, Builtin::Abs}},
      {"copysign", {Group::Float, 2, Builtin::Copysign}},
      {"max", {Group::Number, 2, Builtin::Max}},
      {"min", {Group::Number, 2, Builtin::Min}},
      {"max.num", {Group::Number, 2, Builtin::MaxNum}},
      {"min.num", {Group::Number, 2, Builtin::MinNum}},
      {"shl", {Group::Shift, 2, Builtin::Shl}},
      {"shr", {Group::Shift, 2, Builtin::Shr}},
      {"rsqrt.approx", {Group::Approximation, 1, Builtin::RsqrtApprox}},
      {"ex2.approx.ftz", {Group::Approximation, 1, Builtin::Ex2ApproxFtz}},
      {"rcp.approx.ftz", {Group::Approximation, 1, Builtin::RcpApproxFtz}},
      {"sqrt.approx", {Group::Approximation, 1, Builtin::SqrtApprox}},
      {"index", {Group::Index, 1}},
  };
  const std::pair<const char *, Rounding> directions[] = {
      {".rm", Rounding::Down}, {".rp", Rounding::Up}, {".rz", Rounding::TowardZero}};
  const std::pair<const char *, BuiltinFunction> directed[] = {
      {"add", {Group::Float, 2, Builtin::Add}}, {"sub", {Group::Float, 2, Builtin::Sub}},
      {"mul", {Group::Float, 2, Builtin::Mul}}, {"div", {Group::Float, 2, Builtin::Div}},
      {"fma", {Group::Float, 3, Builtin::Fma}}, {"sqrt", {Group::Float, 1, Builtin::Sqrt}}};
  for (const auto &[suffix, rounding] : directions)
    for (auto [base, function] : directed) {
      function.rounding = rounding;
      table[std::string(base) + suffix] = function;
    }
  for (ScalarType type : {ScalarType::I32, ScalarType::I64, ScalarType::F16, ScalarType::BF16,
                          ScalarType::F32, ScalarType::F64, ScalarType::E4M3, ScalarType::E5M2}) {
    std::string base(name(type));
    BuiltinFunction conversion{Group::Conversion, 1};
    conversion.type = type;
    table[base] = conversion;
    if (isInteger(type)) {
      BuiltinFunction bits{Group::ToBits, 1, Builtin::ToBits};
      bits.type = type;
      table[base + ".bits"] = bits;
      continue;
    }
    BuiltinFunction other = conversion;
    other.rounding = Rounding::TowardZero;
    table[base + ".rz"] = other;
    if (hasFloatArithmetic(type)) {
      BuiltinFunction bits{Group::FromBits, 1, Builtin::FromBits};
      bits.type = type;
      table[base + ".bits"] = bits;
    } else {
      other = conversion;
      other.saturate = true;
      table[base + ".sat"] = other;
    }
  }
  return table;
}

const Table &table() {
  static const Table made = makeTable();
  return made;
}

} // namespace

std::optional<BuiltinFunction> builtinNamed(std::string_view name) {
  auto found = table().find(name);
  if (found == table().end())
    return std::nullopt;
  return found->second;
}

std::span<const std::string> builtinNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto &[name, function] : table())
      all.push_back(name);
    return all;
  }();
  return names;
}

bool isBuiltinName(std::string_view name) {
  return table().contains(name) || scalarTypeNamed(name).has_value();
}

} // namespace h3
