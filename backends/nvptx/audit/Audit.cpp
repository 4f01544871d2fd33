//===-- backends/nvptx/audit/Audit.cpp - Machine code against the PTX -----===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/audit/Audit.h"

#include "backends/nvptx/audit/PtxValues.h"
#include "backends/nvptx/audit/Roles.h"
#include "backends/nvptx/ptx/Reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <numeric>
#include <set>

namespace h3::audit {
namespace {

/// A machine instruction that computes floats.
struct Supply {
  const SassInstruction *instruction = nullptr;
  SassRole role;
  std::string signature;
  unsigned left = 0; ///< values that stand for no PTX instruction yet
  bool isUsed = false;
};

/// A PTX instruction that wants floats computed.
struct Demand {
  const ptx::Instruction *instruction = nullptr;
  PtxRole role;
  unsigned value = 0;  ///< its value number
  unsigned needed = 1; ///< of its values; the others may be left out
  unsigned met = 0;    ///< values that some machine instruction computes
  bool isMet() const { return met >= needed; }
  bool isFull() const { return met >= role.values; }
};

bool standsFor(const Supply &supply, const std::string &role) {
  return std::find(supply.role.roles.begin(), supply.role.roles.end(), role) !=
         supply.role.roles.end();
}

/// Comparisons count once: ptxas repeats one where it lacks predicates to keep it in.
void count(const SassInstruction &instruction, Bag &bag) {
  unsigned &number = bag[instruction.signature()];
  number = isComparison(instruction.signature()) ? 1 : number + 1;
}

Bag bagOf(const SassFunction &function) {
  Bag bag;
  for (const SassInstruction &instruction : function.instructions)
    if (roleOf(instruction).kind == SassRole::Kind::Float)
      count(instruction, bag);
  return bag;
}

/// "minmax.f32.nan" -> "minmax.f32"
std::string withoutNaN(const std::string &role) {
  return role.ends_with(".nan") ? role.substr(0, role.size() - 4) : role;
}

class KernelAuditor {
public:
  KernelAuditor(const SassFunction &function, const ptx::Module &module, const ptx::Kernel &kernel,
                const Expansions &expansions, const std::string &target)
      : function(function), module(module), kernel(kernel), expansions(expansions), target(target) {
  }

  KernelAudit run();

private:
  void collect();
  void matchExpansion(Demand &demand);
  bool matchMovedExpansion(Demand &demand);
  void matchSharedExpansions();
  void faultAt(const Demand &demand);
  void matchLine(Demand &demand);
  void matchElsewhere(Supply &supply);
  void matchClamps();
  void faultAt(const Supply &supply);
  void fault(Fault fault);
  std::string describe(const Demand &demand) const {
    return fmt::format("PTX line {}, '{}'", demand.instruction->line.number,
                       ptx::print(module, kernel, *demand.instruction));
  }

  const SassFunction &function;
  const ptx::Module &module;
  const ptx::Kernel &kernel;
  const Expansions &expansions;
  const std::string &target;

