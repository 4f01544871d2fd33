//===-- tests/unit/prove/RewritesTest.cpp - Each rewrite keeps every bit --===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A term is made of operations on unknown values, in whatever normal form the rewrites give it, and
// then evaluated: the bits must be those of the operations as they were written. In f16 over all
// values of the operands (of two operands: all values of the first, and of the second those of
// every exponent with significands at both ends), in f32 at random and special values. The
// operations are an independent library's (MPFR) on both sides, so a rewrite is never compared with
// itself.
//
//===----------------------------------------------------------------------===//

#include "backends/nvptx/prove/Term.h"
#include "tests/unit/scalar/MpfrOracle.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <random>
#include <vector>

namespace h3::prove {
namespace {

using scalar::MpfrOracle;

bool isNaN(ScalarType type, Bits a) { return scalar::isNaN(type, a); }

/// The value of a term, with the independent library's arithmetic.
class Evaluator {
public:
  explicit Evaluator(const TermStore &terms) : terms(terms) {}

  std::vector<Bits> inputs;

  Bits operator()(TermId id) {
    const Term &t = terms[id];
    auto a = [&] { return (*this)(t.a); };
    auto b = [&] { return (*this)(t.b); };
    auto c = [&] { return (*this)(t.c); };
    Bits sign = Bits(1) << (t.width - 1);
    switch (t.op) {
    case TermOp::Constant:
      return t.imm;
    case TermOp::Input:
      return inputs[t.imm];
    case TermOp::FAdd:
      return of(t.type).add(a(), b(), t.rounding);
    case TermOp::FMul:
      return of(t.type).mul(a(), b(), t.rounding);
    case TermOp::FDiv:
      return of(t.type).div(a(), b(), t.rounding);
    case TermOp::FFma:
      return of(t.type).fma(t.attribute ? a() ^ sign : a(), b(), c(), t.rounding);
    case TermOp::FSqrt:
      return of(t.type).sqrt(a(), t.rounding);
    case TermOp::Convert:
      return of(t.type).convert(t.from, a(), t.rounding);
    case TermOp::FNeg:
      return canonical(t.type, a() ^ sign);
    case TermOp::FAbs:
      return canonical(t.type, a() & ~sign);
    case TermOp::FMax:
      return scalar::maximum(t.type, a(), b());
    case TermOp::FMin:
      return scalar::minimum(t.type, a(), b());
    case TermOp::FCompare: {
      auto ordering = static_cast<unsigned>(scalar::compare(t.type, a(), b()));
      return (t.attribute >> ordering) & 1;
    }
    case TermOp::Canonical:
      return canonical(t.type, a());
    case TermOp::Extract:
      return (a() >> t.imm) & ((Bits(1) << t.width) - 1);
    case TermOp::Equal:
      return a() == b();
    case TermOp::Select:
      return a() ? b() : c();
    case TermOp::And:
      return a() & b();
    case TermOp::Xor:
      return a() ^ b();
    default:
      ADD_FAILURE() << "no value for operation " << static_cast<unsigned>(t.op);
      return 0;
    }
  }

  MpfrOracle &of(ScalarType type) {
    auto &oracle = oracles[type];
    if (!oracle)
      oracle = std::make_unique<MpfrOracle>(type);
    return *oracle;
  }

private:
  static Bits canonical(ScalarType type, Bits a) {
    return isNaN(type, a) ? scalar::canonicalNaN(type) : a;
  }

