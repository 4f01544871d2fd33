//===-- backends/nvptx/ptx/Parser.cpp - Directives ------------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/ptx/Parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace h3::ptx {

bool Parser::fail(unsigned line, std::string text) {
  error = {line, std::move(text)};
  return false;
}

bool Parser::unexpected(std::string_view wanted) {
  const Token &token = peek();
  if (token.kind == Token::Kind::Error)
    return fail(token.line, std::string(token.text));
  if (token.kind == Token::Kind::End)
    return fail(token.line, fmt::format("the text ends, expected {}", wanted));
  return fail(token.line, fmt::format("found '{}', expected {}", token.text, wanted));
}

bool Parser::takeMark(char mark) {
  if (!peek().is(mark))
    return false;
  take();
  return true;
}

bool Parser::expectMark(char mark) {
  return takeMark(mark) || unexpected(fmt::format("'{}'", mark));
}

bool Parser::takeInteger(uint64_t &value) {
  if (peek().kind != Token::Kind::Integer)
    return unexpected("an integer");
  value = take().bits;
  return true;
}

bool Parser::takeWord(std::string &word) {
  if (peek().kind != Token::Kind::Word)
    return unexpected("a name");
  word = take().text;
  return true;
}

bool Parser::takeType(Modifier &type) {
  if (peek().kind == Token::Kind::Directive) {
    std::optional<Modifier> modifier = modifierNamed(peek().text.substr(1));
    if (modifier && isType(*modifier)) {
      type = *modifier;
      take();
      return true;
    }
  }
  return unexpected("a type");
}

bool Parser::parseModule() {
  while (peek().kind != Token::Kind::End)
    if (!parseTop())
      return false;
  if (module.versionMajor == 0)
    return fail(peek().line, "the text has no .version");
  if (module.target.empty())
    return fail(peek().line, "the text has no .target");
  return true;
}

bool Parser::parseTop() {
  const Token &token = peek();
  if (token.kind != Token::Kind::Directive)
    return unexpected("a directive");
  std::string_view name = token.text;
  if (name == ".version")
    return parseVersion();
  if (name == ".target")
    return parseTarget();
  if (name == ".address_size") {
    take();
    uint64_t size = 0;
    if (!takeInteger(size))
      return false;
    if (size != 64)
      return fail(token.line, fmt::format(".address_size {}, only 64 is supported", size));
    return true;
  }
  if (name == ".file" || name == ".loc" || name == ".section")
    return skipDebug();
  if (name == ".visible" || name == ".weak" || name == ".extern") {
    take();
    return parseLinkageAndRest(std::string(name.substr(1)));
  }
  return parseLinkageAndRest({});
}

bool Parser::parseVersion() {
  take();
  // The lexer reads "8.7" as one number; the two parts are in its text.
  const Token &token = peek();
  size_t dot = token.text.find('.');
  if (token.kind != Token::Kind::Double || dot == std::string_view::npos)
    return unexpected("a version such as 8.0");
  take();
  auto part = [](std::string_view digits) {
    unsigned value = 0;
    for (char c : digits)
      value = value * 10 + static_cast<unsigned>(c - '0');
    return value;
  };
  module.versionMajor = part(token.text.substr(0, dot));
  module.versionMinor = part(token.text.substr(dot + 1));
  return true;
}

bool Parser::parseTarget() {
  take();
  do {
    std::string word;
    if (!takeWord(word))
      return false;
    module.target.push_back(word);
  } while (takeMark(','));
  return true;
}

bool Parser::parseLinkageAndRest(const std::string &linkage) {
  const Token &token = peek();
  if (token.isDirective(".entry")) {
    take();
    return parseEntry(linkage);
  }
  if (token.isDirective(".func"))
    return fail(token.line, "functions (.func) are not supported, only kernels");
  for (Space space : {Space::Global, Space::Shared, Space::Const})
    if (token.isDirective(text(space))) {
      take();
      return parseVariable(linkage, space, module.variables, false);
    }
  return unexpected("a kernel or a variable");
}

/// .file and .loc reach to the end of their line, .section to its closing brace.
bool Parser::skipDebug() {
  const Token &start = take();
  if (start.isDirective(".section")) {
    while (!peek().is('{'))
      if (take().kind == Token::Kind::End)
        return unexpected("'{'");
    unsigned depth = 0;
    do {
      if (peek().kind == Token::Kind::End || peek().kind == Token::Kind::Error)
        return unexpected("'}'");
      depth += peek().is('{');
      depth -= peek().is('}');
      take();
    } while (depth != 0);
    return true;
  }
  while (peek().line == start.line && peek().kind != Token::Kind::End &&
         peek().kind != Token::Kind::Error)
    take();
  return true;
}

bool Parser::parseEntry(const std::string &linkage) {
  unsigned line = peek().line;
  std::string name;
  if (!takeWord(name))
    return false;
  if (module.findKernel(name))
    return fail(line, fmt::format("kernel '{}' is defined twice", name));
  Kernel read;
  read.name = name;
  read.linkage = linkage;
  read.line = {line};
  if (takeMark('(') && !takeMark(')')) {
    do {
      if (!parseParameter(read))
        return false;
    } while (takeMark(','));
    if (!expectMark(')'))
      return false;
  }
  if (!parsePerformanceDirectives(read))
    return false;
  kernel = &read;
  bool good = parseBody();
  kernel = nullptr;
  if (good)
    module.kernels.push_back(std::move(read));
  return good;
}

