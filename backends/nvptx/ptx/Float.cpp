//===-- backends/nvptx/ptx/Float.cpp - Float arithmetic -------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/ptx/FloatBits.h"
#include "backends/nvptx/ptx/Machine.h"

#include <string>

namespace h3::ptx {
namespace {

using scalar::BF16;
using scalar::F16;
using scalar::F32;
using scalar::F64;

enum MinMaxFlag : uint8_t { NanWins = 1, SignOfProduct = 2, Absolute = 4, ThreeOperands = 8 };

// The operations: run<F>(op, rounding, a, b, c).
struct Add {
  template <class F> static Bits run(const Op &, Rounding rounding, Bits a, Bits b, Bits) {
    return scalar::add<F>(a, b, rounding);
  }
};
struct Sub {
  template <class F> static Bits run(const Op &, Rounding rounding, Bits a, Bits b, Bits) {
    return scalar::sub<F>(a, b, rounding);
  }
};
struct Mul {
  template <class F> static Bits run(const Op &, Rounding rounding, Bits a, Bits b, Bits) {
    return scalar::mul<F>(a, b, rounding);
  }
};
struct Fma {
  template <class F> static Bits run(const Op &, Rounding rounding, Bits a, Bits b, Bits c) {
    return scalar::fma<F>(a, b, c, rounding);
  }
};
struct Div {
  template <class F> static Bits run(const Op &, Rounding rounding, Bits a, Bits b, Bits) {
    return scalar::div<F>(a, b, rounding);
  }
};
struct Rcp {
  template <class F> static Bits run(const Op &, Rounding rounding, Bits a, Bits, Bits) {
    constexpr Bits one = static_cast<Bits>(F::bias) << F::fractionBits;
    return scalar::div<F>(one, a, rounding);
  }
};
struct Sqrt {
  template <class F> static Bits run(const Op &, Rounding rounding, Bits a, Bits, Bits) {
    return scalar::sqrt<F>(a, rounding);
  }
};
struct Neg {
  template <class F> static Bits run(const Op &, Rounding, Bits a, Bits, Bits) {
    return scalar::neg<F>(a);
  }
};
struct Abs {
  template <class F> static Bits run(const Op &, Rounding, Bits a, Bits, Bits) {
    return scalar::abs<F>(a);
  }
};

template <class F, bool Min> Bits minMax(const Op &op, Bits a, Bits b) {
  Bits sign = 0;
  if ((op.kind & SignOfProduct) != 0)
    sign = (a ^ b) & F::signMask;
  if ((op.kind & Absolute) != 0) {
    a &= F::magnitudeMask;
    b &= F::magnitudeMask;
  }
  Bits result = 0;
  if ((op.kind & NanWins) != 0)
    result = Min ? scalar::minimum<F>(a, b) : scalar::maximum<F>(a, b);
  else
    result = Min ? scalar::minimumNumber<F>(a, b) : scalar::maximumNumber<F>(a, b);
  return scalar::isNaN<F>(result) ? result : result ^ sign;
}
template <bool Min> struct MinMax {
  template <class F> static Bits run(const Op &op, Rounding, Bits a, Bits b, Bits c) {
    Bits result = minMax<F, Min>(op, a, b);
    return (op.kind & ThreeOperands) != 0 ? minMax<F, Min>(op, result, c) : result;
  }
};

/// One result of a format; `plain`: to nearest even and no modifier.
template <class F, class Operation, bool Plain> Bits compute(const Op &op, Bits a, Bits b, Bits c) {
  Bits result = 0;
  if constexpr (Plain) {
    result = Operation::template run<F>(op, Rounding::NearestEven, a, b, c);
  } else if (op.is(FlagFtz)) {
    a = flush<F>(a);
    b = flush<F>(b);
    c = flush<F>(c);
    result = Operation::template run<F>(op, op.rounding, a, b, c);
    // What lies below the smallest normal number is flushed even if it would round up to that.
    Bits cut = Operation::template run<F>(op, Rounding::TowardZero, a, b, c);
    if (scalar::magnitude<F>(cut) <= F::fractionMask)
      result &= F::signMask;
  } else {
    result = Operation::template run<F>(op, op.rounding, a, b, c);
  }
  if constexpr (F::width == 64)
    if (scalar::isNaN<F>(result)) [[unlikely]]
      result = nanResult<F>(op.nan, a, op.b == slotTrue ? 0 : b, op.c == slotTrue ? 0 : c);
  return Plain ? result : finish<F>(op, result);
}

template <class F, class Operation, bool Plain> void scalarHandler(Thread &t, const Op &op) {
  t.write(op.d, compute<F, Operation, Plain>(op, t.r[op.a], t.r[op.b], t.r[op.c]));
}

template <class F, class Operation, bool Plain> void packedHandler(Thread &t, const Op &op) {
  Bits a = t.r[op.a], b = t.r[op.b], c = t.r[op.c];
  Bits low = compute<F, Operation, Plain>(op, a & 0xFFFF, b & 0xFFFF, c & 0xFFFF);
  Bits high = compute<F, Operation, Plain>(op, a >> 16, b >> 16, c >> 16);
  t.write(op.d, high << 16 | low);
}

template <class F, class Operation> Handler choose(const Op &op, bool packed) {
  bool plain =
      op.rounding == Rounding::NearestEven && (op.flags & (FlagFtz | FlagSat | FlagRelu)) == 0;
  if (packed) {
    if constexpr (F::width == 16)
      return plain ? packedHandler<F, Operation, true> : packedHandler<F, Operation, false>;
    return nullptr;
  }
  return plain ? scalarHandler<F, Operation, true> : scalarHandler<F, Operation, false>;
}

template <class Operation> Handler byFormat(const Op &op) {
  switch (op.type) {
  case Modifier::F16:
    return choose<F16, Operation>(op, false);
  case Modifier::F16x2:
    return choose<F16, Operation>(op, true);
  case Modifier::Bf16:
    return choose<BF16, Operation>(op, false);
  case Modifier::Bf16x2:
    return choose<BF16, Operation>(op, true);
  case Modifier::F32:
    return choose<F32, Operation>(op, false);
  case Modifier::F64:
    return choose<F64, Operation>(op, false);
  default:
    return nullptr;
  }
}

/// div, rcp and sqrt are of f32 and f64 only.
template <class Operation> Handler byWideFormat(const Op &op) {
  return op.type == Modifier::F32 ? choose<F32, Operation>(op, false)
                                  : choose<F64, Operation>(op, false);
}

/// add.rn.f32.f16 %r, %rs, %r2 and fma.rn.f32.f16: the narrow operands are widened, which is exact.
template <class From, Opcode Which> void mixedHandler(Thread &t, const Op &op) {
  Bits a = scalar::convert<From, F32>(t.r[op.a]);
  Bits result = 0;
  if constexpr (Which == Opcode::Fma)
    result = scalar::fma<F32>(a, scalar::convert<From, F32>(t.r[op.b]), t.r[op.c], op.rounding);
  else if constexpr (Which == Opcode::Add)
    result = scalar::add<F32>(a, t.r[op.b], op.rounding);
  else
    result = scalar::sub<F32>(a, t.r[op.b], op.rounding);
  t.write(op.d, finish<F32>(op, result));
}

template <class From> Handler mixed(Opcode opcode) {
  return opcode == Opcode::Fma   ? mixedHandler<From, Opcode::Fma>
         : opcode == Opcode::Add ? mixedHandler<From, Opcode::Add>
                                 : mixedHandler<From, Opcode::Sub>;
}

/// copysign d, a, b: the sign of a, the magnitude of b. Bits, so a NaN keeps its payload.
template <class F> void copySign(Thread &t, const Op &op) {
  t.write(op.d, (t.r[op.a] & F::signMask) | (t.r[op.b] & F::magnitudeMask));
}

template <class F> void testProperty(Thread &t, const Op &op) {
  Bits a = t.r[op.a];
  bool isSubnormal = !scalar::isZero<F>(a) && scalar::magnitude<F>(a) <= F::fractionMask;
  bool result = false;
  switch (static_cast<Modifier>(op.kind)) {
  case Modifier::Finite:
    result = scalar::isFinite<F>(a);
    break;
  case Modifier::Infinite:
    result = scalar::isInfinity<F>(a);
    break;
  case Modifier::Number:
    result = !scalar::isNaN<F>(a);
    break;
  case Modifier::Notanumber:
    result = scalar::isNaN<F>(a);
    break;
  case Modifier::Normal:
    result = scalar::isFinite<F>(a) && !isSubnormal;
    break;
  default:
    result = isSubnormal;
    break;
  }
  t.write(op.d, result);
}

Handler selectMinMax(const Instruction &instruction, Op &op) {
  if (instruction.has(Modifier::NanWins))
    op.kind |= NanWins;
  if (instruction.has(Modifier::Xorsign))
    op.kind |= SignOfProduct;
  if (instruction.has(Modifier::Abs))
    op.kind |= Absolute;
  if (instruction.operands.size() == 4)
    op.kind |= ThreeOperands;
  return instruction.opcode == Opcode::Min ? byFormat<MinMax<true>>(op)
                                           : byFormat<MinMax<false>>(op);
}

Handler selectHandler(const Instruction &instruction, Op &op) {
  switch (instruction.opcode) {
  case Opcode::Add:
    return byFormat<Add>(op);
  case Opcode::Sub:
    return byFormat<Sub>(op);
  case Opcode::Mul:
    return byFormat<Mul>(op);
  case Opcode::Mad: // of floats: fma by another name
  case Opcode::Fma:
    return byFormat<Fma>(op);
  case Opcode::Div:
    return byWideFormat<Div>(op);
  case Opcode::Rcp:
    return byWideFormat<Rcp>(op);
  case Opcode::Sqrt:
    return byWideFormat<Sqrt>(op);
  case Opcode::Neg:
    return byFormat<Neg>(op);
  case Opcode::Abs:
    return byFormat<Abs>(op);
  case Opcode::Min:
  case Opcode::Max:
    return selectMinMax(instruction, op);
  case Opcode::Copysign:
    return op.type == Modifier::F32 ? copySign<F32> : copySign<F64>;
  case Opcode::Testp:
    op.kind = static_cast<uint8_t>(instruction.modifiers.front());
    return op.type == Modifier::F32 ? testProperty<F32> : testProperty<F64>;
  default:
    return nullptr;
  }
}

} // namespace

bool selectFloat(const Instruction &instruction, Op &op, std::string &problem) {
  if (!instruction.hasType(0) || !isFloatType(op.type) || instruction.has(Modifier::Approx) ||
      instruction.has(Modifier::Full))
    return false;
  bool isArithmetic = instruction.opcode == Opcode::Add || instruction.opcode == Opcode::Sub ||
                      instruction.opcode == Opcode::Mul || instruction.opcode == Opcode::Fma;
  if (isArithmetic && op.type == Modifier::F32x2) {
    problem = "packed f32 arithmetic has no defined rounding: the assembler may fuse it";
    return true;
  }
  if (isArithmetic && instruction.hasType(1))
    op.handler = op.type2 == Modifier::F16 ? mixed<F16>(instruction.opcode)
                                           : mixed<BF16>(instruction.opcode);
  else
    op.handler = selectHandler(instruction, op);
  return op.handler != nullptr;
}

} // namespace h3::ptx
