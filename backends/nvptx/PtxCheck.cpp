//===-- backends/nvptx/PtxCheck.cpp - Rules for printed PTX ---------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/PtxCheck.h"

#include <algorithm>
#include <array>
#include <vector>

namespace h3::nvptx {
namespace {

/// The opcode of a line of PTX with its modifiers ("mul.rn.f32"), without label and predicate;
/// empty for directives, labels, comments and braces.
std::string_view opcodeOf(std::string_view line) {
  auto trim = [&] {
    size_t start = line.find_first_not_of(" \t{");
    line = start == std::string_view::npos ? std::string_view() : line.substr(start);
  };
  trim();
  if (line.starts_with('@')) {
    size_t end = line.find_first_of(" \t");
    line = end == std::string_view::npos ? std::string_view() : line.substr(end);
    trim();
  }
  if (line.empty() || line.front() == '.' || line.front() == '/' || line.front() == '}')
    return {};
  std::string_view opcode = line.substr(0, line.find_first_of(" \t;,"));
  if (opcode.ends_with(':'))
    return {};
  return opcode;
}

std::vector<std::string_view> split(std::string_view opcode) {
  std::vector<std::string_view> parts;
  while (true) {
    size_t dot = opcode.find('.');
    parts.push_back(opcode.substr(0, dot));
    if (dot == std::string_view::npos)
      return parts;
    opcode.remove_prefix(dot + 1);
  }
}

template <size_t N>
bool has(const std::vector<std::string_view> &parts, const std::array<std::string_view, N> &any) {
  return std::any_of(parts.begin() + 1, parts.end(), [&](std::string_view part) {
    return std::find(any.begin(), any.end(), part) != any.end();
  });
}

constexpr std::array<std::string_view, 7> floatTypes = {"f16", "f16x2", "bf16", "bf16x2",
                                                        "f32", "f32x2", "f64"};
constexpr std::array<std::string_view, 4> roundings = {"rn", "rz", "rm", "rp"};
constexpr std::array<std::string_view, 8> rounded = {"add", "sub", "mul", "fma",
                                                     "mad", "div", "rcp", "sqrt"};

/// How the kernels of a text meet the grids in front of them, seen line by line.
class WaitCheck {
public:
  explicit WaitCheck(bool waits) : waits(waits) {}

  /// Of a line without an instruction: a kernel's first one, or a label.
  std::string at(std::string_view line) {
    if (line.find(".entry ") != std::string_view::npos) {
      std::string missing = atEnd();
      isKernel = isFirstBlock = true;
      hasWaited = false;
      return missing;
    }
    isFirstBlock &= line.find(':') == std::string_view::npos || line.find("//") < line.find(':');
    return {};
  }

  /// What is wrong with an instruction; empty if nothing.
  std::string at(const std::vector<std::string_view> &parts) {
    std::string_view operation = parts.front();
    bool isControl = operation == "griddepcontrol";
    if (!waits)
      return isControl ? "is about other grids, which the program does not wait for" : "";
    hasWaited |= isControl && isFirstBlock && parts.back() == "wait";
    isFirstBlock &= operation != "bra";
    bool isAccess = has(parts, std::array<std::string_view, 1>{"global"}) && operation != "cvta";
    if (isAccess && has(parts, std::array<std::string_view, 1>{"nc"}))
      return "promises that nobody writes, in a kernel that runs while the one in front does";
    if ((isAccess || isControl) && !hasWaited)
      return "stands before the wait for the grids in front of the kernel";
    return {};
  }

  /// Behind the last line of a kernel.
  std::string atEnd() const {
    return waits && isKernel && !hasWaited ? "a kernel does not wait for the grids in front of it"
                                           : "";
  }

private:
  bool waits, isKernel = false, isFirstBlock = true, hasWaited = false;
};

} // namespace

std::string checkPtx(std::string_view ptx, const PtxRules &rules) {
  unsigned number = 0, fused = 0;
  WaitCheck waiting(rules.waits);
  for (size_t begin = 0; begin < ptx.size();) {
    size_t end = std::min(ptx.find('\n', begin), ptx.size());
    std::string_view line = ptx.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    std::string_view opcode = opcodeOf(line);
    if (opcode.empty()) {
      if (std::string wrong = waiting.at(line); !wrong.empty())
        return "PTX line " + std::to_string(number) + ": " + wrong;
      continue;
    }
    std::vector<std::string_view> parts = split(opcode);
    auto violation = [&](const std::string &what) {
      return "PTX line " + std::to_string(number) + ": '" + std::string(opcode) + "' " + what;
    };
    if (std::string wrong = waiting.at(parts); !wrong.empty())
      return violation(wrong);
    if (!has(parts, floatTypes))
      continue;
    std::string_view operation = parts.front();
    bool isConversion = operation == "cvt";
    bool isMove = operation == "ld" || operation == "st" || operation == "mov";
    if (has(parts, std::array<std::string_view, 1>{"f32x2"}) && !isMove)
      return violation("is packed f32 arithmetic, which the assembler fuses");
    if (rules.approximations.contains(opcode))
      continue;
    if (has(parts, std::array<std::string_view, 2>{"approx", "full"}))
      return violation("is an approximation that the spec does not name");
    if (has(parts, std::array<std::string_view, 1>{"ftz"}))
      return violation("flushes subnormals, which the spec keeps");
    if (operation == "mad")
      return violation("is a multiply-add of unspecified fusion");
    bool needsRounding =
        std::find(rounded.begin(), rounded.end(), operation) != rounded.end() && !isConversion;
    if (needsRounding && !has(parts, roundings))
      return violation("has no rounding modifier, so that the assembler may fuse it");
    fused += operation == "fma";
    if (fused > rules.fusedMultiplyAdds)
      return violation("is one fused multiply-add more than the program has (" +
                       std::to_string(rules.fusedMultiplyAdds) + ")");
  }
  return waiting.atEnd();
}

} // namespace h3::nvptx
