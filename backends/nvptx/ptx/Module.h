//===-- backends/nvptx/ptx/Module.h - PTX as data ---------------*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A PTX module: what the text says, with every name resolved. Two modules are equal if their texts
// differ at most in layout, comments and debug information.
//
//===----------------------------------------------------------------------===//

#ifndef H3_BACKENDS_NVPTX_PTX_MODULE_H
#define H3_BACKENDS_NVPTX_PTX_MODULE_H

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace h3::ptx {

enum class Opcode : uint8_t {
#define H3_PTX_OPCODE(name, text) name,
#include "backends/nvptx/ptx/Opcodes.def"
};

/// A part of an opcode after its name; types first, so that `isType` is a comparison.
enum class Modifier : uint8_t {
#define H3_PTX_MODIFIER(name, text) name,
#include "backends/nvptx/ptx/Modifiers.def"
};

enum class Special : uint8_t {
#define H3_PTX_SPECIAL(name, text) name,
#include "backends/nvptx/ptx/Specials.def"
};

std::string_view text(Opcode opcode);
std::string_view text(Modifier modifier);
std::string_view text(Special special);
std::optional<Opcode> opcodeNamed(std::string_view text);
std::optional<Modifier> modifierNamed(std::string_view text);
std::optional<Special> specialNamed(std::string_view text);

inline bool isType(Modifier modifier) { return modifier <= Modifier::Pred; }
unsigned bitWidth(Modifier type); ///< pred: 1
bool isFloatType(Modifier type);  ///< one of the arithmetic formats, packed ones included
bool isSignedType(Modifier type); ///< s8 ... s64

/// A line of the text. Lines are for messages: they take no part in comparison.
struct SourceLine {
  unsigned number = 0;

  bool operator==(const SourceLine &) const { return true; }
};

struct Operand {
  enum class Kind : uint8_t {
    Register,       ///< `index` of Kernel::registers; `negated`: !%p
    Integer,        ///< `bits`, in two's complement
    Single,         ///< 0f3F800000: `bits`
    Double,         ///< 0d3FF0000000000000, or a decimal as PTX reads it: `bits`
    Special,        ///< `index` is a Special
    Parameter,      ///< `index` of Kernel::parameters, plus `bits` bytes
    KernelVariable, ///< `index` of Kernel::variables, plus `bits` bytes
    ModuleVariable, ///< `index` of Module::variables, plus `bits` bytes
    Label,          ///< `index` of Kernel::labels
    Vector,         ///< {elements}
    Pair,           ///< elements[0]|elements[1]
    Address,        ///< [elements[0] + bits], or [bits] without elements
    Sink,           ///< _
  };
  Kind kind = Kind::Integer;
  bool negated = false;
  uint32_t index = 0;
  uint64_t bits = 0;
  std::vector<Operand> elements;

  bool operator==(const Operand &) const = default;
};

struct Guard {
  uint32_t reg = 0;
  bool negated = false;

  bool operator==(const Guard &) const = default;
};

struct Instruction {
  Opcode opcode = Opcode::Exit;
  std::vector<Modifier> modifiers; ///< as written
  std::optional<Guard> guard;
  std::vector<Operand> operands;
  SourceLine line;

  bool operator==(const Instruction &) const = default;

  bool has(Modifier modifier) const;
  /// The index-th type among the modifiers; only if there is one.
  Modifier type(unsigned index = 0) const;
  bool hasType(unsigned index) const;
};

struct Register {
  std::string name; ///< with its percent sign
  Modifier type = Modifier::B32;

  bool operator==(const Register &) const = default;
};

/// `.reg .b32 %r<5>;` or `.reg .b32 %a, %b;`.
struct RegisterDeclaration {
  Modifier type = Modifier::B32;
  std::string prefix; ///< of a range, else empty
  uint32_t first = 0; ///< index of Kernel::registers
  uint32_t count = 0;

  bool operator==(const RegisterDeclaration &) const = default;
};

enum class Space : uint8_t { Generic, Global, Shared, Local, Const, Param };
std::string_view text(Space space); ///< ".global"; Generic: empty

/// A parameter, or a variable in memory.
struct Variable {
  std::string name;
  std::string linkage; ///< "extern", "visible", "weak" or empty
  Space space = Space::Param;
  Modifier type = Modifier::B8;
  unsigned vector = 1; ///< .v2: 2
  uint32_t align = 0;  ///< as written, 0 if not
  bool isArray = false;
  std::vector<uint64_t> extents;    ///< [4][2]; `[]` has extent 0
  std::vector<Operand> initializer; ///< in order, flattened
  bool isPointer = false;           ///< a parameter with .ptr
  Space pointee = Space::Generic;
  uint32_t pointeeAlign = 0;

  bool operator==(const Variable &) const = default;

  uint64_t elementBytes() const { return bitWidth(type) / 8 * vector; }
  uint64_t bytes() const; ///< 0 for `[]`
  uint64_t alignment() const { return align != 0 ? align : std::max<uint64_t>(elementBytes(), 1); }
};

struct Label {
  std::string name;
  uint32_t instruction = 0; ///< the one that follows

  bool operator==(const Label &) const = default;
};

/// One item of a body, in the order of the text. `index` belongs to the list of its kind.
struct Statement {
  enum class Kind : uint8_t {
    Instruction,
    Label,
    Registers,
    Variable,
    Pragma,
    ScopeBegin,
    ScopeEnd,
  };
  Kind kind = Kind::Instruction;
  uint32_t index = 0;

  bool operator==(const Statement &) const = default;
};

/// `.maxntid 256, 1, 1` as ("maxntid", {256, 1, 1}).
struct PerformanceDirective {
  std::string name;
  std::vector<uint64_t> values;

  bool operator==(const PerformanceDirective &) const = default;
};

struct Kernel {
  std::string name;
  std::string linkage;
  std::vector<Variable> parameters;
  std::vector<PerformanceDirective> directives;
  std::vector<Register> registers;
  std::vector<RegisterDeclaration> declarations;
  std::vector<Variable> variables; ///< .shared and .local of the body
  std::vector<Label> labels;
  std::vector<std::string> pragmas;
  std::vector<Instruction> instructions;
  std::vector<Statement> statements;
  SourceLine line;

  bool operator==(const Kernel &) const = default;
};

struct Module {
  unsigned versionMajor = 0, versionMinor = 0;
  std::vector<std::string> target; ///< {"sm_90a", "debug"}
  unsigned addressSize = 64;
  std::vector<Variable> variables;
  std::vector<Kernel> kernels;

  bool operator==(const Module &) const = default;

  const Kernel *findKernel(std::string_view name) const;
};

} // namespace h3::ptx

#endif // H3_BACKENDS_NVPTX_PTX_MODULE_H
