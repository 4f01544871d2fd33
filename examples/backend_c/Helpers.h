//===-- examples/backend_c/Helpers.h - Functions that are written where they are needed - -*- C++
//-*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef BACKEND_C_HELPERS_H
#define BACKEND_C_HELPERS_H

#include "Kernels.h"

#include <map>
#include <set>
#include <string>

/// The C type that holds an element.
std::string cType(const Type &type);

/// An element of these bits, "0x3F800000", as C writes it.
std::string literal(const Type &type, const std::string &hex);

/// Names a function for each operation that C has not, and remembers to define it.
class Helpers {
public:
  /// `h3_mul_f16`, `h3_fma_f32_rm`: an operation on floats with one rounding.
  std::string arithmetic(const std::string &operation, const std::string &type,
                         const std::string &rounding);
  /// `h3_max_num_f16`, `h3_copysign_f32`: without a rounding.
  std::string exact(const std::string &operation, const std::string &type);
  /// `h3_e4m3_of_f32_sat`
  std::string conversion(const std::string &from, const std::string &to,
                         const std::string &rounding, bool saturate);
  /// `h3_rsqrt_approx`
  std::string approximation(const std::string &function);

  /// The parts of c11/ that are needed, and behind them the functions, in the order of their names.
  std::string text() const;

private:
  std::map<std::string, std::string> defined;
  std::set<std::string> tables; ///< of approximations
  bool isExact = false;         ///< whether c11/exact.h is needed
};

#endif // BACKEND_C_HELPERS_H
