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

#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

namespace h3::prove {

struct Element {
  int64_t row = 0;  ///< its index in the axis of the rows, else 0
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
  std::unordered_map<int64_t, uint32_t> indexOf; ///< by offset in elements
  std::vector<Element> elements;
  int64_t firstOffset = 0, lastOffset = 0;
  int64_t highestRow = -1; ///< of those that were read
  ptx::SharedBytes shadow;

  Element *find(int64_t offset) {
    auto found = indexOf.find(offset);
    return found == indexOf.end() ? nullptr : &elements[found->second];
  }
};

class TermMemory {
public:
  /// \p rowAxes says for each tensor which axis counts the rows, or -1.
  TermMemory(TermStore &terms, const Program &program, const plan::Binding &binding,
             const std::vector<int> &rowAxes);

  /// The tensor in whose span the address lies, or null.
  TensorMemory *find(uint64_t address);
  /// The elements of \p bytes bytes from \p address on, as bits. 0 after a fault.
  TermId load(ptx::Thread &thread, const ptx::Op &op, uint64_t address, unsigned bytes,
              unsigned line);
  bool store(ptx::Thread &thread, const ptx::Op &op, uint64_t address, unsigned bytes, TermId value,
             unsigned line);
  /// After each block.
  void endBlock();

  std::deque<TensorMemory> tensors;
  /// Which tensor an output of the program lies in.
  TensorMemory *ofOutput(unsigned tensor);

private:
  bool check(TensorMemory &memory, ptx::Thread &thread, const ptx::Op &op, int64_t offset,
             bool write);

  TermStore &terms;
};

} // namespace h3::prove

#endif // H3_BACKENDS_NVPTX_PROVE_TERMMEMORY_H
