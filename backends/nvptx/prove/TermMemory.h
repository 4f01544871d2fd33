//===-- backends/nvptx/prove/TermMemory.h - Tensors as memory of terms - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The global memory of a proof: the elements of the call's tensors and nothing else, wherever they
// lie (a 64-bit variant's may be gigabytes apart). It says what a launch must not do: touch
// anything outside a tensor, write an input, read what nobody has written, race, write twice.
//
//===----------------------------------------------------------------------===//

#ifndef H3_BACKENDS_NVPTX_PROVE_TERMMEMORY_H
#define H3_BACKENDS_NVPTX_PROVE_TERMMEMORY_H

#include "backends/nvptx/prove/Affine.h"
#include "backends/nvptx/prove/Term.h"
#include "backends/nvptx/ptx/Block.h"
#include "dsl/program/Program.h"
#include "runtime/plan/Plan.h"

#include <array>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace h3::prove {

/// The elements of a tensor by number: in row-major order, those that a broadcast makes one only
/// once. Inputs have their names by it and the spec is evaluated with it, so terms are the same
/// wherever the elements lie.
struct Numbering {
  std::array<int64_t, plan::kMaxRank> strides{};
  int64_t count = 0;
};
Numbering numberingOf(const plan::BoundTensor &tensor, unsigned rank);

/// Numbers of elements by their offsets.
class OffsetMap {
public:
  /// For \p count offsets at most.
  void reset(size_t count);
  /// False if it is there already.
  bool insert(int64_t offset, uint32_t number);
  /// Empty if no element is there.
  std::optional<uint32_t> find(int64_t offset) const {
    for (size_t place = placeOf(offset); table[place].number != none; place = next(place))
      if (table[place].offset == offset)
        return table[place].number;
    return std::nullopt;
  }

private:
  static constexpr uint32_t none = UINT32_MAX;
  struct Entry {
    int64_t offset = 0;
    uint32_t number = none;
  };
  size_t placeOf(int64_t offset) const {
    return (static_cast<uint64_t>(offset) * 0x9E3779B97F4A7C15) >> 32 & (table.size() - 1);
  }
  size_t next(size_t place) const { return (place + 1) & (table.size() - 1); }

  std::vector<Entry> table = std::vector<Entry>(1);
};

struct Element {
  TermId value = 0; ///< what it holds now
  unsigned writes = 0;
  unsigned line = 0; ///< PTX line of the last write
};

/// One tensor, or an input and the output that shares its memory.
struct TensorMemory {
  unsigned tensor = 0; ///< of the program; of the input where an output shares it
  unsigned output = 0; ///< of the program; meaningless unless `writable`
  std::string name;
  uint64_t address = 0;
  unsigned bytes = 0; ///< of an element
  bool writable = false, readable = false;
  /// By how many bytes the address of an element grows with each symbol.
  Slopes slopes{};
  OffsetMap numberOf;            ///< by offset in elements
  std::vector<Element> elements; ///< by number
  int64_t lastOffset = 0;
  ptx::SharedBytes shadow; ///< a byte for each element
};

class TermMemory {
public:
  TermMemory(TermStore &terms, const Program &program, const plan::Binding &binding);

  /// The tensor in whose span the address lies, or null.
  TensorMemory *find(uint64_t address);
  /// The elements of \p bytes bytes from \p address on, as bits. 0 after a fault.
  TermId load(ptx::Thread &thread, const ptx::Op &op, uint64_t address, unsigned bytes,
              unsigned line);
  bool store(ptx::Thread &thread, const ptx::Op &op, uint64_t address, unsigned bytes, TermId value,
             unsigned line);
  /// After each block.
  void endBlock();
  /// Why the call is none of those that can be followed; empty for others.
  std::string problem;

  std::deque<TensorMemory> tensors;
  /// Which tensor an output of the program lies in.
  TensorMemory *ofOutput(unsigned tensor);

private:
  bool check(TensorMemory &memory, ptx::Thread &thread, const ptx::Op &op, uint32_t number,
             bool write);

  TermStore &terms;
  TensorMemory *lastFound = nullptr;
};

} // namespace h3::prove

#endif // H3_BACKENDS_NVPTX_PROVE_TERMMEMORY_H
