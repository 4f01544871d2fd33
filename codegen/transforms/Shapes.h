//===-- codegen/transforms/Shapes.h - Scalars and vectors alike - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_TRANSFORMS_SHAPES_H
#define H3_CODEGEN_TRANSFORMS_SHAPES_H

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/IR/BuiltinTypes.h>

namespace h3 {

/// \p element, or a vector of it where \p shape is one.
inline mlir::Type like(mlir::Type shape, mlir::Type element) {
  auto vector = mlir::dyn_cast<mlir::VectorType>(shape);
  return vector ? mlir::Type(mlir::VectorType::get(vector.getShape(), element)) : element;
}

/// The integer \p bits, in every element where \p type is a vector.
inline mlir::Value constantOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type,
                              const llvm::APInt &bits) {
  mlir::TypedAttr value = builder.getIntegerAttr(mlir::getElementTypeOrSelf(type), bits);
  if (auto vector = mlir::dyn_cast<mlir::VectorType>(type))
    value = mlir::DenseElementsAttr::get(vector, mlir::Attribute(value));
  return mlir::arith::ConstantOp::create(builder, loc, value);
}

} // namespace h3

#endif // H3_CODEGEN_TRANSFORMS_SHAPES_H
