//===-- backends/nvptx/ptx/Forms.cpp - The table of instructions ----------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/ptx/Forms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace h3::ptx {
namespace {

struct Row {
  Opcode opcode;
  std::string_view modifiers;
  std::string_view operands;
};

constexpr Row rows[] = {
#define H3_PTX_FORM(opcode, modifiers, operands) {Opcode::opcode, modifiers, operands},
#include "backends/nvptx/ptx/Forms.def"
};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    size_t end = text.find(separator);
    if (end != 0)
      parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos)
      break;
    text.remove_prefix(end + 1);
  }
  return parts;
}

ModifierSlot parseSlot(std::string_view text) {
  ModifierSlot slot;
  if (text.ends_with('?')) {
    slot.optional = true;
    text.remove_suffix(1);
  }
  for (std::string_view choice : split(text, '|')) {
    std::optional<Modifier> modifier = modifierNamed(choice);
    if (!modifier)
      std::abort(); // Forms.def names a modifier that Modifiers.def lacks.
    slot.choices.push_back(*modifier);
  }
  return slot;
}

OperandForm parseOperand(std::string_view text) {
  OperandForm form;
  auto takeFront = [&](std::string_view mark) {
    bool there = text.starts_with(mark);
    text.remove_prefix(there ? mark.size() : 0);
    return there;
  };
  auto takeBack = [&](std::string_view mark) {
    bool there = text.ends_with(mark);
    text.remove_suffix(there ? mark.size() : 0);
    return there;
  };
  form.destination = takeFront("=");
  form.negatable = takeFront("!");
  form.optional = takeBack("?");
  form.pair = takeBack("|p");
  form.vector = takeBack("v");
  form.wider = takeBack("+");
  if (takeFront("[")) {
    form.kind = OperandForm::Kind::Memory;
    takeBack("]");
  } else if (text == "p") {
    form.kind = OperandForm::Kind::Predicate;
  } else if (text == "m") {
    form.kind = OperandForm::Kind::Move;
  } else if (text == "f") {
    form.kind = OperandForm::Kind::Literal;
  } else if (text == "L") {
    form.kind = OperandForm::Kind::Label;
  }
  if (text == "1") {
    form.width = OperandForm::Width::Type1;
  } else if (text == "w") {
    form.width = OperandForm::Width::Double;
  } else if (text == "8" || text == "32" || text == "64") {
    form.width = OperandForm::Width::Fixed;
    form.bits = text == "8" ? 8 : text == "32" ? 32 : 64;
  }
  return form;
}

std::vector<Form> parseTable() {
  std::vector<Form> forms;
  for (const Row &row : rows) {
    Form form{row.opcode, {}, {}};
    for (std::string_view slot : split(row.modifiers, ' '))
      form.modifiers.push_back(parseSlot(slot));
    for (std::string_view operand : split(row.operands, ' '))
      form.operands.push_back(parseOperand(operand));
    forms.push_back(std::move(form));
  }
  return forms;
}

/// How far the modifiers follow a form; `problem` is empty if all the way.
struct Match {
  size_t matched = 0;
  std::string problem;
};

Match matchModifiers(const Form &form, const Instruction &instruction) {
  size_t slot = 0;
  for (size_t i = 0; i < instruction.modifiers.size(); ++i) {
    Modifier modifier = instruction.modifiers[i];
    auto takes = [&](size_t place) {
      const std::vector<Modifier> &choices = form.modifiers[place].choices;
      return std::find(choices.begin(), choices.end(), modifier) != choices.end();
    };
    while (slot < form.modifiers.size() && !takes(slot) && form.modifiers[slot].optional)
      ++slot;
    if (slot == form.modifiers.size() || !takes(slot))
      return {i, fmt::format("modifier '.{}' is not known there", text(modifier))};
    ++slot;
  }
  while (slot < form.modifiers.size() && form.modifiers[slot].optional)
    ++slot;
  if (slot == form.modifiers.size())
    return {instruction.modifiers.size(), {}};
  std::string wanted;
  for (Modifier choice : form.modifiers[slot].choices)
    wanted += fmt::format("{}.{}", wanted.empty() ? "" : ", ", text(choice));
  return {instruction.modifiers.size(), "a modifier is missing, one of " + wanted};
}

