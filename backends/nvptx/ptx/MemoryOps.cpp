//===-- backends/nvptx/ptx/MemoryOps.cpp - Loads, stores, addresses -------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/ptx/Block.h"
#include "backends/nvptx/ptx/Machine.h"
#include "dsl/scalar/Arithmetic.h"

#include <algorithm>
#include <cstring>

namespace h3::ptx {
namespace {

using AccessKind = BlockRun::AccessKind;

uint64_t fromMemory(const std::byte *bytes, unsigned count) {
  uint64_t value = 0;
  std::memcpy(&value, bytes, count);
  return value;
}

/// What a register of op.registerBits gets of a loaded value.
uint64_t extended(const Op &op, uint64_t value) {
  if (!isSignedType(op.type))
    return value;
  return static_cast<uint64_t>(signExtend(value, 8u * op.bytes)) & maskOf(op.registerBits);
}

template <bool Vector> void load(Thread &t, const Op &op) {
  const std::byte *bytes = t.block->access(t, op, AccessKind::Read);
  if (!bytes)
    return;
  if constexpr (!Vector) {
    t.write(op.d, extended(op, fromMemory(bytes, op.bytes)));
  } else {
    for (unsigned i = 0; i < op.count; ++i)
      t.write(t.extra[op.extra + i], extended(op, fromMemory(bytes + i * op.bytes, op.bytes)));
  }
}

template <bool Vector> void store(Thread &t, const Op &op) {
  std::byte *bytes = t.block->access(t, op, AccessKind::Write);
  if (!bytes)
    return;
  if constexpr (!Vector) {
    std::memcpy(bytes, &t.r[op.b], op.bytes);
  } else {
    for (unsigned i = 0; i < op.count; ++i) {
      uint64_t value = t.further(op, i);
      std::memcpy(bytes + i * op.bytes, &value, op.bytes);
    }
  }
}

uint64_t updated(const Op &op, uint64_t old, uint64_t b, uint64_t c) {
  unsigned bits = bitWidth(op.type);
  bool isSigned = isSignedType(op.type);
  bool isLess = isSigned ? signExtend(b, bits) < signExtend(old, bits) : b < old;
  switch (static_cast<Modifier>(op.kind)) {
  case Modifier::Add:
    if (op.type == Modifier::F32)
      return scalar::add<scalar::F32>(old, b);
    if (op.type == Modifier::F64)
      return scalar::add<scalar::F64>(old, b);
    return old + b;
  case Modifier::Min:
    return isLess ? b : old;
  case Modifier::Max:
    return isLess ? old : b;
  case Modifier::And:
    return old & b;
  case Modifier::Or:
    return old | b;
  case Modifier::Xor:
    return old ^ b;
  case Modifier::Inc:
    return old >= b ? 0 : old + 1;
  case Modifier::Dec:
    return old == 0 || old > b ? b : old - 1;
  case Modifier::Cas:
    return old == b ? c : old;
  default: // exch
    return b;
  }
}

void atomic(Thread &t, const Op &op) {
  std::byte *bytes = t.block->access(t, op, AccessKind::Atomic);
  if (!bytes)
    return;
  uint64_t old = fromMemory(bytes, op.bytes);
  uint64_t value = updated(op, old, t.r[op.b], t.r[op.c]);
  std::memcpy(bytes, &value, op.bytes);
  t.write(op.d, old);
}

uint64_t windowOf(Space space) {
  switch (space) {
  case Space::Shared:
    return windowShared;
  case Space::Local:
    return windowLocal;
  case Space::Param:
    return windowParam;
  case Space::Const:
    return windowConst;
  default:
    return 0;
  }
}

void toGeneric(Thread &t, const Op &op) { t.write(op.d, t.r[op.a] + windowOf(op.space)); }
void fromGeneric(Thread &t, const Op &op) { t.write(op.d, t.r[op.a] - windowOf(op.space)); }

void isSpace(Thread &t, const Op &op) {
  uint64_t address = t.r[op.a];
  t.write(op.d, BlockRun::resolve(address) == op.space);
}

void makePolicy(Thread &t, const Op &op) { t.write(op.d, 0); }

bool selectAtomic(const Instruction &instruction, Op &op, std::string &problem) {
  for (Modifier modifier :
       {Modifier::Add, Modifier::Min, Modifier::Max, Modifier::And, Modifier::Or, Modifier::Xor,
        Modifier::Inc, Modifier::Dec, Modifier::Cas, Modifier::Exch})
    if (instruction.has(modifier))
      op.kind = static_cast<uint8_t>(modifier);
  bool isAdd = instruction.has(Modifier::Add);
  bool isFloat = isFloatType(op.type);
  bool isCounter = instruction.has(Modifier::Inc) || instruction.has(Modifier::Dec);
  bool isBits = op.type == Modifier::B32 || op.type == Modifier::B64;
  if ((isFloat && !isAdd) || (isCounter && op.type != Modifier::U32) ||
      (isBits && (isAdd || instruction.has(Modifier::Min) || instruction.has(Modifier::Max))))
    problem = "the operation is not one of this type";
  op.bytes = static_cast<uint8_t>(bitWidth(op.type) / 8);
  op.handler = atomic;
  return true;
}

} // namespace

bool selectMemory(const Instruction &instruction, Op &op, std::string &problem) {
  switch (instruction.opcode) {
  case Opcode::Ld:
  case Opcode::Ldu:
  case Opcode::St: {
    op.bytes = static_cast<uint8_t>(bitWidth(op.type) / 8);
    if (op.is(FlagNonCoherent) && op.space != Space::Global)
      problem = ".nc is for global memory only";
    if (instruction.opcode == Opcode::St && op.space == Space::Const)
      problem = "constant memory cannot be written";
    if (op.bytes * op.count > 32 || (op.count == 4 && op.bytes == 8 && op.space != Space::Global) ||
        (op.count == 8 && (op.bytes != 4 || op.space != Space::Global)))
      problem = "the vector is too long";
    bool isVector = op.count != 1;
    if (instruction.opcode == Opcode::St)
      op.handler = isVector ? store<true> : store<false>;
    else
      op.handler = isVector ? load<true> : load<false>;
    return true;
  }
  case Opcode::Atom:
  case Opcode::Red:
    return selectAtomic(instruction, op, problem);
  case Opcode::Cvta:
    if (op.type != Modifier::U64)
      problem = "only 64-bit addresses are supported";
    op.handler = instruction.has(Modifier::To) ? fromGeneric : toGeneric;
    return true;
  case Opcode::Isspacep:
    op.handler = isSpace;
    return true;
  case Opcode::Createpolicy:
    op.handler = makePolicy;
    return true;
  default:
    return false;
  }
}

} // namespace h3::ptx
