//===-- codegen/kernel/Exchange.cpp - States between threads --------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/kernel/Exchange.h"
#include "codegen/Mutant.h"

#include <mlir/Dialect/LLVMIR/LLVMDialect.h>

using namespace mlir;

namespace h3 {

static constexpr unsigned sharedMemory = 3; ///< NVPTX and AMDGPU number it alike

Value Exchange::butterfly(Value value, unsigned mask) {
  return shuffle(value, i32(mask), gpu::ShuffleMode::XOR);
}

Value Exchange::fromLane(Value value, Value lane) {
  return shuffle(value, lane, gpu::ShuffleMode::IDX);
}

Value Exchange::fromMember(Value value, Value member) {
  Location loc = builder.getUnknownLoc();
  auto word = builder.getI32Type();
  Value lane = member;
  if (member.getType() != word)
    lane = arith::TruncIOp::create(builder, loc, word, lane);
  if (team->threads < machine.waveThreads) {
    Value others = arith::AndIOp::create(builder, loc, team->thread,
                                         i32((machine.waveThreads - 1) & ~(team->threads - 1)));
    lane = arith::OrIOp::create(builder, loc, others, lane);
  }
  auto type = dyn_cast<VectorType>(value.getType());
  if (!type)
    return fromLane(value, lane);
  // Whole words where there are any.
  unsigned width = type.getElementTypeBitWidth(), bits = width * type.getNumElements();
  auto integers = VectorType::get(type.getShape(), builder.getIntegerType(width));
  auto words =
      VectorType::get(std::max(1u, bits / 32), builder.getIntegerType(std::min(32u, bits)));
  if (type != integers)
    value = arith::BitcastOp::create(builder, loc, integers, value);
  if (integers != words)
    value = LLVM::BitcastOp::create(builder, loc, words, value);
  Value moved = LLVM::PoisonOp::create(builder, loc, words);
  for (int64_t number = 0; number < words.getNumElements(); ++number) {
    Value part = LLVM::ExtractElementOp::create(builder, loc, value, i32(number));
    moved = LLVM::InsertElementOp::create(builder, loc, moved, fromLane(part, lane), i32(number));
  }
  if (integers != words)
    moved = LLVM::BitcastOp::create(builder, loc, integers, moved);
  return type == integers ? moved : Value(arith::BitcastOp::create(builder, loc, type, moved));
}

Value Exchange::threadWith(unsigned first, unsigned count, unsigned setting) {
  Location loc = builder.getUnknownLoc();
  int64_t mask = ((int64_t(1) << count) - 1) << first;
  Value others = arith::AndIOp::create(builder, loc, team->thread, i32(~mask));
  if (setting == 0)
    return others;
  return arith::OrIOp::create(builder, loc, others, i32(int64_t(setting) << first));
}

/// Shuffles move 32 bits: narrower values are widened, wider ones go in two halves.
Value Exchange::shuffle(Value value, Value source, gpu::ShuffleMode mode) {
  Location loc = builder.getUnknownLoc();
  auto exchange = [&](Value word) -> Value {
    return gpu::ShuffleOp::create(builder, loc, word, source, i32(machine.waveThreads), mode)
        .getShuffleResult();
  };
  mlir::Type type = value.getType();
  unsigned width = type.getIntOrFloatBitWidth();
  if (width == 32)
    return exchange(value);
  auto integer = builder.getIntegerType(width);
  auto word = builder.getI32Type();
  Value bits =
      type == integer ? value : Value(arith::BitcastOp::create(builder, loc, integer, value));
  if (width < 32) {
    bits = exchange(arith::ExtUIOp::create(builder, loc, word, bits));
    bits = arith::TruncIOp::create(builder, loc, integer, bits);
  } else {
    Value shift = elements.constant(builder.getI64IntegerAttr(32));
    Value low = exchange(arith::TruncIOp::create(builder, loc, word, bits));
    Value high = arith::ShRUIOp::create(builder, loc, bits, shift);
    high = exchange(arith::TruncIOp::create(builder, loc, word, high));
    high = arith::ExtUIOp::create(builder, loc, integer, high);
    high = arith::ShLIOp::create(builder, loc, high, shift);
    bits = arith::OrIOp::create(builder, loc, high,
                                arith::ExtUIOp::create(builder, loc, integer, low));
  }
  return type == integer ? bits : Value(arith::BitcastOp::create(builder, loc, type, bits));
}

void Exchange::barrier() {
  Location loc = builder.getUnknownLoc();
  if (team->threads <= machine.waveThreads)
    NVVM::SyncWarpOp::create(builder, loc, i32(-1));
  else
    gpu::BarrierOp::create(builder, loc);
}

Value Exchange::sharedArray(mlir::Type element, unsigned length, Location loc) {
  auto type = LLVM::LLVMArrayType::get(element, length);
  std::string name = entry + "__shared" + std::to_string(arrays++);
  {
    OpBuilder::InsertionGuard inner(builder);
    builder.setInsertionPointToStart(module.getBody());
    unsigned bytes = element.getIntOrFloatBitWidth() / 8;
    bytesUsed += int64_t(bytes) * length;
    LLVM::GlobalOp::create(builder, loc, type, /*isConstant=*/false, LLVM::Linkage::Internal, name,
                           Attribute(), bytes, sharedMemory);
  }
  auto pointerType = LLVM::LLVMPointerType::get(builder.getContext(), sharedMemory);
  return LLVM::AddressOfOp::create(builder, loc, pointerType, name);
}

std::vector<SmallVector<Value>> Exchange::fromWarps(ArrayRef<Value> values, unsigned firstBit,
                                                    unsigned count) {
  Location loc = builder.getUnknownLoc();
  struct Array {
    Value pointer;
    mlir::Type stored;
  };
  // Every thread has a place of its own in arrays of this use alone, so that one barrier between
  // the writes and the reads is enough. In a loop the last round's reads come before.
  SmallVector<Array> arraysOfValues;
  if (repeats && !mutated(Mutant::NoBarrierInLoop))
    gpu::BarrierOp::create(builder, loc);
  auto at = [&](const Array &array, Value thread) -> Value {
    return LLVM::GEPOp::create(builder, loc, array.pointer.getType(), array.stored, array.pointer,
                               ValueRange{thread});
  };
  for (Value value : values) {
    mlir::Type type = value.getType();
    // A condition takes a byte.
    mlir::Type stored = type.isInteger(1) ? mlir::Type(builder.getI8Type()) : type;
    Array array{sharedArray(stored, team->blockThreads, loc), stored};
    if (stored != type)
      value = arith::ExtUIOp::create(builder, loc, stored, value);
    LLVM::StoreOp::create(builder, loc, value, at(array, team->thread));
    arraysOfValues.push_back(array);
  }
  if (!mutated(Mutant::NoBarrierBetweenWarps))
    gpu::BarrierOp::create(builder, loc);
  std::vector<SmallVector<Value>> result;
  for (unsigned setting = 0; setting < 1u << count; ++setting) {
    unsigned taken = mutated(Mutant::OtherWarp) ? setting ^ 1 : setting;
    Value thread = threadWith(firstBit, count, taken);
    SmallVector<Value> read;
    for (auto [array, value] : llvm::zip(arraysOfValues, values)) {
      Value loaded = LLVM::LoadOp::create(builder, loc, array.stored, at(array, thread));
      if (array.stored != value.getType())
        loaded = arith::TruncIOp::create(builder, loc, value.getType(), loaded);
      read.push_back(loaded);
    }
    result.push_back(read);
  }
  return result;
}

} // namespace h3
