//===-- backends/nvptx/Tools.h - ptxas and nvdisasm ----------- -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_BACKENDS_NVPTX_TOOLS_H
#define H3_BACKENDS_NVPTX_TOOLS_H

#include "backends/Image.h"
#include "backends/Target.h"

#include <optional>
#include <string>
#include <vector>

namespace h3::nvptx {

/// Looks for \p name ("ptxas", "nvdisasm"): \p option if not empty, then the environment variable
/// \p variable, then the project's virtual environment, then PATH. A path that was named and does
/// not run is an error, not a reason to look further. Empty with \p error set.
std::optional<Tool> findTool(const std::string &name, const std::string &option,
                             const char *variable, std::string &error);

/// Whether the line of PTX that each instruction was made of is kept with it. The code is the same.
enum class PtxLines { Drop, Keep };

/// Assembles \p ptx for \p target. Empty with \p error set to ptxas' first message, or to what the
/// version found is too old for.
std::optional<Assembly> assemble(const Tool &ptxas, const std::string &ptx, const Target &target,
                                 std::string &error, PtxLines lines = PtxLines::Drop);

/// The machine code of \p cubin as text, with the lines of PTX where it has them and they are kept.
std::optional<std::string> disassemble(const Tool &nvdisasm, const std::vector<char> &cubin,
                                       std::string &error, PtxLines lines = PtxLines::Drop);

} // namespace h3::nvptx

#endif // H3_BACKENDS_NVPTX_TOOLS_H
