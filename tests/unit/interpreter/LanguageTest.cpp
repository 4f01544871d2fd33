//===-- tests/unit/interpreter/LanguageTest.cpp ---------------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The parts of the language, one by one, on integers and small floats whose results can be said
// without computing: rows, digits, records, lets, ifs, index tensors, aliases, NaN.
//
//===----------------------------------------------------------------------===//

#include "SpecCall.h"

#include <gtest/gtest.h>

using namespace h3;
using namespace h3::test;

namespace {

std::vector<Bits> iota(int64_t count) {
  std::vector<Bits> result;
  for (int64_t i = 0; i < count; ++i)
    result.push_back(Bits(i));
  return result;
}

Bits i32(int64_t number) { return Bits(uint32_t(number)); }

/// The operator's output `y` for input `x`.
std::vector<Bits> run(const std::string &text, const std::map<std::string, int64_t> &dims,
                      const std::vector<Bits> &x) {
  Spec spec(text);
  SpecCall call(spec, dims);
  call.fill("x", x);
  call.run();
  return call.get("y");
}

// ---- Rows

TEST(Language, RowsOfRowsArePassedAndIndexedInPart) {
  // total(v[i]) where v is a row of rows that is computed, and where it is an input's.
  std::string text = R"(
fn total(x: i32[n]) -> i32 = reduce i: n by any of x[i] join (a, b) = a + b
fn sums(x: i32[n, m]) -> i32[n] = [i: n] total(x[i])
fn columns(x: i32[n, m]) -> i32[m, n] = [j: m, i: n] x[i, j]
op o {
  dim b, n, m
  require n >= 1 and m >= 1
  in x: i32[b, n, m]
  out y: i32[b, n]
  out z: i32[b, m]
  out w: i32[b]
  for k: b {
    let twice[i: n, j: m] = x[k, i, j] + x[k, i, j]
    y[k] = sums(twice)
    z[k] = sums(columns(x[k]))
    w[k] = total(sums(x[k]))
  }
})";
  Spec spec(text);
  SpecCall call(spec, {{"b", 2}, {"n", 2}, {"m", 3}});
  call.fill("x", iota(12));
  call.run();
  EXPECT_EQ(call.get("y"), (std::vector<Bits>{6, 24, 42, 60}));
  EXPECT_EQ(call.get("z"), (std::vector<Bits>{3, 5, 7, 15, 17, 19}));
  EXPECT_EQ(call.get("w"), (std::vector<Bits>{15, 51}));
}

TEST(Language, ElementsOfARowFunctionsResult) {
  // The same values whether the function stands in the element or before it.
  std::string text = R"(
use eager.norm
op o(eps: f32 = 1e-5) {
  dim rows, n
  in x: f32[rows, n]
  out y, z: f32[rows, n]
  y[t, i] = norm.layer_norm(x[t], eps)[i] * x[t, i]
  for t: rows {
    let v = norm.layer_norm(x[t], eps)
    z[t, i] = v[i] * x[t, i]
  }
})";
  Spec spec(text);
  for (int64_t n : {8, 7}) {
    SpecCall call(spec, {{"rows", 5}, {"n", n}});
    call.fill("x", randomFloats(ScalarType::F32, 5 * n, 5));
    call.run();
    EXPECT_EQ(call.get("y"), call.get("z")) << n;
  }
}

TEST(Language, ChoiceBetweenRows) {
  std::string text = R"(
op o(up: i32) {
  dim rows, n
  require n >= 1
  in x: i32[rows, n]
  out y: i32[rows, n]
  for t: rows {
    let more[i: n] = x[t, i] + 100
    let less[i: n] = x[t, i] - 100
    y[t] = if x[t, 0] == 0 and up == 1 then more else if up == 2 then x[t] else less
  }
})";
  Spec spec(text);
  for (auto [up, expected] :
       std::map<int, std::vector<Bits>>{{1, {100, 101, i32(-98), i32(-97)}},
                                        {2, {0, 1, 2, 3}},
                                        {3, {i32(-100), i32(-99), i32(-98), i32(-97)}}}) {
    SpecCall call(spec, {{"rows", 2}, {"n", 2}});
    call.set("up", Bits(up));
    call.fill("x", iota(4));
    call.run();
    EXPECT_EQ(call.get("y"), expected) << up;
  }
}

