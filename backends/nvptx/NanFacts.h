//===-- backends/nvptx/NanFacts.h - What is known of NaN results - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_BACKENDS_NVPTX_NANFACTS_H
#define H3_BACKENDS_NVPTX_NANFACTS_H

#include "backends/Target.h"

#include <string_view>

namespace h3::nvptx {

/// Whether every NaN that \p instruction ("add.rn.f16x2") gives on \p target was seen to be the
/// canonical one, by nan.def. False where nothing is recorded.
bool givesCanonicalNaN(std::string_view instruction, const Target &target);

} // namespace h3::nvptx

#endif // H3_BACKENDS_NVPTX_NANFACTS_H
