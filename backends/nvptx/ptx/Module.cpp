//===-- backends/nvptx/ptx/Module.cpp - PTX as data -----------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/ptx/Module.h"

#include <algorithm>
#include <map>
#include <span>

namespace h3::ptx {
namespace {

constexpr std::string_view opcodeTexts[] = {
#define H3_PTX_OPCODE(name, text) text,
#include "backends/nvptx/ptx/Opcodes.def"
};

constexpr std::string_view modifierTexts[] = {
#define H3_PTX_MODIFIER(name, text) text,
#include "backends/nvptx/ptx/Modifiers.def"
};

constexpr std::string_view specialTexts[] = {
#define H3_PTX_SPECIAL(name, text) text,
#include "backends/nvptx/ptx/Specials.def"
};

constexpr unsigned typeWidths[] = {
#define H3_PTX_TYPE(name, text, bits) bits,
#include "backends/nvptx/ptx/Modifiers.def"
};

using NameMap = std::map<std::string_view, uint8_t>;

NameMap indexByName(std::span<const std::string_view> texts) {
  NameMap map;
  for (size_t i = 0; i < texts.size(); ++i)
    map.emplace(texts[i], static_cast<uint8_t>(i));
  return map;
}

template <class T> std::optional<T> find(const NameMap &map, std::string_view text) {
  auto it = map.find(text);
  return it == map.end() ? std::nullopt : std::optional(static_cast<T>(it->second));
}

} // namespace

std::string_view text(Opcode opcode) { return opcodeTexts[static_cast<size_t>(opcode)]; }
std::string_view text(Modifier modifier) { return modifierTexts[static_cast<size_t>(modifier)]; }
std::string_view text(Special special) { return specialTexts[static_cast<size_t>(special)]; }

std::optional<Opcode> opcodeNamed(std::string_view text) {
  static const NameMap map = indexByName(opcodeTexts);
  return find<Opcode>(map, text);
}

std::optional<Modifier> modifierNamed(std::string_view text) {
  static const NameMap map = indexByName(modifierTexts);
  return find<Modifier>(map, text);
}

std::optional<Special> specialNamed(std::string_view text) {
  static const NameMap map = indexByName(specialTexts);
  return find<Special>(map, text);
}

unsigned bitWidth(Modifier type) { return typeWidths[static_cast<size_t>(type)]; }

bool isFloatType(Modifier type) { return type >= Modifier::F16 && type <= Modifier::F64; }

bool isSignedType(Modifier type) { return type >= Modifier::S8 && type <= Modifier::S64; }

std::string_view text(Space space) {
  constexpr std::string_view texts[] = {"", ".global", ".shared", ".local", ".const", ".param"};
  return texts[static_cast<size_t>(space)];
}

bool Instruction::has(Modifier modifier) const {
  return std::find(modifiers.begin(), modifiers.end(), modifier) != modifiers.end();
}

Modifier Instruction::type(unsigned index) const {
  for (Modifier modifier : modifiers)
    if (isType(modifier) && index-- == 0)
      return modifier;
  return Modifier::B32;
}

bool Instruction::hasType(unsigned index) const {
  return std::count_if(modifiers.begin(), modifiers.end(), isType) > static_cast<long>(index);
}

uint64_t Variable::bytes() const {
  uint64_t bytes = elementBytes();
  for (uint64_t extent : extents)
    bytes *= extent;
  return bytes;
}

const Kernel *Module::findKernel(std::string_view name) const {
  for (const Kernel &kernel : kernels)
    if (kernel.name == name)
      return &kernel;
  return nullptr;
}

} // namespace h3::ptx
