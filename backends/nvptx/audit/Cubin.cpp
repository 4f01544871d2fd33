//===-- backends/nvptx/audit/Cubin.cpp - Sections of a cubin --------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/audit/Cubin.h"

#include <cstdint>
#include <cstring>
#include <string_view>

namespace h3::audit {
namespace {

/// Of ELF's 64-bit form, little endian.
struct Section {
  uint32_t name, type;
  uint64_t flags, address, offset, size;
  uint32_t link, info;
  uint64_t alignment, entrySize;
};
static_assert(sizeof(Section) == 64);

template <typename T> bool readAt(std::string_view bytes, uint64_t offset, T &value) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T))
    return false;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return true;
}

/// What stands behind \p key, up to one of \p ends.
std::string behind(std::string_view text, std::string_view key, std::string_view ends) {
  size_t at = text.find(key);
  if (at == std::string_view::npos)
    return {};
  text = text.substr(at + key.size());
  return std::string(text.substr(0, text.find_first_of(ends)));
}

} // namespace

std::optional<Cubin> readCubin(std::span<const char> data) {
  using namespace std::string_view_literals;
  constexpr uint16_t machineCuda = 190;
  constexpr uint32_t noBits = 8;
  std::string_view bytes(data.data(), data.size());
  uint16_t machine = 0, entrySize = 0, count = 0, namesIndex = 0;
  uint64_t headers = 0;
  bool isCubin = bytes.starts_with("\177ELF\2\1"sv) && readAt(bytes, 18, machine) &&
                 machine == machineCuda && readAt(bytes, 40, headers) &&
                 readAt(bytes, 58, entrySize) && entrySize == sizeof(Section) &&
                 readAt(bytes, 60, count) && readAt(bytes, 62, namesIndex) && namesIndex < count;
  Section names{};
  if (!isCubin || !readAt(bytes, headers + namesIndex * sizeof(Section), names) ||
      names.offset > bytes.size() || names.size > bytes.size() - names.offset)
    return std::nullopt;
  std::string_view nameTable = bytes.substr(names.offset, names.size);
  Cubin cubin;
  for (uint16_t index = 0; index < count; ++index) {
    Section section{};
    if (!readAt(bytes, headers + index * sizeof(Section), section) ||
        section.name >= nameTable.size())
      return std::nullopt;
    std::string_view name = nameTable.substr(section.name);
    name = name.substr(0, name.find('\0'));
    std::string_view contents;
    if (section.type != noBits) {
      if (section.offset > bytes.size() || section.size > bytes.size() - section.offset)
        return std::nullopt;
      contents = bytes.substr(section.offset, section.size);
    }
    bool isCode = name.starts_with(".text.") || name.starts_with(".nv.constant") ||
                  name.starts_with(".nv.global.init");
    if (isCode)
      cubin.code.emplace(name, contents);
    cubin.hasPtxLines |= name == ".nv_debug_line_sass" && !contents.empty();
    if (name == ".note.nv.tkinfo") {
      cubin.ptxas = behind(contents, ", V", "\0\n "sv);
      cubin.target = behind(contents, "-arch ", "\0\n "sv);
    }
  }
  return cubin;
}

} // namespace h3::audit
