//===-- backends/nvptx/audit/Cubin.h - Sections of a cubin ---- -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_BACKENDS_NVPTX_AUDIT_CUBIN_H
#define H3_BACKENDS_NVPTX_AUDIT_CUBIN_H

#include <map>
#include <optional>
#include <span>
#include <string>

namespace h3::audit {

struct Cubin {
  /// What runs, and the constants that it reads, by section: ".text.NAME", ".nv.constant0.NAME".
  std::map<std::string, std::string> code;
  std::string ptxas;        ///< the version that made it ("13.0.88"), empty if it does not say
  std::string target;       ///< "sm_90", empty if it does not say
  bool hasPtxLines = false; ///< was assembled with -lineinfo
};

/// Empty if \p bytes are no cubin.
std::optional<Cubin> readCubin(std::span<const char> bytes);

} // namespace h3::audit

#endif // H3_BACKENDS_NVPTX_AUDIT_CUBIN_H
