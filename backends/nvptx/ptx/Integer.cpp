//===-- backends/nvptx/ptx/Integer.cpp - Integer arithmetic ---------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/ptx/Machine.h"

#include <algorithm>
#include <type_traits>

namespace h3::ptx {
namespace {

__extension__ using Signed128 = __int128;
__extension__ using Unsigned128 = unsigned __int128;

template <class T> T get(uint64_t slot) { return static_cast<T>(slot); }
template <class T> uint64_t put(T value) { return static_cast<std::make_unsigned_t<T>>(value); }

/// The exact product.
template <class T> auto product(T a, T b) {
  using Wide = std::conditional_t<sizeof(T) == 8,
                                  std::conditional_t<std::is_signed_v<T>, Signed128, Unsigned128>,
                                  std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;
  return static_cast<Wide>(a) * static_cast<Wide>(b);
}

template <class T> uint64_t high(T a, T b) {
  return static_cast<uint64_t>(product(a, b) >> (8 * sizeof(T))) & maskOf(8 * sizeof(T));
}

template <class T> uint64_t low(uint64_t value) { return put(get<T>(value)); }

template <class T> struct Add {
  static void run(Thread &t, const Op &op) { t.write(op.d, low<T>(t.r[op.a] + t.r[op.b])); }
};
template <class T> struct Sub {
  static void run(Thread &t, const Op &op) { t.write(op.d, low<T>(t.r[op.a] - t.r[op.b])); }
};
template <class T> struct MulLo {
  static void run(Thread &t, const Op &op) { t.write(op.d, low<T>(t.r[op.a] * t.r[op.b])); }
};
template <class T> struct MulHi {
  static void run(Thread &t, const Op &op) {
    t.write(op.d, high(get<T>(t.r[op.a]), get<T>(t.r[op.b])));
  }
};
template <class T> struct MulWide {
  static void run(Thread &t, const Op &op) {
    auto wide = static_cast<uint64_t>(product(get<T>(t.r[op.a]), get<T>(t.r[op.b])));
    t.write(op.d, wide & maskOf(16 * sizeof(T)));
  }
};
template <class T> struct MadLo {
  static void run(Thread &t, const Op &op) {
    t.write(op.d, low<T>(t.r[op.a] * t.r[op.b] + t.r[op.c]));
  }
};
template <class T> struct MadHi {
  static void run(Thread &t, const Op &op) {
    t.write(op.d, low<T>(high(get<T>(t.r[op.a]), get<T>(t.r[op.b])) + t.r[op.c]));
  }
};
template <class T> struct MadWide {
  static void run(Thread &t, const Op &op) {
    auto wide = static_cast<uint64_t>(product(get<T>(t.r[op.a]), get<T>(t.r[op.b])));
    t.write(op.d, (wide + t.r[op.c]) & maskOf(16 * sizeof(T)));
  }
};

template <class T, bool Remainder> void divide(Thread &t, const Op &op) {
  T a = get<T>(t.r[op.a]), b = get<T>(t.r[op.b]);
  if (b == 0) {
    t.fault(FaultKind::DivisionByZero, "the divisor is 0");
    return;
  }
  // The quotient of the least number and -1 wraps around.
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) {
    t.write(op.d, Remainder ? 0 : low<T>(0 - t.r[op.a]));
    return;
  }
  t.write(op.d, put(static_cast<T>(Remainder ? a % b : a / b)));
}
template <class T> struct Div {
  static void run(Thread &t, const Op &op) { divide<T, false>(t, op); }
};
template <class T> struct Rem {
  static void run(Thread &t, const Op &op) { divide<T, true>(t, op); }
};

template <class T> struct Min {
  static void run(Thread &t, const Op &op) {
    t.write(op.d, put(std::min(get<T>(t.r[op.a]), get<T>(t.r[op.b]))));
  }
};
template <class T> struct Max {
  static void run(Thread &t, const Op &op) {
    t.write(op.d, put(std::max(get<T>(t.r[op.a]), get<T>(t.r[op.b]))));
  }
};
template <class T> struct Sad {
  static void run(Thread &t, const Op &op) {
    bool less = get<T>(t.r[op.a]) < get<T>(t.r[op.b]);
    uint64_t difference = less ? t.r[op.b] - t.r[op.a] : t.r[op.a] - t.r[op.b];
    t.write(op.d, low<T>(difference + t.r[op.c]));
  }
};
template <class T> struct Neg {
  static void run(Thread &t, const Op &op) { t.write(op.d, low<T>(0 - t.r[op.a])); }
};
template <class T> struct Abs {
  static void run(Thread &t, const Op &op) {
    t.write(op.d, get<T>(t.r[op.a]) < 0 ? low<T>(0 - t.r[op.a]) : t.r[op.a]);
  }
};

template <template <class> class H> Handler byType(Modifier type) {
  switch (type) {
  case Modifier::U16:
    return H<uint16_t>::run;
  case Modifier::U32:
    return H<uint32_t>::run;
  case Modifier::U64:
    return H<uint64_t>::run;
  case Modifier::S16:
    return H<int16_t>::run;
  case Modifier::S32:
    return H<int32_t>::run;
  case Modifier::S64:
    return H<int64_t>::run;
  default:
    return nullptr;
  }
}

template <template <class> class H> Handler byNarrowType(Modifier type) {
  return bitWidth(type) == 64 ? nullptr : byType<H>(type);
}

uint64_t saturate32(int64_t value) {
  return static_cast<uint32_t>(std::clamp<int64_t>(value, INT32_MIN, INT32_MAX));
}

/// add.sat.s32, sub.sat.s32, mad.hi.sat.s32.
template <Opcode Which> void saturating(Thread &t, const Op &op) {
  int64_t a = get<int32_t>(t.r[op.a]), b = get<int32_t>(t.r[op.b]), c = get<int32_t>(t.r[op.c]);
  t.write(op.d, saturate32(Which == Opcode::Add   ? a + b
                           : Which == Opcode::Sub ? a - b
                                                  : ((a * b) >> 32) + c));
}

/// Instructions with a carry: x + y + carry, or x - y - borrow, in op.registerBits bits.
void addWithCarry(Thread &t, const Op &op, uint64_t x, uint64_t y, bool subtract) {
  if (op.is(FlagUseCarry) && !t.set[slotCarry]) {
    t.fault(FaultKind::UnsetRegister, "the carry flag is read, and nothing has written it");
    return;
  }
  unsigned bits = bitWidth(op.type);
  Unsigned128 carry = op.is(FlagUseCarry) ? t.r[slotCarry] : 0;
  Unsigned128 wide =
      subtract ? static_cast<Unsigned128>(x) - y - carry : static_cast<Unsigned128>(x) + y + carry;
  if (op.is(FlagSetCarry))
    t.write(slotCarry, static_cast<uint64_t>(wide >> bits) & 1);
  t.write(op.d, static_cast<uint64_t>(wide) & maskOf(bits));
}

void addCarry(Thread &t, const Op &op) { addWithCarry(t, op, t.r[op.a], t.r[op.b], false); }
void subCarry(Thread &t, const Op &op) { addWithCarry(t, op, t.r[op.a], t.r[op.b], true); }

template <bool High> void madCarry(Thread &t, const Op &op) {
  uint64_t a = t.r[op.a], b = t.r[op.b];
  unsigned bits = bitWidth(op.type);
  uint64_t part = 0;
  if (!High)
    part = (a * b) & maskOf(bits);
  else if (bits == 64)
    part = isSignedType(op.type) ? high(get<int64_t>(a), get<int64_t>(b)) : high(a, b);
  else
    part = isSignedType(op.type) ? high(get<int32_t>(a), get<int32_t>(b))
                                 : high(get<uint32_t>(a), get<uint32_t>(b));
  addWithCarry(t, op, part, t.r[op.c], false);
}

/// Two 16-bit halves.
template <Opcode Which> void packed(Thread &t, const Op &op) {
  bool isSigned = op.type == Modifier::S16x2;
  uint64_t result = 0;
  for (unsigned shift : {0u, 16u}) {
    uint64_t x = (t.r[op.a] >> shift) & 0xFFFF, y = (t.r[op.b] >> shift) & 0xFFFF;
    int64_t a = isSigned ? signExtend(x, 16) : static_cast<int64_t>(x);
    int64_t b = isSigned ? signExtend(y, 16) : static_cast<int64_t>(y);
    int64_t value = Which == Opcode::Add   ? a + b
                    : Which == Opcode::Sub ? a - b
                    : Which == Opcode::Min ? std::min(a, b)
                                           : std::max(a, b);
    if (op.is(FlagRelu))
      value = std::max<int64_t>(value, 0);
    result |= (static_cast<uint64_t>(value) & 0xFFFF) << shift;
  }
  t.write(op.d, result);
}

template <Opcode Which> void relu32(Thread &t, const Op &op) {
  int32_t a = get<int32_t>(t.r[op.a]), b = get<int32_t>(t.r[op.b]);
  t.write(op.d, put(std::max(Which == Opcode::Min ? std::min(a, b) : std::max(a, b), 0)));
}

/// mul24 and mad24: the product of the low 24 bits, its low 32 or its bits 16 to 47.
template <bool High, bool HasAddend> void multiply24(Thread &t, const Op &op) {
  auto value = [&](Slot slot) {
    return op.type == Modifier::S32 ? signExtend(t.r[slot], 24)
                                    : static_cast<int64_t>(t.r[slot] & 0xFFFFFF);
  };
  auto wide = static_cast<uint64_t>(value(op.a) * value(op.b));
  uint64_t part = High ? wide >> 16 : wide;
  t.write(op.d, (part + (HasAddend ? t.r[op.c] : 0)) & 0xFFFFFFFF);
}

/// dp4a: four products of bytes; dp2a: two of halves of a with the low or high bytes of b.
template <unsigned Products> void dotProduct(Thread &t, const Op &op) {
  auto part = [](uint64_t value, unsigned index, unsigned bits, Modifier type) {
    uint64_t field = (value >> (index * bits)) & maskOf(bits);
    return type == Modifier::S32 ? signExtend(field, bits) : static_cast<int64_t>(field);
  };
  auto sum = static_cast<int64_t>(t.r[op.c]);
  for (unsigned i = 0; i < Products; ++i)
    sum += part(t.r[op.a], i, 32 / Products, op.type) *
           part(t.r[op.b], i + (Products == 2 ? 2u * op.kind : 0), 8, op.type2);
  t.write(op.d, static_cast<uint64_t>(sum) & 0xFFFFFFFF);
}

Handler selectMultiply(const Instruction &instruction, const Op &op) {
  bool isMad = instruction.opcode == Opcode::Mad;
  if (instruction.has(Modifier::Wide))
    return isMad ? byNarrowType<MadWide>(op.type) : byNarrowType<MulWide>(op.type);
  if (instruction.has(Modifier::Sat))
    return saturating<Opcode::Mad>;
  if (instruction.has(Modifier::Hi))
    return isMad ? byType<MadHi>(op.type) : byType<MulHi>(op.type);
  return isMad ? byType<MadLo>(op.type) : byType<MulLo>(op.type);
}

Handler selectAdd(const Instruction &instruction, const Op &op) {
  bool isAdd = instruction.opcode == Opcode::Add;
  if (instruction.has(Modifier::Cc))
    return isAdd ? addCarry : subCarry;
  if (instruction.has(Modifier::Sat))
    return isAdd ? saturating<Opcode::Add> : saturating<Opcode::Sub>;
  if (op.type == Modifier::U16x2 || op.type == Modifier::S16x2)
    return isAdd ? packed<Opcode::Add> : packed<Opcode::Sub>;
  return isAdd ? byType<Add>(op.type) : byType<Sub>(op.type);
}

Handler selectMinMax(const Instruction &instruction, const Op &op) {
  bool isMin = instruction.opcode == Opcode::Min;
  if (op.type == Modifier::U16x2 || op.type == Modifier::S16x2)
    return isMin ? packed<Opcode::Min> : packed<Opcode::Max>;
  if (instruction.has(Modifier::Relu))
    return isMin ? relu32<Opcode::Min> : relu32<Opcode::Max>;
  return isMin ? byType<Min>(op.type) : byType<Max>(op.type);
}

Handler selectHandler(const Instruction &instruction, Op &op) {
  bool isHigh = instruction.has(Modifier::Hi);
  switch (instruction.opcode) {
  case Opcode::Add:
  case Opcode::Sub:
    return selectAdd(instruction, op);
  case Opcode::Addc:
    return addCarry;
  case Opcode::Subc:
    return subCarry;
  case Opcode::Mul:
  case Opcode::Mad:
    if (instruction.has(Modifier::Cc))
      return isHigh ? madCarry<true> : madCarry<false>;
    return selectMultiply(instruction, op);
  case Opcode::Madc:
    return isHigh ? madCarry<true> : madCarry<false>;
  case Opcode::Mul24:
    return isHigh ? multiply24<true, false> : multiply24<false, false>;
  case Opcode::Mad24:
    return isHigh ? multiply24<true, true> : multiply24<false, true>;
  case Opcode::Div:
    return byType<Div>(op.type);
  case Opcode::Rem:
    return byType<Rem>(op.type);
  case Opcode::Min:
  case Opcode::Max:
    return selectMinMax(instruction, op);
  case Opcode::Sad:
    return byType<Sad>(op.type);
  case Opcode::Neg:
    return byType<Neg>(op.type);
  case Opcode::Abs:
    return byType<Abs>(op.type);
  case Opcode::Dp4a:
    return dotProduct<4>;
  case Opcode::Dp2a:
    op.kind = isHigh ? 1 : 0;
    return dotProduct<2>;
  default:
    return nullptr;
  }
}

} // namespace

bool selectInteger(const Instruction &instruction, Op &op, std::string &) {
  if (!instruction.hasType(0) || isFloatType(op.type))
    return false;
  bool usesCarry = instruction.opcode == Opcode::Addc || instruction.opcode == Opcode::Subc ||
                   instruction.opcode == Opcode::Madc;
  if (usesCarry)
    op.flags |= FlagUseCarry;
  if (instruction.has(Modifier::Cc))
    op.flags |= FlagSetCarry;
  op.handler = selectHandler(instruction, op);
  return op.handler != nullptr;
}

} // namespace h3::ptx
