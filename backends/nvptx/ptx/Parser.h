//===-- backends/nvptx/ptx/Parser.h - The reader's state --------*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Private to the reader: recursive descent over the tokens. A function returns false after it has
// set `error`.
//
//===----------------------------------------------------------------------===//

#ifndef H3_BACKENDS_NVPTX_PTX_PARSER_H
#define H3_BACKENDS_NVPTX_PTX_PARSER_H

#include "backends/nvptx/ptx/Lexer.h"
#include "backends/nvptx/ptx/Reader.h"

#include <map>
#include <string>
#include <vector>

namespace h3::ptx {

class Parser {
public:
  explicit Parser(std::string_view text) : tokens(tokenize(text)) {}
  bool parseModule();

  Module module;
  ReadError error;

private:
  /// The names of one pair of braces.
  struct Scope {
    std::map<std::string, uint32_t, std::less<>> registers;
    std::map<std::string, uint32_t, std::less<>> variables;
    std::map<std::string, uint32_t, std::less<>> labels;
    /// Operands that name a label not seen yet: instruction, operand, name, line.
    struct Reference {
      uint32_t instruction;
      uint32_t operand;
      std::string name;
      unsigned line;
    };
    std::vector<Reference> references;
  };

  const Token &peek(size_t ahead = 0) const {
    return tokens[std::min(position + ahead, tokens.size() - 1)];
  }
  const Token &take() {
    const Token &token = peek();
    position += position + 1 < tokens.size() ? 1 : 0;
    return token;
  }
  bool takeMark(char mark);
  bool expectMark(char mark);
  bool fail(unsigned line, std::string text);
  bool unexpected(std::string_view wanted);

  // Parser.cpp: directives.
  bool parseTop();
  bool parseVersion();
  bool parseTarget();
  bool parseLinkageAndRest(const std::string &linkage);
  bool parseEntry(const std::string &linkage);
  bool parseParameter(Kernel &kernel);
  bool parsePerformanceDirectives(Kernel &kernel);
  bool parseVariable(const std::string &linkage, Space space, std::vector<Variable> &into,
                     bool inKernel);
  bool parseVariableName(Variable &variable);
  bool parseInitializer(Variable &variable);
  bool skipDebug();
  bool takeInteger(uint64_t &value);
  bool takeAlign(uint32_t &align); ///< `.align N`, at the directive
  bool takeWord(std::string &word);
  bool takeType(Modifier &type);

  // ParserBody.cpp: kernels' bodies.
  bool parseBody();
  bool parseStatement();
  bool parseRegisters();
  bool addRegister(std::string name, Modifier type);
  bool parseInstruction();
  bool parseGuard(Instruction &instruction);
  bool parseOpcode(Instruction &instruction);
  bool parseOperands(Instruction &instruction);
  bool parseOperand(Operand &operand, bool mayBePair);
  bool parseWordOperand(Operand &operand);
  bool parseNumber(Operand &operand);
  bool parseOffset(Operand &operand);
  bool closeScope(unsigned line);
  const uint32_t *findRegister(std::string_view name) const;
  bool findVariable(std::string_view name, Operand &operand) const;
  void addStatement(Statement::Kind kind, size_t index) {
    kernel->statements.push_back({kind, static_cast<uint32_t>(index)});
  }

  std::vector<Token> tokens;
  size_t position = 0;
  Kernel *kernel = nullptr;
  std::vector<Scope> scopes;
  /// Label names among the operands of the instruction in hand.
  std::vector<std::pair<uint32_t, std::string>> labelOperands;
};

} // namespace h3::ptx

#endif // H3_BACKENDS_NVPTX_PTX_PARSER_H
