//===-- codegen/transforms/VerifyNoFastMath.cpp - No fast-math flag anywhere ---===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/transforms/Passes.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>

using namespace mlir;

namespace h3 {
namespace {

/// One flag (`contract` above all) lets the backend fuse a multiply into an add whatever its fusion
/// option says, so that none may exist.
struct VerifyNoFastMath : PassWrapper<VerifyNoFastMath, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(VerifyNoFastMath)
  StringRef getArgument() const override { return "h3-verify-no-fastmath"; }
  StringRef getDescription() const override { return "Rejects operations with fast-math flags"; }

  void runOnOperation() override {
    bool failed = false;
    getOperation()->walk([&](Operation *op) {
      if (hasFastMath(op)) {
        op->emitError() << "carries a fast-math flag, which would let the compiler change its bits";
        failed = true;
      }
    });
    if (failed)
      signalPassFailure();
    markAllAnalysesPreserved();
  }

  static bool hasFastMath(Operation *op) {
    if (auto flags = dyn_cast<arith::ArithFastMathInterface>(op))
      if (auto attribute = flags.getFastMathFlagsAttr())
        return attribute.getValue() != arith::FastMathFlags::none;
    if (auto flags = dyn_cast<LLVM::FastmathFlagsInterface>(op))
      if (auto attribute =
              dyn_cast_or_null<LLVM::FastmathFlagsAttr>(op->getAttr(flags.getFastmathAttrName())))
        return attribute.getValue() != LLVM::FastmathFlags::none;
    return false;
  }
};

} // namespace

std::unique_ptr<Pass> createVerifyNoFastMathPass() { return std::make_unique<VerifyNoFastMath>(); }

} // namespace h3