class OperandCheck {
public:
  OperandCheck(const Instruction &instruction, const std::vector<Register> &registers)
      : instruction(instruction), registers(registers) {}

  std::string check(const Form &form) const;

private:
  std::string checkOne(const OperandForm &form, const Operand &operand) const;
  std::string checkScalar(const OperandForm &form, const Operand &operand) const;
  std::string checkMove(const OperandForm &form, const Operand &operand) const;
  unsigned widthOf(const OperandForm &form) const;
  unsigned vectorLength() const;

  const Instruction &instruction;
  const std::vector<Register> &registers;
};

unsigned OperandCheck::widthOf(const OperandForm &form) const {
  switch (form.width) {
  case OperandForm::Width::Type0:
    return bitWidth(instruction.type(0));
  case OperandForm::Width::Type1:
    return bitWidth(instruction.type(1));
  case OperandForm::Width::Double:
    return 2 * bitWidth(instruction.type(0));
  case OperandForm::Width::Fixed:
    return form.bits;
  }
  std::abort();
}

unsigned OperandCheck::vectorLength() const {
  return instruction.has(Modifier::V2)   ? 2
         : instruction.has(Modifier::V4) ? 4
         : instruction.has(Modifier::V8) ? 8
                                         : 1;
}

bool isLiteral(const Operand &operand) {
  return operand.kind == Operand::Kind::Integer || operand.kind == Operand::Kind::Single ||
         operand.kind == Operand::Kind::Double;
}

bool isVariable(const Operand &operand) {
  return operand.kind == Operand::Kind::Parameter ||
         operand.kind == Operand::Kind::KernelVariable ||
         operand.kind == Operand::Kind::ModuleVariable;
}

std::string OperandCheck::checkScalar(const OperandForm &form, const Operand &operand) const {
  if (operand.kind == Operand::Kind::Sink)
    return form.destination ? "" : "'_' is not a value";
  if (operand.kind != Operand::Kind::Register) {
    if (form.destination)
      return "the destination is not a register";
    return isLiteral(operand) ? "" : "an operand is neither a register nor a literal";
  }
  const Register &reg = registers[operand.index];
  unsigned width = widthOf(form), have = bitWidth(reg.type);
  if (operand.negated)
    return fmt::format("'!{}' stands where no predicate may", reg.name);
  if (have != width && !(form.wider && have > width && have > 1))
    return fmt::format("register '{}' is .{}, the operand has {} bits", reg.name, text(reg.type),
                       width);
  return {};
}

std::string OperandCheck::checkMove(const OperandForm &form, const Operand &operand) const {
  if (operand.kind == Operand::Kind::Vector) {
    unsigned total = 0,
             each = bitWidth(instruction.type(0)) /
                    std::max<unsigned>(1, static_cast<unsigned>(operand.elements.size()));
    for (const Operand &element : operand.elements) {
      if (element.kind == Operand::Kind::Register)
        total += bitWidth(registers[element.index].type);
      else if (isLiteral(element) || element.kind == Operand::Kind::Sink)
        total += each;
      else
        return "an element is neither a register nor a literal";
    }
    if (total != bitWidth(instruction.type(0)))
      return fmt::format("the vector has {} bits, the type has {}", total,
                         bitWidth(instruction.type(0)));
    return {};
  }
  if (!form.destination && operand.kind == Operand::Kind::Special)
    return bitWidth(instruction.type(0)) == 32
               ? ""
               : fmt::format("special register '{}' has 32 bits",
                             text(static_cast<Special>(operand.index)));
  if (!form.destination && isVariable(operand))
    return bitWidth(instruction.type(0)) >= 32 ? "" : "an address does not fit in the type";
  return checkScalar(form, operand);
}

