//===-- backends/nvptx/ptx/Lexer.h - Tokens of PTX --------------*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_BACKENDS_NVPTX_PTX_LEXER_H
#define H3_BACKENDS_NVPTX_PTX_LEXER_H

#include <cstdint>
#include <string_view>
#include <vector>

namespace h3::ptx {

struct Token {
  enum class Kind : uint8_t {
    Word,      ///< a name, a register, or an opcode with its modifiers; `_`
    Directive, ///< .reg; of `.v4.f32` two
    Integer,
    Single, ///< 0f3F800000
    Double, ///< 0d3FF0000000000000 or a decimal
    String, ///< without its quotes
    Mark,   ///< one character
    Error,  ///< text says why; the last token
    End,
  };
  Kind kind = Kind::End;
  std::string_view text;
  unsigned line = 0;
  uint64_t bits = 0; ///< of a number

  bool is(char mark) const { return kind == Kind::Mark && text[0] == mark; }
  bool isDirective(std::string_view name) const { return kind == Kind::Directive && text == name; }
};

/// The tokens of a text, comments left out; the last is End or Error.
std::vector<Token> tokenize(std::string_view text);

} // namespace h3::ptx

#endif // H3_BACKENDS_NVPTX_PTX_LEXER_H