  std::vector<Supply> supplies; ///< in the order of the code
  std::vector<Demand> demands;  ///< in the order of the PTX
  std::multimap<unsigned, size_t> suppliesOfLine;
  std::map<std::string, size_t> clamps; ///< by role: minima and maxima that others stand for
  KernelAudit result;
};

/// The first in the code; of what is missing, the first.
void KernelAuditor::fault(Fault fault) {
  bool isEarlier =
      !result.fault ||
      (fault.sassLine != 0 && (result.fault->sassLine == 0 || fault.offset < result.fault->offset));
  if (isEarlier)
    result.fault = std::move(fault);
}

void KernelAuditor::collect() {
  result.name = kernel.name;
  result.instructions = function.instructions.size();
  for (const SassInstruction &instruction : function.instructions) {
    SassRole role = roleOf(instruction);
    if (role.kind == SassRole::Kind::Exact)
      ++result.operations["exact"];
    if (role.kind == SassRole::Kind::Unknown)
      fault({fmt::format("SASS {:#06x}: '{}' is an instruction that the audit does not know",
                         instruction.offset, instruction.text),
             instruction.offset, instruction.textLine, instruction.ptxLine});
    if (role.kind != SassRole::Kind::Float)
      continue;
    suppliesOfLine.emplace(instruction.ptxLine, supplies.size());
    Supply &supply = supplies.emplace_back();
    supply.instruction = &instruction;
    supply.signature = instruction.signature();
    supply.left = role.values;
    supply.role = std::move(role);
  }
  std::set<unsigned> present;
  for (const SassInstruction &instruction : function.instructions)
    present.insert(instruction.ptxLine);
  std::vector<unsigned> used = usedHalves(kernel), needed = usedHalves(kernel, &present);
  std::vector<unsigned> values = valueNumbers(kernel);
  for (size_t index = 0; index < kernel.instructions.size(); ++index) {
    const ptx::Instruction &instruction = kernel.instructions[index];
    Demand demand{&instruction, roleOf(instruction), values[index]};
    if (demand.role.kind == PtxRole::Kind::None)
      continue;
    demand.needed = demand.role.values;
    bool hasResult = !instruction.operands.empty() &&
                     instruction.operands.front().kind == ptx::Operand::Kind::Register;
    if (hasResult) {
      uint32_t result = instruction.operands.front().index;
      auto atMost = [&](unsigned halves) {
        return std::min<unsigned>(demand.role.values, std::popcount(halves));
      };
      demand.needed = atMost(needed[result]);
      demand.role.values = atMost(used[result]);
    }
    if (demand.role.values > 0)
      demands.push_back(std::move(demand));
  }
}

/// Takes whole expansions from the instructions of the line, as often as there are some: ptxas may
/// have copied the instruction.
void KernelAuditor::matchExpansion(Demand &demand) {
  std::vector<Bag> ways = expansions.of(demand.role.form, target);
  auto [first, last] = suppliesOfLine.equal_range(demand.instruction->line.number);
  Bag there;
  for (auto it = first; it != last; ++it)
    if (!supplies[it->second].isUsed)
      ++there[supplies[it->second].signature];
  bool isFirst = true;
  auto isThere = [&](const Bag &way) {
    return std::all_of(way.begin(), way.end(), [&](const auto &entry) {
      auto found = there.find(entry.first);
      bool isThere = found != there.end() && found->second >= entry.second;
      return isThere || (!isFirst && isComparison(entry.first));
    });
  };
  auto take = [&](const Bag &way) {
    for (auto [signature, count] : way)
      for (auto it = first; it != last && count > 0; ++it) {
        Supply &supply = supplies[it->second];
        if (supply.isUsed || supply.signature != signature)
          continue;
        supply.isUsed = true;
        supply.left = 0;
        --there[signature];
        count -= !isComparison(signature); // all of them: some may be repeated
      }
    isFirst = false;
    demand.met = demand.role.values;
    ++result.expansions[demand.role.form];
  };
  for (const Bag &way : ways)
    while (!way.empty() && isThere(way))
      take(way);
  bool mayBeNothing = !ways.empty() && ways.back().empty();
  if (mayBeNothing)
    demand.met = demand.role.values;
}

/// An expansion of one instruction may have been moved to another line, as `matchElsewhere` says,
/// or copied there. Takes one, the nearest.
bool KernelAuditor::matchMovedExpansion(Demand &demand) {
  Supply *nearest = nullptr;
  auto distance = [&](const Supply &supply) {
    return std::abs(int64_t(demand.instruction->line.number) -
                    int64_t(supply.instruction->ptxLine));
  };
  for (const Bag &way : expansions.of(demand.role.form, target))
    for (Supply &supply : supplies)
      if (way.size() == 1 && way.begin()->second == 1 && !supply.isUsed &&
          supply.signature == way.begin()->first &&
          (!nearest || distance(supply) < distance(*nearest)))
        nearest = &supply;
  if (!nearest)
    return false;
  nearest->isUsed = true;
  nearest->left = 0;
  demand.met = demand.role.values;
  ++result.expansions[demand.role.form];
  return true;
}

/// Divisions of integers by one divisor share the reciprocal, whose parts then stand on the lines
/// of several: whole expansions of what is left on all of them.
void KernelAuditor::matchSharedExpansions() {
  std::vector<Supply *> left;
  std::set<std::string> forms;
  for (const Demand &demand : demands) {
    ptx::Opcode opcode = demand.instruction->opcode;
    bool isInteger = (opcode == ptx::Opcode::Div || opcode == ptx::Opcode::Rem) &&
                     !isFloatType(demand.instruction->type());
    if (!isInteger || !forms.insert(demand.role.form).second)
      continue;
    for (Supply &supply : supplies)
      if (!supply.isUsed)
        for (const Bag &way : expansions.of(demand.role.form, target))
          if (way.contains(supply.signature) &&
              std::find(left.begin(), left.end(), &supply) == left.end())
            left.push_back(&supply);
  }
  for (const std::string &form : forms)
    for (const Bag &way : expansions.of(form, target)) {
      for (bool isWhole = !way.empty(); isWhole;) {
        std::vector<Supply *> taken;
        for (auto [signature, count] : way)
          for (Supply *supply : left)
            if (count > 0 && !supply->isUsed && supply->signature == signature) {
              taken.push_back(supply);
              --count;
            }
        size_t size = 0;
        for (const auto &[signature, count] : way)
          size += count;
        isWhole = taken.size() == size;
        for (Supply *supply : taken)
          if (isWhole) {
            supply->isUsed = true;
            supply->left = 0;
          }
        result.expansions[form] += isWhole;
      }
    }
}

/// What stands on its line is this fault, and no other.
void KernelAuditor::faultAt(const Demand &demand) {
  auto [first, last] = suppliesOfLine.equal_range(demand.instruction->line.number);
  Bag there;
  Fault missing;
  missing.ptxLine = demand.instruction->line.number;
  for (auto it = first; it != last; ++it) {
    Supply &supply = supplies[it->second];
    count(*supply.instruction, there);
    if (missing.sassLine == 0) {
      missing.offset = supply.instruction->offset;
      missing.sassLine = supply.instruction->textLine;
    }
    supply.isUsed = true;
    supply.left = 0;
  }
  bool isLearned = !expansions.of(demand.role.form, target).empty();
  missing.text = isLearned ? fmt::format("{} is none of its known expansions: its line has {}",
                                         describe(demand), text(there))
                           : fmt::format("{}: no expansion of {} was learned for {}",
                                         describe(demand), demand.role.form, target);
  fault(std::move(missing));
}

void KernelAuditor::matchLine(Demand &demand) {
  auto [first, last] = suppliesOfLine.equal_range(demand.instruction->line.number);
  for (auto it = first; it != last; ++it) {
    Supply &supply = supplies[it->second];
    if (supply.isUsed || !standsFor(supply, demand.role.role))
      continue;
    unsigned values = std::min(supply.left, demand.role.values);
    demand.met += values;
    supply.left -= values;
    supply.isUsed = true;
    ++result.operations[demand.role.role];
  }
}

/// ptxas moves instructions to other lines, above all behind branches, and puts two of halves into
/// one packed: the nearest PTX instruction that has none yet.
void KernelAuditor::matchElsewhere(Supply &supply) {
  while (supply.left > 0) {
    Demand *nearest = nullptr;
    auto distance = [&](const Demand &demand) {
      return std::abs(int64_t(demand.instruction->line.number) -
                      int64_t(supply.instruction->ptxLine));
    };
    for (Demand &demand : demands) {
      bool isOpen = demand.role.kind == PtxRole::Kind::Optional || !demand.isFull();
      if (isOpen && standsFor(supply, demand.role.role) &&
          (!nearest || distance(demand) < distance(*nearest)))
        nearest = &demand;
    }
    if (!nearest)
      return;
    unsigned values = std::min(supply.left, nearest->role.values);
    nearest->met += values;
    supply.left -= values;
    if (!supply.isUsed)
      ++result.operations[nearest->role.role];
    supply.isUsed = true;
  }
}

void KernelAuditor::matchClamps() {
  for (const Supply &supply : supplies)
    if (supply.isUsed && supply.role.clamps > 0)
      clamps[supply.role.clampRole] += supply.role.clamps;
  for (Demand &demand : demands)
    if (!demand.isFull() && demand.role.role.starts_with("minmax."))
      if (size_t &left = clamps[withoutNaN(demand.role.role)]; left > 0) {
        unsigned values = std::min<size_t>(left, demand.role.values - demand.met);
        demand.met += values;
        left -= values;
      }
}

void KernelAuditor::faultAt(const Supply &supply) {
  const SassInstruction &instruction = *supply.instruction;
  std::string what = supply.role.roles.empty() ? "belongs to no known expansion"
                                               : fmt::format("computes {}, which is not asked for",
                                                             supply.role.roles.front());
  const ptx::Instruction *source = nullptr;
  for (const ptx::Instruction &candidate : kernel.instructions)
    if (candidate.line.number == instruction.ptxLine)
      source = &candidate;
  std::string at = source ? fmt::format("PTX line {}, '{}'", instruction.ptxLine,
                                        ptx::print(module, kernel, *source))
                          : std::string("no PTX line");
  fault({fmt::format("SASS {:#06x}: '{}' {}; it was made of {}", instruction.offset,
                     instruction.text, what, at),
         instruction.offset, instruction.textLine, instruction.ptxLine});
}

KernelAudit KernelAuditor::run() {
  collect();
  for (Demand &demand : demands)
    if (demand.role.kind == PtxRole::Kind::Expansion)
      matchExpansion(demand);
  for (Demand &demand : demands)
    if (demand.role.kind != PtxRole::Kind::Expansion)
      matchLine(demand);
  for (Demand &demand : demands)
    if (demand.role.kind == PtxRole::Kind::Expansion && !demand.isMet() &&
        !matchMovedExpansion(demand))
      faultAt(demand);
  for (Demand &demand : demands)
    while (demand.role.kind == PtxRole::Kind::Expansion && matchMovedExpansion(demand)) {
    }
  matchSharedExpansions();
  for (Supply &supply : supplies)
    matchElsewhere(supply);
  matchClamps();
  for (const Supply &supply : supplies)
    if (!supply.isUsed)
      faultAt(supply);
  std::set<unsigned> computed;
  for (const Demand &demand : demands)
    if (demand.isFull())
      computed.insert(demand.value);
  for (Demand &demand : demands)
    if (!demand.isFull() && computed.contains(demand.value))
      demand.needed = demand.met;
  for (const Demand &demand : demands)
    if (demand.role.kind == PtxRole::Kind::Direct && demand.isMet() && !demand.isFull())
      ++result.operations["left out"];
    else if (demand.role.kind == PtxRole::Kind::Direct && !demand.isMet())
      fault({fmt::format("{}: no machine instruction computes this {}", describe(demand),
                         demand.role.role),
             0, 0, demand.instruction->line.number});
  return std::move(result);
}

/// What ptxas adds to a kernel must be what was learned of it.
void auditRoutine(const SassFunction &routine, const Expansions &expansions,
                  const std::string &target, KernelAudit &result) {
  Bag bag = bagOf(routine);
  std::vector<Bag> ways = expansions.ofRoutine(routine.name, target);
  ++result.expansions[routine.name];
  if (std::find(ways.begin(), ways.end(), bag) != ways.end() || result.fault)
    return;
  const SassInstruction *first =
      routine.instructions.empty() ? nullptr : &routine.instructions.front();
  result.fault = Fault{
      ways.empty() ? fmt::format("the routine {} was never learned for {}", routine.name, target)
                   : fmt::format("the routine {} is not as it was learned: it has {}", routine.name,
                                 text(bag)),
      first ? first->offset : 0, first ? first->textLine : 0, 0};
}

} // namespace

bool Audit::isAccounted() const {
  return std::none_of(kernels.begin(), kernels.end(),
                      [](const KernelAudit &kernel) { return kernel.fault.has_value(); });
}

Audit audit(const Disassembly &code, const ptx::Module &module, const Expansions &expansions) {
  std::map<std::string, KernelAudit> byName;
  for (const SassFunction &function : code.functions) {
    if (function.isRoutine)
      continue;
    if (const ptx::Kernel *kernel = module.findKernel(function.name))
      byName[function.name] =
          KernelAuditor(function, module, *kernel, expansions, code.target).run();
    else
      byName[function.name].fault = Fault{"the PTX has no kernel of this name", 0, 0, 0};
  }
  for (const SassFunction &function : code.functions)
    if (function.isRoutine)
      auditRoutine(function, expansions, code.target, byName[function.kernel]);
  for (const ptx::Kernel &kernel : module.kernels)
    if (!byName.contains(kernel.name))
      byName[kernel.name].fault =
          Fault{"the machine code has no kernel of this name", 0, 0, kernel.line.number};
  Audit result;
  for (auto &[name, kernel] : byName) {
    kernel.name = name;
    result.kernels.push_back(std::move(kernel));
  }
  return result;
}

/// The way of one of the copies that ptxas made when it unrolled a loop.
static Bag ofOneCopy(Bag bag) {
  unsigned copies = 0;
  for (const auto &[signature, count] : bag)
    if (!isComparison(signature))
      copies = std::gcd(copies, count);
  for (auto &[signature, count] : bag)
    if (!isComparison(signature))
      count /= copies;
  return bag;
}

void learn(const Disassembly &code, const ptx::Module &module, Expansions &expansions) {
  for (const SassFunction &function : code.functions) {
    if (function.isRoutine) {
      expansions.addRoutine(function.name, bagOf(function), code.target);
      continue;
    }
    const ptx::Kernel *kernel = module.findKernel(function.name);
    if (!kernel)
      continue;
    std::map<unsigned, Bag> bags;
    for (const SassInstruction &instruction : function.instructions)
      if (roleOf(instruction).kind == SassRole::Kind::Float)
        count(instruction, bags[instruction.ptxLine]);
    for (const ptx::Instruction &instruction : kernel->instructions)
      if (PtxRole role = roleOf(instruction); role.kind == PtxRole::Kind::Expansion)
        expansions.add(role.form, ofOneCopy(bags[instruction.line.number]), code.target);
  }
}

} // namespace h3::audit
