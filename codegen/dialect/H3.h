//===-- codegen/dialect/H3.h - The h3 dialect ------------------*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The dialect itself is described in H3Dialect.td and H3Ops.td.
//
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_DIALECT_H3_H
#define H3_CODEGEN_DIALECT_H3_H

#include <mlir/Bytecode/BytecodeOpInterface.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/Builders.h>
#include <mlir/IR/BuiltinTypes.h>
#include <mlir/IR/Dialect.h>
#include <mlir/IR/OpImplementation.h>
#include <mlir/IR/RegionKindInterface.h>
#include <mlir/IR/SymbolTable.h>
#include <mlir/Interfaces/ControlFlowInterfaces.h>
#include <mlir/Interfaces/FunctionInterfaces.h>
#include <mlir/Interfaces/InferTypeOpInterface.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

#include <cstdint>
#include <string>

namespace h3::ir {

/// One digit of an order: its name, null for one that is walked inside a slot, and its radix, 0 for
/// the digit without one.
struct OrderDigit {
  mlir::StringAttr name;
  int64_t radix;
  bool operator==(const OrderDigit &) const = default;
};
inline llvm::hash_code hash_value(const OrderDigit &digit) {
  return llvm::hash_combine(digit.name, digit.radix);
}

enum class Join : uint8_t { Serial, Halving, Adjacent };

/// One stage: how which digit (an index into the digits) is joined.
struct OrderStage {
  Join join;
  unsigned digit;
  bool operator==(const OrderStage &) const = default;
};
inline llvm::hash_code hash_value(const OrderStage &stage) {
  return llvm::hash_combine(static_cast<unsigned>(stage.join), stage.digit);
}

} // namespace h3::ir

#include "codegen/dialect/H3Dialect.h.inc"
#include "codegen/dialect/H3Enums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "codegen/dialect/H3Attributes.h.inc"
#define GET_TYPEDEF_CLASSES
#include "codegen/dialect/H3Types.h.inc"

#define GET_OP_CLASSES
#include "codegen/dialect/H3Ops.h.inc"

#endif // H3_CODEGEN_DIALECT_H3_H