  const TermStore &terms;
  std::map<ScalarType, std::unique_ptr<MpfrOracle>> oracles;
};

/// Values at the ends of every exponent's significands, both signs, NaNs among them.
std::vector<Bits> ends(ScalarType type) {
  unsigned fraction = type == ScalarType::F16 ? 10 : type == ScalarType::BF16 ? 7 : 23;
  unsigned exponents = type == ScalarType::F16 ? 32 : 256;
  std::vector<Bits> values;
  for (Bits sign : {Bits(0), Bits(1) << (bitWidth(type) - 1)})
    for (Bits exponent = 0; exponent < exponents; exponent += type == ScalarType::F32 ? 7 : 1)
      for (Bits low : {Bits(0), Bits(1), (Bits(1) << fraction) - 1})
        values.push_back(sign | exponent << fraction | low);
  return values;
}

std::vector<Bits> allOf16() {
  std::vector<Bits> values(1 << 16);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = i;
  return values;
}

std::vector<Bits> randomF32(size_t count) {
  std::mt19937_64 engine(20261130);
  std::vector<Bits> values = ends(ScalarType::F32);
  while (values.size() < count)
    values.push_back(engine() & 0xFFFFFFFF);
  return values;
}

/// What makes a term, and what it must be worth.
using Make = std::function<TermId(TermStore &, const std::vector<TermId> &)>;
using Expect = std::function<Bits(Evaluator &, const std::vector<Bits> &)>;

/// \p rewrite is applied to what \p make makes of `arity` inputs of \p type, and keeps every bit.
void check(Rewrite rewrite, ScalarType type, unsigned arity, const Make &make,
           const Expect &expect) {
  SCOPED_TRACE(std::string(name(rewrite)) + " " + std::string(h3::name(type)));
  TermStore terms;
  std::vector<TermId> inputs;
  for (unsigned i = 0; i < arity; ++i)
    inputs.push_back(terms.input(0, i, bitWidth(type)));
  TermId id = make(terms, inputs);
  EXPECT_GT(terms.rewrites()[static_cast<size_t>(rewrite)], 0u) << "it was not applied";
  Evaluator value(terms);
  bool isNarrow = bitWidth(type) == 16;
  std::vector<Bits> first = isNarrow ? allOf16() : randomF32(20000);
  std::vector<Bits> second = arity > 1 ? ends(type) : std::vector<Bits>{0};
  // Of two operands every pair of an end with every fifth value, in another place each time.
  size_t step = arity > 1 ? 7 : 1;
  for (size_t k = 0; k < second.size(); ++k)
    for (size_t i = k % step; i < first.size(); i += arity > 1 ? step * 13 : 1) {
      value.inputs = {first[i], second[k], second[(k * 31 + i) % second.size()]};
      value.inputs.resize(arity);
      Bits actual = value(id), wanted = expect(value, value.inputs);
      bool bothNaN = isNaN(type, actual) && isNaN(type, wanted) && terms.width(id) != 1;
      if (actual != wanted && !bothNaN) {
        ADD_FAILURE() << std::hex << value.inputs[0] << " " << (arity > 1 ? value.inputs[1] : 0)
                      << ": " << actual << ", expected " << wanted;
        return;
      }
    }
}

constexpr Rounding nearest = Rounding::NearestEven;

Bits signOf(ScalarType type) { return Bits(1) << (bitWidth(type) - 1); }
Bits number(ScalarType type, int64_t value) {
  return scalar::convert(ScalarType::I64, type, Bits(value));
}

class Rewrites : public testing::TestWithParam<ScalarType> {};

TEST_P(Rewrites, KeepEveryBit) {
  const ScalarType type = GetParam();
  const unsigned width = bitWidth(type);
  const Bits sign = signOf(type), one = number(type, 1);
  using Ids = const std::vector<TermId> &;
  using Values = const std::vector<Bits> &;
  check(
      Rewrite::Commute, type, 2, [&](TermStore &t, Ids x) { return t.fadd(type, x[1], x[0]); },
      [&](Evaluator &e, Values x) { return e.of(type).add(x[1], x[0], nearest); });
  check(
      Rewrite::Commute, type, 2, [&](TermStore &t, Ids x) { return t.fmul(type, x[1], x[0]); },
      [&](Evaluator &e, Values x) { return e.of(type).mul(x[1], x[0], nearest); });
  check(
      Rewrite::Commute, type, 3,
      [&](TermStore &t, Ids x) { return t.ffma(type, x[1], x[0], x[2]); },
      [&](Evaluator &e, Values x) { return e.of(type).fma(x[1], x[0], x[2], nearest); });
  check(
      Rewrite::Subtract, type, 2, [&](TermStore &t, Ids x) { return t.fsub(type, x[0], x[1]); },
      [&](Evaluator &e, Values x) { return e.of(type).sub(x[0], x[1], nearest); });
  for (Rounding rounding : {nearest, Rounding::TowardZero}) {
    check(
        Rewrite::Sign, type, 2,
        [&](TermStore &t, Ids x) { return t.fmul(type, t.fneg(type, x[0]), x[1], rounding); },
        [&](Evaluator &e, Values x) { return e.of(type).mul(x[0] ^ sign, x[1], rounding); });
    check(
        Rewrite::Sign, type, 2,
        [&](TermStore &t, Ids x) { return t.fdiv(type, x[0], t.fneg(type, x[1]), rounding); },
        [&](Evaluator &e, Values x) { return e.of(type).div(x[0], x[1] ^ sign, rounding); });
  }
  check(
      Rewrite::Sign, type, 3,
      [&](TermStore &t, Ids x) { return t.ffma(type, x[0], t.fneg(type, x[1]), x[2]); },
      [&](Evaluator &e, Values x) { return e.of(type).fma(x[0], x[1] ^ sign, x[2], nearest); });
  for (int64_t power : {2, 64, 4096, -8}) {
    Bits divisor = number(type, power);
    check(
        Rewrite::PowerOfTwo, type, 1,
        [&](TermStore &t, Ids x) { return t.fdiv(type, x[0], t.constant(width, divisor)); },
        [&](Evaluator &e, Values x) { return e.of(type).div(x[0], divisor, nearest); });
  }
  check(
      Rewrite::Double, type, 1, [&](TermStore &t, Ids x) { return t.fadd(type, x[0], x[0]); },
      [&](Evaluator &e, Values x) { return e.of(type).add(x[0], x[0], nearest); });
  check(
      Rewrite::One, type, 1,
      [&](TermStore &t, Ids x) { return t.fmul(type, x[0], t.constant(width, one)); },
      [&](Evaluator &e, Values x) { return e.of(type).mul(x[0], one, nearest); });
  check(
      Rewrite::One, type, 1,
      [&](TermStore &t, Ids x) { return t.fdiv(type, x[0], t.constant(width, one)); },
      [&](Evaluator &e, Values x) { return e.of(type).div(x[0], one, nearest); });
  check(
      Rewrite::FmaOne, type, 2,
      [&](TermStore &t, Ids x) { return t.ffma(type, x[0], t.constant(width, one), x[1]); },
      [&](Evaluator &e, Values x) { return e.of(type).fma(x[0], one, x[1], nearest); });
  check(
      Rewrite::FmaOne, type, 2,
      [&](TermStore &t, Ids x) { return t.ffma(type, x[0], t.constant(width, one | sign), x[1]); },
      [&](Evaluator &e, Values x) { return e.of(type).fma(x[0], one | sign, x[1], nearest); });
  check(
      Rewrite::FmaNegativeZero, type, 2,
      [&](TermStore &t, Ids x) { return t.ffma(type, x[0], x[1], t.constant(width, sign)); },
      [&](Evaluator &e, Values x) { return e.of(type).fma(x[0], x[1], sign, nearest); });
  check(
      Rewrite::AddNegativeZero, type, 1,
      [&](TermStore &t, Ids x) { return t.fadd(type, x[0], t.constant(width, sign)); },
      [&](Evaluator &e, Values x) { return e.of(type).add(x[0], sign, nearest); });
  check(
      Rewrite::AddZero, type, 1,
      [&](TermStore &t, Ids x) { return t.fadd(type, t.fabs(type, x[0]), t.constant(width, 0)); },
      [&](Evaluator &e, Values x) { return e.of(type).add(x[0] & ~sign, 0, nearest); });
  check(
      Rewrite::AddZero, type, 2,
      [&](TermStore &t, Ids x) {
        TermId sum = t.ffma(type, x[0], x[0], t.fmul(type, x[1], x[1]));
        return t.fadd(type, sum, t.constant(width, 0));
      },
      [&](Evaluator &e, Values x) {
        MpfrOracle &f = e.of(type);
        Bits sum = f.fma(x[0], x[0], f.mul(x[1], x[1], nearest), nearest);
        return f.add(sum, 0, nearest);
      });
  check(
      Rewrite::FmaZero, type, 1,
      [&](TermStore &t, Ids x) { return t.ffma(type, x[0], x[0], t.constant(width, 0)); },
      [&](Evaluator &e, Values x) { return e.of(type).fma(x[0], x[0], 0, nearest); });
  check(
      Rewrite::FmaConstant, type, 1,
      [&](TermStore &t, Ids x) {
        return t.ffma(type, t.constant(width, number(type, 3)), t.constant(width, 0), x[0]);
      },
      [&](Evaluator &e, Values x) { return e.of(type).fma(number(type, 3), 0, x[0], nearest); });
  const Bits nan = scalar::canonicalNaN(type);
  check(
      Rewrite::NaNOperand, type, 1,
      [&](TermStore &t, Ids x) { return t.fadd(type, t.constant(width, nan), x[0]); },
      [&](Evaluator &e, Values x) { return e.of(type).add(x[0], nan, nearest); });
  check(
      Rewrite::NaNOperand, type, 1,
      [&](TermStore &t, Ids x) { return t.fmul(type, x[0], t.constant(width, nan)); },
      [&](Evaluator &e, Values x) { return e.of(type).mul(x[0], nan, nearest); });
  check(
      Rewrite::NaNOperand, type, 1,
      [&](TermStore &t, Ids x) { return t.fdiv(type, x[0], t.constant(width, nan)); },
      [&](Evaluator &e, Values x) { return e.of(type).div(x[0], nan, nearest); });
  check(
      Rewrite::NaNOperand, type, 2,
      [&](TermStore &t, Ids x) { return t.ffma(type, x[0], x[1], t.constant(width, nan)); },
      [&](Evaluator &e, Values x) { return e.of(type).fma(x[0], x[1], nan, nearest); });
  check(
      Rewrite::IsNaN, type, 1,
      [&](TermStore &t, Ids x) {
        TermId magnitude = t.bitAnd(x[0], t.constant(width, sign - 1));
        return t.compare(TermOp::Below, t.constant(width, scalar::infinity(type)), magnitude);
      },
      [&](Evaluator &, Values x) { return Bits((x[0] & (sign - 1)) > scalar::infinity(type)); });
  check(
      Rewrite::CanonicalNaN, type, 1,
      [&](TermStore &t, Ids x) {
        TermId isNaN = t.fcompare(type, Unordered, x[0], x[0]);
        return t.select(isNaN, t.constant(width, scalar::canonicalNaN(type)), x[0]);
      },
      [&](Evaluator &, Values x) { return scalar::canonical(type, x[0]); });
}

INSTANTIATE_TEST_SUITE_P(Types, Rewrites,
                         testing::Values(ScalarType::F16, ScalarType::BF16, ScalarType::F32),
                         [](const auto &info) { return std::string(name(info.param)); });

class WidenedRewrites : public testing::TestWithParam<ScalarType> {};

TEST_P(WidenedRewrites, KeepEveryBit) {
  const ScalarType narrow = GetParam(), wide = ScalarType::F32;
  using Ids = const std::vector<TermId> &;
  using Values = const std::vector<Bits> &;
  auto up = [&](TermStore &t, TermId x) { return t.convert(narrow, wide, x); };
  auto down = [&](TermStore &t, TermId x) { return t.convert(wide, narrow, x); };
  auto upBits = [&](Evaluator &e, Bits x) { return e.of(wide).convert(narrow, x, nearest); };
  auto downBits = [&](Evaluator &e, Bits x) { return e.of(narrow).convert(wide, x, nearest); };
  check(
      Rewrite::Widened, narrow, 2,
      [&](TermStore &t, Ids x) { return down(t, t.fadd(wide, up(t, x[0]), up(t, x[1]))); },
      [&](Evaluator &e, Values x) {
        return downBits(e, e.of(wide).add(upBits(e, x[0]), upBits(e, x[1]), nearest));
      });
  check(
      Rewrite::Widened, narrow, 2,
      [&](TermStore &t, Ids x) { return down(t, t.fmul(wide, up(t, x[0]), up(t, x[1]))); },
      [&](Evaluator &e, Values x) {
        return downBits(e, e.of(wide).mul(upBits(e, x[0]), upBits(e, x[1]), nearest));
      });
  check(
      Rewrite::Widened, narrow, 2,
      [&](TermStore &t, Ids x) { return down(t, t.fdiv(wide, up(t, x[0]), up(t, x[1]))); },
      [&](Evaluator &e, Values x) {
        return downBits(e, e.of(wide).div(upBits(e, x[0]), upBits(e, x[1]), nearest));
      });
  check(
      Rewrite::Widened, narrow, 1,
      [&](TermStore &t, Ids x) { return down(t, t.fsqrt(wide, up(t, x[0]))); },
      [&](Evaluator &e, Values x) {
        return downBits(e, e.of(wide).sqrt(upBits(e, x[0]), nearest));
      });
  check(
      Rewrite::Widened, narrow, 1, [&](TermStore &t, Ids x) { return down(t, up(t, x[0])); },
      [&](Evaluator &e, Values x) { return downBits(e, upBits(e, x[0])); });
  for (uint8_t orderings :
       {uint8_t(Less), uint8_t(Less | Equal), uint8_t(Equal), uint8_t(Unordered)})
    check(
        Rewrite::CompareWide, narrow, 2,
        [&](TermStore &t, Ids x) { return t.fcompare(wide, orderings, up(t, x[0]), up(t, x[1])); },
        [&](Evaluator &e, Values x) {
          auto ordering =
              static_cast<unsigned>(scalar::compare(wide, upBits(e, x[0]), upBits(e, x[1])));
          return Bits((orderings >> ordering) & 1);
        });
}

INSTANTIATE_TEST_SUITE_P(Types, WidenedRewrites, testing::Values(ScalarType::F16, ScalarType::BF16),
                         [](const auto &info) { return std::string(name(info.param)); });

/// The magnitude that is e4m3's NaN is named by a mask or by its seven bits.
TEST(Rewrites, OfNaNsOfE4M3KeepEveryBit) {
  const ScalarType f16 = ScalarType::F16, e4m3 = ScalarType::E4M3;
  for (bool byBits : {false, true}) {
    TermStore t;
    TermId narrow = t.convert(f16, e4m3, t.input(0, 0, 16));
    TermId isNaN = byBits ? t.compare(TermOp::Equal, t.extract(narrow, 0, 7), t.constant(7, 0x7F))
                          : t.compare(TermOp::Equal, t.bitAnd(narrow, t.constant(8, 0x7F)),
                                      t.constant(8, 0x7F));
    TermId made = t.select(isNaN, t.constant(8, 0x7F), narrow);
    EXPECT_GT(t.rewrites()[static_cast<size_t>(Rewrite::CanonicalNaN)], 0u);
    Evaluator value(t);
    for (Bits bits : allOf16()) {
      value.inputs = {bits};
      Bits plain = value.of(e4m3).convert(f16, bits, nearest);
      ASSERT_EQ(value(made), (plain & 0x7F) == 0x7F ? 0x7F : plain) << bits;
    }
    // Another magnitude, other bits, or a value that may be any byte are no such test.
    TermId other = t.input(0, 1, 8);
    auto isNoTest = [&](TermId condition, TermId of) {
      TermId select = t.select(condition, t.constant(8, 0x7F), of);
      return t[select].op == TermOp::Select;
    };
    EXPECT_TRUE(
        isNoTest(t.compare(TermOp::Equal, t.extract(narrow, 0, 7), t.constant(7, 0x7E)), narrow));
    EXPECT_TRUE(
        isNoTest(t.compare(TermOp::Equal, t.extract(narrow, 1, 7), t.constant(7, 0x7F)), narrow));
    EXPECT_TRUE(
        isNoTest(t.compare(TermOp::Equal, t.extract(other, 0, 7), t.constant(7, 0x7F)), other));
  }
}

/// What must not be equal: each of these differs from the other side of a rewrite by its condition.
TEST(RewriteConditions, AreChecked) {
  TermStore t;
  const ScalarType f32 = ScalarType::F32;
  TermId x = t.input(0, 0, 32), y = t.input(0, 1, 32), z = t.input(0, 2, 32);
  auto c = [&](uint64_t bits) { return t.constant(32, bits); };
  const uint64_t minusZero = 0x80000000, three = 0x40400000;
  EXPECT_NE(t.fadd(f32, x, c(0)), t.canonical(f32, x)) << "x may be -0";
  EXPECT_NE(t.ffma(f32, x, y, c(0)), t.fmul(f32, x, y)) << "the product may be -0";
  EXPECT_NE(t.ffma(f32, x, y, c(minusZero), Rounding::Up), t.fmul(f32, x, y, Rounding::Up));
  EXPECT_NE(t.fdiv(f32, x, c(three)), t.fmul(f32, x, t.fdiv(f32, c(0x3F800000), c(three))));
  EXPECT_NE(t.fdiv(f32, x, c(0x7F000000)), t.fmul(f32, x, c(0x00400000)))
      << "2^-127 is no normal number";
  EXPECT_NE(t.ffma(f32, x, y, z), t.fadd(f32, t.fmul(f32, x, y), z)) << "one rounding";
  EXPECT_NE(t.fadd(f32, t.fadd(f32, x, y), z), t.fadd(f32, x, t.fadd(f32, y, z)));
  EXPECT_NE(t.fneg(f32, t.fadd(f32, x, y)), t.fadd(f32, t.fneg(f32, x), t.fneg(f32, y)))
      << "x = -y gives zeros of different signs";
  EXPECT_NE(t.fsub(f32, c(0), x), t.fneg(f32, x));
  EXPECT_NE(t.fmul(f32, t.fneg(f32, x), y, Rounding::Down),
            t.fneg(f32, t.fmul(f32, x, y, Rounding::Down)));
  EXPECT_NE(t.anyNaN(f32, t.fadd(f32, x, y)), t.fadd(f32, x, y)) << "its NaN is not known";
  TermId half = t.convert(f32, ScalarType::F16, x);
  EXPECT_NE(t.convert(ScalarType::F16, f32, half), t.canonical(f32, x)) << "a rounding is lost";
  EXPECT_NE(t.convert(f32, ScalarType::F16,
                      t.ffma(f32, t.convert(ScalarType::F16, f32, half),
                             t.convert(ScalarType::F16, f32, half), z)),
            t.ffma(ScalarType::F16, half, half, t.convert(f32, ScalarType::F16, z)));
}

} // namespace
} // namespace h3::prove
