//===-- backends/nvptx/ptx/Decode.cpp - Kernel to compact code ------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/ptx/Forms.h"
#include "backends/nvptx/ptx/Machine.h"
#include "backends/nvptx/ptx/Reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace h3::ptx {
namespace {

uint64_t alignUp(uint64_t value, uint64_t align) { return (value + align - 1) / align * align; }

class Decoder {
public:
  Decoder(const Module &module, const Kernel &kernel) : module(module), kernel(kernel) {}
  bool run();

  Code code;
  Fault fault;

private:
  bool fail(const Instruction &instruction, std::string text);
  void layOut();
  Slot constant(uint64_t value);
  Slot special(Special special);
  bool decodeInstruction(const Instruction &instruction);
  bool decodeOperand(const Instruction &instruction, const OperandForm &form,
                     const Operand &operand, Op &op);
  bool decodeSource(const Instruction &instruction, const OperandForm &form, const Operand &operand,
                    Op &op);
  bool decodeAddress(const Instruction &instruction, const Operand &operand, Op &op);
  bool decodeVector(const Instruction &instruction, const OperandForm &form, const Operand &operand,
                    Op &op);
  std::optional<Slot> valueSlot(const Instruction &instruction, Modifier type,
                                const Operand &operand);
  std::optional<uint64_t> literal(const Operand &operand, Modifier type) const;
  Slot destinationSlot(const Operand &operand) const;
  void addSource(Slot slot, Op &op);
  void decodeModifiers(const Instruction &instruction, Op &op) const;

