//===-- runtime/plan/Decline.h - Why a call was not served ------*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A declined call touched nothing; the host keeps its own operation. A decline is a small value
// with a reason from a closed list and the numbers that led to it; text is made from it only when
// somebody asks (`describe` in Plan.h).
//
//===----------------------------------------------------------------------===//

#ifndef H3_RUNTIME_PLAN_DECLINE_H
#define H3_RUNTIME_PLAN_DECLINE_H

#include <cstdint>
#include <string_view>

namespace h3::plan {

enum class DeclineReason : uint8_t {
#define H3_DECLINE(Enumerator, Name, Meaning) Enumerator,
#include "runtime/plan/declines.def"
};

inline constexpr unsigned kDeclineReasonCount = 0
#define H3_DECLINE(Enumerator, Name, Meaning) +1
#include "runtime/plan/declines.def"
    ;

/// "stride", "capture_needs_preload", ...
std::string_view name(DeclineReason reason);

/// One sentence without a full stop, as in declines.def.
std::string_view meaning(DeclineReason reason);

/// Which check failed: selects the sentence `describe` prints and says how the fields of `Decline`
/// are to be read (t = tensor, a = axis, i = index, f = found, e = expected).
enum class DeclineDetail : uint8_t {
  None,               ///< the reason says it all
  TensorCount,        ///< f tensors were passed, e expected
  ParameterCount,     ///< f parameters were passed, at most e expected
  DTypeMismatch,      ///< t has DType f, the contract says DType e
  RankTooSmall,       ///< t has rank f, the operator's rank is e
  RankTooLarge,       ///< t has rank f, the most there can be is e
  NotSingleElement,   ///< t has extent f in host axis a, the operator's tensor has rank 0
  NegativeExtent,     ///< t has extent f in host axis a
  ExtentMismatch,     ///< t has extent f in operator axis a, the contract says e
  ExtentNotDivisible, ///< t's extent f in operator axis a does not give dim i: not a multiple of e
  DimUndetermined,    ///< dim i does not follow from t's extent f in operator axis a: factor 0
  NegativeStride,     ///< t has stride f in host axis a
  NotCollapsible,     ///< t's host axes a and i do not merge: stride f in axis a, needed e
  StrideClause,       ///< t has stride f in operator axis a, the contract says e
  ElementAlignment,   ///< t's address f is not a multiple of the element's e bytes
  AlignClause,        ///< t's address f is not a multiple of e bytes, as align(k) demands
  SelfOverlap,        ///< elements of output t share an address
  Overlap,            ///< output t overlaps tensor i
  AliasNotIdentical,  ///< output t overlaps tensor i, which it may alias, but is not the same view
  RequirementFailed,  ///< requirement i does not hold
  ParameterMissing,   ///< parameter i has no default and was not passed
  ParameterDType,     ///< parameter i has DType f, the contract says DType e
  ParameterBits,      ///< parameter i has bits f, more than DType e holds
  ElementCount,       ///< t has 2^63 elements or more
  ByteSpan,           ///< t spans 2^63 bytes or more, or past the end of the address space
  ExtentOverflow,     ///< the contract's extent of t in operator axis a is beyond 2^63
  DimOverflow,        ///< the value of dim i is beyond 2^63
  GridRange,          ///< grid extent f in direction a of variant i is not in 0 .. e
  BlockRange,         ///< block extent f in direction a of variant i is not in 1 .. e
  BlockThreads,       ///< a block of variant i has f threads, the most is e
  SharedRange,        ///< dynamic shared bytes f of variant i are not in 0 .. e
  ArgumentRange,      ///< argument a of variant i has value f, which i32 does not hold
  ExpressionOverflow, ///< a grid, block, shared size or argument of variant i overflowed
  NoVariant,          ///< no variant's guards hold
  MemberOverlap,      ///< output t of `member` overlaps tensor i of `otherMember`
  NoData,             ///< t has elements and its address is 0
  OtherDevice,    ///< t is on device f, the first tensor on device e (DLPack's type << 32 | number)
  NoDeviceDriver, ///< t is on device f, of a kind that no driver serves
};

/// A declined call. Fields not named by `detail` are -1 (tensor, axis, index) or 0.
struct Decline {
  DeclineReason reason = DeclineReason::NoOperatorSet;
  DeclineDetail detail = DeclineDetail::None;
  int16_t tensor = -1; ///< index in `OperatorPlan::tensors`
  int16_t axis = -1;
  int32_t index = -1;
  int64_t found = 0;
  int64_t expected = 0;
  int32_t member = -1;      ///< of a list (`OperatorPlan::each`): whose set of tensors it is
  int32_t otherMember = -1; ///< of a list: the other one, of an overlap

  bool operator==(const Decline &) const = default;
};

} // namespace h3::plan

#endif // H3_RUNTIME_PLAN_DECLINE_H
