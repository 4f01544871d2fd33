//===-- tests/portable/Library.h - Functions of portable.math - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_TESTS_PORTABLE_LIBRARY_H
#define H3_TESTS_PORTABLE_LIBRARY_H

#include "Columns.h"
#include "Exact.h"

#include "dsl/program/Analysis.h"

#include <map>
#include <memory>
#include <string>

namespace h3::test {

/// An operator's program, with what its diagnostics point into.
struct Loaded {
  ModuleSet modules;
  std::unique_ptr<Program> program;
};

/// The operator of \p text, which may use the project's specs. Throws std::runtime_error with the
/// diagnostics if there is none.
Loaded loadText(const std::string &text, const TypeArguments &types = {});

/// y[i] = math.<function>(x[i]) in f32.
Loaded loadFunction(std::string_view function);
/// The same, recorded.
Columns columnsOf(std::string_view function);

/// Results of the interpreter, for comparison.
std::vector<uint32_t> interpreted(const Program &program, std::span<const uint32_t> inputs);

/// What the head of specs/portable/math.spec claims for a function.
struct Claim {
  double ulps = 0;           ///< bound of the error in f32, over all f32
  int64_t f16 = 0, bf16 = 0; ///< f16 and bf16 arguments whose result, rounded to that type, is not
                             ///< the exact one rounded
};
/// By function.
std::map<std::string, Claim> claims();

/// All numbers of a 16-bit type, as f32.
std::vector<uint32_t> everyValue(ScalarType type);

} // namespace h3::test

#endif // H3_TESTS_PORTABLE_LIBRARY_H
