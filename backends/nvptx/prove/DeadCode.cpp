//===-- backends/nvptx/prove/DeadCode.cpp - What no call can reach --------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/prove/DeadCode.h"

#include <algorithm>
#include <bit>
#include <optional>

namespace h3::prove {
namespace {

using ptx::Instruction;
using ptx::Modifier;
using ptx::Opcode;
using ptx::Operand;

uint64_t maskOf(unsigned bits) { return bits >= 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1; }

/// All numbers up to \p most, as bits.
uint64_t upTo(uint64_t most) { return maskOf(static_cast<unsigned>(std::bit_width(most))); }

class Analysis {
public:
  Analysis(const ptx::Kernel &kernel, const std::vector<uint64_t> &parameterBits)
      : kernel(kernel), parameterBits(parameterBits), bits(kernel.registers.size()),
        hasFalse(kernel.registers.size()), hasTrue(kernel.registers.size()) {
    sure.assign(kernel.registers.size(), ~uint64_t(0));
  }

  DeadCode run() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const Instruction &instruction : kernel.instructions)
        changed |= visit(instruction);
    }
    return reach();
  }

private:
  using Special = ptx::Special;

  uint64_t threads(Special special) const {
    uint64_t product = 1024;
    for (const ptx::PerformanceDirective &directive : kernel.directives)
      if (directive.name == "maxntid" || directive.name == "reqntid") {
        product = 1;
        for (uint64_t value : directive.values)
          product *= value;
      }
    bool isCount = special == ptx::Special::NtidX;
    return upTo(isCount ? product : std::max<uint64_t>(product, 1) - 1);
  }
  /// The bits that an operand can have.
  uint64_t of(const Operand &operand, unsigned width) const {
    switch (operand.kind) {
    case Operand::Kind::Register:
      return bits[operand.index] & maskOf(width);
    case Operand::Kind::Integer:
      return operand.bits & maskOf(width);
    case Operand::Kind::Special:
      switch (static_cast<Special>(operand.index)) {
      case Special::TidX:
      case Special::NtidX:
        return threads(static_cast<Special>(operand.index));
      case Special::Laneid:
        return 31;
      case Special::CtaidX:
        return maskOf(31);
      default:
        return maskOf(32);
      }
    default:
      return maskOf(width);
    }
  }

  /// The bits that an operand always has: all of them until something is known to write it.
  uint64_t surely(const Operand &operand, unsigned width) const {
    if (operand.kind == Operand::Kind::Register)
      return sure[operand.index] & maskOf(width);
    return operand.kind == Operand::Kind::Integer ? operand.bits & maskOf(width) : 0;
  }

  /// Which values a predicate can have: bit 0 false, bit 1 true.
  unsigned predicate(const Operand &operand) const {
    if (operand.kind == Operand::Kind::Integer)
      return operand.bits != 0 ? 2 : 1;
    if (operand.kind != Operand::Kind::Register)
      return 3;
    unsigned values = (hasFalse[operand.index] ? 1 : 0) | (hasTrue[operand.index] ? 2 : 0);
    return operand.negated ? ((values & 1) << 1) | (values >> 1) : values;
  }

  bool widen(const Operand &destination, uint64_t more, uint64_t always = 0) {
    if (destination.kind != Operand::Kind::Register)
      return false;
    uint64_t &own = bits[destination.index], &certain = sure[destination.index];
    uint64_t before = own, certainBefore = certain;
    own |= more & maskOf(bitWidth(kernel.registers[destination.index].type));
    certain &= always;
    return own != before || certain != certainBefore;
  }

  bool widenPredicate(const Operand &destination, unsigned values) {
    if (destination.kind == Operand::Kind::Pair) {
      bool first = widenPredicate(destination.elements[0], 3);
      return widenPredicate(destination.elements[1], 3) || first;
    }
    if (destination.kind != Operand::Kind::Register)
      return false;
    auto index = destination.index;
    bool changed = ((values & 1) && !hasFalse[index]) || ((values & 2) && !hasTrue[index]);
    hasFalse[index] = hasFalse[index] || (values & 1);
    hasTrue[index] = hasTrue[index] || (values & 2);
    return changed;
  }

  bool widenAll(const Operand &destination) {
    bool changed = false;
    if (destination.kind == Operand::Kind::Vector || destination.kind == Operand::Kind::Pair) {
      for (const Operand &element : destination.elements)
        changed |= widenAll(element);
      return changed;
    }
    if (destination.kind == Operand::Kind::Register &&
        kernel.registers[destination.index].type == Modifier::Pred)
      return widenPredicate(destination, 3);
    return widen(destination, ~uint64_t(0));
  }

  bool visit(const Instruction &instruction) {
    const std::vector<Operand> &x = instruction.operands;
    if (x.empty() || instruction.opcode == Opcode::St || instruction.opcode == Opcode::Bra)
      return false;
    if (const uint64_t *known = parameterOf(instruction))
      return widen(x[0], *known);
    if (instruction.hasType(0) && !isFloatType(instruction.type()) &&
        x[0].kind == Operand::Kind::Register)
      if (auto changed = visitInteger(instruction))
        return *changed;
    return widenAll(x[0]);
  }

  /// The bits of the whole parameter that the instruction loads, if it does and they are known.
  const uint64_t *parameterOf(const Instruction &instruction) const {
    const std::vector<Operand> &x = instruction.operands;
    if (instruction.opcode != Opcode::Ld || !instruction.has(Modifier::Param) || x.size() != 2 ||
        x[0].kind != Operand::Kind::Register || x[1].kind != Operand::Kind::Address ||
        x[1].elements.size() != 1 || x[1].bits != 0)
      return nullptr;
    const Operand &place = x[1].elements[0];
    bool isWhole = place.kind == Operand::Kind::Parameter && place.bits == 0 &&
                   place.index < parameterBits.size() && instruction.hasType(0) &&
                   bitWidth(instruction.type()) == 64;
    return isWhole ? &parameterBits[place.index] : nullptr;
  }

  std::optional<bool> visitInteger(const Instruction &instruction) {
    const std::vector<Operand> &x = instruction.operands;
    Modifier type = instruction.type();
    unsigned width = bitWidth(type);
    bool isPredicate = type == Modifier::Pred;
    auto isNumber = [&](size_t i) { return x[i].kind == Operand::Kind::Integer; };
    if (instruction.opcode == Opcode::Setp)
      return visitComparison(instruction);
    if (isPredicate) {
      unsigned a = predicate(x[1]);
      switch (instruction.opcode) {
      case Opcode::Mov:
        return widenPredicate(x[0], a);
      case Opcode::Not:
        return widenPredicate(x[0], ((a & 1) << 1) | (a >> 1));
      case Opcode::And: {
        unsigned b = predicate(x[2]);
        return widenPredicate(x[0], a == 0 || b == 0 ? 0 : ((a | b) & 1) | (a & b & 2));
      }
      case Opcode::Or: {
        unsigned b = predicate(x[2]);
        return widenPredicate(x[0], a == 0 || b == 0 ? 0 : (a & b & 1) | ((a | b) & 2));
      }
      default:
        return std::nullopt;
      }
    }
    if (x.size() < 2 || x[1].kind == Operand::Kind::Vector)
      return std::nullopt;
    uint64_t a = of(x[1], width), all = maskOf(width);
    switch (instruction.opcode) {
    case Opcode::Mov:
      return widen(x[0], a, surely(x[1], width));
    case Opcode::And:
      return widen(x[0], a & of(x[2], width));
    case Opcode::Or:
      return widen(x[0], a | of(x[2], width), surely(x[1], width) | surely(x[2], width));
    case Opcode::Xor:
    case Opcode::Selp:
      return widen(x[0], a | of(x[2], width));
    case Opcode::Shl:
      if (!isNumber(2))
        return std::nullopt;
      return widen(x[0], x[2].bits >= width ? 0 : (a << x[2].bits) & all);
    case Opcode::Shr:
      if (!isNumber(2) || (isSignedType(type) && (a >> (width - 1)) != 0))
        return std::nullopt;
      return widen(x[0], x[2].bits >= width ? 0 : a >> x[2].bits);
    case Opcode::Add: {
      uint64_t b = of(x[2], width);
      if (instruction.has(Modifier::Cc) || instruction.has(Modifier::Sat) || a > all / 2 ||
          b > all / 2)
        return std::nullopt;
      return widen(x[0], upTo(a + b));
    }
    case Opcode::Cvt:
      if (instruction.hasType(1) && !isFloatType(instruction.type(1)) &&
          !isSignedType(instruction.type(1)) && !instruction.has(Modifier::Sat))
        return widen(x[0], of(x[1], bitWidth(instruction.type(1))) & all);
      return std::nullopt;
    default:
      return std::nullopt;
    }
  }

  /// Of numbers that are never negative with a constant.
  std::optional<bool> visitComparison(const Instruction &instruction) {
    const std::vector<Operand> &x = instruction.operands;
    if (x.size() != 3 || x[0].kind != Operand::Kind::Register || instruction.has(Modifier::And) ||
        instruction.has(Modifier::Or) || instruction.has(Modifier::Xor))
      return std::nullopt;
    Modifier type = instruction.type();
    unsigned width = bitWidth(type);
    uint64_t a = of(x[1], width), all = maskOf(width);
    if (x[2].kind != Operand::Kind::Integer || (isSignedType(type) && a > all / 2))
      return std::nullopt;
    uint64_t c = x[2].bits & all;
    if (isSignedType(type) && c > all / 2)
      return std::nullopt;
    // Every value lies in least .. a.
    uint64_t least = surely(x[1], width);
    if (least > a)
      return widenPredicate(x[0], 0); // nothing writes it yet
    switch (instruction.modifiers.front()) {
    case Modifier::Gt:
    case Modifier::Hi:
      return widenPredicate(x[0], a <= c ? 1 : least > c ? 2 : 3);
    case Modifier::Ge:
    case Modifier::Hs:
      return widenPredicate(x[0], least >= c ? 2 : a < c ? 1 : 3);
    case Modifier::Lt:
    case Modifier::Lo:
      return widenPredicate(x[0], least >= c ? 1 : a < c ? 2 : 3);
    case Modifier::Le:
    case Modifier::Ls:
      return widenPredicate(x[0], a <= c ? 2 : least > c ? 1 : 3);
    case Modifier::Eq:
      return widenPredicate(x[0], (c & ~a) != 0 || (least & ~c) != 0 ? 1 : a == 0 ? 2 : 3);
    case Modifier::Ne:
      return widenPredicate(x[0], (c & ~a) != 0 || (least & ~c) != 0 ? 2 : a == 0 ? 1 : 3);
    default:
      return std::nullopt;
    }
  }

  DeadCode reach() const {
    size_t count = kernel.instructions.size();
    DeadCode dead{std::vector<bool>(count, true), std::vector<bool>(count, false), {}};
    constexpr uint64_t mostThreads = 1023;
    for (const Instruction &instruction : kernel.instructions) {
      const std::vector<Operand> &x = instruction.operands;
      bool isSize = instruction.opcode == Opcode::Setp && x.size() >= 3 &&
                    !isFloatType(instruction.type()) && x[2].kind == Operand::Kind::Integer &&
                    of(x[1], bitWidth(instruction.type())) > mostThreads;
      if (isSize)
        dead.compared.push_back(x[2].bits);
    }
    std::vector<size_t> open = {0};
    while (!open.empty()) {
      size_t at = open.back();
      open.pop_back();
      if (at >= count || !dead.unreachable[at])
        continue;
      dead.unreachable[at] = false;
      const Instruction &instruction = kernel.instructions[at];
      unsigned values = 2;
      if (instruction.guard) {
        unsigned both = (hasFalse[instruction.guard->reg] ? 1u : 0u) |
                        (hasTrue[instruction.guard->reg] ? 2u : 0u);
        values = instruction.guard->negated ? ((both & 1) << 1) | (both >> 1) : both;
        dead.oneWay[at] = values != 3;
      }
      bool isExecuted = (values & 2) != 0, isPassed = (values & 1) != 0;
      bool isBranch = instruction.opcode == Opcode::Bra;
      bool ends = isBranch || instruction.opcode == Opcode::Ret ||
                  instruction.opcode == Opcode::Exit || instruction.opcode == Opcode::Trap;
      if (isBranch && isExecuted)
        open.push_back(kernel.labels[instruction.operands[0].index].instruction);
      if (isPassed || (isExecuted && !ends))
        open.push_back(at + 1);
    }
    return dead;
  }

  const ptx::Kernel &kernel;
  const std::vector<uint64_t> &parameterBits;
  std::vector<uint64_t> bits; ///< of each register, those that it can have
  std::vector<uint64_t> sure; ///< and those that it always has
  std::vector<bool> hasFalse, hasTrue;
};

} // namespace

DeadCode deadCodeOf(const ptx::Kernel &kernel, const std::vector<uint64_t> &parameterBits) {
  return Analysis(kernel, parameterBits).run();
}

} // namespace h3::prove