// ---- Digits

TEST(Language, DigitsInSubscriptsPlacesAndBinders) {
  // Pairs exchanged, by digits on both sides; a chain in another order by digits of the binder.
  EXPECT_EQ(run(R"(
op o {
  dim rows, heads = 2, pairs, row = heads * pairs * 2
  in x: i32[rows, row]
  out y: i32[rows, row]
  y[t, (h, p, c)] = if c == 0 then x[t, (h, p, 1)] else -x[t, (h, p, 0)]
})",
                {{"rows", 1}, {"pairs", 2}}, iota(8)),
            (std::vector<Bits>{1, 0, 3, i32(-2), 5, i32(-4), 7, i32(-6)}));
  EXPECT_EQ(run(R"(
op o {
  dim n
  in x: i32[2 * n]
  out y: i32[2 * n]
  y[(c, i)] = x[(1 - c, i)]
})",
                {{"n", 3}}, iota(6)),
            (std::vector<Bits>{3, 4, 5, 0, 1, 2}));
}

TEST(Language, DigitBinderWalksInAnotherOrder) {
  // k is the slow digit of the walk and the fast one of the access.
  EXPECT_EQ(run(R"(
order chain = (_)
op o {
  dim rows, m
  require m >= 1
  in x: i32[rows, m * 2]
  out y: i32[rows]
  y[t] = reduce (k: 2, c: m) by chain of x[t, (c, k)] join (a, b) = a + a - b
})",
                {{"rows", 1}, {"m", 2}}, {1, 10, 100, 1000}),
            // 1, 100, 10, 1000: 2 - 100 = -98, -196 - 10 = -206, -412 - 1000
            (std::vector<Bits>{i32(-1412)}));
}

TEST(Language, ReductionOverTwoDimsThroughARow) {
  EXPECT_EQ(run(R"(
order chain = (_)
fn folded(x: i32[n]) -> i32 = reduce i: n by chain of x[i] join (a, b) = a * 2 + b
op o {
  dim rows, groups, per = 2, hw
  require hw >= 1
  in x: i32[rows, groups * per, hw]
  out y: i32[rows, groups]
  y[n, g] = folded([(c: per, p: hw)] x[n, (g, c), p])
})",
                {{"rows", 1}, {"groups", 2}, {"hw", 2}}, {1, 1, 0, 1, 0, 1, 1, 0}),
            (std::vector<Bits>{13, 6}));
}

// ---- Records

TEST(Language, RecordsInReductionsLetsAndRows) {
  EXPECT_EQ(run(R"(
order tree = (_, lane: 4) then halving lane
record Span { low: f32, high: f32, count: i32 }
fn hull(a: Span, b: Span) -> Span =
  Span(low = min(a.low, b.low), high = max(a.high, b.high), count = a.count + b.count)
fn shifted(s: Span, d: f32) -> Span = Span(low = s.low + d, high = s.high + d, count = s.count)
op o {
  dim rows, n
  require n >= 1
  in x: f32[rows, n]
  out y: f32[rows, 4]
  for t: rows {
    let s = reduce i: n by tree of Span(low = x[t, i], high = x[t, i], count = 1)
      join (a, b) = hull(a, b)
    let spans[j: 4] = if s.count == 5 then shifted(s, f32(j)) else s
    y[t, j] = spans[j].high - spans[3].low
  }
})",
                {{"rows", 1}, {"n", 5}},
                {f32("1.0"), f32("-2.0"), f32("7.0"), f32("0.5"), f32("3.0")}),
            (std::vector<Bits>{f32("6.0"), f32("7.0"), f32("8.0"), f32("9.0")}));
}

