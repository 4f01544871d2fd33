//===-- tests/mutants/PtxEdits.h - Faults as edits of the printed PTX - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_TESTS_MUTANTS_PTXEDITS_H
#define H3_TESTS_MUTANTS_PTXEDITS_H

#include "backends/Image.h"

#include <span>
#include <string>

namespace h3::test {

/// One fault: the first match of `pattern` in the kernel of `variant` is replaced.
struct PtxEdit {
  std::string kind, name;
  std::string spec, op, variant;
  std::string pattern, replacement;
};

std::span<const PtxEdit> ptxEdits();

/// The PTX of \p image with the edit; as it is if nothing matches.
std::string edited(const Image &image, const PtxEdit &edit);

} // namespace h3::test

#endif // H3_TESTS_MUTANTS_PTXEDITS_H
