//===-- backends/nvptx/ptx/ParserBody.cpp - Bodies of kernels -------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/ptx/Forms.h"
#include "backends/nvptx/ptx/Parser.h"

#include <fmt/format.h>

namespace h3::ptx {
namespace {

/// Far beyond what any kernel has; keeps a broken text from taking all memory.
constexpr uint64_t maxRegisters = 1 << 20;
constexpr size_t maxDepth = 64;

} // namespace

bool Parser::parseBody() {
  unsigned line = peek().line;
  if (!expectMark('{'))
    return false;
  scopes.assign(1, {});
  while (!scopes.empty()) {
    line = peek().line;
    if (takeMark('{')) {
      if (scopes.size() == maxDepth)
        return fail(line, "braces are nested too deeply");
      addStatement(Statement::Kind::ScopeBegin, 0);
      scopes.emplace_back();
    } else if (takeMark('}')) {
      if (!closeScope(line))
        return false;
      if (!scopes.empty())
        addStatement(Statement::Kind::ScopeEnd, 0);
    } else if (!parseStatement()) {
      return false;
    }
  }
  return true;
}

/// Resolves the labels of the innermost scope; names it lacks are the outer one's.
bool Parser::closeScope(unsigned) {
  Scope scope = std::move(scopes.back());
  scopes.pop_back();
  for (Scope::Reference &reference : scope.references) {
    auto it = scope.labels.find(reference.name);
    if (it != scope.labels.end())
      kernel->instructions[reference.instruction].operands[reference.operand].index = it->second;
    else if (scopes.empty())
      return fail(reference.line, fmt::format("unknown name '{}'", reference.name));
    else
      scopes.back().references.push_back(std::move(reference));
  }
  return true;
}

bool Parser::parseStatement() {
  const Token &token = peek();
  if (token.kind == Token::Kind::Word && peek(1).is(':')) {
    std::string name(take().text);
    take();
    if (!scopes.back().labels.emplace(name, static_cast<uint32_t>(kernel->labels.size())).second)
      return fail(token.line, fmt::format("label '{}' is defined twice", name));
    addStatement(Statement::Kind::Label, kernel->labels.size());
    kernel->labels.push_back({name, static_cast<uint32_t>(kernel->instructions.size())});
    return true;
  }
  if (token.kind == Token::Kind::Word || token.is('@'))
    return parseInstruction();
  if (token.kind != Token::Kind::Directive)
    return unexpected("an instruction");
  if (token.text == ".reg")
    return parseRegisters();
  for (Space space : {Space::Shared, Space::Local})
    if (token.text == text(space)) {
      take();
      return parseVariable({}, space, kernel->variables, true);
    }
  if (token.text == ".file" || token.text == ".loc" || token.text == ".section")
    return skipDebug();
  if (token.text == ".pragma") {
    take();
    if (peek().kind != Token::Kind::String)
      return unexpected("a string");
    addStatement(Statement::Kind::Pragma, kernel->pragmas.size());
    kernel->pragmas.emplace_back(take().text);
    return expectMark(';');
  }
  return fail(token.line, fmt::format("unknown directive '{}' in a kernel", token.text));
}

bool Parser::addRegister(std::string name, Modifier type) {
  auto index = static_cast<uint32_t>(kernel->registers.size());
  if (!scopes.back().registers.emplace(name, index).second)
    return fail(peek().line, fmt::format("register '{}' is declared twice", name));
  kernel->registers.push_back({std::move(name), type});
  return true;
}

bool Parser::parseRegisters() {
  take();
  RegisterDeclaration declaration;
  if (peek().isDirective(".v2") || peek().isDirective(".v4"))
    return fail(peek().line, "vector registers are not supported");
  if (!takeType(declaration.type))
    return false;
  if (bitWidth(declaration.type) == 8)
    return fail(peek().line, "a register cannot have 8 bits");
  do {
    std::string name;
    unsigned line = peek().line;
    if (!takeWord(name))
      return false;
    declaration.first = static_cast<uint32_t>(kernel->registers.size());
    declaration.prefix.clear();
    uint64_t count = 1;
    if (takeMark('<')) {
      if (!takeInteger(count) || !expectMark('>'))
        return false;
      declaration.prefix = name;
      if (count > maxRegisters || kernel->registers.size() > maxRegisters)
        return fail(line, "too many registers");
      for (uint64_t i = 0; i < count; ++i)
        if (!addRegister(fmt::format("{}{}", name, i), declaration.type))
          return false;
    } else if (!addRegister(name, declaration.type)) {
      return false;
    }
    declaration.count = static_cast<uint32_t>(count);
    addStatement(Statement::Kind::Registers, kernel->declarations.size());
    kernel->declarations.push_back(declaration);
  } while (takeMark(','));
  return expectMark(';');
}

const uint32_t *Parser::findRegister(std::string_view name) const {
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope)
    if (auto it = scope->registers.find(name); it != scope->registers.end())
      return &it->second;
  return nullptr;
}

