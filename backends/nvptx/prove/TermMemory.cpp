//===-- backends/nvptx/prove/TermMemory.cpp - Tensors as memory of terms --===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/prove/TermMemory.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace h3::prove {
Numbering numberingOf(const plan::BoundTensor &tensor, unsigned rank) {
  Numbering numbering;
  numbering.count = tensor.elements == 0 ? 0 : 1;
  for (unsigned axis = rank; axis-- > 0 && tensor.elements != 0;) {
    if (tensor.strides[axis] == 0)
      continue;
    numbering.strides[axis] = numbering.count;
    numbering.count *= tensor.extents[axis];
  }
  return numbering;
}

void OffsetMap::reset(size_t count) { table.assign(std::bit_ceil(2 * count + 1), {}); }

bool OffsetMap::insert(int64_t offset, uint32_t number) {
  size_t place = placeOf(offset);
  for (; table[place].number != none; place = next(place))
    if (table[place].offset == offset)
      return false;
  table[place] = {offset, number};
  return true;
}

/// False if two elements that no broadcast makes one share an address.
static bool addElements(TensorMemory &memory, const plan::BoundTensor &tensor, unsigned rank) {
  const Numbering numbering = numberingOf(tensor, rank);
  memory.numberOf.reset(static_cast<size_t>(numbering.count));
  memory.elements.resize(static_cast<size_t>(numbering.count));
  std::array<int64_t, plan::kMaxRank> place{};
  bool areApart = true;
  for (uint32_t number = 0; number < memory.elements.size(); ++number) {
    int64_t offset = 0;
    for (unsigned axis = 0; axis < rank; ++axis)
      offset += place[axis] * tensor.strides[axis];
    areApart &= memory.numberOf.insert(offset, number);
    memory.lastOffset = std::max(memory.lastOffset, offset);
    for (unsigned axis = rank; axis-- > 0;) {
      if (numbering.strides[axis] == 0)
        continue;
      if (++place[axis] < tensor.extents[axis])
        break;
      place[axis] = 0;
    }
  }
  return areApart;
}

TermMemory::TermMemory(TermStore &terms, const Program &program, const plan::Binding &binding)
    : terms(terms) {
  for (unsigned t = 0; t < program.tensors.size(); ++t) {
    const Tensor &tensor = program.tensors[t];
    const plan::BoundTensor &bound = binding.tensors[t];
    if (tensor.isOutput && tensor.mayAlias && bound.elements != 0) {
      auto shared = std::ranges::find_if(tensors, [&](const TensorMemory &memory) {
        return memory.tensor == *tensor.mayAlias && memory.address == bound.address;
      });
      if (shared != tensors.end()) {
        shared->output = t;
        shared->writable = true;
        continue;
      }
    }
    TensorMemory &memory = tensors.emplace_back();
    memory.tensor = memory.output = t;
    memory.name = "'" + tensor.name + "'";
    memory.address = bound.address;
    memory.bytes = byteWidth(tensor.type);
    memory.writable = tensor.isOutput;
    memory.readable = !tensor.isOutput;
    if (!addElements(memory, bound, static_cast<unsigned>(tensor.extents.size())))
      problem = fmt::format("elements of {} share an address", memory.name);
    for (size_t number = 0; memory.readable && number < memory.elements.size(); ++number)
      memory.elements[number].value =
          terms.input(t, static_cast<int64_t>(number), bitWidth(tensor.type));
  }
  for (TensorMemory &memory : tensors)
    if (memory.writable) {
      memory.shadow.name = memory.name;
      memory.shadow.shadow.reset(memory.elements.size(), memory.readable);
    }
}

TensorMemory *TermMemory::ofOutput(unsigned tensor) {
  for (TensorMemory &memory : tensors)
    if (memory.writable && memory.output == tensor)
      return &memory;
  return nullptr;
}

TensorMemory *TermMemory::find(uint64_t address) {
  auto isIn = [&](const TensorMemory &memory) {
    return !memory.elements.empty() && address >= memory.address &&
           address - memory.address < uint64_t(memory.lastOffset + 1) * memory.bytes;
  };
  if (lastFound && isIn(*lastFound))
    return lastFound;
  for (TensorMemory &memory : tensors)
    if (isIn(memory))
      return lastFound = &memory;
  return nullptr;
}

