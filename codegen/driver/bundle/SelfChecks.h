//===-- codegen/driver/bundle/SelfChecks.h - Calls with known results, made - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The self-checks of one type instance of an operator: calls that between them are served by every
// variant of every target, with what the reference interpreter computes for them. A variant gets
// two calls, one of finite numbers and one with everything else among them, and a third in place
// where outputs may be in place of inputs, drawn from the worst aligned layout upwards: the first
// that it serves, so that it runs on what it was made for.
//
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_DRIVER_BUNDLE_SELFCHECKS_H
#define H3_CODEGEN_DRIVER_BUNDLE_SELFCHECKS_H

#include "dsl/program/Program.h"
#include "runtime/bundle/Bundle.h"

#include <span>
#include <string>
#include <vector>

namespace h3 {

/// Fills `checksOfVariant` of \p targets, whose plans are there: the instance of \p program on each
/// target. A variant that serves none of the calls that were drawn is taken out of its plan, since
/// nothing would check it, and its entry goes to \p unreached. Empty with \p error set if that
/// leaves a target without variants. The same every time.
std::optional<std::vector<bundle::SelfCheck>>
makeSelfChecks(const Program &program, std::span<bundle::Instance *const> targets,
               std::vector<std::string> &unreached, std::string &error);

/// The checks of a probe, y[i] = f(x[i]): 2^16 inputs of every exponent and 2^16 of the usual size.
std::optional<std::vector<bundle::SelfCheck>>
makeProbeChecks(const Program &program, std::span<bundle::Instance *const> targets,
                std::string &error);

/// Runs \p check on the reference interpreter and keeps the digest of its outputs. False with \p
/// error set.
bool interpretCheck(const Program &program, const plan::OperatorPlan &contract,
                    bundle::SelfCheck &check, std::string &error);

/// The named approximations that \p program uses, sorted: "ex2.approx.ftz".
std::vector<std::string> approximationsOf(const Program &program);

/// Of everything that \p program computes: its typed text and the orders of its reductions. Names
/// of files and comments are no part of it.
bundle::Digest meaningOf(const Program &program);

} // namespace h3

#endif // H3_CODEGEN_DRIVER_BUNDLE_SELFCHECKS_H
