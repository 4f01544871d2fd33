//===-- backends/nvptx/DependentLaunch.cpp - Kernels that wait themselves -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Programmatic dependent launch: a grid may be started before the one in front of it has ended, and
// waits in its own code. `griddepcontrol.wait` returns when all grids that this one depends on have
// ended and what they wrote can be seen. Every thread executes it in the first block, so that a
// grid never ends before those in front of it: what is launched behind may rely on the last grid
// alone. `griddepcontrol.launch_dependents` follows at once. It only allows the next grid to be
// started when all blocks of this one have come so far; that one waits itself before it touches
// memory.
//
// A read of `.nc` promises that nobody writes the memory while the grid runs; a grid that waits
// runs while the one in front still writes. So these kernels have no such read.
//
// Source: PTX ISA 9.0, `griddepcontrol`, `ld.global.nc`.
//
//===----------------------------------------------------------------------===//

#include "backends/nvptx/Passes.h"

#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/Dialect/LLVMIR/NVVMDialect.h>
#include <mlir/IR/Builders.h>

using namespace mlir;

namespace h3::nvptx {
namespace {

constexpr unsigned globalMemory = 1;

/// As assembly that touches all memory: LLVM's intrinsic touches none, and accesses could pass it.
void control(OpBuilder &builder, Location loc, StringRef what) {
  LLVM::InlineAsmOp::create(builder, loc, TypeRange(), ValueRange(),
                            ("griddepcontrol." + what + ";").str(), "~{memory}",
                            /*has_side_effects=*/true, /*is_align_stack=*/false,
                            LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
}

struct DependentLaunch : PassWrapper<DependentLaunch, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DependentLaunch)
  StringRef getArgument() const override { return "h3-nvptx-dependent-launch"; }
  StringRef getDescription() const override {
    return "Makes kernels wait for the grids in front of them before they access memory";
  }
  void runOnOperation() override {
    getOperation()->walk([](LLVM::LLVMFuncOp function) {
      if (!function->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName()) || function.empty())
        return;
      function.walk([](LLVM::LoadOp load) {
        auto type = cast<LLVM::LLVMPointerType>(load.getAddr().getType());
        if (type.getAddressSpace() == globalMemory)
          load.setInvariant(false);
      });
      Operation *first = nullptr;
      for (Operation &op : function.front())
        if (!first && (!isMemoryEffectFree(&op) || op.hasTrait<OpTrait::IsTerminator>()))
          first = &op;
      OpBuilder builder(first);
      control(builder, first->getLoc(), "wait");
      control(builder, first->getLoc(), "launch_dependents");
    });
  }
};

} // namespace

std::unique_ptr<Pass> createDependentLaunchPass() { return std::make_unique<DependentLaunch>(); }

} // namespace h3::nvptx
