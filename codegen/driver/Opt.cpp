//===-- codegen/driver/Opt.cpp - h3-opt, passes on IR as text -------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// For tests: reads IR, runs the passes that are named, prints IR.
//
//===----------------------------------------------------------------------===//

#include "backends/nvptx/Passes.h"
#include "codegen/dialect/H3.h"
#include "codegen/transforms/Passes.h"

#include <mlir/Dialect/ControlFlow/IR/ControlFlow.h>
#include <mlir/Dialect/GPU/IR/GPUDialect.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/Dialect/LLVMIR/NVVMDialect.h>
#include <mlir/Tools/mlir-opt/MlirOptMain.h>
#include <mlir/Transforms/Passes.h>

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<h3::ir::H3Dialect, mlir::arith::ArithDialect, mlir::scf::SCFDialect,
                  mlir::gpu::GPUDialect, mlir::cf::ControlFlowDialect, mlir::LLVM::LLVMDialect,
                  mlir::NVVM::NVVMDialect>();
  h3::registerTransforms();
  h3::nvptx::registerPasses();
  mlir::registerTransformsPasses();
  return mlir::failed(mlir::MlirOptMain(argc, argv, "h3gen passes", registry));
}
