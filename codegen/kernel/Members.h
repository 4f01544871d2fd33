//===-- codegen/kernel/Members.h - Which member a block is for - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_KERNEL_MEMBERS_H
#define H3_CODEGEN_KERNEL_MEMBERS_H

#include "codegen/kernel/Elements.h"
#include "runtime/plan/List.h"

namespace h3 {

/// Emits how a kernel of an `each` operator reads the table of the members (runtime/plan/List.h).
class Members {
public:
  Members(mlir::OpBuilder &builder, Elements &elements) : builder(builder), elements(elements) {}

  /// Lays the table out for what \p variant has as arguments, and says in it how many members there
  /// is room for. False if there is none.
  bool plan(const plan::OperatorPlan &contract, plan::Variant &variant);
  uint32_t tableBytes() const { return layout.bytes; }

  /// Finds the member of the block with the number \p block in the table at \p table: a search
  /// without branches, the same in all threads of the block. Returns the block's number within its
  /// member.
  mlir::Value find(mlir::Value table, mlir::Value block);

  /// The member's next argument, which has type \p type.
  mlir::Value next(mlir::Type type);

private:
  mlir::Value load(mlir::Type type, mlir::Value base, mlir::LLVM::GEPArg index,
                   mlir::Type elementType);

  mlir::OpBuilder &builder;
  Elements &elements;
  plan::MemberTable layout;
  uint32_t capacity = 0;
  unsigned number = 0; ///< of the next argument
  mlir::Value record;  ///< of the member
};

} // namespace h3

#endif // H3_CODEGEN_KERNEL_MEMBERS_H
