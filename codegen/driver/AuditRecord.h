//===-- codegen/driver/AuditRecord.h - What an audit has found - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// An audit of one cubin as data: one line of canonical JSON (sorted keys, no spaces), which a
// bundle's manifest can hold.
//
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_DRIVER_AUDITRECORD_H
#define H3_CODEGEN_DRIVER_AUDITRECORD_H

#include "backends/nvptx/Tools.h"
#include "backends/nvptx/audit/Audit.h"

#include <map>
#include <optional>
#include <string>

namespace h3 {

struct AuditRecord {
  std::string target;          ///< "sm_90"
  std::string cubinDigest;     ///< SHA-256 in hex
  std::string ptxDigest;       ///< of the PTX without the NUL that a bundle adds
  std::string ptxas, nvdisasm; ///< versions
  uint64_t kernels = 0, instructions = 0;
  std::map<std::string, uint64_t> operations; ///< machine instructions by role: "mul.f32"
  std::map<std::string, uint64_t> expansions; ///< "div.rn.f32", and ptxas' routines
  std::string fault;                          ///< the first; empty if all is accounted for

  bool isAccounted() const { return fault.empty(); }
  /// `sm_90: accounted: 6 kernels, 2310 instructions, 92 add.f32, ...`.
  std::string summary() const;
  std::string json() const;
};

/// "20 add.f32, 12 mul.f32".
std::string countsText(const std::map<std::string, uint64_t> &counts);

struct AuditOutcome {
  enum class Lack {
    Nothing,
    BadInput, ///< no cubin, PTX that cannot be read
    Machine,  ///< a tool, or knowledge of its version
  };
  Lack lack = Lack::Nothing;
  std::string problem; ///< if something lacks
  AuditRecord record;  ///< if nothing does
  audit::Audit audit;  ///< by kernel, likewise; empty if the code is not of the PTX
};

/// Audits \p cubin against \p ptx, of which it was made. \p ptxas is asked for the PTX lines if the
/// cubin has none: its code must come out the same, byte for byte.
AuditOutcome auditCubin(const std::string &cubin, const std::string &ptx,
                        const std::optional<Tool> &ptxas, const Tool &nvdisasm);

} // namespace h3

#endif // H3_CODEGEN_DRIVER_AUDITRECORD_H
