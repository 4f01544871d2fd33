//===-- backends/nvptx/ptx/Control.cpp - Branches and ends ----------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/ptx/Block.h"
#include "backends/nvptx/ptx/Machine.h"

namespace h3::ptx {
namespace {

/// The loop adds one.
void branch(Thread &t, const Op &op) { t.pc = static_cast<uint32_t>(op.imm) - 1; }

void exitThread(Thread &t, const Op &) { t.block->exit(t); }

void trap(Thread &t, const Op &) { t.fault(FaultKind::Trap, "the thread has executed it"); }

void nothing(Thread &, const Op &) {}

} // namespace

bool selectControl(const Instruction &instruction, Op &op, std::string &) {
  switch (instruction.opcode) {
  case Opcode::Bra:
    op.handler = branch;
    return true;
  case Opcode::Ret: // of a kernel
  case Opcode::Exit:
    op.handler = exitThread;
    return true;
  case Opcode::Trap:
    op.handler = trap;
    return true;
  // What these change cannot be seen here: timing, and the start of another launch.
  case Opcode::Nanosleep:
  case Opcode::Griddepcontrol:
  case Opcode::Prefetch:
  case Opcode::Prefetchu:
  // Fences order a thread's own accesses; without atomics to read from they order no two threads.
  case Opcode::Membar:
  case Opcode::Fence:
    op.handler = nothing;
    return true;
  default:
    return false;
  }
}

} // namespace h3::ptx
