//===-- backends/nvptx/prove/TermMemory.cpp - Tensors as memory of terms --===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/prove/TermMemory.h"

#include <fmt/format.h>

#include <algorithm>

namespace h3::prove {
namespace {

void addElements(TensorMemory &memory, const plan::BoundTensor &tensor, unsigned rank,
                 int rowAxis) {
  if (tensor.elements == 0)
    return;
  std::array<int64_t, plan::kMaxRank> place{};
  for (bool more = true; more;) {
    int64_t offset = 0;
    for (unsigned axis = 0; axis < rank; ++axis)
      offset += place[axis] * tensor.strides[axis];
    if (memory.indexOf.emplace(offset, memory.elements.size()).second) {
      Element &element = memory.elements.emplace_back();
      element.row = rowAxis >= 0 ? place[static_cast<unsigned>(rowAxis)] : 0;
    }
    memory.lastOffset = std::max(memory.lastOffset, offset);
    more = false;
    for (unsigned axis = rank; axis-- > 0 && !more;) {
      more = ++place[axis] < tensor.extents[axis];
      if (!more)
        place[axis] = 0;
    }
  }
}

} // namespace

TermMemory::TermMemory(TermStore &terms, const Program &program, const plan::Binding &binding,
                       const std::vector<int> &rowAxes)
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
    addElements(memory, bound, static_cast<unsigned>(tensor.extents.size()), rowAxes[t]);
    if (memory.readable)
      for (const auto &[offset, index] : memory.indexOf)
        memory.elements[index].value = terms.input(t, offset, bitWidth(tensor.type));
  }
  for (TensorMemory &memory : tensors)
    if (memory.writable) {
      memory.shadow.name = memory.name;
      memory.shadow.shadow.reset(memory.elements.size() * memory.bytes, memory.readable);
    }
}

TensorMemory *TermMemory::ofOutput(unsigned tensor) {
  for (TensorMemory &memory : tensors)
    if (memory.writable && memory.output == tensor)
      return &memory;
  return nullptr;
}

TensorMemory *TermMemory::find(uint64_t address) {
  for (TensorMemory &memory : tensors)
    if (!memory.elements.empty() && address >= memory.address &&
        address - memory.address < uint64_t(memory.lastOffset + 1) * memory.bytes)
      return &memory;
  return nullptr;
}

bool TermMemory::check(TensorMemory &memory, ptx::Thread &thread, const ptx::Op &op, int64_t offset,
                       bool write) {
  if (!memory.writable)
    return true;
  ptx::Access access;
  access.thread = thread.index;
  access.clock = thread.clock;
  access.op = op.instruction;
  access.write = write;
  access.nonCoherent = op.is(ptx::FlagNonCoherent);
  ptx::Conflict conflict =
      memory.shadow.shadow.access(access, uint64_t(memory.indexOf.at(offset)) * memory.bytes,
                                  memory.bytes, thread.block->knowledge());
  if (conflict.kind == ptx::Conflict::Kind::None)
    return true;
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
    Element *element = memory->find(offset);
    if (!element) {
      thread.fault(ptx::FaultKind::OutOfBounds,
                   fmt::format("load of {} bytes at {:#x}: there is no element {} of {}", bytes,
                               address, offset, memory->name));
      return 0;
    }
    if (!check(*memory, thread, op, offset, false))
      return 0;
    memory->highestRow = std::max(memory->highestRow, element->row);
    TermId part = terms.extract(element->value, 8 * within, 8 * count);
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
    Element *element = memory->find(offset);
    if (!element)
      return fault(ptx::FaultKind::OutOfBounds,
                   fmt::format("store of {} bytes at {:#x}: there is no element {} of {}", bytes,
                               address, offset, memory->name));
    if (!check(*memory, thread, op, offset, true))
      return false;
    element->value = terms.extract(value, 8 * done, 8 * memory->bytes);
    element->line = line;
    ++element->writes;
  }
  return true;
}

void TermMemory::endBlock() {
  for (TensorMemory &memory : tensors)
    if (memory.writable)
      memory.shadow.shadow.endBlock();
}

} // namespace h3::prove
