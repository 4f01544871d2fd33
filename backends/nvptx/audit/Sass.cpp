//===-- backends/nvptx/audit/Sass.cpp - Disassembly as data ---------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/audit/Sass.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace h3::audit {
namespace {

std::string_view trim(std::string_view text) {
  size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos)
    return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

template <typename T> bool number(std::string_view digits, int base, T &value) {
  auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  return code == std::errc() && end == digits.data() + digits.size() && !digits.empty();
}

void removeAll(std::string &text, std::string_view what) {
  for (size_t at; (at = text.find(what)) != std::string::npos;)
    text.erase(at, what.size());
}

/// At the commas outside brackets.
std::vector<std::string> splitOperands(std::string_view text) {
  std::vector<std::string> operands;
  size_t begin = 0;
  int depth = 0;
  for (size_t at = 0; at <= text.size(); ++at) {
    bool isEnd = at == text.size();
    char c = isEnd ? ',' : text[at];
    depth += c == '[' || c == '(' || c == '{';
    depth -= c == ']' || c == ')' || c == '}';
    if (c != ',' || (depth > 0 && !isEnd))
      continue;
    std::string operand(trim(text.substr(begin, at - begin)));
    removeAll(operand, ".reuse");
    if (!operand.empty())
      operands.push_back(operand);
    begin = at + 1;
  }
  return operands;
}

/// "@!P0 FADD.FTZ R9, -R5, -RZ". False if it is no instruction.
bool parseInstruction(std::string_view text, SassInstruction &instruction) {
  instruction.text = text;
  if (text.starts_with('@')) {
    size_t end = text.find(' ');
    if (end == std::string_view::npos)
      return false;
    text = trim(text.substr(end));
  }
  size_t end = std::min(text.find(' '), text.size());
  std::string_view name = text.substr(0, end);
  instruction.operands = splitOperands(text.substr(end));
  size_t dot = std::min(name.find('.'), name.size());
  instruction.opcode = name.substr(0, dot);
  for (size_t begin = dot; begin < name.size();) {
    size_t next = std::min(name.find('.', begin + 1), name.size());
    instruction.modifiers.emplace_back(name.substr(begin + 1, next - begin - 1));
    begin = next;
  }
  auto isUpper = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !instruction.opcode.empty() && instruction.opcode.front() >= 'A' &&
         std::all_of(instruction.opcode.begin(), instruction.opcode.end(), isUpper);
}

/// "$__internal_3_$__cuda_sm20_div_u64" -> "__cuda_sm20_div_u64"; others as they are.
std::string_view withoutNumber(std::string_view symbol) {
  constexpr std::string_view prefix = "$__internal_";
  size_t end = symbol.find("_$", prefix.size());
  return symbol.starts_with(prefix) && end != std::string_view::npos ? symbol.substr(end + 2)
                                                                     : symbol;
}

} // namespace

bool SassInstruction::has(std::string_view modifier) const {
  return std::find(modifiers.begin(), modifiers.end(), modifier) != modifiers.end();
}

std::string SassInstruction::signature() const {
  // Uniform instructions are named as those of vectors with a U in front, but for these.
  bool isUniform = opcode.size() > 2 && opcode[0] == 'U' &&
                   std::string_view("FHDI").find(opcode[1]) != std::string_view::npos;
  std::string text = isUniform ? opcode.substr(1) : opcode;
  for (const std::string &modifier : modifiers)
    text += "." + modifier;
  if (opcode == "CALL" && !operands.empty()) {
    std::string_view callee = operands.back();
    size_t begin = callee.find('(');
    callee = callee.substr(begin == std::string_view::npos ? 0 : begin + 1);
    return "CALL:" + std::string(withoutNumber(callee.substr(0, callee.find(')'))));
  }
  return text;
}

Result<Disassembly, std::string> readSass(std::string_view text) {
  Disassembly result;
  SassFunction *function = nullptr;
  std::string section;
  unsigned textLine = 0, ptxLine = 0;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = trim(text.substr(begin, end - begin));
    bool isIndented = begin < end && (text[begin] == ' ' || text[begin] == '\t');
    begin = end + 1;
    ++textLine;
    constexpr std::string_view lineMark = "//## File \".nv_debug_ptx_txt\", line ";
    if (line.starts_with(lineMark)) {
      std::string_view digits = line.substr(lineMark.size());
      if (!number(digits.substr(0, digits.find(' ')), 10, ptxLine))
        return fmt::format("line {} of the disassembly: '{}' names no PTX line", textLine, line);
    } else if (line.starts_with("/*")) {
      size_t close = line.find("*/");
      SassInstruction instruction;
      std::string_view body =
          close == std::string_view::npos ? std::string_view() : trim(line.substr(close + 2));
      body = trim(body.substr(0, body.find(';')));
      if (!function || close == std::string_view::npos ||
          !number(line.substr(2, close - 2), 16, instruction.offset) ||
          !parseInstruction(body, instruction))
        return fmt::format("line {} of the disassembly: '{}' is no instruction", textLine, line);
      instruction.textLine = textLine;
      instruction.ptxLine = function->isRoutine ? 0 : ptxLine;
      function->instructions.push_back(std::move(instruction));
    } else if (line.starts_with(".target")) {
      result.target = trim(line.substr(7));
    } else if (line.starts_with(".section\t") || line.starts_with(".section ")) {
      std::string_view name = trim(line.substr(8));
      name = name.substr(0, name.find(','));
      bool isCode = name.starts_with(".text.");
      section = isCode ? name.substr(6) : std::string_view();
      function = nullptr;
      ptxLine = 0;
    } else if (!isIndented && line.ends_with(':') && !line.starts_with('.')) {
      std::string_view symbol = line.substr(0, line.size() - 1);
      SassFunction next;
      next.name = withoutNumber(symbol);
      next.kernel = section;
      next.isRoutine = symbol != section;
      result.functions.push_back(std::move(next));
      function = &result.functions.back();
    }
  }
  if (result.functions.empty())
    return std::string("the disassembly holds no kernel");
  return result;
}

} // namespace h3::audit
