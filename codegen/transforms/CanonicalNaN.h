//===-- codegen/transforms/CanonicalNaN.h - The one NaN of a type ---===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_TRANSFORMS_CANONICALNAN_H
#define H3_CODEGEN_TRANSFORMS_CANONICALNAN_H

#include <mlir/IR/Builders.h>

namespace h3 {

/// The bits of \p value (f16, bf16, f32 or f64) as an integer of the same width, with any NaN
/// replaced by the canonical one (sign 0, all other bits 1). By an integer comparison and select.
mlir::Value canonicalBits(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value);

} // namespace h3

#endif // H3_CODEGEN_TRANSFORMS_CANONICALNAN_H
