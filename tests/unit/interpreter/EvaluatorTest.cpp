//===-- tests/unit/interpreter/EvaluatorTest.cpp --------------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The evaluator over a domain that knows no data: values are texts of terms, conditions on data
// cannot be decided, and data that is an index may be any.
//
//===----------------------------------------------------------------------===//

#include "SpecCall.h"

#include "dsl/interpreter/Evaluator.h"
#include "dsl/interpreter/Resolved.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

using namespace h3;
using namespace h3::interpreter;
using namespace h3::test;

namespace {

struct TextDomain {
  using Value = std::string;
  const Program &program;
  std::map<std::string, std::string> stored;

  Value literal(ScalarType type, Bits bits) {
    return isFloat(type) ? fmt::format("0x{:X}", bits) : std::to_string(int64_t(bits));
  }
  Value parameter(unsigned id) { return program.parameters[id].name; }
  Value load(unsigned tensor, int64_t offset) {
    return fmt::format("{}{}", program.tensors[tensor].name, offset);
  }
  void store(unsigned tensor, int64_t offset, const Value &value) {
    stored[fmt::format("{}{}", program.tensors[tensor].name, offset)] = value;
  }
  Value operation(const Operation &operation, const Value *operands) {
    Value text = std::string(spelling(operation.op)) + "(";
    for (unsigned k = 0; k < operandCount(operation.op); ++k)
      text += (k == 0 ? "" : ", ") + operands[k];
    return text + ")";
  }
  Value convert(const Conversion &conversion, const Value &operand) {
    return fmt::format("{}({})", name(conversion.to), operand);
  }
  Value select(ScalarType, const Value &condition, const Value &then, const Value &otherwise) {
    return fmt::format("({} ? {} : {})", condition, then, otherwise);
  }
  std::optional<bool> decide(const Value &) { return std::nullopt; }
  std::optional<int64_t> integer(ScalarType, const Value &) { return std::nullopt; }
};

std::map<std::string, std::string> terms(const std::string &text, const std::vector<int64_t> &dims,
                                         const std::vector<std::vector<int64_t>> &strides) {
  Spec spec(text);
  std::string error;
  std::unique_ptr<Resolved> resolved = resolve(*spec.program, dims, strides, error);
  EXPECT_EQ(error, "");
  TextDomain domain{*spec.program, {}};
  EXPECT_EQ(Evaluator<TextDomain>(*resolved, domain).run(), std::nullopt);
  return domain.stored;
}

using Terms = std::map<std::string, std::string>;

TEST(Evaluator, IndicesAreNumbersAndDataAreTerms) {
  // Element 2 takes a step that a condition on its index decides.
  EXPECT_EQ(terms(R"(
order tree = (_, lane: 2) then halving lane
op o(eps: f32) {
  dim rows, n
  in x: f32[rows, n]
  out y: f32[rows]
  y[t] = reduce i: n by tree
    from s: f32 = eps
    step s = if i == 2 then s else fma(x[t, i], f32(n), s)
    join (a, b) = a + b
})",
                  {2, 3}, {{10, 1}, {1}}),
            (Terms{{"y0", "+(fma(x0, f32(3), eps), fma(x1, f32(3), eps))"},
                   {"y1", "+(fma(x10, f32(3), eps), fma(x11, f32(3), eps))"}}));
}

TEST(Evaluator, ConditionsOnDataSelect) {
  EXPECT_EQ(terms(R"(
record Pair { a: f32, b: f32 }
op o {
  dim n
  in x: f32[n]
  out y, z: f32[n]
  for i: n {
    let p = if x[i] < 0.0 then Pair(a = x[i], b = 0.0) else Pair(a = 0.0, b = x[i])
    y[i] = if i < 1 and n < 2 then p.a else -p.b
    z[i] = if i == 0 then p.a else p.b
  }
})",
                  {1}, {{1}, {1}, {1}}),
            (Terms{{"y0", "(<(x0, 0x0) ? x0 : 0x0)"}, {"z0", "(<(x0, 0x0) ? x0 : 0x0)"}}));
}

TEST(Evaluator, ChoiceBetweenRowsSelectsElements) {
  EXPECT_EQ(terms(R"(
op o {
  dim n
  require n >= 1
  in x: f32[n]
  out y: f32[n]
  let a[i: n] = -x[i]
  let v = if x[0] < 1.0 then a else x
  y[i] = v[n - 1 - i]
})",
                  {2}, {{1}, {1}}),
            (Terms{{"y0", "(<(x0, 0x3F800000) ? -(x1) : x1)"},
                   {"y1", "(<(x0, 0x3F800000) ? -(x0) : x0)"}}));
}

TEST(Evaluator, AnIndexThatIsDataSelectsAmongAllOrNothing) {
  EXPECT_EQ(terms(R"(
op o {
  dim n, kinds, m
  in table: f16[kinds, m]
  in kind: i32[n]
  out y: f16[n, m]
  y[t, j] = table[index(kind[t]), j]
})",
                  {1, 2, 1}, {{8, 1}, {1}, {1, 1}}),
            (Terms{{"y0", "(==(kind0, 1) ? table8 : (==(kind0, 0) ? table0 : 0x7FFF))"}}));
}

} // namespace
