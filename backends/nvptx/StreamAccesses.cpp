//===-- backends/nvptx/StreamAccesses.cpp - Accesses with a caching hint --===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// LLVM has no caching hints of PTX, so that an access which has one is written as assembly. The
// operands are the 32-bit registers that LLVM's own access would have (64-bit and 16-bit ones where
// the element or all of the access has that width): nothing is left for a move to do.
//
// Sources: PTX ISA 9.0, `ld`, `ld.global.nc` and `st` (`.level1::eviction_priority` is of PTX 7.4,
// `.cs` of all versions).
//
//===----------------------------------------------------------------------===//

#include "backends/nvptx/Passes.h"

#include <llvm/ADT/StringExtras.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/IR/Builders.h>

using namespace mlir;

namespace h3::nvptx {
namespace {

constexpr unsigned globalMemory = 1;

/// An access as PTX has it: `v4.b32` with four registers of 32 bits.
struct Words {
  unsigned count, bits;

  explicit Words(mlir::Type type) {
    unsigned element = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
    auto vector = dyn_cast<VectorType>(type);
    unsigned all = element * (vector ? vector.getNumElements() : 1);
    bits = element == 64 ? 64 : std::min(32u, all);
    count = all / bits;
  }
  std::string type() const {
    return (count > 1 ? "v" + std::to_string(count) + "." : "") + "b" + std::to_string(bits);
  }
  char constraint() const { return bits == 64 ? 'l' : bits == 32 ? 'r' : 'h'; }
  /// `{$1, $2}` from number \p first on.
  std::string registers(unsigned first) const {
    std::string text;
    for (unsigned i = 0; i < count; ++i)
      text += (i ? ", $" : "$") + std::to_string(first + i);
    return count > 1 ? "{" + text + "}" : text;
  }
};

Value position(OpBuilder &builder, Location loc, int64_t number) {
  return LLVM::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(number));
}

/// A vector from its words, or the one word itself.
Value assembled(OpBuilder &builder, Location loc, SmallVector<Value> words, mlir::Type type) {
  auto vector = dyn_cast<VectorType>(type);
  if (!vector)
    return LLVM::BitcastOp::create(builder, loc, type, words.front());
  unsigned each = vector.getNumElements() / words.size();
  if (each == 1) {
    Value whole = LLVM::PoisonOp::create(builder, loc, vector);
    for (auto [lane, word] : llvm::enumerate(words))
      whole = LLVM::InsertElementOp::create(
          builder, loc, whole, LLVM::BitcastOp::create(builder, loc, vector.getElementType(), word),
          position(builder, loc, lane));
    return whole;
  }
  for (Value &word : words)
    word =
        LLVM::BitcastOp::create(builder, loc, VectorType::get(each, vector.getElementType()), word);
  while (words.size() > 1) {
    SmallVector<Value> joined;
    for (size_t i = 0; i < words.size(); i += 2) {
      auto width = cast<VectorType>(words[i].getType()).getNumElements();
      auto mask = llvm::to_vector(llvm::seq<int32_t>(0, 2 * width));
      joined.push_back(LLVM::ShuffleVectorOp::create(builder, loc, words[i], words[i + 1], mask));
    }
    words = joined;
  }
  return words.front();
}

SmallVector<Value> taken(OpBuilder &builder, Location loc, Value whole, const Words &words) {
  mlir::Type word = builder.getIntegerType(words.bits);
  if (words.count == 1)
    return {LLVM::BitcastOp::create(builder, loc, word, whole)};
  Value all = LLVM::BitcastOp::create(builder, loc, VectorType::get(words.count, word), whole);
  SmallVector<Value> result;
  for (unsigned i = 0; i < words.count; ++i)
    result.push_back(LLVM::ExtractElementOp::create(builder, loc, all, position(builder, loc, i)));
  return result;
}

LLVM::InlineAsmOp assembly(OpBuilder &builder, Location loc, mlir::Type result,
                           ArrayRef<Value> operands, const std::string &text,
                           const std::string &constraints, bool ordersMemory) {
  return LLVM::InlineAsmOp::create(builder, loc, result ? TypeRange(result) : TypeRange(), operands,
                                   text, constraints + (ordersMemory ? ",~{memory}" : ""),
                                   /*has_side_effects=*/ordersMemory, /*is_align_stack=*/false,
                                   LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
}

bool isGlobal(Value address) {
  return cast<LLVM::LLVMPointerType>(address.getType()).getAddressSpace() == globalMemory;
}

void streamLoad(LLVM::LoadOp load) {
  OpBuilder builder(load);
  Location loc = load.getLoc();
  Words words(load.getType());
  SmallVector<mlir::Type> types(words.count, builder.getIntegerType(words.bits));
  mlir::Type result = words.count == 1
                          ? types.front()
                          : LLVM::LLVMStructType::getLiteral(builder.getContext(), types);
  std::string text = "ld.global" + std::string(load.getInvariant() ? ".nc" : "") +
                     ".L1::no_allocate." + words.type() + " " + words.registers(0) + ", [$" +
                     std::to_string(words.count) + "];";
  std::string constraints;
  for (unsigned i = 0; i < words.count; ++i)
    constraints += std::string("=") + words.constraint() + ",";
  Value read = assembly(builder, loc, result, load.getAddr(), text, constraints + "l",
                        /*ordersMemory=*/!load.getInvariant())
                   .getResult(0);
  SmallVector<Value> parts{read};
  if (words.count > 1) {
    parts.clear();
    for (int64_t i = 0; i < words.count; ++i)
      parts.push_back(LLVM::ExtractValueOp::create(builder, loc, read, i));
  }
  load.replaceAllUsesWith(assembled(builder, loc, parts, load.getType()));
  load.erase();
}

void streamStore(LLVM::StoreOp store) {
  OpBuilder builder(store);
  Location loc = store.getLoc();
  Words words(store.getValue().getType());
  SmallVector<Value> operands{store.getAddr()};
  llvm::append_range(operands, taken(builder, loc, store.getValue(), words));
  std::string constraints = "l";
  for (unsigned i = 0; i < words.count; ++i)
    constraints += std::string(",") + words.constraint();
  assembly(builder, loc, {}, operands,
           "st.global.cs." + words.type() + " [$0], " + words.registers(1) + ";", constraints,
           /*ordersMemory=*/true);
  store.erase();
}

struct StreamAccesses : PassWrapper<StreamAccesses, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(StreamAccesses)
  StringRef getArgument() const override { return "h3-nvptx-stream-accesses"; }
  StringRef getDescription() const override {
    return "Writes accesses of global memory that are not temporal with the hints of PTX";
  }
  void runOnOperation() override {
    getOperation()->walk([](Operation *op) {
      if (auto load = dyn_cast<LLVM::LoadOp>(op); load && load.getNontemporal())
        if (isGlobal(load.getAddr()))
          streamLoad(load);
      if (auto store = dyn_cast<LLVM::StoreOp>(op); store && store.getNontemporal())
        if (isGlobal(store.getAddr()))
          streamStore(store);
    });
  }
};

} // namespace

std::unique_ptr<Pass> createStreamAccessesPass() { return std::make_unique<StreamAccesses>(); }

} // namespace h3::nvptx
