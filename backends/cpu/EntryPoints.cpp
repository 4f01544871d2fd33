//===-- backends/cpu/EntryPoints.cpp - Kernels as functions of a range of blocks -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/cpu/Passes.h"
#include "codegen/kernel/Kernel.h"

#include <mlir/Dialect/LLVMIR/LLVMDialect.h>

using namespace mlir;

namespace h3::cpu {
namespace {

class EntryMaker {
public:
  EntryMaker(ModuleOp module, const Target &target)
      : module(module), builder(module.getContext()), loc(builder.getUnknownLoc()),
        isX86(!target.has(Capability::Aarch64)),
        pointer(LLVM::LLVMPointerType::get(builder.getContext())), i64(builder.getI64Type()) {}

  void make(gpu::GPUFuncOp kernel);

private:
  LLVM::LLVMFuncOp function(const std::string &name, LLVM::Linkage linkage);
  void makeBlocks(gpu::GPUFuncOp kernel, LLVM::LLVMFuncOp blocks);
  void makeEntry(LLVM::LLVMFuncOp entry, LLVM::LLVMFuncOp blocks);
  Value constant(uint64_t value) {
    return LLVM::ConstantOp::create(builder, loc, i64, builder.getI64IntegerAttr(value));
  }
  void intrinsic(StringRef name, ValueRange operands) {
    LLVM::CallIntrinsicOp::create(builder, loc, builder.getStringAttr(name), operands);
  }

  ModuleOp module;
  OpBuilder builder;
  Location loc;
  bool isX86;
  mlir::Type pointer, i64;
};

LLVM::LLVMFuncOp EntryMaker::function(const std::string &name, LLVM::Linkage linkage) {
  builder.setInsertionPointToEnd(module.getBody());
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()),
                                          {pointer, i64, i64});
  auto made = LLVM::LLVMFuncOp::create(builder, loc, name, type, linkage);
  made.setNoUnwind(true);
  return made;
}

void EntryMaker::make(gpu::GPUFuncOp kernel) {
  std::string name = kernel.getName().str();
  // A function of its own: no arithmetic of it can move in front of the new environment.
  LLVM::LLVMFuncOp blocks = function(name + "__blocks", LLVM::Linkage::Internal);
  blocks.setNoInline(true);
  makeBlocks(kernel, blocks);
  makeEntry(function(name, LLVM::Linkage::External), blocks);
}

void EntryMaker::makeBlocks(gpu::GPUFuncOp kernel, LLVM::LLVMFuncOp blocks) {
  Block *head = blocks.addEntryBlock(builder);
  builder.setInsertionPointToStart(head);
  Block &body = kernel.getBody().front();
  IRMapping mapping;
  for (BlockArgument argument : body.getArguments()) {
    Value slot = LLVM::GEPOp::create(builder, loc, pointer, i64, head->getArgument(0),
                                     ArrayRef<LLVM::GEPArg>{int32_t(argument.getArgNumber())});
    mlir::Type type = argument.getType();
    Value value = LLVM::LoadOp::create(builder, loc, type.isInteger(1) ? builder.getI8Type() : type,
                                       slot, /*alignment=*/8);
    if (type.isInteger(1))
      value = arith::TruncIOp::create(builder, loc, type, value);
    argument.replaceAllUsesWith(value);
  }
  Value one = constant(1);
  auto loop = scf::ForOp::create(builder, loc, head->getArgument(1), head->getArgument(2), one);
  LLVM::ReturnOp::create(builder, loc, ValueRange{});
  // What does not depend on the block stands in front of the loop.
  SmallVector<Operation *> all;
  for (Operation &op : body.without_terminator())
    all.push_back(&op);
  for (Operation *op : all) {
    if (isa<arith::ConstantOp, LLVM::ConstantOp>(op))
      op->moveBefore(loop);
    else
      op->moveBefore(loop.getBody()->getTerminator());
  }
  // Of a block with one thread, and a grid in one dimension.
  SmallVector<Operation *> numbers;
  loop.walk([&](Operation *op) {
    if (isa<gpu::BlockIdOp, gpu::ThreadIdOp>(op))
      numbers.push_back(op);
  });
  for (Operation *op : numbers) {
    for (Operation *user : llvm::make_early_inc_range(op->getUsers())) {
      builder.setInsertionPoint(user);
      mlir::Type type = user->getResult(0).getType();
      Value number = loop.getInductionVar();
      if (isa<gpu::ThreadIdOp>(op))
        number = arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(type, 0));
      else if (type != i64)
        number = arith::TruncIOp::create(builder, loc, type, number);
      user->replaceAllUsesWith(ValueRange{number});
      user->erase();
    }
    op->erase();
  }
}

void EntryMaker::makeEntry(LLVM::LLVMFuncOp entry, LLVM::LLVMFuncOp blocks) {
  Block *body = entry.addEntryBlock(builder);
  builder.setInsertionPointToStart(body);
  auto i32 = builder.getI32Type();
  auto run = [&] { LLVM::CallOp::create(builder, loc, blocks, body->getArguments()); };
  if (isX86) {
    // Exceptions masked, to nearest, nothing flushed.
    constexpr int32_t standard = 0x1F80;
    Value one = LLVM::ConstantOp::create(builder, loc, i32, builder.getI32IntegerAttr(1));
    Value before = LLVM::AllocaOp::create(builder, loc, pointer, i32, one, 4);
    Value ours = LLVM::AllocaOp::create(builder, loc, pointer, i32, one, 4);
    intrinsic("llvm.x86.sse.stmxcsr", before);
    Value word = LLVM::ConstantOp::create(builder, loc, i32, builder.getI32IntegerAttr(standard));
    LLVM::StoreOp::create(builder, loc, word, ours, 4);
    intrinsic("llvm.x86.sse.ldmxcsr", ours);
    run();
    intrinsic("llvm.x86.sse.ldmxcsr", before);
  } else {
    Value before =
        LLVM::CallIntrinsicOp::create(builder, loc, i64,
                                      builder.getStringAttr("llvm.aarch64.get.fpcr"), ValueRange{})
            .getResult(0);
    intrinsic("llvm.aarch64.set.fpcr", constant(0));
    run();
    intrinsic("llvm.aarch64.set.fpcr", before);
  }
  LLVM::ReturnOp::create(builder, loc, ValueRange{});
}

} // namespace

OwningOpRef<ModuleOp> makeEntryPoints(gpu::GPUModuleOp kernels, const Target &target) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(kernels.getLoc());
  EntryMaker maker(*module, target);
  for (Operation &op : llvm::make_early_inc_range(*kernels.getBody())) {
    if (auto kernel = dyn_cast<gpu::GPUFuncOp>(op))
      maker.make(kernel);
    else if (isa<LLVM::GlobalOp>(op))
      op.moveBefore(module->getBody(), module->getBody()->begin());
  }
  return module;
}

} // namespace h3::cpu
