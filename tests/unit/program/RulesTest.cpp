//===-- tests/unit/program/RulesTest.cpp - The static rules of the language -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "dsl/program/Dump.h"
#include "tests/unit/program/AnalysedText.h"

#include <gtest/gtest.h>

namespace h3::test {
namespace {

std::string value(const std::string &body, const std::string &type = "f32",
                  const std::string &result = "f32", const std::string &items = "") {
  return firstValue(AnalysedText(elementwise(body, type, result, items)));
}

std::string message(const std::string &body, const std::string &type = "f32",
                    const std::string &result = "f32", const std::string &items = "") {
  return AnalysedText(elementwise(body, type, result, items)).message();
}

const std::string lanes = "order lanes = (_, lane: 32) then halving lane\n";

// ---- 1. Types.

TEST(Types, AConversionToTheSameTypeIsTheIdentity) {
  EXPECT_EQ(value("y[r, i] = f32(x[r, i])"), "x[r.0, i.1]");
  EXPECT_EQ(value("y[r, i] = f32(f16(x[r, i]))"), "f32(f16(x[r.0, i.1]))") << "not folded";
  EXPECT_EQ(value("y[r, i] = e5m2.sat(x[r, i])", "e5m2", "e5m2"), "x[r.0, i.1]");
}

TEST(Types, Conversions) {
  EXPECT_EQ(value("y[r, i] = f16.rz(x[r, i])", "f32", "f16"), "f16.rz(x[r.0, i.1])");
  EXPECT_EQ(value("y[r, i] = e4m3.sat(x[r, i])", "f32", "e4m3"), "e4m3.sat(x[r.0, i.1])");
  EXPECT_EQ(value("y[r, i] = i32(x[r, i])", "i64", "i32"), "i32(x[r.0, i.1])");
  EXPECT_EQ(value("y[r, i] = f32(n) * f32(i)"), "*(f32(size(n)), f32(i.1))");
  EXPECT_EQ(value("y[r, i] = i32.bits(x[r, i])", "bf16", "i32"), "i32.bits(x[r.0, i.1])");
  EXPECT_EQ(value("y[r, i] = f64.bits(i64.bits(x[r, i]))", "f64", "f64"),
            "f64.bits(i64.bits(x[r.0, i.1]))");
  EXPECT_EQ(message("y[r, i] = i64.bits(x[r, i])", "f32", "i64"),
            "`i64.bits` takes f64, found f32");
  EXPECT_EQ(message("y[r, i] = i32(x[r, i])", "f32", "i32"),
            "there is no conversion from f32 to i32");
  EXPECT_EQ(message("y[r, i] = bool(x[r, i])"), "there is no conversion to bool");
}

TEST(Types, DirectedRounding) {
  EXPECT_EQ(value("y[r, i] = add.rm(x[r, i], 1.0)"), "+.rm(x[r.0, i.1], 1:f32)");
  EXPECT_EQ(value("y[r, i] = fma.rz(x[r, i], x[r, i], x[r, i])"),
            "fma.rz(x[r.0, i.1], x[r.0, i.1], x[r.0, i.1])");
  EXPECT_EQ(value("y[r, i] = sqrt.rp(x[r, i])"), "sqrt.rp(x[r.0, i.1])");
}

TEST(Types, NoArithmeticOnEightBitsAndBools) {
  EXPECT_EQ(message("y[r, i] = x[r, i] + x[r, i]", "e5m2", "e5m2"), "`+` has no meaning on e5m2");
  EXPECT_EQ(message("y[r, i] = abs(x[r, i])", "e4m3", "e4m3"),
            "`abs` takes f16, bf16, f32 or f64, found e4m3");
  EXPECT_EQ(message("y[r, i] = -x[r, i]", "e4m3", "e4m3"), "`-` has no meaning on e4m3");
  EXPECT_EQ(value("y[r, i] = x[r, i]", "e4m3", "e4m3"), "x[r.0, i.1]");
}

TEST(Types, IntegersWrapAndShift) {
  EXPECT_EQ(value("y[r, i] = shl(x[r, i] * 3, 4) - shr(x[r, i], 1)", "i32", "i32"),
            "-(shl(*(x[r.0, i.1], 3:i32), 4:i32), shr(x[r.0, i.1], 1:i32))");
  EXPECT_EQ(value("y[r, i] = max(x[r, i], 0)", "i64", "i64"), "max(x[r.0, i.1], 0:i64)");
  EXPECT_EQ(message("y[r, i] = x[r, i] / 2", "i32", "i32"),
            "`/` of i32 divides sizes only, by a positive integer");
}

TEST(Types, RowsAreChosenWhole) {
  EXPECT_EQ(value("y[r] = if n > 4 then x[r] else [i: n] 0.0"),
            "if(>(size(n), 4:i64), x[r.0], [i.1: n] 0:f32)");
  EXPECT_EQ(value("y[r] = [i: n] (if r == 0 then x[r] else x[r])[i]"),
            "[i.1: n] if(==(r.0, 0:i64), x[r.0], x[r.0])[i.1]");
}

// ---- 3. Names.

TEST(Names, AFunctionSeesItsOwn) {
  EXPECT_EQ(message("let c = x[r, 0]\n  y[r, i] = g(x[r, i])", "f32", "f32",
                    "fn g(a: f32) -> f32 = a * c\n"),
            "unknown name `r`")
      << "an equation's places are not in scope above it";
  EXPECT_EQ(message("y[r, i] = g(x[r, i])", "f32", "f32", "fn g(a: f32) -> f32 = a * i\n"),
            "unknown name `i`");
  EXPECT_EQ(value("y[r, i] = g(x[r, i])", "f32", "f32", "fn g(i: f32) -> f32 = i + i\n"),
            "{\n  let %i0: f32 = x[r.0, i.1]\n  give +(%i0, %i0)\n}")
      << "names of the caller do not matter";
}

TEST(Names, ScopesEnd) {
  EXPECT_EQ(message("for r: rows {\n    let a = 2.0 * f32(r)\n    y[r, i] = x[r, i] * a\n  }\n"
                    "  let a = f32(n)"),
            "");
  EXPECT_EQ(message("let a[i: rows] = f32(i)\n  let b[i: rows] = a[i]\n  y[r, i] = b[r]"), "");
}

// ---- 4. Dims.

std::string dims(const std::string &text) {
  AnalysedText analysed(text);
  if (!analysed.program)
    return analysed.errors();
  std::string all = dump(*analysed.program), found;
  for (size_t at = all.find("  dim "); at != std::string::npos; at = all.find("  dim ", at + 1))
    found += all.substr(at + 2, all.find('\n', at) - at - 2) + ";";
  return found;
}

TEST(Dims, AloneBeforeProductsBeforeOutputs) {
  EXPECT_EQ(dims("op f { dim a, b in x: f32[a * b] in z: f32[b] out y: f32[a, b] y[i, j] = z[j] }"),
            "dim b from z axis 0;dim a from x axis 0 by b;");
  EXPECT_EQ(dims("op f { dim a, b in x: f32[a * b] out y: f32[a] y[i] = 1.0 }"),
            "dim a from y axis 0;dim b from x axis 0 by a;");
  EXPECT_EQ(dims("op f { dim a in x: f32[4 * a * 2] out y: f32[a] y[i] = 1.0 }"),
            "dim a from x axis 0 by 8;");
  EXPECT_EQ(dims("op f { dim a, b = 3 in x: f32[b, a] out y: f32[a] y[i] = x[2, i] }"),
            "dim b = 3;dim a from x axis 1;");
  EXPECT_EQ(dims("op f { dim a, half = a / 2 in x: f32[a] in z: f32[half] out y: f32[half]\n"
                 "y[i] = x[i] + z[i] }"),
            "dim half = a / 2;dim a from x axis 0;");
}

TEST(Dims, SquaresAndSumsDoNotBind) {
  EXPECT_NE(dims("op f { dim a in x: f32[a * a] out y: f32[1] y[i] = 1.0 }")
                .find("no tensor determines dim `a`"),
            std::string::npos);
  EXPECT_NE(dims("op f { dim a in x: f32[a + 1] out y: f32[1] y[i] = 1.0 }")
                .find("no tensor determines dim `a`"),
            std::string::npos);
}

TEST(Dims, ExtentsOfFunctionsBindNamesWithFactors) {
  std::string items = "fn pick(v: f32[m], k: f32[m]) -> f32[m] = [j: m] v[j] + k[j]\n"
                      "fn digits(v: f32[a * b]) -> f32 = v[(0, 0)]\n"
                      "fn some(v: f32[m]) -> f32 = if m >= 1 then v[0] else 0.0\n";
  EXPECT_EQ(message("y[r] = pick(x[r], x[r])", "f32", "f32", items), "");
  EXPECT_EQ(
      value("y[r, i] = digits([(p: 3, q: 5)] f32(p))", "f32", "f32", items),
      "{\n  let %v0: f32[15] = [(p.2: 3, q.3: 5)] f32(p.2)\n  give %v0[(0:i64:3, 0:i64:5)]\n}");
  EXPECT_EQ(message("y[r, i] = digits(x[r])", "f32", "f32", items), "unknown name `a`");
}

TEST(Dims, EqualByRequirementIsEnough) {
  std::string text = "fn dot(v: f32[m], k: f32[m]) -> f32[m] = [j: m] v[j] * k[j]\n"
                     "op f { dim n, m REQUIRE in x: f32[n] in z: f32[m] out y: f32[n]\n"
                     "y = dot(x, z) }";
  AnalysedText without(std::string(text).replace(text.find("REQUIRE"), 7, ""));
  EXPECT_EQ(without.message(), "extent `m` of `k` is n, but argument `z` has m");
  AnalysedText with(std::string(text).replace(text.find("REQUIRE"), 7, "require n == m"));
  EXPECT_EQ(with.errors(), "");
}

// ---- 5 and 6. Digits and ranges.

TEST(Ranges, ConditionsAndRequirements) {
  EXPECT_EQ(message("y[r, i] = if i + 1 < n then x[r, i + 1] else x[r, i]"), "");
  EXPECT_EQ(message("y[r, i] = if i + 1 >= n then x[r, i] else x[r, i + 1]"), "");
  EXPECT_EQ(message("y[r, i] = if not (i == 0) then x[r, i - 1] else x[r, i]"), "");
  EXPECT_EQ(
      message("y[r, i] = if i >= 1 and i < n - 1 then x[r, i + 1] * x[r, i - 1] else x[r, i]"), "");
  EXPECT_EQ(message("y[r, i] = if i < 1 or i >= n - 1 then x[r, i] else x[r, i + 1] * x[r, i - 1]"),
            "");
  EXPECT_EQ(message("let s = n - 1\n  y[r, i] = x[r, s - i]"), "");
  EXPECT_EQ(message("y[r, i] = x[r, n - i]"),
            "cannot show that index `n - i` of `x` is less than the extent n");
  EXPECT_EQ(message("require n >= 4\n  y[r, i] = x[r, 3]"), "");
  EXPECT_EQ(message("require n >= 4 and rows >= 2\n  y[r, i] = x[1, 3]"), "");
}

TEST(Ranges, ConditionsThroughNames) {
  EXPECT_EQ(message("for r: rows {\n let inside[i: n] = i + 1 < n\n"
                    "y[r] = [i: n] if inside[i] then x[r, i] else 0.0 }"),
            "");
  EXPECT_EQ(message("let small = n < 4\n  y[r, i] = if small then x[r, i] else x[r, 3]"), "");
  EXPECT_EQ(
      message("y[r, i] = after(x[r], i)", "f32", "f32",
              "fn after(v: f32[m], k: i64) -> f32 = if k >= 0 and k < m - 1 then v[k + 1] else "
              "0.0\n"),
      "");
}

TEST(Ranges, HalvesAndRemainders) {
  std::string half = "y[r, i] = if i < n / 2 then x[r, i + n / 2] else ";
  EXPECT_EQ(message(half + "x[r, i - n / 2]"), "");
  EXPECT_EQ(message("require n >= 2\n  " + half + "x[r, i + 1 - n / 2]"), "");
  EXPECT_EQ(message(half + "x[r, i + 1 - n / 2]"),
            "cannot show that index `i + 1 - n / 2` of `x` is less than the extent n")
      << "with one element, half of them is 0";
}

TEST(Ranges, WrittenDigits) {
  std::string text = "op f { dim rows, d in x: f32[rows, 2 * d] out y: f32[rows, d]\n"
                     "y[r, i] = x[r, (DIGIT, i)] }";
  for (const char *good : {"0", "1"})
    EXPECT_EQ(AnalysedText(std::string(text).replace(text.find("DIGIT"), 5, good)).errors(), "");
  EXPECT_EQ(AnalysedText(std::string(text).replace(text.find("DIGIT"), 5, "2")).message(),
            "index `2` of `x` is never less than the extent 2");
}

TEST(Ranges, ADimWithAProductIsOneFactorInsideALargerOne) {
  std::string text = "op f { dim a, b, row = a * b in w: f32[a] in x: f32[row] in z: f32[2 * row]\n"
                     "out y: f32[row] y[(i, j)] = x[(i, j)] + z[DIGITS] }";
  auto with = [&](const std::string &digits) {
    return AnalysedText(std::string(text).replace(text.find("DIGITS"), 6, digits)).message();
  };
  EXPECT_EQ(with("(1, 0)"), "cannot show that index `0` of `z` is less than the extent a * b")
      << "there may be no element, but here i and j exist";
  EXPECT_EQ(with("(1, i, j)"), "an index of `z` has 2 digits here (2, a * b), found 3");
}

TEST(Ranges, FactsReachIntoFunctions) {
  std::string items = "fn at(v: f32[m], k: i64) -> f32 = v[k]\n";
  EXPECT_EQ(message("y[r, i] = if i > 0 then at(x[r], i - 1) else 0.0", "f32", "f32", items), "");
  EXPECT_EQ(message("y[r, i] = at(x[r], i - 1)", "f32", "f32", items),
            "cannot show that index `k` of `v`, which is i - 1, is at least 0");
}

TEST(Ranges, AnExtentIsNotNegative) {
  EXPECT_EQ(message("let s[i: n - 1] = x[0, i]\n  y[r, i] = 1.0"),
            "cannot show that the extent n - 1 is at least 0");
  EXPECT_EQ(message("require n >= 1 and rows >= 1\n  let s[i: n - 1] = x[0, i + 1]\n"
                    "  y[r, i] = 1.0"),
            "");
  AnalysedText contract("op f { dim n in x: f32[n] in z: f32[n - 1] out y: f32[n]\n"
                        "y[i] = if i < n - 1 then z[i] else x[i] }");
  EXPECT_EQ(contract.errors(), "") << "an extent of a tensor is not negative by the contract";
}

// ---- 7. Index tensors.

TEST(IndexTensors, AreWholeSubscripts) {
  std::string text = "op f { dim n, m in x: f32[m, n] in k: i32[n] out y: f32[n, n]\n";
  AnalysedText direct(text + "y[i] = x[index(k[i])] }");
  EXPECT_EQ(firstValue(direct), "x[index(k[i.0])]");
  AnalysedText named(text + "for i: n { let p = index(k[i])\n y[i, j] = x[p, j] } }");
  EXPECT_EQ(firstValue(named), "x[index(%p0), j.1]");
  EXPECT_EQ(AnalysedText(text + "y[i] = x[index(1.0)] }").message(),
            "the type of `1.0` is not known here");
}

// ---- 8 and 9. Equations, for, rows.

TEST(Equations, RowsOfRows) {
  EXPECT_EQ(value("let z[r: rows] = x[r]\n  y = z"), "%z0");
  AnalysedText text(elementwise("let z[r: rows] = x[r]\n  y[r, i] = z[r, i]"));
  ASSERT_TRUE(text.program) << text.errors();
  EXPECT_EQ(dump(*text.program->body[0].let.value, *text.program),
            "[r.0: rows, _1.1: n] x[r.0][_1.1]");
}

TEST(Equations, SubscriptsInStepsAreOneAccess) {
  EXPECT_EQ(value("y[r, i] = x[r][i]"), "x[r.0, i.1]");
}

TEST(Equations, PlacesInAnyOrder) {
  AnalysedText text("op f { dim a, b in x: f32[a, b] out y: f32[b, a]\n"
                    "for i: a { y[j, i] = x[i, j] } }");
  ASSERT_TRUE(text.program) << text.errors();
  const Equation &equation = text.program->body[0].body[0].equation;
  ASSERT_EQ(equation.places.size(), 2u);
  EXPECT_FALSE(equation.places[0].bound[0]);
  EXPECT_TRUE(equation.places[1].bound[0]);
}

// ---- 10 to 12. Reductions.

TEST(Reductions, CapacityOfAnOrder) {
  std::string items =
      "order few = (lane: 4, _: 8) then halving lane\n"
      "fn sum(v: f32[m]) -> f32 =\n"
      "  reduce j: m by few from s: f32 = 0.0 step s = s + v[j] join (a, b) = a + b\n";
  AnalysedText text(elementwise("y[r, i] = sum(x[r])", "f32", "f32", items));
  ASSERT_TRUE(text.program) << text.errors();
  ASSERT_EQ(text.program->requirements.size(), 1u);
  EXPECT_EQ(text.program->requirements[0].text, "n <= 32");
  EXPECT_EQ(dump(*text.program->requirements[0].condition, *text.program), "<=(size(n), 32:i64)");

  AnalysedText known(elementwise("require n <= 32\n  y[r, i] = sum(x[r])", "f32", "f32", items));
  ASSERT_TRUE(known.program);
  EXPECT_EQ(known.program->requirements.size(), 1u) << "the one that is written";

  AnalysedText guarded(
      elementwise("y[r, i] = if n <= 16 then sum(x[r]) else 0.0", "f32", "f32", items));
  ASSERT_TRUE(guarded.program) << guarded.errors();
  EXPECT_TRUE(guarded.program->requirements.empty());

  AnalysedText elsewhere(
      elementwise("y[r, i] = if n % 4 == 0 then sum(x[r]) else 0.0", "f32", "f32", items));
  ASSERT_TRUE(elsewhere.program) << elsewhere.errors();
  ASSERT_EQ(elsewhere.program->requirements.size(), 1u);
  EXPECT_EQ(elsewhere.program->requirements[0].text, "n <= 32 where n % 4 == 0");
  EXPECT_EQ(dump(*elsewhere.program->requirements[0].condition, *elsewhere.program),
            "or(not(==(size(n % 4), 0:i64)), <=(size(n), 32:i64))");

  EXPECT_EQ(message("require n > 32\n  y[r, i] = sum(x[r])", "f32", "f32", items),
            "order `few` holds 32 elements, the row has n");
}

TEST(Reductions, AnOrderIsAParameter) {
  std::string items =
      lanes + "order pairs = (_, p: 2) then adjacent p\n"
              "fn sum(v: f32[m], tree: order) -> f32 =\n"
              "  reduce j: m by tree from s: f32 = 0.0 step s = s + v[j] join (a, b) = a + b\n"
              "fn both(v: f32[m], tree: order) -> f32 = sum(v, tree) + sum(v, pairs)\n";
  std::string text = value("y[r, i] = both(x[r], lanes)", "f32", "f32", items);
  EXPECT_NE(text.find("by lanes "), std::string::npos) << text;
  EXPECT_NE(text.find("by pairs "), std::string::npos) << text;
  EXPECT_EQ(message("y[r, i] = both(x[r], n)", "f32", "f32", items), "`n` is not an order");
}

TEST(Reductions, ScopesOfTheParts) {
  auto reduction = [&](const std::string &parts) {
    return message("y[r, q] = reduce i: n by lanes " + parts, "f32", "f32", lanes);
  };
  EXPECT_EQ(reduction("from s: f32 = f32(i) step s = s + x[r, i] join (a, b) = a + b"),
            "unknown name `i`");
  EXPECT_EQ(reduction("from s: f32 = 0.0 step s = s + x[r, i] join (a, b) = a + b * f32(i)"),
            "unknown name `i`");
  EXPECT_EQ(reduction("from s: f32 = 0.0 step s = s + x[r, i] join (a, b) = a + s"),
            "unknown name `s`");
  EXPECT_EQ(reduction("from s: f32 = 0.0 step s = s + x[r, i] join (a, a) = a + a"),
            "`a` has a meaning here already");
  EXPECT_EQ(reduction("from s = f32(n) step s = s + x[r, i] join (a, b) = a + b"), "");
  EXPECT_EQ(reduction("from s: f64 = 0.0 step s = s + f64(x[r, i]) join (a, b) = a + b"),
            "the value of `y` must be f32, found f64");
}

TEST(Reductions, AnyTakesJoinsForWhichAllTreesAgree) {
  auto any = [&](const std::string &join, const std::string &type) {
    return message("require n >= 1\n  y[r, q] = reduce i: n by any of x[r, i] join (a, b) = " +
                       join,
                   type, type);
  };
  for (const char *good : {"max(a, b)", "min(a, b)", "max.num(a, b)", "min.num(a, b)"})
    EXPECT_EQ(any(good, "f16"), "");
  EXPECT_EQ(any("a + b", "i32"), "");
  EXPECT_EQ(any("a and b", "bool"), "");
  EXPECT_EQ(any("a or b", "bool"), "");
  for (const char *bad : {"a + b", "max(b, a)", "max(a, a)", "max(a, b) + 0.0", "a"})
    EXPECT_EQ(any(bad, "f32"),
              std::string("`by any` needs a join that gives the same for every tree, "
                          "found `") +
                  bad + "`");
}

TEST(Reductions, DigitsInTheBinder) {
  std::string text = value("require n == 12\n  y[r, q] = reduce (k: 4, c: 3) by lanes "
                           "from s: f32 = 0.0 step s = s + x[r, 3 * k + c] join (a, b) = a + b",
                           "f32", "f32", lanes);
  EXPECT_NE(text.find("reduce (k.2: 4, c.3: 3) by lanes"), std::string::npos) << text;
}

// ---- 13. Alias.

std::string alias(const std::string &body) {
  return AnalysedText("op f { dim rows, n require n >= 2 and rows >= 2 in x: f32[rows, n]\n"
                      "out y: f32[rows, n] may alias x out z: f32[rows, n]\n" +
                      body + " }")
      .message();
}

TEST(Aliases, ReadsUseTheVariablesOfTheWrite) {
  EXPECT_EQ(alias("for r: rows { y[r, i] = x[r, i] + x[r, 0]\n z[r, j] = x[r, j] }"), "");
  EXPECT_EQ(alias("y[r, i] = x[r, i]\n z[r, i] = 1.0"), "");
  EXPECT_EQ(alias("y[r] = x[r]\n z[r, i] = 1.0"), "");
  EXPECT_EQ(alias("y = x\n z[r, i] = x[0, i]"), "");
  const std::string rows = "`y` and `x` may be one tensor, so `x` is read as `x[r, ...]` only";
  EXPECT_EQ(alias("for r: rows { y[r, i] = x[r, i] + x[0, i]\n z[r, j] = 1.0 }"), rows);
  EXPECT_EQ(alias("for r: rows { y[r, i] = x[r, i]\n z[r, j] = 1.0 }\n let s = x[0, 0]"), rows);
  const std::string elements = "`y` and `x` may be one tensor, so `x` is read as `x[r, i]` only";
  EXPECT_EQ(alias("y[r, i] = x[r, i] + x[r, 0]\n z[r, i] = 1.0"), elements);
  EXPECT_EQ(alias("y[r, i] = x[r, i]\n z[r, i] = x[r, i]"), elements)
      << "another equation has variables of its own";
}

// ---- 14. Generics.

TEST(Generics, AreInferredFromArguments) {
  std::string items = "fn twice<T>(a: T) -> T = a + a\n"
                      "fn mixed<T, W>(a: T, w: W) -> f32 = f32(a) * f32(w)\n"
                      "fn short<T: f16 | bf16>(a: T) -> T = a\n"
                      "fn bits<T>(a: T) -> T = T.bits(i32.bits(a))\n";
  EXPECT_EQ(message("y[r, i] = twice(x[r, i])", "f16", "f16", items), "");
  EXPECT_EQ(message("y[r, i] = mixed(x[r, i], f64(2.0))", "bf16", "f32", items), "");
  EXPECT_EQ(message("y[r, i] = short(x[r, i])", "f32", "f32", items),
            "the type `T` of `short` is one of f16, bf16, found f32");
  EXPECT_NE(value("y[r, i] = bits(x[r, i])", "f16", "f16", items).find("f16.bits(i32.bits("),
            std::string::npos);
  EXPECT_EQ(message("y[r, i] = bits(x[r, i])", "e4m3", "e4m3", items),
            "there is no builtin `e4m3.bits`, which `T.bits` is here");
}

TEST(Generics, EveryChoiceIsListed) {
  AnalysedText text("op f<T: f16 | f32, W: bf16 | f32 | f64> { dim n in x: T[n] in w: W[n]\n"
                    "out y: f32[n] y[i] = f32(x[i]) * f32(w[i]) }",
                    {{"T", ScalarType::F16}, {"W", ScalarType::F64}});
  ASSERT_TRUE(text.program) << text.errors();
  EXPECT_EQ(text.program->typeArguments.size(), 2u);
  std::vector<TypeArguments> choices = typeChoices(*operators(text.modules).front());
  ASSERT_EQ(choices.size(), 6u);
  EXPECT_EQ(choices[1].at("T"), ScalarType::F16);
  EXPECT_EQ(choices[1].at("W"), ScalarType::F32);
  EXPECT_EQ(AnalysedText("op f<T: f16> { dim n in x: T[n] out y: T[n] y[i] = x[i] }",
                         {{"T", ScalarType::F32}})
                .message(),
            "`f32` is not one of the types of `T`");
}

TEST(Orders, AreFoundByTheirPath) {
  AnalysedText text("use eager.norm\n" + lanes);
  Diagnostics diagnostics;
  std::optional<Order> order = findOrder(text.modules, "norm.row_vec4", diagnostics);
  ASSERT_TRUE(order);
  ASSERT_EQ(order->digits.size(), 4u);
  EXPECT_FALSE(order->digits[0].isNamed());
  EXPECT_EQ(order->digits[1].radix, 4);
  ASSERT_EQ(order->stages.size(), 2u);
  EXPECT_EQ(order->stages[0].digit, 2u);
  EXPECT_EQ(order->stages[1].join, Order::Join::Halving);
  EXPECT_TRUE(findOrder(text.modules, "lanes", diagnostics));
  EXPECT_FALSE(findOrder(text.modules, "norm.row_vec", diagnostics));
  EXPECT_EQ(diagnostics.all().front().hint, "did you mean `norm.row_vec4`?");
}

TEST(Operators, AreFoundByName) {
  AnalysedText text(elementwise("y[r, i] = x[r, i]"));
  Diagnostics diagnostics;
  EXPECT_TRUE(findOperator(text.modules, "f", diagnostics));
  EXPECT_FALSE(findOperator(text.modules, "g", diagnostics));
  EXPECT_EQ(diagnostics.all().front().message, "unknown operator `g`");
}

} // namespace
} // namespace h3::test
