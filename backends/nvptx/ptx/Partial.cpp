//===-- backends/nvptx/ptx/Partial.cpp - Registers set in part -----------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/ptx/Machine.h"

namespace h3::ptx {
namespace {

/// The bytes of a value of \p bits bits.
uint8_t bytesOf(unsigned bits) { return static_cast<uint8_t>(maskOf(bits / 8)); }

/// Bytes that a shift by \p count moves; a result byte that two make needs both. What is shifted in
/// is set.
uint8_t shiftedSet(uint8_t set, unsigned bits, uint64_t count, bool left) {
  unsigned bytes = bits / 8;
  uint8_t result = setWhole;
  for (unsigned i = 0; i < bytes; ++i) {
    bool isSet = true;
    for (unsigned part : {0u, 7u}) {
      int64_t bit = static_cast<int64_t>(8 * i + part) +
                    (left ? -static_cast<int64_t>(count) : static_cast<int64_t>(count));
      if (bit >= 0 && bit < static_cast<int64_t>(bits))
        isSet &= (set >> (bit / 8) & 1) != 0;
    }
    if (!isSet)
      result &= static_cast<uint8_t>(~(1u << i));
  }
  return result;
}

/// A byte is known if both are, or if one is known to be all 0 (and) or all 1 (or).
uint8_t logicSet(const Thread &t, const Op &op, uint8_t absorbing) {
  uint8_t result = 0;
  for (unsigned i = 0; i < 8; ++i) {
    auto isSet = [&](Slot slot) { return (t.set[slot] >> i & 1) != 0; };
    auto absorbs = [&](Slot slot) {
      return isSet(slot) && static_cast<uint8_t>(t.r[slot] >> (8 * i)) == absorbing;
    };
    if ((isSet(op.a) && isSet(op.b)) || absorbs(op.a) || absorbs(op.b))
      result |= static_cast<uint8_t>(1u << i);
  }
  return result;
}

bool runMove(Thread &t, const Op &op, const Instruction &instruction) {
  unsigned bytes = op.bytes;
  if (instruction.operands[1].kind == Operand::Kind::Vector) {
    unsigned set = ~unsigned(maskOf(bitWidth(op.type) / 8)) & setWhole;
    for (unsigned i = 0; i < op.count; ++i)
      set |= (t.set[t.extra[op.extra + i]] & bytesOf(8 * bytes)) << (i * bytes);
    if ((set & bytesOf(bitWidth(op.type))) == 0)
      return false;
    op.handler(t, op);
    t.set[op.d] = static_cast<uint8_t>(set);
    return true;
  }
  uint8_t set = t.set[op.a];
  if (set == 0)
    return false;
  op.handler(t, op);
  if (instruction.operands[0].kind != Operand::Kind::Vector) {
    t.set[op.d] = set;
    return true;
  }
  for (unsigned i = 0; i < op.count; ++i)
    t.set[t.extra[op.extra + i]] =
        static_cast<uint8_t>(set >> (i * bytes) | ~unsigned(bytesOf(8 * bytes)));
  return true;
}

/// Packed arithmetic computes each half from the same half of its sources.
bool isByHalves(Opcode opcode) {
  switch (opcode) {
  case Opcode::Add:
  case Opcode::Sub:
  case Opcode::Mul:
  case Opcode::Fma:
  case Opcode::Neg:
  case Opcode::Abs:
  case Opcode::Min:
  case Opcode::Max:
    return true;
  default:
    return false;
  }
}

uint8_t halvesSet(const Thread &t, const Op &op) {
  uint8_t result = setWhole;
  for (Slot slot : {op.a, op.b, op.c})
    for (unsigned half : {0b0011u, 0b1100u})
      if ((t.set[slot] & half) != half)
        result &= static_cast<uint8_t>(~half);
  return result;
}

/// A byte of the result is set as the one that its selector names.
uint8_t permutedSet(const Thread &t, const Op &op) {
  unsigned sources = (t.set[op.a] & bytesOf(32)) | (t.set[op.b] & bytesOf(32)) << 4;
  uint8_t result = 0;
  for (unsigned i = 0; i < 8; ++i)
    if (i >= 4 || (sources >> (t.r[op.c] >> (4 * i) & 7) & 1) != 0)
      result |= static_cast<uint8_t>(1u << i);
  return result;
}

bool runWithSet(Thread &t, const Op &op, uint8_t set) {
  op.handler(t, op);
  t.set[op.d] = set;
  return true;
}

} // namespace

bool runPartial(Thread &t, const Op &op, const Instruction &instruction) {
  if (instruction.opcode == Opcode::Mov)
    return runMove(t, op, instruction);
  if (op.type == Modifier::Pred || t.set[op.a] == 0 || t.set[op.b] == 0 || t.set[op.c] == 0)
    return false;
  bool isPacked = op.type == Modifier::F16x2 || op.type == Modifier::Bf16x2;
  if (isPacked && isByHalves(instruction.opcode))
    return runWithSet(t, op, halvesSet(t, op));
  bool isWholeCount = t.set[op.b] == setWhole;
  switch (instruction.opcode) {
  case Opcode::Shl:
  case Opcode::Shr: {
    bool left = instruction.opcode == Opcode::Shl;
    if (!isWholeCount || isSignedType(op.type))
      return false;
    return runWithSet(t, op, shiftedSet(t.set[op.a], bitWidth(op.type), t.r[op.b], left));
  }
  case Opcode::And:
    return runWithSet(t, op, logicSet(t, op, 0));
  case Opcode::Or:
    return runWithSet(t, op, logicSet(t, op, 0xFF));
  case Opcode::Prmt:
    if (t.set[op.c] != setWhole || static_cast<Modifier>(op.kind) != Modifier::B32)
      return false;
    return runWithSet(t, op, permutedSet(t, op));
  case Opcode::Selp:
    return runWithSet(t, op, t.set[(t.r[op.c] & 1) != 0 ? op.a : op.b]);
  case Opcode::Cvt: {
    uint8_t needed = bytesOf(bitWidth(op.type2));
    if (isFloatType(op.type2) || (t.set[op.a] & needed) != needed)
      return false;
    return runWithSet(t, op, setWhole);
  }
  case Opcode::St: {
    uint8_t needed = bytesOf(8u * op.bytes);
    if (op.count != 1 || t.set[op.a] != setWhole || (t.set[op.b] & needed) != needed)
      return false;
    op.handler(t, op);
    return true;
  }
  default:
    return false;
  }
}

} // namespace h3::ptx
