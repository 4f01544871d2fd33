//===-- codegen/Mutant.h - Deliberate faults ------------------ -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Faults that the suite in tests/mutants turns on, one at a time, to see that the checks catch
// them. `mutated` is false at compile time everywhere else. Which fault is which is said where it
// stands and in Mutants.def.
//
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_MUTANT_H
#define H3_CODEGEN_MUTANT_H

namespace h3 {

enum class Mutant {
  None,
#define H3_MUTANT(name, kind, what) name,
#include "codegen/Mutants.def"
};

#ifdef H3_MUTANTS
/// The fault that is on. Only the suite's program has it.
extern Mutant activeMutant;
inline bool mutated(Mutant mutant) { return activeMutant == mutant; }
#else
constexpr bool mutated(Mutant) { return false; }
#endif

} // namespace h3

#endif // H3_CODEGEN_MUTANT_H
