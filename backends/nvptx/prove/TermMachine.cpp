//===-- backends/nvptx/prove/TermMachine.cpp - PTX over terms -------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/prove/TermMachine.h"

#include <fmt/format.h>

#include <algorithm>

namespace h3::prove {

using ptx::FaultKind;
using ptx::Instruction;
using ptx::Opcode;
using ptx::Slot;
using ptx::Space;

static std::string nameOf(const Instruction &instruction) {
  std::string name(ptx::text(instruction.opcode));
  for (ptx::Modifier modifier : instruction.modifiers)
    name += fmt::format(".{}", ptx::text(modifier));
  return name;
}

TermMachine::TermMachine(TermStore &terms, Operations &operations, const ptx::Code &code,
                         const std::function<bool(std::string_view)> &canonicalNaN)
    : terms(terms), operations(operations), code(code), slopes(3) {
  for (const Instruction &instruction : code.kernel->instructions)
    canonical.push_back(canonicalNaN(nameOf(instruction)));
  for (const Op &op : code.ops)
    if (op.instruction < code.kernel->instructions.size())
      forms.push_back(formOf(op, code.kernel->instructions[op.instruction]));
  coverage.executed.assign(code.kernel->instructions.size(), 0);
  coverage.guards.assign(code.kernel->instructions.size(), 0);
  slopeNumbers.emplace(Slopes{}, 0);
}

TermMachine::Form TermMachine::formOf(const Op &op, const Instruction &instruction) {
  Form form;
  switch (instruction.opcode) {
  case Opcode::Ld:
  case Opcode::Ldu:
  case Opcode::St:
  case Opcode::Atom:
  case Opcode::Red:
    form.kind = Form::Kind::Memory;
    break;
  case Opcode::Shfl: // moves its operand when the lanes meet
    form.kind = Form::Kind::Shuffle;
    break;
  case Opcode::Vote:
  case Opcode::Match:
  case Opcode::Redux:
  case Opcode::Elect:
  case Opcode::Bar:
  case Opcode::Barrier:
    form.kind = Form::Kind::OfLanes;
    break;
  default:
    break;
  }
  auto isVector = [](const ptx::Operand &operand) {
    return operand.kind == ptx::Operand::Kind::Vector;
  };
  form.writesVector = !instruction.operands.empty() && isVector(instruction.operands[0]);
  // One result, of at most three operands.
  bool isPlain = form.kind == Form::Kind::OfThread && op.extraSources == 0 &&
                 op.d2 == ptx::slotSink && std::ranges::none_of(instruction.operands, isVector);
  if (isPlain)
    form.number = operations.formOf(fmt::format(
        "{} {} {} {} {} {} {}", nameOf(instruction), op.registerBits, op.flags, op.kind, op.kind2,
        static_cast<unsigned>(op.rounding), canonical[op.instruction] ? 1 : 0));
  return form;
}

TermId TermMachine::affine(const Slopes &growth, uint64_t base, unsigned width) {
  auto [it, isNew] = slopeNumbers.emplace(growth, slopes.size());
  if (isNew)
    slopes.push_back(growth);
  return terms.affine(it->second, base, width);
}

void TermMachine::begin(ptx::BlockRun &block) {
  tags.assign(size_t(block.size()) * code.slots(), 0);
  sharedTerms.assign(code.layout.sharedBytes, {});
  quotients.clear();
  if (!blockSlopes)
    return;
  for (auto [slot, special] : code.specials)
    if (special == ptx::Special::CtaidX)
      for (unsigned i = 0; i < block.size(); ++i)
        tags[size_t(i) * code.slots() + slot] = affine(*blockSlopes, 0, 32);
}

void TermMachine::notProvable(Thread &thread, std::string text) {
  thread.fault(FaultKind::Unsupported, std::move(text));
}

bool TermMachine::run(ptx::BlockRun &block, Thread &thread, uint32_t count) {
  for (; count != 0; --count) {
    const Op &op = code.ops[thread.pc];
    ++steps;
    ++block.instructions;
    if (op.instruction >= forms.size())
      op.handler(thread, op);
    else if (!step(thread, op))
      return false;
    if (thread.state != Thread::State::Running)
      return thread.state != Thread::State::Faulted;
    ++thread.pc;
  }
  return true;
}

bool TermMachine::guardHolds(Thread &thread, const Op &op, bool &holds) {
  if (!thread.set[op.guard]) {
    thread.block->unsetRegister(thread, op);
    return false;
  }
  if (tag(thread, op.guard)) {
    notProvable(thread, "data decides whether it is executed");
    return false;
  }
  holds = (thread.r[op.guard] & 1) == op.guardValue;
  if (op.guard != ptx::slotTrue)
    coverage.guards[op.instruction] |= holds ? 1 : 2;
  return true;
}

void TermMachine::clearTags(Thread &thread, const Op &op) {
  tag(thread, op.d) = 0;
  tag(thread, op.d2) = 0;
  for (unsigned i = 0; forms[op.instruction].writesVector && i < op.count; ++i)
    tag(thread, thread.extra[op.extra + i]) = 0;
}

bool TermMachine::step(Thread &thread, const Op &op) {
  bool holds = true;
  if (!guardHolds(thread, op, holds))
    return false;
  if (!holds)
    return true;
  ++coverage.executed[op.instruction];

  const TermId *own = tags.data() + size_t(thread.index) * code.slots();
  unsigned set = thread.set[op.a] & thread.set[op.b] & thread.set[op.c];
  TermId anyTag = own[op.a] | own[op.b] | own[op.c];
  for (unsigned i = 0; i < op.extraSources; ++i) {
    Slot slot = thread.extra[op.extra + i];
    set &= thread.set[slot];
    anyTag |= own[slot];
  }
  const bool isPartial = set != ptx::setWhole;
  const Instruction &instruction = code.kernel->instructions[op.instruction];
  if (forms[op.instruction].kind == Form::Kind::Memory) {
    if (isPartial) {
      thread.block->unsetRegister(thread, op);
      return false;
    }
    return accessMemory(thread, op, instruction);
  }
  if (anyTag)
    return stepOnTerms(thread, op, instruction, isPartial);
  if (!isPartial)
    op.handler(thread, op);
  else if (!ptx::runPartial(thread, op, instruction))
    thread.block->unsetRegister(thread, op);
  if (thread.state == Thread::State::Running)
    clearTags(thread, op);
  return thread.state != Thread::State::Faulted;
}

bool TermMachine::stepOnTerms(Thread &thread, const Op &op, const Instruction &instruction,
                              bool isPartial) {
  switch (forms[op.instruction].kind) {
  case Form::Kind::Shuffle:
    if (!tag(thread, op.b) && !tag(thread, op.c) && !tag(thread, thread.extra[op.extra])) {
      op.handler(thread, op);
      return thread.state != Thread::State::Faulted;
    }
    notProvable(thread, "data decides which lane is read");
    return false;
  case Form::Kind::OfLanes:
    notProvable(thread, "data decides between lanes");
    return false;
  default:
    break;
  }
  bool isData = false, isAffine = false, isOpaqueAny = false;
  auto see = [&](Slot slot) {
    if (TermId id = tag(thread, slot)) {
      bool grows = terms[id].op == TermOp::Affine;
      isData |= !grows;
      isAffine |= grows;
      isOpaqueAny |= isOpaque(id);
    }
  };
  see(op.a);
  see(op.b);
  see(op.c);
  for (unsigned i = 0; i < op.extraSources; ++i)
    see(thread.extra[op.extra + i]);
  if (isOpaqueAny && isPartial) {
    notProvable(thread, "it is not linear in the number of rows");
    return false;
  }
  if (isData && isAffine) {
    notProvable(thread, "it makes one value of data and of a number that grows with the rows");
    return false;
  }
  terms.setLine(instruction.line.number);
  if (isPartial) {
    // What is set is what the interpreter's rules for parts of registers say.
    if (!ptx::runPartial(thread, op, instruction)) {
      thread.block->unsetRegister(thread, op);
      return false;
    }
    std::vector<uint8_t> after(thread.set, thread.set + code.slots());
    if (!apply(thread, op, instruction)) {
      notProvable(thread, fmt::format("{} on data has no term", nameOf(instruction)));
      return false;
    }
    std::copy(after.begin(), after.end(), thread.set);
    return true;
  }
  return isData ? applyKept(thread, op, instruction) : applyAffine(thread, op, instruction);
}

/// As `apply`, whose result may be known.
bool TermMachine::applyKept(Thread &thread, const Op &op, const Instruction &instruction) {
  Operations::Key key;
  const uint32_t form = forms[op.instruction].number;
  key.form = form * 8;
  const std::array slots = {op.a, op.b, op.c};
  for (unsigned i = 0; i < slots.size(); ++i) {
    TermId id = tag(thread, slots[i]);
    key.form |= id ? 1u << i : 0;
    key.operands[i] = id ? id : thread.r[slots[i]];
  }
  // One that this kernel has not made yet gets its lines by being made.
  TermId known = form ? operations.find(key) : 0;
  if (known && terms.lineOf(known)) {
    define(thread, op.d, known);
    return true;
  }
  if (!apply(thread, op, instruction)) {
    if (thread.state != Thread::State::Faulted)
      notProvable(thread, fmt::format("{} on data has no term", nameOf(instruction)));
    return false;
  }
  if (TermId result = tag(thread, op.d); form && result)
    operations.keep(key, result);
  return true;
}

/// A shuffle of the lanes' own numbers says where each value comes from.
void TermMachine::meet(ptx::BlockRun &block, std::span<Thread *const> lanes, uint32_t mask,
                       const Op &op) {
  const Instruction &instruction = code.kernel->instructions[op.instruction];
  bool moves = instruction.opcode == Opcode::Shfl;
  std::array<uint64_t, 32> bits{};
  std::array<TermId, 32> ids{};
  for (Thread *lane : lanes) {
    bits[lane->lane()] = lane->r[op.a];
    ids[lane->lane()] = tag(*lane, op.a);
    if (moves)
      lane->r[op.a] = lane->lane();
  }
  op.warpHandler(block, lanes, mask, op);
  for (Thread *lane : lanes) {
    uint64_t from = moves ? lane->r[op.d] & 31 : 0;
    if (moves && op.a != op.d)
      lane->r[op.a] = bits[lane->lane()];
    clearTags(*lane, op);
    if (moves) {
      lane->r[op.d] = bits[from];
      tag(*lane, op.d) = ids[from];
    }
  }
}

// ---- Values.

TermId TermMachine::value(const Thread &thread, Slot slot, unsigned width) {
  TermId id = tag(thread, slot);
  if (!id)
    return terms.constant(width, thread.r[slot]);
  unsigned own = terms.width(id);
  return own == width  ? id
         : own > width ? terms.extract(id, 0, width)
                       : terms.zeroExtend(id, width);
}

TermId TermMachine::predicate(const Thread &thread, Slot slot, bool negated) {
  TermId id = value(thread, slot, 1);
  return negated ? terms.bitNot(id) : id;
}

/// A term that is a constant becomes a known value.
void TermMachine::define(Thread &thread, Slot slot, TermId id) {
  bool isKnown = terms.isConstant(id);
  thread.write(slot, isKnown ? terms[id].imm : 0);
  tag(thread, slot) = isKnown ? 0 : id;
}

// ---- Memory.

bool TermMachine::accessMemory(Thread &thread, const Op &op, const Instruction &instruction) {
  if (instruction.opcode == Opcode::Atom || instruction.opcode == Opcode::Red) {
    notProvable(thread, "the order of atomic operations is not known");
    return false;
  }
  bool isStore = instruction.opcode == Opcode::St;
  if (TermId id = tag(thread, op.a); id && terms[id].op != TermOp::Affine) {
    notProvable(thread, fmt::format("the address of a {} is data", isStore ? "store" : "load"));
    return false;
  }
  uint64_t address = thread.r[op.a] + op.imm;
  Space space = op.space == Space::Generic ? ptx::BlockRun::resolve(address) : op.space;
  switch (space) {
  case Space::Param:
    return accessParameters(thread, op);
  case Space::Global:
    return accessGlobal(thread, op, instruction);
  case Space::Shared:
    return accessShared(thread, op, instruction);
  default:
    notProvable(thread, fmt::format("an access to {} memory", ptx::text(space)));
    return false;
  }
}

/// Element \p index of what a load gives.
void TermMachine::finishLoad(Thread &thread, const Op &op, unsigned index, TermId id) {
  if (ptx::isSignedType(op.type) && op.registerBits > terms.width(id))
    id = terms.signExtend(id, op.registerBits);
  define(thread, op.count == 1 ? op.d : thread.extra[op.extra + index], id);
}

bool TermMachine::accessParameters(Thread &thread, const Op &op) {
  if (tag(thread, op.a)) {
    notProvable(thread, "the place of a parameter depends on the number of rows");
    return false;
  }
  op.handler(thread, op); // checks the access too
  if (thread.state == Thread::State::Faulted)
    return false;
  clearTags(thread, op);
  for (unsigned i = 0; i < op.count; ++i) {
    uint64_t place = thread.r[op.a] + op.imm + uint64_t(i) * op.bytes;
    auto found = parameters.find(place);
    if (found == parameters.end())
      continue;
    TermId id = found->second;
    Slot slot = op.count == 1 ? op.d : thread.extra[op.extra + i];
    if (terms[id].op == TermOp::Affine) // the handler has read the run's number
      tag(thread, slot) = id;
    else
      finishLoad(thread, op, i, id);
  }
  return true;
}

bool TermMachine::accessGlobal(Thread &thread, const Op &op, const Instruction &instruction) {
  uint64_t address = thread.r[op.a] + op.imm;
  unsigned bytes = unsigned(op.bytes) * op.count, line = instruction.line.number;
  if (address % bytes != 0) {
    thread.fault(FaultKind::Misaligned,
                 fmt::format("access of {} bytes at address {:#x}", bytes, address));
    return false;
  }
  if (TermId id = tag(thread, op.a); id && isOpaque(id)) {
    notProvable(thread, "the address is not linear in the number of rows");
    return false;
  }
  Slopes growth = slopesOf(thread, op.a);
  for (int64_t slope : growth)
    if (slope % bytes != 0) {
      thread.fault(FaultKind::Misaligned,
                   fmt::format("access of {} bytes at an address that grows by {}", bytes, slope));
      return false;
    }
  if (TensorMemory *tensor = memory->find(address); tensor && growth != tensor->slopes) {
    notProvable(thread, fmt::format("the address does not move with the rows of {}", tensor->name));
    return false;
  }
  if (instruction.opcode == Opcode::St) {
    TermId id = 0;
    for (unsigned i = 0; i < op.count; ++i) {
      Slot slot = op.count == 1 ? op.b : thread.extra[op.extra + i];
      TermId part = value(thread, slot, 8u * op.bytes);
      id = id ? terms.concat(part, id) : part;
    }
    return memory->store(thread, op, address, bytes, id, line);
  }
  clearTags(thread, op);
  // Whole registers, so that no term is wider than 64 bits.
  for (unsigned i = 0; i < op.count; ++i) {
    TermId id = memory->load(thread, op, address + uint64_t(i) * op.bytes, op.bytes, line);
    if (!id)
      return false;
    const Term &term = terms[id];
    Slot slot = op.count == 1 ? op.d : thread.extra[op.extra + i];
    if (term.op == TermOp::Affine) {
      thread.write(slot, term.imm);
      tag(thread, slot) = id;
    } else {
      finishLoad(thread, op, i, id);
    }
  }
  return true;
}

bool TermMachine::accessShared(Thread &thread, const Op &op, const Instruction &instruction) {
  if (tag(thread, op.a)) {
    notProvable(thread, "an address in shared memory depends on the number of rows");
    return false;
  }
  bool isStore = instruction.opcode == Opcode::St;
  uint64_t address = thread.r[op.a] + op.imm;
  if (op.is(ptx::FlagAddress32))
    address &= 0xFFFFFFFF;
  if (op.space == Space::Generic)
    ptx::BlockRun::resolve(address);
  op.handler(thread, op);
  if (thread.state == Thread::State::Faulted)
    return false;
  if (sharedTerms.size() < address + unsigned(op.bytes) * op.count)
    sharedTerms.resize(address + unsigned(op.bytes) * op.count); // dynamic shared memory
  if (!isStore)
    clearTags(thread, op);
  for (unsigned i = 0; i < op.count; ++i) {
    ByteTerm *bytes = sharedTerms.data() + address + uint64_t(i) * op.bytes;
    if (isStore) {
      Slot slot = op.count == 1 ? op.b : thread.extra[op.extra + i];
      TermId id = tag(thread, slot) ? value(thread, slot, 8u * op.bytes) : 0;
      if (id && terms[id].op == TermOp::Affine) {
        notProvable(thread, "a number that depends on the number of rows in shared memory");
        return false;
      }
      for (unsigned byte = 0; byte < op.bytes; ++byte)
        bytes[byte] = {id, static_cast<uint8_t>(byte)};
      continue;
    }
    Slot slot = op.count == 1 ? op.d : thread.extra[op.extra + i];
    bool anyTerm = std::any_of(bytes, bytes + op.bytes, [](ByteTerm b) { return b.term != 0; });
    if (!anyTerm)
      continue;
    TermId id = 0;
    for (unsigned byte = 0; byte < op.bytes; ++byte) {
      TermId part = bytes[byte].term ? terms.extract(bytes[byte].term, 8u * bytes[byte].index, 8)
                                     : terms.constant(8, thread.r[slot] >> (8 * byte));
      id = id ? terms.concat(part, id) : part;
    }
    finishLoad(thread, op, i, id);
  }
  return true;
}

} // namespace h3::prove
