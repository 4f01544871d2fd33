//===-- backends/nvptx/audit/PtxValues.cpp - What ptxas may leave out -----===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/audit/PtxValues.h"

#include "backends/nvptx/audit/Roles.h"

#include <fmt/format.h>

#include <map>
#include <string>

namespace h3::audit {
namespace {

/// Adds to \p used what \p operand, read for \p halves of its bits, uses.
void use(const ptx::Operand &operand, unsigned halves, std::vector<unsigned> &used) {
  if (operand.kind == ptx::Operand::Kind::Register)
    used[operand.index] |= halves;
  for (const ptx::Operand &element : operand.elements)
    use(element, 3, used);
}

} // namespace

std::vector<unsigned> usedHalves(const ptx::Kernel &kernel, const std::set<unsigned> *present) {
  std::vector<unsigned> used(kernel.registers.size());
  for (bool isChanged = true; isChanged;) {
    const std::vector<unsigned> before = used;
    for (const ptx::Instruction &instruction : kernel.instructions) {
      if (instruction.operands.empty())
        continue;
      const ptx::Operand &first = instruction.operands.front();
      bool isTaken = instruction.opcode == ptx::Opcode::Mov &&
                     first.kind == ptx::Operand::Kind::Vector && first.elements.size() == 2;
      bool isPacked = roleOf(instruction).values == 2 &&
                      first.kind == ptx::Operand::Kind::Register && !instruction.hasType(1);
      unsigned halves = 3;
      // A pack of two rounded values: the first operand is the high half.
      bool isPair = instruction.opcode == ptx::Opcode::Cvt && instruction.operands.size() == 3 &&
                    roleOf(instruction).values == 2;
      if (isPair) {
        unsigned both = used[first.index];
        use(instruction.operands[1], both & 2 ? 3 : 0, used);
        use(instruction.operands[2], both & 1 ? 3 : 0, used);
        continue;
      }
      if (isTaken) // mov.b32 {low, high}, %r
        halves = (first.elements[0].kind != ptx::Operand::Kind::Sink ? 1 : 0) |
                 (first.elements[1].kind != ptx::Operand::Kind::Sink ? 2 : 0);
      else if (isPacked || (first.kind == ptx::Operand::Kind::Register && used[first.index] == 0))
        halves = used[first.index];
      // A store, a branch and their like have no result.
      bool hasResult =
          first.kind == ptx::Operand::Kind::Register || first.kind == ptx::Operand::Kind::Vector ||
          first.kind == ptx::Operand::Kind::Pair || first.kind == ptx::Operand::Kind::Sink;
      bool isSelect = instruction.opcode == ptx::Opcode::Selp && present;
      bool isGone = instruction.opcode == ptx::Opcode::St && present &&
                    !present->contains(instruction.line.number);
      if (isGone)
        continue;
      for (size_t at = hasResult ? 1 : 0; at < instruction.operands.size(); ++at)
        if (!isSelect || at == 3) // the condition is the last
          use(instruction.operands[at], halves, used);
    }
    isChanged = used != before;
  }
  return used;
}

namespace {

using Kind = ptx::Operand::Kind;

class Numbering {
public:
  explicit Numbering(const ptx::Kernel &kernel)
      : kernel(kernel), ofRegister(kernel.registers.size()) {
    std::vector<unsigned> definitions(kernel.registers.size());
    for (const ptx::Instruction &instruction : kernel.instructions)
      for (const ptx::Operand *result : resultsOf(instruction))
        if (result->kind == Kind::Register)
          ++definitions[result->index];
    isOnce.resize(definitions.size());
    for (size_t index = 0; index < definitions.size(); ++index)
      isOnce[index] = definitions[index] == 1;
  }

  std::vector<unsigned> run() {
    // Definitions stand before their uses, but for values that loops carry, which have two.
    std::vector<unsigned> numbers;
    for (const ptx::Instruction &instruction : kernel.instructions)
      numbers.push_back(visit(instruction));
    return numbers;
  }

private:
  static std::vector<const ptx::Operand *> resultsOf(const ptx::Instruction &instruction) {
    std::vector<const ptx::Operand *> results;
    if (instruction.operands.empty() || instruction.opcode == ptx::Opcode::St)
      return results;
    const ptx::Operand &first = instruction.operands.front();
    if (first.elements.empty())
      results.push_back(&first);
    for (const ptx::Operand &element : first.elements)
      results.push_back(&element);
    return results;
  }

  unsigned numberOf(const std::string &key) {
    return known.emplace(key, known.size() + 1).first->second;
  }

  std::string keyOf(const ptx::Operand &operand) {
    if (operand.kind == Kind::Register && isOnce[operand.index] && ofRegister[operand.index])
      return fmt::format("v{}", ofRegister[operand.index]);
    std::string key = fmt::format("{}:{}:{}", int(operand.kind), operand.index, operand.bits);
    for (const ptx::Operand &element : operand.elements)
      key += "," + keyOf(element);
    return key;
  }

  unsigned visit(const ptx::Instruction &instruction) {
    bool isOwn = instruction.guard || instruction.opcode == ptx::Opcode::Ld ||
                 instruction.opcode == ptx::Opcode::Atom || instruction.opcode == ptx::Opcode::Shfl;
    std::string key = isOwn ? fmt::format("own {}", ++own) : formOf(instruction);
    for (size_t at = 1; !isOwn && at < instruction.operands.size(); ++at)
      key += " " + keyOf(instruction.operands[at]);
    bool isUnpack = instruction.opcode == ptx::Opcode::Mov && instruction.operands.size() == 2 &&
                    instruction.operands[0].kind == Kind::Vector;
    unsigned number = numberOf(key);
    std::vector<const ptx::Operand *> results = resultsOf(instruction);
    for (size_t at = 0; at < results.size(); ++at)
      if (const ptx::Operand &result = *results[at]; result.kind == Kind::Register)
        ofRegister[result.index] = isUnpack ? partOf(instruction.operands[1], at)
                                            : numberOf(fmt::format("{} result {}", number, at));
    bool isPack = instruction.opcode == ptx::Opcode::Mov && instruction.operands.size() == 2 &&
                  instruction.operands[0].kind == Kind::Register &&
                  instruction.operands[1].kind == Kind::Vector;
    if (isPack)
      for (const ptx::Operand &element : instruction.operands[1].elements)
        parts[ofRegister[instruction.operands[0].index]].push_back(numberOf(keyOf(element)));
    return number;
  }

  /// Half \p at of \p whole: of a pack, what was packed.
  unsigned partOf(const ptx::Operand &whole, size_t at) {
    std::string key = keyOf(whole);
    if (whole.kind == Kind::Register)
      if (auto packed = parts.find(ofRegister[whole.index]);
          packed != parts.end() && isOnce[whole.index] && at < packed->second.size())
        return packed->second[at];
    return numberOf(fmt::format("{} part {}", key, at));
  }

  const ptx::Kernel &kernel;
  std::vector<unsigned> ofRegister;
  std::vector<bool> isOnce;
  std::map<std::string, unsigned> known;
  std::map<unsigned, std::vector<unsigned>> parts; ///< of packs
  unsigned own = 0;
};

} // namespace

std::vector<unsigned> valueNumbers(const ptx::Kernel &kernel) { return Numbering(kernel).run(); }

} // namespace h3::audit
