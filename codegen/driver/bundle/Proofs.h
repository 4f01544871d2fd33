//===-- codegen/driver/bundle/Proofs.h - Proofs of a bundle's images - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_DRIVER_BUNDLE_PROOFS_H
#define H3_CODEGEN_DRIVER_BUNDLE_PROOFS_H

#include "codegen/driver/Cache.h"
#include "codegen/driver/ProofRecord.h"

#include <vector>

namespace h3 {

/// One instance on one target, whose plan is there.
struct ProofJob {
  const Program *program = nullptr;
  const LoadedSpec *spec = nullptr;
  const Target *target = nullptr;
  const std::string *ptx = nullptr; ///< with the kernels of all instances
  bundle::Instance *instance = nullptr;
};

/// Fills `proof` of all instances, on \p threads threads (0: as many as the machine runs), prints a
/// line for each, and gives how many are not proved. \p cache may be null.
size_t proveInstances(const std::vector<ProofJob> &jobs, size_t threads, Cache *cache);

} // namespace h3

#endif // H3_CODEGEN_DRIVER_BUNDLE_PROOFS_H
