//===-- backends/Backend.cpp - The list of backends -----------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/Backend.h"

#include "codegen/dialect/H3.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/ControlFlow/IR/ControlFlow.h>
#include <mlir/Dialect/GPU/IR/GPUDialect.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

#include <cassert>

namespace h3 {

#define H3_BACKEND(name)                                                                           \
  namespace name {                                                                                 \
  const Backend &backend();                                                                        \
  }
#include "backends/backends.def"

static std::vector<const Backend *> &list() {
#define H3_BACKEND(name) &name::backend(),
  static std::vector<const Backend *> all = {
#include "backends/backends.def"
  };
  return all;
}

std::span<const Backend *const> backends() { return list(); }

void addBackend(std::unique_ptr<const Backend> backend, std::span<const Target> targets) {
  addTargets(targets);
  list().push_back(backend.release());
}

const Backend *findBackend(std::string_view name) {
  for (const Backend *backend : backends())
    if (backend->name() == name)
      return backend;
  return nullptr;
}

const Backend &backendOf(const Target &target) {
  const Backend *backend = findBackend(target.backend);
  assert(backend && "a row of targets.def names no backend");
  return *backend;
}

std::unique_ptr<mlir::MLIRContext> makeContext() {
  auto context = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
  context
      ->loadDialect<ir::H3Dialect, mlir::arith::ArithDialect, mlir::scf::SCFDialect,
                    mlir::gpu::GPUDialect, mlir::cf::ControlFlowDialect, mlir::LLVM::LLVMDialect>();
  return context;
}

} // namespace h3
