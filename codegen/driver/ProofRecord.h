//===-- codegen/driver/ProofRecord.h - What a proof has shown - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A proof as data: one line of canonical JSON (sorted keys, no spaces), which a bundle's manifest
// can hold. It names what was proved by digests, what of it by sizes and rows, and with which
// rewrites.
//
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_DRIVER_PROOFRECORD_H
#define H3_CODEGEN_DRIVER_PROOFRECORD_H

#include "backends/Target.h"
#include "backends/nvptx/prove/Prover.h"
#include "codegen/driver/Specs.h"
#include "runtime/bundle/Bundle.h"

#include <optional>
#include <string>

namespace h3 {

struct ProofRecord {
  std::string name;       ///< of the operator with its types: `swiglu<T = f16>`
  std::string target;     ///< `sm_90`
  std::string specDigest; ///< SHA-256 of the texts of the spec and of what it uses, in hex
  std::string ptxDigest;  ///< of the PTX
  prove::Proof proof;
  bool fromCache = false; ///< not part of the record

  bool isProved() const { return proof.verdict() == prove::Verdict::Proved; }
  /// `qk_norm_rope sm_90: proved: 5 variants, all tokens, ..., rewrites: ...`.
  std::string summary() const;
  std::string json() const;
  /// What of it a bundle's manifest holds.
  bundle::Proof forBundle() const;
  /// Empty if \p text is no record of this version.
  static std::optional<ProofRecord> parse(std::string_view text);
};

/// "swiglu<T = f16>".
std::string programText(const Program &program);

ProofRecord makeProofRecord(const Program &program, const Target &target, const std::string &ptx,
                            const LoadedSpec &spec, prove::Proof proof);

class Cache;

/// Which variants a plan has: all of its image, so that one must serve each admitted call, or some.
enum class VariantsOf { Image, Choice };

/// Proves \p plan, whose kernels are in \p module, read from \p text; or takes the proof from \p
/// cache, which may be null. In any thread.
ProofRecord proofOfImage(const Program &program, const Target &target, const LoadedSpec &spec,
                         const ptx::Module &module, const std::string &text,
                         const plan::OperatorPlan &plan, VariantsOf variants, Cache *cache);

} // namespace h3

#endif // H3_CODEGEN_DRIVER_PROOFRECORD_H
