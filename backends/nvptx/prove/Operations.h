//===-- backends/nvptx/prove/Operations.h - Results of instructions, kept - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What instructions on terms give. Every layout and every variant computes the same elements, so
// most of them have been seen before: the normal form of a result is then not made again.
//
//===----------------------------------------------------------------------===//

#ifndef H3_BACKENDS_NVPTX_PROVE_OPERATIONS_H
#define H3_BACKENDS_NVPTX_PROVE_OPERATIONS_H

#include "backends/nvptx/prove/Term.h"

#include <array>
#include <map>
#include <string>
#include <vector>

namespace h3::prove {

/// A table in which a later result takes the place of an earlier one.
class Operations {
public:
  struct Key {
    /// Of the instruction (`formOf` all that its result depends on) times 8, and bit i if operand
    /// i is a term and no number.
    uint32_t form = 0;
    std::array<uint64_t, 3> operands{};
  };

  /// A number for each text, from 1 on.
  uint32_t formOf(const std::string &text) {
    return forms.emplace(text, static_cast<uint32_t>(forms.size() + 1)).first->second;
  }
  /// 0 if it is not known.
  TermId find(const Key &key) const {
    const Entry &entry = entries[placeOf(key)];
    bool isSame = entry.form == key.form && entry.operands[0] == key.operands[0] &&
                  entry.operands[1] == key.operands[1] && entry.operands[2] == key.operands[2];
    return isSame ? entry.result : 0;
  }
  void keep(const Key &key, TermId result) {
    entries[placeOf(key)] = {key.form, result, key.operands};
  }

private:
  struct Entry { ///< half a line of the cache
    uint32_t form = 0;
    TermId result = 0;
    std::array<uint64_t, 3> operands{};
  };
  static size_t placeOf(const Key &key) {
    uint64_t hash = key.form;
    for (uint64_t operand : key.operands) {
      hash = (hash ^ operand) * 0x9E3779B97F4A7C15;
      hash ^= hash >> 29;
    }
    return hash % size;
  }
  static constexpr size_t size = 1 << 16;

  std::map<std::string, uint32_t> forms;
  std::vector<Entry> entries = std::vector<Entry>(size);
};

} // namespace h3::prove

#endif // H3_BACKENDS_NVPTX_PROVE_OPERATIONS_H
