//===-- codegen/driver/evidence/Prepare.h - The stress matrix of an operator - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_DRIVER_EVIDENCE_PREPARE_H
#define H3_CODEGEN_DRIVER_EVIDENCE_PREPARE_H

#include "dsl/program/Program.h"
#include "runtime/evidence/Cases.h"

#include <map>
#include <string>
#include <vector>

namespace h3 {

/// Sizes that hosts call an operator with: numbers of dims by name.
using ProductionShape = std::map<std::string, int64_t>;

/// \p count calls of one instance, without digests: the production shapes, each in several
/// distributions, packed and with rows apart; every dim of rows at 0 and 1 in several layouts; the
/// rest drawn over all layouts and distributions, some in place, with two leading axes, with other
/// parameters than the defaults, with rows of tens of thousands of elements. The same every time.
/// Empty with \p error set if a shape does not fit the operator.
std::vector<evidence::Case> drawCases(const Program &program, const plan::OperatorPlan &contract,
                                      const std::vector<ProductionShape> &shapes, size_t count,
                                      std::string &error);

} // namespace h3

#endif // H3_CODEGEN_DRIVER_EVIDENCE_PREPARE_H