bool Parser::findVariable(std::string_view name, Operand &operand) const {
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope)
    if (auto it = scope->variables.find(name); it != scope->variables.end()) {
      operand.kind = Operand::Kind::KernelVariable;
      operand.index = it->second;
      return true;
    }
  for (size_t i = 0; i < kernel->parameters.size(); ++i)
    if (kernel->parameters[i].name == name) {
      operand.kind = Operand::Kind::Parameter;
      operand.index = static_cast<uint32_t>(i);
      return true;
    }
  for (size_t i = 0; i < module.variables.size(); ++i)
    if (module.variables[i].name == name) {
      operand.kind = Operand::Kind::ModuleVariable;
      operand.index = static_cast<uint32_t>(i);
      return true;
    }
  return false;
}

bool Parser::parseGuard(Instruction &instruction) {
  if (!takeMark('@'))
    return true;
  Guard guard;
  guard.negated = takeMark('!');
  const Token &token = peek();
  const uint32_t *index = token.kind == Token::Kind::Word ? findRegister(token.text) : nullptr;
  if (!index || kernel->registers[*index].type != Modifier::Pred)
    return unexpected("a predicate register");
  take();
  guard.reg = *index;
  instruction.guard = guard;
  return true;
}

bool Parser::parseOpcode(Instruction &instruction) {
  const Token &token = peek();
  if (token.kind != Token::Kind::Word)
    return unexpected("an instruction");
  take();
  std::string_view rest = token.text;
  size_t dot = rest.find('.');
  std::optional<Opcode> opcode = opcodeNamed(rest.substr(0, dot));
  if (!opcode)
    return fail(token.line, fmt::format("unknown instruction '{}'", token.text));
  instruction.opcode = *opcode;
  while (dot != std::string_view::npos) {
    rest.remove_prefix(dot + 1);
    dot = rest.find('.');
    std::optional<Modifier> modifier = modifierNamed(rest.substr(0, dot));
    if (!modifier)
      return fail(token.line,
                  fmt::format("unknown modifier '.{}' in '{}'", rest.substr(0, dot), token.text));
    instruction.modifiers.push_back(*modifier);
  }
  return true;
}

bool Parser::parseInstruction() {
  Instruction instruction;
  instruction.line = {peek().line};
  labelOperands.clear();
  if (!parseGuard(instruction))
    return false;
  std::string_view name = peek().text;
  if (!parseOpcode(instruction) || !parseOperands(instruction) || !expectMark(';'))
    return false;
  if (std::string problem; !findForm(instruction, kernel->registers, problem))
    return fail(instruction.line.number, fmt::format("'{}': {}", name, problem));
  auto index = static_cast<uint32_t>(kernel->instructions.size());
  for (auto &[operand, label] : labelOperands)
    scopes.back().references.push_back({index, operand, label, instruction.line.number});
  addStatement(Statement::Kind::Instruction, index);
  kernel->instructions.push_back(std::move(instruction));
  return true;
}

bool Parser::parseOperands(Instruction &instruction) {
  if (peek().is(';'))
    return true;
  do {
    Operand operand;
    size_t before = labelOperands.size();
    if (!parseOperand(operand, true))
      return false;
    if (labelOperands.size() != before) {
      if (operand.kind != Operand::Kind::Label)
        return fail(peek().line, fmt::format("unknown name '{}'", labelOperands.back().second));
      labelOperands.back().first = static_cast<uint32_t>(instruction.operands.size());
    }
    instruction.operands.push_back(std::move(operand));
  } while (takeMark(','));
  return true;
}

