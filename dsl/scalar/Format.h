//===-- dsl/scalar/Format.h - Scalar values as text -------------*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_DSL_SCALAR_FORMAT_H
#define H3_DSL_SCALAR_FORMAT_H

#include "dsl/scalar/Scalar.h"

#include <string>

namespace h3::scalar {

/// The value for messages. A float is the shortest decimal that reads back to the same bits in its
/// own type, the nearest of those if there are several: "0.1", "1", "-0", "6e-8", "-inf", "nan";
/// with an exponent below 1e-4 and from 1e16. An integer is its signed value, a bool "true" or
/// "false".
std::string format(ScalarType type, Bits a);

} // namespace h3::scalar

#endif // H3_DSL_SCALAR_FORMAT_H
