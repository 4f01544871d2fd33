//===-- backends/nvptx/audit/SassRole.cpp - What a machine instruction computes -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/audit/Roles.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>

namespace h3::audit {
namespace {

constexpr std::string_view integerOpcodes[] = {
#define H3_SASS_INTEGER(opcode) #opcode,
#include "backends/nvptx/audit/SassOpcodes.def"
};

using Kind = SassRole::Kind;

/// A source operand; an immediate pair of a packed instruction is one.
struct Source {
  std::string first, second; ///< `second` of a pair, else empty

  /// "-RZ", "-RZ.H0_H0", "-URZ", "-0": adds nothing to anything.
  bool isMinusZero() const {
    return isAll([](std::string_view text) {
      return text == "-0" || text == "-RZ" || text == "-URZ" || text.starts_with("-RZ.") ||
             text.starts_with("-URZ.");
    });
  }
  bool isZero() const {
    return isMinusZero() || isAll([](std::string_view text) {
             return text == "RZ" || text == "URZ" || text.starts_with("RZ.") ||
                    text.starts_with("URZ.");
           });
  }
  bool isOne() const {
    return isAll([](std::string_view text) { return text == "1" || text == "-1"; });
  }
  /// One half of a register, or a number.
  bool isSingle() const {
    return first.find(".H0_H0") != std::string::npos || first.find(".H1_H1") != std::string::npos ||
           (!second.empty() && first == second);
  }

private:
  template <typename Test> bool isAll(Test test) const {
    return test(first) && (second.empty() || test(second));
  }
};

bool isNumber(std::string_view text) {
  text = text.substr(text.starts_with('-') || text.starts_with('+'));
  return !text.empty() && ((text[0] >= '0' && text[0] <= '9') || text.starts_with("INF") ||
                           text.starts_with("QNAN"));
}

/// The operands behind the first; numbers in twos where the instruction is packed.
std::vector<Source> sourcesOf(const SassInstruction &instruction, bool isPacked) {
  std::vector<Source> sources;
  for (size_t at = 1; at < instruction.operands.size(); ++at) {
    Source source{instruction.operands[at], {}};
    if (isPacked && isNumber(source.first) && at + 1 < instruction.operands.size() &&
        isNumber(instruction.operands[at + 1]))
      source.second = instruction.operands[++at];
    sources.push_back(source);
  }
  return sources;
}

/// Whether all modifiers are among these.
bool areKnown(const SassInstruction &instruction, std::initializer_list<std::string_view> known) {
  return std::all_of(instruction.modifiers.begin(), instruction.modifiers.end(),
                     [&](const std::string &modifier) {
                       return std::find(known.begin(), known.end(), modifier) != known.end();
                     });
}

/// ".rz", ".ftz": what the modifiers add to a role.
std::string suffixOf(const SassInstruction &instruction) {
  std::string suffix;
  for (auto [modifier, text] :
       {std::pair("RZ", ".rz"), {"RM", ".rm"}, {"RP", ".rp"}, {"FTZ", ".ftz"}})
    if (instruction.has(modifier))
      suffix += text;
  return suffix;
}

SassRole unknown() { return {}; }

SassRole of(Kind kind) {
  SassRole role;
  role.kind = kind;
  return role;
}

SassRole floats(std::vector<std::string> roles) {
  SassRole role = of(Kind::Float);
  role.roles = std::move(roles);
  return role;
}

/// FADD, FMUL, FFMA, DADD, DMUL, DFMA.
SassRole scalarArithmetic(const SassInstruction &instruction, const std::string &operation,
                          const std::string &type) {
  if (!areKnown(instruction, {"RZ", "RM", "RP", "FTZ", "SAT"}))
    return unknown();
  std::vector<Source> sources = sourcesOf(instruction, false);
  std::string suffix = suffixOf(instruction);
  SassRole role;
  if (operation == "add" && sources.size() == 2) {
    if (suffix.empty() && !instruction.has("SAT") &&
        (sources[0].isMinusZero() || sources[1].isMinusZero()))
      return of(Kind::Exact);
    role = floats({"add." + type + suffix});
  } else if (operation == "mul" && sources.size() == 2) {
    role = floats({"mul." + type + suffix});
  } else if (operation == "fma" && sources.size() == 3) {
    role = floats({"fma." + type + suffix});
    if (sources[0].isOne() || sources[1].isOne())
      role.roles.push_back("add." + type + suffix);
    if (sources[2].isMinusZero())
      role.roles.push_back("mul." + type + suffix);
  }
  if (instruction.has("SAT")) { // max(0, min(1, x))
    role.clamps = 2;
    role.clampRole = "minmax." + type;
  }
  return role;
}

/// HADD2, HMUL2, HFMA2.
SassRole packedArithmetic(const SassInstruction &instruction) {
  const std::string &opcode = instruction.opcode;
  if (!areKnown(instruction, {"MMA", "BF16_V2", "F32", "FTZ", "RELU", "SAT"}))
    return unknown();
  std::string type = instruction.has("BF16_V2") ? "bf16" : "f16";
  std::string suffix = suffixOf(instruction);
  std::vector<Source> sources = sourcesOf(instruction, true);
  bool isPlain = suffix.empty() && !instruction.has("RELU") && !instruction.has("SAT");
  SassRole role;
  if (opcode == "HADD2" && sources.size() == 2) {
    bool isOneOperand = sources[0].isMinusZero() || sources[1].isMinusZero();
    if (isPlain && isOneOperand) // HADD2.F32 widens it
      return of(Kind::Exact);
    role = floats({"add." + std::string(instruction.has("F32") ? "f32." : "") + type + suffix});
  } else if (opcode == "HMUL2" && sources.size() == 2) {
    role = floats({"mul." + type + suffix});
  } else if (opcode == "HFMA2" && sources.size() == 3) {
    bool isProductZero = (sources[0].isMinusZero() != sources[1].isMinusZero()) &&
                         sources[0].isZero() && sources[1].isZero();
    if (isPlain && isProductZero) // a constant, or a sign: -0 + x
      return of(Kind::Exact);
    role = floats({"fma." + type + suffix});
    if (sources[0].isOne() || sources[1].isOne())
      role.roles.push_back("add." + type + suffix);
    if (sources[2].isMinusZero())
      role.roles.push_back("mul." + type + suffix);
  }
  bool isSingle = std::all_of(sources.begin(), sources.end(),
                              [](const Source &source) { return source.isSingle(); });
  role.values = isSingle ? 1 : 2;
  if (instruction.has("RELU") || instruction.has("SAT")) {
    role.clamps = role.values * (instruction.has("SAT") ? 2 : 1);
    role.clampRole = "minmax." + type;
  }
  return role;
}

/// FMNMX, FMNMX3, HMNMX2, VHMNMX.
SassRole minMax(const SassInstruction &instruction, bool isHalf) {
  if (!areKnown(instruction, {"NAN", "FTZ", "BF16_V2"}))
    return unknown();
  std::string type = !isHalf ? "f32" : instruction.has("BF16_V2") ? "bf16" : "f16";
  std::vector<Source> sources = sourcesOf(instruction, isHalf);
  std::erase_if(sources, [](const Source &source) {
    return source.first.find('P') != std::string::npos; // which of both: a predicate
  });
  SassRole role =
      floats({"minmax." + type + (instruction.has("NAN") ? ".nan" : "") + suffixOf(instruction)});
  bool isPacked = isHalf && !std::all_of(sources.begin(), sources.end(),
                                         [](const Source &source) { return source.isSingle(); });
  role.values = isPacked ? 2 : 1;
  if (sources.size() == 3) {
    role.clamps = role.values;
    role.clampRole = "minmax." + type;
  }
  return role;
}

SassRole compare(const SassInstruction &instruction, const std::string &type) {
  return floats({"compare." + type + suffixOf(instruction)});
}

/// Conversions from f32 to the half formats; any other is known from expansions alone.
SassRole conversion(const SassInstruction &instruction) {
  const std::string &opcode = instruction.opcode;
  SassRole role = of(Kind::Float);
  bool isPack = opcode == "F2FP";
  if (opcode != "F2F" && !isPack)
    return role;
  // Of sm_80: F2FP.PACK_AB makes f16, F2FP.BF16.PACK_AB bf16.
  if (!areKnown(instruction, {"F16", "BF16", "F32", "PACK_AB", "RELU", "RZ"}))
    return role;
  if (!isPack && instruction.modifiers.size() < 2)
    return role;
  std::string type = instruction.has("BF16") ? "bf16" : "f16";
  if (!isPack && instruction.modifiers[0] == "F32")
    return of(Kind::Exact); // widens
  role.roles = {"cvt." + type + ".f32" + suffixOf(instruction)};
  std::vector<Source> sources = sourcesOf(instruction, false);
  if (isPack && sources.size() == 2 && !sources[0].isZero() && !sources[1].isZero())
    role.values = 2;
  if (instruction.has("RELU")) {
    role.clamps = role.values;
    role.clampRole = "minmax.f32";
  }
  return role;
}

bool isOneOf(std::string_view opcode, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), opcode) != list.end();
}

} // namespace

