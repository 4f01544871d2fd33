//===-- tests/mutants/Subject.h - An operator and the checks of what was made of it - -*- C++
//-*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_TESTS_MUTANTS_SUBJECT_H
#define H3_TESTS_MUTANTS_SUBJECT_H

#include "Operators.h"

#include <optional>
#include <string>
#include <vector>

namespace h3::test {

/// What the checks say of one image. Empty: nothing.
struct Findings {
  std::string compiler; ///< it does not compile: the passes' verifiers, PtxCheck, the reader
  std::string prover;   ///< not proved
  std::string runs;     ///< on the PTX interpreter: other bits than the reference, or a fault
  bool isRace = false;  ///< `runs` is a race
  bool any() const { return !compiler.empty() || !prover.empty() || !runs.empty(); }
};

/// An operator of subjects.spec or of specs/, its first choice of types, for sm_90. Its calls are
/// drawn once: all images of it are run on the same ones.
class Subject {
public:
  Subject(const std::string &spec, const std::string &op);

  /// Compiles it, with the fault that is on.
  std::optional<Image> compile(std::string &error) const;
  /// All checks of \p image; of \p variant alone, if one is named.
  Findings check(Image image, const std::string &variant = {}) const;
  /// Compiles and checks.
  Findings findings() const;

private:
  std::string proofOf(const Image &image) const;
  std::string run(const Image &image) const;

  Instances instances;
  std::vector<Expected> calls;
};

} // namespace h3::test

#endif // H3_TESTS_MUTANTS_SUBJECT_H
