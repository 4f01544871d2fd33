//===-- codegen/kernel/Exchange.h - States between threads ---- -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_KERNEL_EXCHANGE_H
#define H3_CODEGEN_KERNEL_EXCHANGE_H

#include "codegen/kernel/Elements.h"

#include <mlir/Dialect/GPU/IR/GPUDialect.h>

namespace h3 {

/// A team of threads, which computes one row at a time. All threads of a block run the same code at
/// the same time, so that shuffles and barriers have every thread they wait for.
struct Team {
  unsigned threads = 1;      ///< a power of two
  unsigned blockThreads = 1; ///< of the whole block
  mlir::Value thread;        ///< number in the block, i32
  mlir::Value member;        ///< number in the team, of the kernel's index type
};

/// Moves scalars between the threads of a team: among lanes by shuffles, among warps through shared
/// memory.
class Exchange {
public:
  Exchange(mlir::OpBuilder &builder, Elements &elements, const Machine &machine,
           mlir::gpu::GPUModuleOp module, std::string entry)
      : builder(builder), elements(elements), machine(machine), module(module),
        entry(std::move(entry)) {}

  void setTeam(const Team *whose) { team = whose; }
  /// Whether the code that is emitted now runs more than once.
  void setRepeats(bool does) { repeats = does; }
  /// Static shared memory of the kernel so far, in bytes.
  int64_t sharedBytes() const { return bytesUsed; }

  /// The value of the lane whose number differs in \p mask.
  mlir::Value butterfly(mlir::Value value, unsigned mask);
  /// The value of lane \p lane (i32) of the warp.
  mlir::Value fromLane(mlir::Value value, mlir::Value lane);

  /// \p value, a scalar or a vector, of the team's thread \p member (of the index type); the team
  /// is part of a warp.
  mlir::Value fromMember(mlir::Value value, mlir::Value member);

  /// For each setting s of the \p count bits of the thread's number from \p firstBit on (which are
  /// warps): what the thread that has s there, and all else as this one, holds. The outer index is
  /// s, the inner one the value's.
  std::vector<llvm::SmallVector<mlir::Value>> fromWarps(llvm::ArrayRef<mlir::Value> values,
                                                        unsigned firstBit, unsigned count);

  /// All threads of the team have come here, and what they read and wrote before is done.
  void barrier();

  /// The thread's number with bits [first, first + count) replaced by \p setting.
  mlir::Value threadWith(unsigned first, unsigned count, unsigned setting);

private:
  mlir::Value shuffle(mlir::Value value, mlir::Value source, mlir::gpu::ShuffleMode mode);
  mlir::Value sharedArray(mlir::Type element, unsigned length, mlir::Location loc);
  mlir::Value i32(int64_t value) {
    return elements.constant(builder.getI32IntegerAttr(static_cast<int32_t>(value)));
  }

  mlir::OpBuilder &builder;
  Elements &elements;
  const Machine &machine;
  mlir::gpu::GPUModuleOp module;
  std::string entry;
  const Team *team = nullptr;
  unsigned arrays = 0;
  int64_t bytesUsed = 0;
  bool repeats = false;
};

} // namespace h3

#endif // H3_CODEGEN_KERNEL_EXCHANGE_H