std::string OperandCheck::checkOne(const OperandForm &form, const Operand &operand) const {
  switch (form.kind) {
  case OperandForm::Kind::Predicate:
    if (operand.kind == Operand::Kind::Sink && form.destination)
      return {};
    if (operand.kind == Operand::Kind::Integer && !form.destination)
      return {};
    if (operand.kind != Operand::Kind::Register || registers[operand.index].type != Modifier::Pred)
      return "an operand is not a predicate register";
    return operand.negated && !form.negatable ? "a predicate is negated where it may not be" : "";
  case OperandForm::Kind::Memory:
    return operand.kind == Operand::Kind::Address ? "" : "an operand is not an address in brackets";
  case OperandForm::Kind::Literal:
    return isLiteral(operand) ? "" : "an operand is not a literal";
  case OperandForm::Kind::Label:
    return operand.kind == Operand::Kind::Label ? "" : "an operand is not a label";
  case OperandForm::Kind::Move:
    return checkMove(form, operand);
  case OperandForm::Kind::Value:
    break;
  }
  if (!form.vector || vectorLength() == 1)
    return checkScalar(form, operand);
  if (operand.kind != Operand::Kind::Vector || operand.elements.size() != vectorLength())
    return fmt::format("an operand is not a vector of {} elements", vectorLength());
  for (const Operand &element : operand.elements)
    if (std::string problem = checkScalar(form, element); !problem.empty())
      return problem;
  return {};
}

std::string OperandCheck::check(const Form &form) const {
  size_t most = form.operands.size(), least = most;
  while (least > 0 && form.operands[least - 1].optional)
    --least;
  size_t have = instruction.operands.size();
  if (have < least || have > most)
    return least == most ? fmt::format("{} operands, expected {}", have, most)
                         : fmt::format("{} operands, expected {} to {}", have, least, most);
  bool hinted = instruction.has(Modifier::L2CacheHint);
  if ((instruction.opcode == Opcode::Ld || instruction.opcode == Opcode::St) &&
      hinted != (have == 3))
    return hinted ? ".L2::cache_hint needs a cache policy" : "a cache policy needs .L2::cache_hint";
  for (size_t i = 0; i < have; ++i) {
    const Operand *operand = &instruction.operands[i];
    if (operand->kind == Operand::Kind::Pair) {
      if (!form.operands[i].pair)
        return "a second destination stands where there is none";
      const Operand &second = operand->elements[1];
      bool isPredicate =
          second.kind == Operand::Kind::Register && registers[second.index].type == Modifier::Pred;
      if (!isPredicate && second.kind != Operand::Kind::Sink)
        return "the second destination is not a predicate register";
      operand = &operand->elements[0];
    }
    if (std::string problem = checkOne(form.operands[i], *operand); !problem.empty())
      return problem;
  }
  return {};
}

} // namespace

const Form *findForm(const Instruction &instruction, const std::vector<Register> &registers,
                     std::string &problem) {
  static const std::vector<Form> forms = parseTable();
  size_t best = 0;
  std::string nearest;
  OperandCheck operands(instruction, registers);
  for (const Form &form : forms) {
    if (form.opcode != instruction.opcode)
      continue;
    Match match = matchModifiers(form, instruction);
    // A row whose modifiers all fit says more about the operands than any other row.
    size_t score = match.matched + 1;
    if (match.problem.empty()) {
      match.problem = operands.check(form);
      if (match.problem.empty())
        return &form;
      score = instruction.modifiers.size() + 2;
    }
    if (score > best) {
      best = score;
      nearest = match.problem;
    }
  }
  problem = nearest;
  return nullptr;
}

Modifier operandType(const Instruction &instruction, const OperandForm &form) {
  if (form.kind == OperandForm::Kind::Predicate)
    return Modifier::Pred;
  switch (form.width) {
  case OperandForm::Width::Type0:
    return instruction.type(0);
  case OperandForm::Width::Type1:
    return instruction.type(1);
  case OperandForm::Width::Double:
    return bitWidth(instruction.type(0)) == 16 ? Modifier::B32 : Modifier::B64;
  case OperandForm::Width::Fixed:
    return form.bits == 64 ? Modifier::B64 : Modifier::B32;
  }
  std::abort();
}

} // namespace h3::ptx
