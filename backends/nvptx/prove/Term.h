//===-- backends/nvptx/prove/Term.h - Terms over bits --------- -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What a kernel or a spec computes, as terms: bit vectors with float operations inside. Terms are
// hash-consed and brought to a normal form by the closed list of exact rewrites (rewrites.def) when
// they are made, so two computations are equal if they are the same id.
//
// NaN. An input's bits may be any NaN. Float operations take any NaN and give the one canonical
// NaN; `canonical(x)` is x with any NaN made that one; `anyNaN(x)` is x with unknown bits where it
// is a NaN, which is what an instruction gives whose NaN nobody has recorded as canonical.
//
//===----------------------------------------------------------------------===//

#ifndef H3_BACKENDS_NVPTX_PROVE_TERM_H
#define H3_BACKENDS_NVPTX_PROVE_TERM_H

#include "dsl/scalar/Scalar.h"

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace h3::prove {

/// Index of a term in its store; 0 is no term.
using TermId = uint32_t;

enum class TermOp : uint8_t {
  None,
  Constant,  ///< imm
  Input,     ///< element imm (its offset in elements) of tensor `a`, as it lies in memory
  Parameter, ///< parameter `a`
  // Bits. Widths of operands agree unless said otherwise.
  Concat,  ///< a: high part, b: low part, which is no Concat
  Extract, ///< `width` bits of a from bit imm on
  SignExtend,
  Select, ///< a: condition, b, c
  And,
  Or,
  Xor,
  Add,
  Mul,
  ShiftLeft, ///< of a by b; a count beyond the width gives 0
  ShiftRight,
  ShiftRightSigned,
  Equal, ///< these three give one bit
  Below, ///< unsigned
  Less,  ///< signed
  // Floats of `type`.
  FAdd,
  FMul,
  FDiv,
  FFma,
  FSqrt,
  FNeg,
  FAbs,
  FMax,
  FMin,
  FMaxNum,
  FMinNum,
  FCompare,    ///< one bit: the ordering of a and b is one of those in `attribute`
  Convert,     ///< from `from`; attribute 1: saturating
  FromInteger, ///< from a signed integer
  RsqrtApprox,
  Ex2ApproxFtz,
  RcpApproxFtz,
  SqrtApprox,
  Canonical,
  AnyNaN,
  Affine, ///< an integer that grows with the rows; `a` numbers its slopes (Affine.h)
};

/// Bits of `attribute` of FCompare.
enum OrderingBit : uint8_t { Less = 1, Equal = 2, Greater = 4, Unordered = 8, AllOrderings = 15 };

enum class Rewrite : uint8_t {
#define H3_REWRITE(enumerator, name, text) enumerator,
#include "backends/nvptx/prove/rewrites.def"
};
inline constexpr unsigned rewriteCount = 0
#define H3_REWRITE(enumerator, name, text) +1
#include "backends/nvptx/prove/rewrites.def"
    ;
std::string_view name(Rewrite rewrite);

/// What is known of every value of a float term.
enum Fact : uint8_t {
  CanonicalValue = 1,    ///< a NaN has the canonical bits
  NeverNegativeZero = 2, ///< as a value of `type`
  NeverNegative = 4,     ///< neither below zero nor -0; it may be NaN
};

struct Term {
  TermOp op = TermOp::None;
  uint8_t width = 0;
  ScalarType type = ScalarType::Bool, from = ScalarType::Bool;
  Rounding rounding = Rounding::NearestEven;
  uint8_t attribute = 0;
  TermId a = 0, b = 0, c = 0;
  uint64_t imm = 0;

  bool operator==(const Term &) const = default;
};

class TermStore {
public:
  TermStore();

  const Term &operator[](TermId id) const { return terms[id]; }
  size_t size() const { return terms.size() - 1; }
  unsigned width(TermId id) const { return terms[id].width; }
  bool isConstant(TermId id) const { return terms[id].op == TermOp::Constant; }
  bool isConstant(TermId id, uint64_t bits) const {
    return isConstant(id) && terms[id].imm == bits;
  }

  // ---- Leaves.
  TermId constant(unsigned width, uint64_t bits);
  TermId input(unsigned tensor, int64_t element, unsigned width);
  TermId parameter(unsigned index, unsigned width);
  TermId affine(unsigned slopes, uint64_t base, unsigned width);

  // ---- Bits.
  TermId concat(TermId high, TermId low);
  TermId extract(TermId a, unsigned from, unsigned width);
  TermId zeroExtend(TermId a, unsigned width);
  TermId signExtend(TermId a, unsigned width);
  TermId select(TermId condition, TermId a, TermId b);
  TermId bitAnd(TermId a, TermId b);
  TermId bitOr(TermId a, TermId b);
  TermId bitXor(TermId a, TermId b);
  TermId bitNot(TermId a);
  TermId add(TermId a, TermId b);
  TermId negate(TermId a);
  TermId mul(TermId a, TermId b);
  /// \p op is one of the three shifts.
  TermId shift(TermOp op, TermId a, TermId count);
  /// \p op is Equal, Below or Less.
  TermId compare(TermOp op, TermId a, TermId b);

  // ---- Floats. Operands are bits of the type, any NaN.
  TermId fadd(ScalarType type, TermId a, TermId b, Rounding rounding = Rounding::NearestEven);
  TermId fsub(ScalarType type, TermId a, TermId b, Rounding rounding = Rounding::NearestEven);
  TermId fmul(ScalarType type, TermId a, TermId b, Rounding rounding = Rounding::NearestEven);
  TermId fdiv(ScalarType type, TermId a, TermId b, Rounding rounding = Rounding::NearestEven);
  TermId ffma(ScalarType type, TermId a, TermId b, TermId c,
              Rounding rounding = Rounding::NearestEven);
  TermId fsqrt(ScalarType type, TermId a, Rounding rounding = Rounding::NearestEven);
  TermId fneg(ScalarType type, TermId a);
  TermId fabs(ScalarType type, TermId a);
  TermId fcopysign(ScalarType type, TermId magnitude, TermId sign);
  /// \p op is FMax, FMin, FMaxNum or FMinNum.
  TermId fextreme(TermOp op, ScalarType type, TermId a, TermId b);
  TermId fcompare(ScalarType type, uint8_t orderings, TermId a, TermId b);
  TermId convert(ScalarType from, ScalarType to, TermId a,
                 Rounding rounding = Rounding::NearestEven, bool saturate = false);
  TermId fromInteger(ScalarType from, ScalarType to, TermId a,
                     Rounding rounding = Rounding::NearestEven);
  /// \p op is one of the four approximations.
  TermId approximate(TermOp op, TermId a);
  TermId canonical(ScalarType type, TermId a);
  TermId anyNaN(ScalarType type, TermId a);

  /// What is known of \p a as a value of \p type.
  uint8_t facts(ScalarType type, TermId a);

  // ---- For messages.
  /// The PTX line that a term made from now on comes from; 0: none.
  void setLine(unsigned line) { currentLine = line; }
  /// Terms come from nowhere again: another kernel is looked at.
  void forgetLines() { lines.assign(lines.size(), 0); }
  unsigned lineOf(TermId id) const { return lines[id]; }
  /// How often each rewrite was applied.
  const std::array<uint64_t, rewriteCount> &rewrites() const { return applied; }

private:
  TermId make(const Term &term);
  TermId make(TermOp op, unsigned width, TermId a, TermId b = 0, TermId c = 0);
  TermId makeFloat(TermOp op, ScalarType type, TermId a, TermId b = 0, TermId c = 0,
                   Rounding rounding = Rounding::NearestEven);
  void note(Rewrite rewrite) { ++applied[static_cast<size_t>(rewrite)]; }

  /// The operand of a float operation, to which all NaNs are one: without what only changes a NaN,
  /// with operations on the sign bit as such.
  TermId asFloat(ScalarType type, TermId a);
  TermId stripSign(TermId a, bool &negative);
  bool hasNaN(ScalarType type, std::initializer_list<TermId> operands);
  TermId unite(TermOp op, ScalarType type, TermId a, TermId b);
  bool isNaNWith(TermId a, TermId x, unsigned depth);
  TermId signBit(ScalarType type, TermId a, bool anySignOfNaN);
  void order(TermId &a, TermId &b);
  TermId bitwise(TermOp op, TermId a, TermId b);
  TermId compareWidened(ScalarType type, uint8_t orderings, TermId a, TermId b);
  TermId narrowed(ScalarType from, ScalarType to, TermId a);
  TermId asNarrow(ScalarType from, ScalarType to, TermId a);
  TermId isNaNOfBits(TermId a, TermId b);
  TermId selectCanonical(TermId condition, TermId a, TermId b);
  uint8_t computeFacts(ScalarType type, TermId a);

  std::vector<Term> terms;
  std::vector<unsigned> lines;
  static constexpr uint8_t notAsked = 0xFF;
  std::vector<uint8_t> ownFacts; ///< facts of a term as a value of its own type
  /// A selection has no type of its own: what it is as a value of the type last asked for.
  struct View {
    ScalarType floatType = ScalarType::Bool, factsType = ScalarType::Bool;
    uint8_t facts = 0;
    TermId asFloat = 0;
  };
  std::vector<View> views;
  struct Entry {
    uint32_t hash = 0;
    TermId id = 0; ///< 0: free
  };
  std::vector<Entry> table; ///< open addressing
  std::array<uint64_t, rewriteCount> applied{};
  unsigned currentLine = 0;
};

/// The term as text, cut at \p depth: `add.f32(mul.f32(q[12], r), 0x3F800000)`. Tensors and
/// parameters have the names given.
struct TermNames {
  std::vector<std::string> tensors, parameters;
};
std::string describe(const TermStore &store, TermId id, const TermNames &names, unsigned depth = 3);

/// Where two different terms part: the pair of subterms, in the same place of both, that is the
/// smallest whose operations or leaves differ.
std::pair<TermId, TermId> whereTheyPart(const TermStore &store, TermId a, TermId b);

} // namespace h3::prove

#endif // H3_BACKENDS_NVPTX_PROVE_TERM_H
