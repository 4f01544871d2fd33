//===-- codegen/kernel/Elements.h - Code for a vector of elements - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_KERNEL_ELEMENTS_H
#define H3_CODEGEN_KERNEL_ELEMENTS_H

#include "codegen/kernel/Guards.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/SmallVector.h>
#include <mlir/IR/Builders.h>

#include <string>

namespace h3 {

/// A tensor as the kernel sees it.
struct KernelTensor {
  mlir::Value pointer;                    ///< to global memory
  llvm::SmallVector<mlir::Value> strides; ///< in elements, in the kernel's index type
  unsigned number = 0;                    ///< in the contract
  bool isInvariant = false;               ///< nothing in the launch writes it
};

/// Emits operations of the h3 dialect as kernel code, for one element or for a vector of
/// consecutive elements at once: a value that depends on the element is one vector, all others are
/// scalars. Accesses along the last axis become vector accesses where the guards can promise the
/// alignment. `index` becomes an integer of the variant's width.
///
/// Arithmetic on the element's own index (and conditions on it) is emitted only where something
/// needs it: an address needs the first element alone, and so does a condition on which a vector
/// agrees.
class Elements {
public:
  Elements(mlir::OpBuilder &builder, Guards &guards, mlir::IntegerType indexType,
           unsigned accessBytes)
      : builder(builder), guards(guards), indexType(indexType), accessBytes(accessBytes) {}

  /// The kernel's first block, where constants go; before anything is emitted.
  void begin(mlir::Block &entry) { head = &entry; }

  void bindTensor(mlir::Value tensor, KernelTensor access) { tensors[tensor] = std::move(access); }
  void bind(mlir::Value value, mlir::Value emitted) { values[value] = emitted; }
  /// \p element stands for base, base + 1, ... base + vector - 1; base is a multiple of vector.
  void bindElement(mlir::Value element, mlir::Value base, unsigned vector);
  bool isBound(mlir::Value value) const {
    return values.contains(value) || isElementIndex(value) || tensors.contains(value);
  }

  /// What was emitted for \p value: a scalar if it is the same for all elements (or one element was
  /// chosen by `restrictTo`), otherwise a vector.
  mlir::Value emitted(mlir::Value value);

  void emit(mlir::Operation &op);
  void emitBlock(mlir::Block &block);
  void emitStore(ir::StoreOp store);

  /// Emits for element \p lane of the vector alone from here on; -1: for all.
  void restrictTo(int lane) { soleLane = lane; }

  /// The first operation without code generation; empty if there was none.
  const std::string &error() const { return message; }

  mlir::Type kernelType(mlir::Type type) { return type.isIndex() ? indexType : type; }
  mlir::Value constant(mlir::TypedAttr value);
  mlir::Value constant(int64_t value); ///< of the index type

private:
  /// An index as element + constant + terms, each term the same for all elements.
  struct Affine {
    mlir::Value element;
    int64_t constant = 0;
    llvm::SmallVector<std::pair<mlir::Value, bool>> terms; ///< value, whether subtracted
  };

  void fail(mlir::Operation *op, const std::string &what);

  // Values of the elements.
  bool isElementIndex(mlir::Value value) const;
  bool isVector(mlir::Value value) const;  ///< emitted as one value for each element
  bool isUniform(mlir::Value value) const; ///< emitted once for all elements
  mlir::Value ofLane(mlir::Value elementIndex, unsigned lane);
  mlir::Value ofAllLanes(mlir::Value elementIndex);
  mlir::Value broadcast(mlir::Value scalar);
  mlir::Value extract(mlir::Value vector, unsigned lane);
  mlir::Value gather(llvm::ArrayRef<mlir::Value> lanes);
  mlir::Value clone(mlir::Operation &op, llvm::ArrayRef<mlir::Value> operands);

  bool isIndexArithmetic(mlir::Operation &op) const;
  void emitPure(mlir::Operation &op);
  void emitConstant(mlir::arith::ConstantOp op);
  void emitCast(mlir::arith::IndexCastOp op);
  mlir::Value emittedCondition(mlir::Value condition);
  void emitIf(mlir::scf::IfOp op);
  void emitIfOnce(mlir::scf::IfOp op, mlir::Value condition);
  void emitLoad(ir::LoadOp op);

  bool decompose(mlir::Value value, bool negated, Affine &affine);
  /// Whether all elements of a vector agree on the condition.
  bool agrees(mlir::Value condition, std::vector<plan::Condition> &pending);
  /// How many elements one access may have: 1, or a power of two that divides the vector.
  unsigned pieceLength(mlir::Value tensor, mlir::OperandRange indices, Affine &last);
  mlir::Value address(const KernelTensor &tensor, mlir::Type element,
                      llvm::ArrayRef<mlir::Value> indices, bool unitStride, mlir::Location loc);
  mlir::Value laneAddress(mlir::Value tensor, mlir::Type element, mlir::OperandRange indices,
                          unsigned lane, mlir::Location loc);
  mlir::Value pieceAddress(mlir::Value tensor, mlir::OperandRange indices, const Affine &last,
                           unsigned piece, unsigned length, mlir::Location loc);

  mlir::OpBuilder &builder;
  Guards &guards;
  mlir::IntegerType indexType;
  unsigned accessBytes;
  mlir::Block *head = nullptr;
  unsigned vector = 1;
  int soleLane = -1;
  llvm::DenseMap<mlir::Value, mlir::Value> values;
  llvm::DenseMap<mlir::Attribute, mlir::Value> constants;
  llvm::DenseMap<mlir::Value, mlir::Value> elementBases;
  llvm::DenseSet<mlir::Operation *> elementIndices; ///< arithmetic on the element's index
  llvm::DenseMap<mlir::Value, KernelTensor> tensors;
  std::string message;
};

} // namespace h3

#endif // H3_CODEGEN_KERNEL_ELEMENTS_H
