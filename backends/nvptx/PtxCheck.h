//===-- backends/nvptx/PtxCheck.h - Rules for printed PTX ----- -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_BACKENDS_NVPTX_PTXCHECK_H
#define H3_BACKENDS_NVPTX_PTXCHECK_H

#include <set>
#include <string>
#include <string_view>

namespace h3::nvptx {

/// What the program that a PTX text was made from admits.
struct PtxRules {
  /// Named approximations of the spec, as instructions: "ex2.approx.ftz.f32".
  std::set<std::string, std::less<>> approximations;
  /// How many fused multiply-adds may stand in the text at most.
  unsigned fusedMultiplyAdds = 0;
  /// Every kernel waits for the grids in front of it; otherwise none does.
  bool waits = false;
};

/// Checks the printed text itself, since no option promises what is printed. Every float add,
/// subtract, multiply, fma, divide, reciprocal and square root has a rounding modifier (without one
/// the assembler may fuse it); no packed f32x2 arithmetic (the assembler fuses it whatever the
/// modifiers say); no approximation and no flush to zero but those of \p rules; no more fused
/// multiply-adds than \p rules admit. Kernels that wait for the grids in front of them do so in
/// their first block, before they access global memory, and have no non-coherent read. Returns an
/// empty string, or the first violation with its line.
std::string checkPtx(std::string_view ptx, const PtxRules &rules);

} // namespace h3::nvptx

#endif // H3_BACKENDS_NVPTX_PTXCHECK_H