bool isComparison(std::string_view signature) {
  return isOneOf(signature.substr(0, signature.find('.')),
                 {"FSETP", "FSET", "DSETP", "HSETP2", "HSET2"});
}

SassRole roleOf(const SassInstruction &instruction) {
  std::string_view opcode = instruction.opcode;
  auto isInteger = [](std::string_view name) {
    return std::find(std::begin(integerOpcodes), std::end(integerOpcodes), name) !=
           std::end(integerOpcodes);
  };
  if (isInteger(opcode))
    return of(Kind::NotFloat);
  if (opcode == "CALL") // to be found in an expansion
    return of(Kind::Float);
  if (opcode.starts_with('U')) {
    if (isInteger(opcode.substr(1)))
      return of(Kind::NotFloat);
    opcode.remove_prefix(1);
  }
  if (opcode == "FADD" || opcode == "FMUL")
    return scalarArithmetic(instruction, opcode == "FADD" ? "add" : "mul", "f32");
  if (opcode == "FFMA")
    return scalarArithmetic(instruction, "fma", "f32");
  if (opcode == "DADD" || opcode == "DMUL")
    return scalarArithmetic(instruction, opcode == "DADD" ? "add" : "mul", "f64");
  if (opcode == "DFMA")
    return scalarArithmetic(instruction, "fma", "f64");
  if (isOneOf(opcode, {"HADD2", "HMUL2", "HFMA2"}))
    return packedArithmetic(instruction);
  if (opcode == "FHADD" || opcode == "FHFMA") { // f32 arithmetic on f16 operands
    std::string type = instruction.has("BF16") || instruction.has("BF16_V2") ? "bf16" : "f16";
    if (!areKnown(instruction, {"BF16", "BF16_V2"}))
      return unknown();
    return floats({(opcode == "FHADD" ? "add.f32." : "fma.f32.") + type});
  }
  if (opcode == "FMNMX" || opcode == "FMNMX3")
    return minMax(instruction, /*isHalf=*/false);
  if (opcode == "HMNMX2" || opcode == "VHMNMX")
    return minMax(instruction, /*isHalf=*/true);
  if (opcode == "FSETP" || opcode == "FSET")
    return compare(instruction, "f32");
  if (opcode == "DSETP")
    return compare(instruction, "f64");
  if (opcode == "HSETP2" || opcode == "HSET2")
    return compare(instruction, instruction.has("BF16_V2") ? "bf16" : "f16");
  if (opcode == "FSEL")
    return instruction.modifiers.empty() ? of(Kind::Exact) : floats({"select.ftz"});
  if (isOneOf(opcode, {"F2F", "F2FP"}))
    return conversion(instruction);
  if (isOneOf(opcode, {"MUFU", "FCHK", "FRND", "F2I", "F2IP", "I2F", "I2FP"}))
    return of(Kind::Float);
  return unknown();
}

} // namespace h3::audit