  const Module &module;
  const Kernel &kernel;
  std::map<uint64_t, Slot> constants;
  std::map<Special, Slot> specials;
  unsigned sources = 0; ///< of the instruction in hand
};

bool Decoder::fail(const Instruction &instruction, std::string text) {
  fault.kind = FaultKind::Unsupported;
  fault.line = instruction.line.number;
  fault.instruction = print(module, kernel, instruction);
  fault.text = std::move(text);
  return false;
}

void Decoder::layOut() {
  Layout &layout = code.layout;
  for (const Variable &parameter : kernel.parameters) {
    layout.parameterBytes = alignUp(layout.parameterBytes, parameter.alignment());
    layout.parameterOffsets.push_back(layout.parameterBytes);
    layout.parameterBytes += parameter.bytes();
  }
  // Dynamic shared memory, `[]`, lies behind all that has a size.
  std::vector<std::pair<const Variable *, uint64_t *>> dynamic;
  auto place = [&](const Variable &variable, uint64_t &address) {
    uint64_t *end = variable.space == Space::Shared  ? &layout.sharedBytes
                    : variable.space == Space::Local ? &layout.localBytes
                    : variable.space == Space::Const ? &layout.constBytes
                                                     : &layout.globalBytes;
    if (variable.space == Space::Shared && variable.bytes() == 0) {
      dynamic.emplace_back(&variable, &address);
      return;
    }
    *end = alignUp(*end, variable.alignment());
    address = *end + (variable.space == Space::Global ? windowVariables : 0);
    *end += variable.bytes();
  };
  layout.moduleVariables.resize(module.variables.size());
  layout.kernelVariables.resize(kernel.variables.size());
  for (size_t i = 0; i < module.variables.size(); ++i)
    place(module.variables[i], layout.moduleVariables[i]);
  for (size_t i = 0; i < kernel.variables.size(); ++i)
    place(kernel.variables[i], layout.kernelVariables[i]);
  for (auto [variable, address] : dynamic)
    layout.sharedBytes = alignUp(layout.sharedBytes, variable->alignment());
  for (auto [variable, address] : dynamic)
    *address = layout.sharedBytes;
}

Slot Decoder::constant(uint64_t value) {
  auto [it, isNew] = constants.emplace(value, code.slots());
  if (isNew) {
    code.values.push_back(value);
    code.set.push_back(setWhole);
  }
  return it->second;
}

Slot Decoder::special(Special which) {
  auto [it, isNew] = specials.emplace(which, code.slots());
  if (isNew) {
    code.values.push_back(0);
    code.set.push_back(setWhole);
    code.specials.emplace_back(it->second, which);
  }
  return it->second;
}

std::optional<uint64_t> Decoder::literal(const Operand &operand, Modifier type) const {
  if (type == Modifier::Pred)
    return operand.bits != 0 ? 1 : 0;
  std::optional<ScalarType> format;
  if (type == Modifier::F16)
    format = ScalarType::F16;
  else if (type == Modifier::Bf16)
    format = ScalarType::BF16;
  else if (type == Modifier::F32)
    format = ScalarType::F32;
  else if (type == Modifier::F64)
    format = ScalarType::F64;
  switch (operand.kind) {
  case Operand::Kind::Integer:
    return operand.bits & maskOf(bitWidth(type));
  case Operand::Kind::Single:
    if (format && *format != ScalarType::F32)
      return scalar::convert(ScalarType::F32, *format, operand.bits);
    return bitWidth(type) == 32 ? std::optional(operand.bits) : std::nullopt;
  case Operand::Kind::Double:
    if (format && *format != ScalarType::F64)
      return scalar::convert(ScalarType::F64, *format, operand.bits);
    return bitWidth(type) == 64 ? std::optional(operand.bits) : std::nullopt;
  default:
    return std::nullopt;
  }
}

std::optional<Slot> Decoder::valueSlot(const Instruction &instruction, Modifier type,
                                       const Operand &operand) {
  switch (operand.kind) {
  case Operand::Kind::Register:
    return firstRegister + operand.index;
  case Operand::Kind::Special:
    return special(static_cast<Special>(operand.index));
  case Operand::Kind::Parameter:
    // cvta.param and mov take the address in the parameter space.
    return constant(code.layout.parameterOffsets[operand.index] + operand.bits);
  case Operand::Kind::KernelVariable:
    return constant(code.layout.kernelVariables[operand.index] + operand.bits);
  case Operand::Kind::ModuleVariable:
    return constant(code.layout.moduleVariables[operand.index] + operand.bits);
  default:
    break;
  }
  std::optional<uint64_t> bits = literal(operand, type);
  if (!bits) {
    fail(instruction, fmt::format("a float literal of another width stands for a .{}", text(type)));
    return std::nullopt;
  }
  return constant(*bits);
}

Slot Decoder::destinationSlot(const Operand &operand) const {
  return operand.kind == Operand::Kind::Register ? firstRegister + operand.index : slotSink;
}

void Decoder::addSource(Slot slot, Op &op) {
  Slot *places[] = {&op.a, &op.b, &op.c};
  if (sources < 3) {
    *places[sources] = slot;
  } else {
    if (op.extraSources == 0)
      op.extra = static_cast<uint32_t>(code.extra.size());
    code.extra.push_back(slot);
    ++op.extraSources;
  }
  ++sources;
}

bool Decoder::decodeAddress(const Instruction &instruction, const Operand &operand, Op &op) {
  op.imm = operand.bits;
  if (operand.elements.empty()) {
    addSource(constant(0), op);
    return true;
  }
  const Operand &base = operand.elements[0];
  std::optional<Slot> slot = valueSlot(instruction, Modifier::B64, base);
  if (!slot)
    return false;
  addSource(*slot, op);
  if (base.kind == Operand::Kind::Register) {
    if (bitWidth(kernel.registers[base.index].type) == 32)
      op.flags |= FlagAddress32;
  } else if (op.space == Space::Generic && base.kind != Operand::Kind::Integer) {
    // An address without a space names a variable: the variable's space is meant.
    op.space = base.kind == Operand::Kind::Parameter        ? Space::Param
               : base.kind == Operand::Kind::KernelVariable ? kernel.variables[base.index].space
                                                            : module.variables[base.index].space;
  }
  return true;
}

/// A vector of mov, ld or st: its slots are further slots, in order.
bool Decoder::decodeVector(const Instruction &instruction, const OperandForm &form,
                           const Operand &operand, Op &op) {
  op.extra = static_cast<uint32_t>(code.extra.size());
  op.count = static_cast<uint8_t>(operand.elements.size());
  Modifier type = instruction.type();
  if (instruction.opcode == Opcode::Mov) {
    unsigned bits = bitWidth(type) / op.count;
    type = bits == 8 ? Modifier::B8 : bits == 16 ? Modifier::B16 : Modifier::B32;
    op.bytes = static_cast<uint8_t>(bits / 8);
  }
  for (const Operand &element : operand.elements) {
    if (form.destination) {
      code.extra.push_back(destinationSlot(element));
      if (element.kind == Operand::Kind::Register)
        op.registerBits = static_cast<uint8_t>(bitWidth(kernel.registers[element.index].type));
      continue;
    }
    std::optional<Slot> slot = valueSlot(instruction, type, element);
    if (!slot)
      return false;
    code.extra.push_back(*slot);
    ++op.extraSources;
  }
  return true;
}

bool Decoder::decodeSource(const Instruction &instruction, const OperandForm &form,
                           const Operand &operand, Op &op) {
  if (operand.kind == Operand::Kind::Vector)
    return decodeVector(instruction, form, operand, op);
  if (operand.negated) {
    constexpr OpFlag negations[] = {FlagNegateA, FlagNegateB, FlagNegateC};
    if (sources >= 3)
      return fail(instruction, "a fourth source is a negated predicate");
    op.flags |= negations[sources];
  }
  Modifier type =
      form.kind == OperandForm::Kind::Literal ? Modifier::F64 : operandType(instruction, form);
  std::optional<Slot> slot = valueSlot(instruction, type, operand);
  if (slot)
    addSource(*slot, op);
  return slot.has_value();
}

bool Decoder::decodeOperand(const Instruction &instruction, const OperandForm &form,
                            const Operand &operand, Op &op) {
  switch (form.kind) {
  case OperandForm::Kind::Label:
    op.imm = kernel.labels[operand.index].instruction;
    return true;
  case OperandForm::Kind::Memory:
    return decodeAddress(instruction, operand, op);
  default:
    break;
  }
  if (!form.destination)
    return decodeSource(instruction, form, operand, op);
  if (operand.kind == Operand::Kind::Vector)
    return decodeVector(instruction, form, operand, op);
  const Operand *first = &operand;
  if (operand.kind == Operand::Kind::Pair) {
    first = &operand.elements[0];
    op.d2 = destinationSlot(operand.elements[1]);
  }
  op.d = destinationSlot(*first);
  op.registerBits = static_cast<uint8_t>(first->kind == Operand::Kind::Register
                                             ? bitWidth(kernel.registers[first->index].type)
                                             : bitWidth(instruction.type()));
  return true;
}

void Decoder::decodeModifiers(const Instruction &instruction, Op &op) const {
  op.type = instruction.type(0);
  op.type2 = instruction.hasType(1) ? instruction.type(1) : op.type;
  for (Modifier modifier : instruction.modifiers) {
    switch (modifier) {
    case Modifier::Rz:
    case Modifier::Rzi:
      op.rounding = Rounding::TowardZero;
      break;
    case Modifier::Rm:
    case Modifier::Rmi:
      op.rounding = Rounding::Down;
      break;
    case Modifier::Rp:
    case Modifier::Rpi:
      op.rounding = Rounding::Up;
      break;
    case Modifier::Ftz:
      op.flags |= FlagFtz;
      break;
    case Modifier::Sat:
      op.flags |= FlagSat;
      break;
    case Modifier::Relu:
      op.flags |= FlagRelu;
      break;
    case Modifier::Satfinite:
      op.flags |= FlagSatfinite;
      break;
    case Modifier::Nc:
      op.flags |= FlagNonCoherent;
      break;
    case Modifier::Global:
      op.space = Space::Global;
      break;
    case Modifier::Shared:
    case Modifier::SharedCta:
      op.space = Space::Shared;
      break;
    case Modifier::Local:
      op.space = Space::Local;
      break;
    case Modifier::Const:
      op.space = Space::Const;
      break;
    case Modifier::Param:
    case Modifier::ParamEntry:
      op.space = Space::Param;
      break;
    default:
      break;
    }
  }
  op.nan = nanRule(instruction);
}

bool Decoder::decodeInstruction(const Instruction &instruction) {
  Op op;
  sources = 0;
  op.instruction = static_cast<uint32_t>(code.ops.size());
  std::string problem;
  const Form *form = findForm(instruction, kernel.registers, problem);
  if (!form)
    return fail(instruction, problem);
  decodeModifiers(instruction, op);
  if (instruction.guard) {
    op.guard = firstRegister + instruction.guard->reg;
    op.guardValue = instruction.guard->negated ? 0 : 1;
  }
  for (size_t i = 0; i < instruction.operands.size(); ++i)
    if (!decodeOperand(instruction, form->operands[i], instruction.operands[i], op))
      return false;
  using Select = bool (*)(const Instruction &, Op &, std::string &);
  constexpr Select families[] = {selectInteger,       selectBits,    selectFloat,
                                 selectApproximation, selectCompare, selectConvert,
                                 selectMemory,        selectControl, selectExchange};
  bool known = std::any_of(std::begin(families), std::end(families),
                           [&](Select select) { return select(instruction, op, problem); });
  if (!problem.empty() || !known)
    return fail(instruction, problem.empty() ? "the interpreter does not have it" : problem);
  code.ops.push_back(op);
  return true;
}

bool Decoder::run() {
  code.module = &module;
  code.kernel = &kernel;
  layOut();
  code.values.assign(firstRegister + kernel.registers.size(), 0);
  code.set.assign(firstRegister + kernel.registers.size(), 0);
  code.values[slotTrue] = 1;
  code.set[slotTrue] = setWhole;
  for (const Instruction &instruction : kernel.instructions)
    if (!decodeInstruction(instruction))
      return false;
  // Running off the end of the body is `exit`.
  Op end;
  Instruction exit;
  std::string problem;
  selectControl(exit, end, problem);
  end.instruction = static_cast<uint32_t>(code.ops.size());
  code.ops.push_back(end);
  return true;
}

} // namespace

Result<Code, Fault> decode(const Module &module, const Kernel &kernel) {
  Decoder decoder(module, kernel);
  if (!decoder.run())
    return std::move(decoder.fault);
  return std::move(decoder.code);
}

} // namespace h3::ptx
