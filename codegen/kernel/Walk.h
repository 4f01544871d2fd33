//===-- codegen/kernel/Walk.h - The elements of a row, leaf by leaf - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_KERNEL_WALK_H
#define H3_CODEGEN_KERNEL_WALK_H

#include "codegen/kernel/Exchange.h"
#include "codegen/kernel/Job.h"
#include "codegen/kernel/Layout.h"

namespace h3 {

/// The elements of a thread in one phase: a layout over an extent, with the thread's own base.
/// Leaves are vectors; those that a thread holds at the same time are a group.
class Walk {
public:
  Walk(mlir::OpBuilder &builder, Elements &elements, const Team &team, const Layout &layout,
       const Phase &phase);

  const Layout &layout() const { return shape; }

  /// What a thread of every row does in a loop: one group, all its leaves built.
  using Group = llvm::function_ref<void(llvm::MutableArrayRef<Leaf> leaves)>;

  /// Without a loop digit: the one group, to be used at the current insertion point.
  std::vector<Leaf> group();

  /// Visits all elements in increasing index, as far as registers and loops go. Values that a group
  /// carries to the next are given by \p carried and taken back from it: they are the values before
  /// the walk, and after it the values behind. All threads of the team make the same rounds if
  /// \p uniform, otherwise each makes its own.
  void forEachGroup(llvm::SmallVectorImpl<mlir::Value> &carried, bool uniform, Group body);

  /// In the body of a walk with an open loop: the first element of the round, over all threads.
  mlir::Value roundBase() const { return round; }

  /// Whether the element base + \p offset exists, in a leaf; null: always.
  mlir::Value exists(mlir::Value base, int64_t offset);
  /// The thread's own part of the index.
  mlir::Value threadBase() const { return base; }

private:
  void addLeaves(size_t digit, int64_t offset, mlir::Value loopBase, bool firstExists,
                 std::vector<Leaf> &leaves);
  void visit(size_t digit, int64_t offset, llvm::SmallVectorImpl<mlir::Value> &carried,
             bool uniform, Group body);
  void loop(size_t digit, int64_t offset, llvm::SmallVectorImpl<mlir::Value> &carried, bool uniform,
            Group body);
  mlir::Value make(mlir::Value a, int64_t b);

  mlir::OpBuilder &builder;
  Elements &elements;
  Layout shape;
  mlir::Location loc;
  mlir::Value extent; ///< emitted
  std::optional<int64_t> knownExtent;
  std::vector<int64_t> weights; ///< of the layout's digits
  mlir::Value base, round;
  /// Of a thread alone in a loop: rows of a multiple of so many elements have no other rounds.
  int64_t holdsWholeRounds = 0;
  int64_t mostThreadPart = 0; ///< the largest index that the thread digits add
};

} // namespace h3

#endif // H3_CODEGEN_KERNEL_WALK_H