TEST(Language, WelfordCountsAndMeans) {
  Spec spec(R"(
use eager.norm
op o {
  dim rows, n
  in x: f32[rows, n]
  out mean, m2, count: f32[rows]
  for t: rows {
    let m = norm.moments_vec4(x[t])
    mean[t] = m.mean
    m2[t] = m.m2
    count[t] = m.n
  }
})");
  SpecCall call(spec, {{"rows", 2}, {"n", 8}});
  std::vector<Bits> row;
  for (const char *number : {"1.0", "3.0", "5.0", "7.0", "9.0", "11.0", "13.0", "15.0"})
    row.push_back(f32(number));
  for (int k = 0; k < 8; ++k)
    row.push_back(f32("4.0"));
  call.fill("x", row);
  call.run();
  // 1 + 3 + .. + 15 over 8, and the sum of squared differences from it; two lanes of four each.
  EXPECT_EQ(call.get("mean"), (std::vector<Bits>{f32("8.0"), f32("4.0")}));
  EXPECT_EQ(call.get("m2"), (std::vector<Bits>{f32("168.0"), 0}));
  EXPECT_EQ(call.get("count"), repeat(2, f32("8.0")));
}

// ---- Lets and reductions that depend on each other

TEST(Language, ReductionInsideAStep) {
  // The inner sum depends on the outer state, on the outer index, or on neither.
  EXPECT_EQ(run(R"(
order chain = (_)
fn scaled(x: i32[n], c: i32) -> i32 = reduce i: n by any of x[i] * c join (a, b) = a + b
op o {
  dim rows, n
  require n >= 1
  in x: i32[rows, n]
  out y: i32[rows]
  y[t] = reduce i: n by chain
    from s: i32 = 1
    step s = scaled(x[t], s) + scaled(x[t], x[t, i]) + scaled(x[t], 1)
    join (a, b) = a + b
})",
                {{"rows", 2}, {"n", 2}}, {1, 2, 3, 4}),
            // sum 3: s = 3 + 3 + 3 = 9, then 27 + 6 + 3; sum 7: 7 + 21 + 7 = 35, then 245 + 28 + 7
            (std::vector<Bits>{36, 280}));
}

TEST(Language, LetsAreComputedAgainWhenTheirIndexChanges) {
  EXPECT_EQ(
      run(R"(
fn total(x: i32[n]) -> i32 = reduce i: n by any of x[i] join (a, b) = a + b
fn plus(x: i32[n], c: i32) -> i32[n] { let s = total(x) return [i: n] x[i] + s * c }
op o {
  dim rows, n
  require n >= 1
  in x: i32[rows, n]
  out y: i32[rows, n]
  y[t, i] = plus(plus(x[t], 1), x[t, i])[i]
})",
          {{"rows", 2}, {"n", 2}}, {0, 1, 2, 3}),
      // row 0: plus 1 = {1, 2}, total 3: 1 + 0, 2 + 3; row 1: {7, 8}, total 15: 7 + 30, 8 + 45
      (std::vector<Bits>{1, 5, 37, 53}));
}

// ---- Sizes, indices, parameters

TEST(Language, SizesAreDataWhereTheyAreConverted) {
  EXPECT_EQ(run(R"(
op o {
  dim rows, n
  in x: f32[rows, n]
  out y: f32[rows, n]
  let share = f32(rows) / f32(rows * n)
  y[t, i] = if i <= t then x[t, i] * share else f32(n - 1 - i)
})",
                {{"rows", 2}, {"n", 4}}, repeat(8, f32("8.0"))),
            (std::vector<Bits>{f32("2.0"), f32("2.0"), f32("1.0"), f32("0.0"), f32("2.0"),
                               f32("2.0"), f32("1.0"), f32("0.0")}));
}

TEST(Language, UniformConditionsChooseOneWay) {
  std::string text = R"(
op o(flip: f32) {
  dim n
  in x: f32[n]
  out y: f32[n]
  y[i] = if n % 4 == 0 then x[i] else if flip < 0.0 then -x[i] else x[i] + 1.0
})";
  Spec spec(text);
  auto first = [&](int64_t n, Bits flip) {
    SpecCall call(spec, {{"n", n}});
    call.set("flip", flip);
    call.fill("x", repeat(n, f32("2.0")));
    call.run();
    return call.get("y")[0];
  };
  EXPECT_EQ(first(4, f32("-1.0")), f32("2.0"));
  EXPECT_EQ(first(5, f32("-1.0")), f32("-2.0"));
  EXPECT_EQ(first(5, f32("1.0")), f32("3.0"));
}

