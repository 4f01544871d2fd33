//===-- backends/nvptx/audit/Audit.h - Machine code against the PTX - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_BACKENDS_NVPTX_AUDIT_AUDIT_H
#define H3_BACKENDS_NVPTX_AUDIT_AUDIT_H

#include "backends/nvptx/audit/Expansions.h"
#include "backends/nvptx/audit/Sass.h"
#include "backends/nvptx/ptx/Module.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace h3::audit {

/// The first thing in a kernel that is not accounted for.
struct Fault {
  std::string text;      ///< one line, which names both
  uint64_t offset = 0;   ///< of the machine instruction, if there is one
  unsigned sassLine = 0; ///< of the disassembly; 0: the fault is an instruction that is missing
  unsigned ptxLine = 0;  ///< 0: none is known
};

struct KernelAudit {
  std::string name;
  size_t instructions = 0; ///< of the machine, all
  /// "mul.f32": machine instructions. "exact": moves, selects, signs and widenings. "left out": PTX
  /// instructions without one, whose result is not certainly used or is another's.
  std::map<std::string, uint64_t> operations;
  /// "div.rn.f32": how many; "__cuda...": routines
  std::map<std::string, uint64_t> expansions;
  std::optional<Fault> fault;
};

struct Audit {
  std::vector<KernelAudit> kernels; ///< in the order of their names
  bool isAccounted() const;
};

/// Accounts for each float instruction of \p code by an instruction of \p module, and the other way
/// round. \p module is what \p code was assembled from: kernels are met by name, instructions by
/// the PTX line.
Audit audit(const Disassembly &code, const ptx::Module &module, const Expansions &expansions);

/// What \p code, assembled from \p module, shows of the instructions that Expansions are about:
/// each way in which one was expanded, on the target of \p code, into \p expansions.
void learn(const Disassembly &code, const ptx::Module &module, Expansions &expansions);

} // namespace h3::audit

#endif // H3_BACKENDS_NVPTX_AUDIT_AUDIT_H