bool TermMemory::check(TensorMemory &memory, ptx::Thread &thread, const ptx::Op &op,
                       uint32_t number, bool write) {
  if (!memory.writable)
    return true;
  ptx::Access access;
  access.thread = thread.index;
  access.clock = thread.clock;
  access.op = op.instruction;
  access.write = write;
  access.nonCoherent = op.is(ptx::FlagNonCoherent);
  ptx::Conflict conflict =
      memory.shadow.shadow.access(access, number, 1, thread.block->knowledge());
  if (conflict.kind == ptx::Conflict::Kind::None)
    return true;
  conflict.offset *= memory.bytes;
  thread.block->reportConflict(thread, memory.shadow, conflict,
                               write ? ptx::BlockRun::AccessKind::Write
                                     : ptx::BlockRun::AccessKind::Read);
  return false;
}

TermId TermMemory::load(ptx::Thread &thread, const ptx::Op &op, uint64_t address, unsigned bytes,
                        unsigned) {
  TensorMemory *memory = find(address);
  if (!memory) {
    thread.fault(ptx::FaultKind::OutOfBounds,
                 fmt::format("load of {} bytes at {:#x}, where no tensor is", bytes, address));
    return 0;
  }
  TermId result = 0;
  for (unsigned done = 0; done < bytes;) {
    uint64_t place = address + done - memory->address;
    auto offset = static_cast<int64_t>(place / memory->bytes);
    unsigned within = static_cast<unsigned>(place % memory->bytes);
    unsigned count = std::min(memory->bytes - within, bytes - done);
    std::optional<uint32_t> number = memory->numberOf.find(offset);
    if (!number) {
      thread.fault(ptx::FaultKind::OutOfBounds,
                   fmt::format("load of {} bytes at {:#x}: there is no element {} of {}", bytes,
                               address, offset, memory->name));
      return 0;
    }
    if (!check(*memory, thread, op, *number, false))
      return 0;
    const Element &element = memory->elements[*number];
    TermId part = terms.extract(element.value, 8 * within, 8 * count);
    result = result ? terms.concat(part, result) : part;
    done += count;
  }
  return result;
}

bool TermMemory::store(ptx::Thread &thread, const ptx::Op &op, uint64_t address, unsigned bytes,
                       TermId value, unsigned line) {
  TensorMemory *memory = find(address);
  auto fault = [&](ptx::FaultKind kind, std::string text) {
    thread.fault(kind, std::move(text));
    return false;
  };
  if (!memory)
    return fault(ptx::FaultKind::OutOfBounds,
                 fmt::format("store of {} bytes at {:#x}, where no tensor is", bytes, address));
  if (!memory->writable)
    return fault(ptx::FaultKind::ReadOnly, fmt::format("store to {}, an input", memory->name));
  if (bytes < memory->bytes || (address - memory->address) % memory->bytes != 0)
    return fault(ptx::FaultKind::Unsupported,
                 fmt::format("store of {} bytes, a part of an element of {}", bytes, memory->name));
  for (unsigned done = 0; done < bytes; done += memory->bytes) {
    auto offset = static_cast<int64_t>((address + done - memory->address) / memory->bytes);
    std::optional<uint32_t> number = memory->numberOf.find(offset);
    if (!number)
      return fault(ptx::FaultKind::OutOfBounds,
                   fmt::format("store of {} bytes at {:#x}: there is no element {} of {}", bytes,
                               address, offset, memory->name));
    if (!check(*memory, thread, op, *number, true))
      return false;
    Element &element = memory->elements[*number];
    element.value = terms.extract(value, 8 * done, 8 * memory->bytes);
    element.line = line;
    ++element.writes;
  }
  return true;
}

void TermMemory::endBlock() {
  for (TensorMemory &memory : tensors)
    if (memory.writable)
      memory.shadow.shadow.endBlock();
}

} // namespace h3::prove