// ---- Index tensors

TEST(Language, IndexTensorsSelectRowsOrNothing) {
  Spec spec(R"(
op o {
  dim tokens, kinds, n
  in table: f16[kinds, n]
  in numbers: i32[kinds]
  in kind: i32[tokens]
  in wide: i64[tokens]
  out y: f16[tokens, n]
  out z, w: i32[tokens]
  for t: tokens {
    let k = index(kind[t])
    y[t, i] = table[k, i]
    z[t] = numbers[k]
    w[t] = numbers[index(wide[t])]
  }
})");
  SpecCall call(spec, {{"tokens", 5}, {"kinds", 3}, {"n", 2}});
  call.fill("table", {0x3C00, 0x3C01, 0x3C02, 0x3C03, 0x3C04, 0x3C05});
  call.fill("numbers", {10, 11, 12});
  call.fill("kind", {2, 0, 3, i32(-1), 1});
  call.fill("wide", {0, Bits(-1), int64_t(1) << 32, 2, 3});
  call.run();
  EXPECT_EQ(call.get("y"), (std::vector<Bits>{0x3C04, 0x3C05, 0x3C00, 0x3C01, 0x7FFF, 0x7FFF,
                                              0x7FFF, 0x7FFF, 0x3C02, 0x3C03}));
  EXPECT_EQ(call.get("z"), (std::vector<Bits>{12, 10, 0, 0, 11}));
  EXPECT_EQ(call.get("w"), (std::vector<Bits>{10, 0, 0, 12, 0}));
}

// ---- Aliases

TEST(Language, InputsAreReadAsTheyWereBeforeTheCall) {
  Spec spec(R"(
op o {
  dim rows, n
  in x: i32[rows, n]
  out y: i32[rows, n] may alias x
  out z: i32[rows, n]
  for t: rows {
    y[t, i] = x[t, n - 1 - i] + 10
    z[t, i] = x[t, i]
  }
})");
  for (bool inPlace : {false, true}) {
    SpecCall call(spec, {{"rows", 2}, {"n", 3}});
    call.layout("x", 1, {5, 1});
    if (inPlace)
      call.share("y", "x");
    call.fill("x", iota(6));
    call.run();
    EXPECT_EQ(call.get("y"), (std::vector<Bits>{12, 11, 10, 15, 14, 13})) << inPlace;
    EXPECT_EQ(call.get("z"), iota(6)) << inPlace;
  }
}

// ---- Strides

TEST(Language, InputsMayRepeatARow) {
  Spec spec("op o { dim rows, n in x: i32[rows, n] out y: i32[rows, n] y[t, i] = x[t, i] }");
  SpecCall call(spec, {{"rows", 3}, {"n", 2}});
  call.layout("x", 0, {0, 1});
  call.layout("y", 3, {1, 4}); // columns lie together
  call.fill("x", {7, 8, 7, 8, 7, 8});
  call.run();
  EXPECT_EQ(call.get("y"), (std::vector<Bits>{7, 8, 7, 8, 7, 8}));
}

// ---- NaN

TEST(Language, EveryNaNIsTheOneNaN) {
  Spec spec(R"(
op o {
  dim n
  in x: f16[n]
  out copy, negated, absolute, signed, chosen: f16[n]
  out pattern: i32[n]
  out wide: f32[n]
  out small: e4m3[n]
  copy[i] = x[i]
  negated[i] = -x[i]
  absolute[i] = abs(x[i])
  signed[i] = copysign(x[i], -1.0)
  chosen[i] = if x[i] == x[i] then 0.0 else x[i]
  pattern[i] = i32.bits(x[i])
  wide[i] = f32(x[i])
  small[i] = e4m3.sat(x[i])
})");
  std::vector<Bits> payloads = {0x7E00, 0x7FFF, 0xFE01, 0x7C01, 0xFFFF};
  SpecCall call(spec, {{"n", int64_t(payloads.size())}});
  call.fill("x", payloads);
  call.run();
  for (const char *name : {"copy", "negated", "absolute", "signed", "chosen", "pattern"})
    EXPECT_EQ(call.get(name), repeat(5, 0x7FFF)) << name;
  EXPECT_EQ(call.get("wide"), repeat(5, 0x7FFFFFFF));
  EXPECT_EQ(call.get("small"), repeat(5, 0x7F));
}