bool Parser::parseNumber(Operand &operand) {
  bool negative = takeMark('-');
  const Token &token = peek();
  switch (token.kind) {
  case Token::Kind::Integer:
    operand.kind = Operand::Kind::Integer;
    operand.bits = negative ? 0 - token.bits : token.bits;
    break;
  case Token::Kind::Single:
  case Token::Kind::Double:
    operand.kind =
        token.kind == Token::Kind::Single ? Operand::Kind::Single : Operand::Kind::Double;
    operand.bits = token.bits;
    if (negative)
      operand.bits ^= token.kind == Token::Kind::Single ? uint64_t(1) << 31 : uint64_t(1) << 63;
    break;
  default:
    return unexpected("a number");
  }
  take();
  return true;
}

/// `+4`, `+-4`, `-4`, or nothing.
bool Parser::parseOffset(Operand &operand) {
  if (takeMark('+')) {
    bool negative = takeMark('-');
    uint64_t value = 0;
    if (!takeInteger(value))
      return false;
    operand.bits = negative ? 0 - value : value;
  } else if (takeMark('-')) {
    uint64_t value = 0;
    if (!takeInteger(value))
      return false;
    operand.bits = 0 - value;
  }
  return true;
}

bool Parser::parseWordOperand(Operand &operand) {
  const Token &token = take();
  if (token.text == "_") {
    operand.kind = Operand::Kind::Sink;
    return true;
  }
  if (token.text == "WARP_SZ") {
    operand.kind = Operand::Kind::Integer;
    operand.bits = 32;
    return true;
  }
  if (const uint32_t *index = findRegister(token.text)) {
    operand.kind = Operand::Kind::Register;
    operand.index = *index;
    return true;
  }
  if (std::optional<Special> special = specialNamed(token.text)) {
    operand.kind = Operand::Kind::Special;
    operand.index = static_cast<uint32_t>(*special);
    return true;
  }
  if (token.text[0] == '%')
    return fail(token.line, fmt::format("unknown register '{}'", token.text));
  if (findVariable(token.text, operand))
    return true;
  operand.kind = Operand::Kind::Label;
  labelOperands.emplace_back(0, token.text);
  return true;
}

bool Parser::parseOperand(Operand &operand, bool mayBePair) {
  const Token &token = peek();
  if (takeMark('!')) {
    if (!parseOperand(operand, false))
      return false;
    if (operand.kind != Operand::Kind::Register ||
        kernel->registers[operand.index].type != Modifier::Pred)
      return fail(token.line, "'!' stands before what is no predicate register");
    operand.negated = true;
    return true;
  }
  if (takeMark('{')) {
    operand.kind = Operand::Kind::Vector;
    do {
      if (!parseOperand(operand.elements.emplace_back(), false))
        return false;
    } while (takeMark(','));
    // A vector of one is that one; Triton writes stores so.
    if (operand.elements.size() == 1) {
      Operand only = std::move(operand.elements[0]);
      operand = std::move(only);
    }
    return expectMark('}');
  }
  if (takeMark('[')) {
    operand.kind = Operand::Kind::Address;
    if (peek().kind == Token::Kind::Word) {
      Operand base;
      size_t before = labelOperands.size();
      unsigned line = peek().line;
      std::string_view name = peek().text;
      if (!parseWordOperand(base))
        return false;
      if (labelOperands.size() != before)
        return fail(line, fmt::format("unknown name '{}'", name));
      bool isRegister = base.kind == Operand::Kind::Register;
      unsigned width = isRegister ? bitWidth(kernel->registers[base.index].type) : 64;
      if (width != 32 && width != 64)
        return fail(line, fmt::format("register '{}' cannot hold an address", name));
      if (base.kind == Operand::Kind::Special || base.kind == Operand::Kind::Sink)
        return fail(line, fmt::format("'{}' is no address", name));
      operand.elements.push_back(std::move(base));
      return parseOffset(operand) && expectMark(']');
    }
    if (!takeInteger(operand.bits))
      return false;
    return expectMark(']');
  }
  if (token.kind != Token::Kind::Word)
    return parseNumber(operand);
  if (!parseWordOperand(operand))
    return false;
  bool isVariable = operand.kind == Operand::Kind::Parameter ||
                    operand.kind == Operand::Kind::KernelVariable ||
                    operand.kind == Operand::Kind::ModuleVariable;
  if (isVariable)
    return parseOffset(operand);
  if (mayBePair && takeMark('|')) {
    Operand second;
    if (!parseOperand(second, false))
      return false;
    Operand first = std::move(operand);
    operand = {};
    operand.kind = Operand::Kind::Pair;
    operand.elements = {std::move(first), std::move(second)};
  }
  return true;
}

} // namespace h3::ptx