bool Parser::takeAlign(uint32_t &align) {
  take();
  uint64_t bytes = 0;
  if (!takeInteger(bytes))
    return false;
  align = static_cast<uint32_t>(bytes);
  return true;
}

bool Parser::parseParameter(Kernel &into) {
  if (!peek().isDirective(".param"))
    return unexpected("'.param'");
  take();
  Variable parameter;
  parameter.space = Space::Param;
  while (true) {
    if (peek().isDirective(".align")) {
      if (!takeAlign(parameter.isPointer ? parameter.pointeeAlign : parameter.align))
        return false;
    } else if (peek().isDirective(".ptr")) {
      take();
      parameter.isPointer = true;
      for (Space space : {Space::Global, Space::Shared, Space::Local, Space::Const})
        if (peek().isDirective(text(space))) {
          take();
          parameter.pointee = space;
          break;
        }
    } else if (peek().kind == Token::Kind::Directive) {
      if (!takeType(parameter.type))
        return false;
    } else {
      break;
    }
  }
  if (!parseVariableName(parameter))
    return false;
  for (const Variable &other : into.parameters)
    if (other.name == parameter.name)
      return fail(peek().line, fmt::format("parameter '{}' is declared twice", parameter.name));
  into.parameters.push_back(std::move(parameter));
  return true;
}

bool Parser::parsePerformanceDirectives(Kernel &into) {
  constexpr std::array<std::string_view, 8> known = {
      ".maxntid", ".reqntid",           ".minnctapersm",   ".maxnctapersm",
      ".maxnreg", ".reqnctapercluster", ".maxclusterrank", ".explicitcluster"};
  while (peek().kind == Token::Kind::Directive) {
    const Token &token = peek();
    if (token.text == ".pragma") {
      take();
      if (peek().kind != Token::Kind::String)
        return unexpected("a string");
      take();
      if (!expectMark(';'))
        return false;
      continue;
    }
    if (std::find(known.begin(), known.end(), token.text) == known.end())
      return fail(token.line, fmt::format("unknown directive '{}' of a kernel", token.text));
    take();
    PerformanceDirective directive{std::string(token.text.substr(1)), {}};
    if (peek().kind == Token::Kind::Integer)
      do {
        uint64_t value = 0;
        if (!takeInteger(value))
          return false;
        directive.values.push_back(value);
      } while (takeMark(','));
    into.directives.push_back(std::move(directive));
  }
  return true;
}

/// A name and its extents: `x`, `x[4][2]`, `x[]`.
bool Parser::parseVariableName(Variable &variable) {
  if (!takeWord(variable.name))
    return false;
  while (takeMark('[')) {
    variable.isArray = true;
    uint64_t extent = 0;
    if (!peek().is(']') && !takeInteger(extent))
      return false;
    if (extent > (uint64_t(1) << 32))
      return fail(peek().line, fmt::format("'{}' is too large", variable.name));
    variable.extents.push_back(extent);
    if (!expectMark(']'))
      return false;
  }
  return true;
}

bool Parser::parseVariable(const std::string &linkage, Space space, std::vector<Variable> &into,
                           bool inKernel) {
  Variable variable;
  variable.linkage = linkage;
  variable.space = space;
  while (true) {
    if (peek().isDirective(".align")) {
      if (!takeAlign(variable.align))
        return false;
    } else if (peek().isDirective(".v2") || peek().isDirective(".v4")) {
      variable.vector = take().text == ".v2" ? 2 : 4;
    } else {
      break;
    }
  }
  if (!takeType(variable.type))
    return false;
  Variable pattern = variable;
  do {
    variable = pattern;
    unsigned line = peek().line;
    if (!parseVariableName(variable))
      return false;
    for (const Variable &other : into)
      if (!inKernel && other.name == variable.name)
        return fail(line, fmt::format("variable '{}' is declared twice", variable.name));
    if (takeMark('=')) {
      if (space != Space::Global && space != Space::Const)
        return fail(line, fmt::format("variable '{}' in {} memory cannot have a value",
                                      variable.name, text(space)));
      if (!parseInitializer(variable))
        return false;
    }
    if (inKernel) {
      if (!scopes.back()
               .variables.emplace(variable.name, static_cast<uint32_t>(into.size()))
               .second)
        return fail(line, fmt::format("variable '{}' is declared twice", variable.name));
      addStatement(Statement::Kind::Variable, into.size());
    }
    into.push_back(std::move(variable));
  } while (takeMark(','));
  return expectMark(';');
}

bool Parser::parseInitializer(Variable &variable) {
  if (takeMark('{')) {
    if (takeMark('}'))
      return true;
    do {
      if (!parseInitializer(variable))
        return false;
    } while (takeMark(','));
    return expectMark('}');
  }
  Operand value;
  if (!parseNumber(value))
    return false;
  variable.initializer.push_back(std::move(value));
  return true;
}

std::string ReadError::message() const { return fmt::format("PTX line {}: {}", line, text); }

Result<Module, ReadError> read(std::string_view text) {
  Parser parser(text);
  if (!parser.parseModule())
    return std::move(parser.error);
  return std::move(parser.module);
}

} // namespace h3::ptx