// ---- Generics

TEST(Language, GenericsComputeInTheirType) {
  std::string text = R"(
fn twice<T>(x: T[n]) -> T[n] = [i: n] T(x[i]) + x[i]
op o<T: f16 | bf16 | f32> {
  dim n
  in x: T[n]
  out y: T[n]
  let v = twice(x)
  y[i] = v[i]
})";
  for (auto [type, one, two] : {std::tuple(ScalarType::F16, 0x3C00, 0x4000),
                                {ScalarType::BF16, 0x3F80, 0x4000},
                                {ScalarType::F32, 0x3F800000, 0x40000000}}) {
    Spec spec(text, "", {{"T", type}});
    SpecCall call(spec, {{"n", 2}});
    call.fill("x", repeat(2, Bits(one)));
    call.run();
    EXPECT_EQ(call.get("y"), repeat(2, Bits(two)));
  }
}

// ---- Softmax: `any`, a row used three times, an order over 32 lanes

TEST(Language, SoftmaxOfEqualElementsIsTheirShare) {
  Spec spec(R"(
use eager.math
order warp_row = (_, lane: 32) then halving lane
fn two_pass(x: f32[n]) -> f32[n] {
  let m = reduce i: n by any of x[i] join (a, b) = max(a, b)
  let e[i: n] = math.exp(x[i] - m)
  let z = reduce i: n by warp_row
    from s: f32 = 0.0
    step s = s + e[i]
    join (a, b) = a + b
  return [i: n] e[i] / z
}
op o { dim rows, n require n >= 1 in x: f32[rows, n] out y: f32[rows, n] y[t] = two_pass(x[t]) }
)");
  SpecCall call(spec, {{"rows", 2}, {"n", 64}});
  std::vector<Bits> x = repeat(64, f32("3.0")), expected = repeat(64, f32("0.015625"));
  x.insert(x.end(), 64, 0xFF800000); // exp(-inf) of all but one
  x[64 + 5] = f32("100.0");
  expected.insert(expected.end(), 64, 0);
  expected[64 + 5] = f32("1.0");
  call.fill("x", x);
  call.run();
  EXPECT_EQ(call.get("y"), expected);
}

// ---- Calls that break the contract

TEST(Language, OfOverNothingIsAnError) {
  Spec spec("op o { dim rows, n in x: f32[rows, n] out y: f32[rows]\n"
            "  y[t] = reduce i: n by any of x[t, i] join (a, b) = max(a, b) }");
  SpecCall call(spec, {{"rows", 1}, {"n", 0}});
  EXPECT_EQ(call.error(), "a reduction with 'of' has no elements: its extent is 0, and must be at "
                          "least 1");
}

TEST(Language, OrderThatIsTooShortIsAnError) {
  Spec spec("order o8 = (lane: 8) then halving lane\n"
            "op o { dim rows, n require n >= 1 in x: f32[rows, n] out y: f32[rows]\n"
            "  y[t] = reduce i: n by o8 of x[t, i] join (a, b) = max(a, b) }");
  SpecCall call(spec, {{"rows", 1}, {"n", 9}});
  EXPECT_EQ(call.error(), "order 'o8' holds at most 8 elements, found 9");
}

TEST(Language, ArgumentsOfAnotherProgramAreAnError) {
  Spec spec("op o { dim n in x: f32[n] out y: f32[n] y[i] = x[i] }");
  EXPECT_EQ(interpret(*spec.program, {}), "'o' takes 1 dims, found 0");
  EXPECT_EQ(interpret(*spec.program, {{1}, {}, {}}), "'o' takes 2 tensors, found 0");
  EXPECT_EQ(interpret(*spec.program, {{1}, {7}, {}}), "'o' takes 0 parameters, found 1");
  EXPECT_EQ(interpret(*spec.program, {{1}, {}, {TensorView{}, TensorView{}}}),
            "tensor 'x' has 1 axes, found 0 strides");
}

} // namespace
