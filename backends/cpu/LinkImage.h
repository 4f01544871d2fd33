//===-- backends/cpu/LinkImage.h - An object file as a position-independent image - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_BACKENDS_CPU_LINKIMAGE_H
#define H3_BACKENDS_CPU_LINKIMAGE_H

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace h3::cpu {

/// Lays the code and constants of an ELF object file out as one image (runtime/cpu/Image.h), with
/// all references between them resolved. Empty with \p error set, naming what an image cannot have:
/// an undefined symbol, a section that is written or a thread's own, an address that depends on
/// where the image lies.
std::optional<std::vector<char>> linkImage(std::string_view object, std::string &error);

} // namespace h3::cpu

#endif // H3_BACKENDS_CPU_LINKIMAGE_H
