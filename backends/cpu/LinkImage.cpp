//===-- backends/cpu/LinkImage.cpp - An object file as a position-independent image -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Sources: System V ABI, AMD64 supplement 1.0, 4.4; ELF for the Arm 64-bit Architecture (AAELF64),
// 5.7.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/LinkImage.h"

#include "runtime/cpu/Image.h"

#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/Endian.h>
#include <llvm/Support/MathExtras.h>

#include <map>

using namespace llvm;
using namespace llvm::object;
namespace endian = llvm::support::endian;

namespace h3::cpu {
namespace {

class Linker {
public:
  explicit Linker(const ELFObjectFileBase &object) : object(object) {}
  std::optional<std::vector<char>> run();
  std::string error;

private:
  bool fail(const Twine &what) {
    if (error.empty())
      error = what.str();
    return false;
  }
  bool place(bool isCode);
  bool readSymbols();
  bool relocate(const SectionRef &section);
  bool apply(uint64_t type, uint64_t place, uint64_t value, StringRef symbol);
  void insertBits(uint64_t place, uint64_t value, unsigned shift, unsigned count);

  const ELFObjectFileBase &object;
  std::vector<char> code;
  std::map<SectionRef, uint64_t> offsets;
  std::vector<ImageEntry> entries;
};

/// Code first, then constants.
bool Linker::place(bool isCode) {
  for (const ELFSectionRef section : object.sections()) {
    uint64_t flags = section.getFlags();
    if (!(flags & ELF::SHF_ALLOC) || section.getSize() == 0 ||
        bool(flags & ELF::SHF_EXECINSTR) != isCode)
      continue;
    StringRef name = cantFail(section.getName());
    if (flags & (ELF::SHF_WRITE | ELF::SHF_TLS))
      return fail("section '" + name + "' is not constant");
    code.resize(alignTo(code.size(), section.getAlignment().value()));
    offsets[section] = code.size();
    StringRef contents = cantFail(section.getContents());
    code.insert(code.end(), contents.begin(), contents.end());
  }
  return true;
}

bool Linker::readSymbols() {
  for (const ELFSymbolRef symbol : object.symbols()) {
    uint32_t flags = cantFail(symbol.getFlags());
    StringRef name = cantFail(symbol.getName());
    if (flags & SymbolRef::SF_Undefined && !name.empty())
      return fail("symbol '" + name + "' is not defined");
    if (!(flags & SymbolRef::SF_Global) || cantFail(symbol.getType()) != SymbolRef::ST_Function)
      continue;
    section_iterator section = cantFail(symbol.getSection());
    entries.push_back({name.str(), offsets.at(*section) + cantFail(symbol.getValue())});
  }
  return true;
}

void Linker::insertBits(uint64_t place, uint64_t value, unsigned shift, unsigned count) {
  uint32_t word = endian::read32le(&code[place]);
  uint32_t mask = ((uint64_t(1) << count) - 1) << shift;
  endian::write32le(&code[place], (word & ~mask) | (static_cast<uint32_t>(value << shift) & mask));
}

/// \p value: where the symbol lies, with the addend.
bool Linker::apply(uint64_t type, uint64_t place, uint64_t value, StringRef symbol) {
  int64_t distance = static_cast<int64_t>(value - place);
  auto pageOf = [](uint64_t address) { return static_cast<int64_t>(address >> 12); };
  if (object.getEMachine() == ELF::EM_X86_64) {
    if (type != ELF::R_X86_64_PC32 && type != ELF::R_X86_64_PLT32)
      return fail("'" + symbol + "' is referred to by relocation type " + Twine(type));
    if (!isInt<32>(distance))
      return fail("'" + symbol + "' is too far away");
    endian::write32le(&code[place], static_cast<uint32_t>(distance));
    return true;
  }
  switch (type) {
  case ELF::R_AARCH64_CALL26:
  case ELF::R_AARCH64_JUMP26:
    if (!isInt<28>(distance))
      return fail("'" + symbol + "' is too far away");
    insertBits(place, distance >> 2, 0, 26);
    return true;
  case ELF::R_AARCH64_ADR_PREL_PG_HI21: {
    // The image lies at the start of a page.
    uint64_t pages = pageOf(value) - pageOf(place);
    insertBits(place, pages, 29, 2);
    insertBits(place, pages >> 2, 5, 19);
    return true;
  }
  case ELF::R_AARCH64_ADD_ABS_LO12_NC:
  case ELF::R_AARCH64_LDST8_ABS_LO12_NC:
    insertBits(place, value & 0xFFF, 10, 12);
    return true;
  case ELF::R_AARCH64_LDST16_ABS_LO12_NC:
    insertBits(place, (value & 0xFFF) >> 1, 10, 12);
    return true;
  case ELF::R_AARCH64_LDST32_ABS_LO12_NC:
    insertBits(place, (value & 0xFFF) >> 2, 10, 12);
    return true;
  case ELF::R_AARCH64_LDST64_ABS_LO12_NC:
    insertBits(place, (value & 0xFFF) >> 3, 10, 12);
    return true;
  case ELF::R_AARCH64_LDST128_ABS_LO12_NC:
    insertBits(place, (value & 0xFFF) >> 4, 10, 12);
    return true;
  default:
    return fail("'" + symbol + "' is referred to by relocation type " + Twine(type));
  }
}

bool Linker::relocate(const SectionRef &section) {
  section_iterator changed = cantFail(section.getRelocatedSection());
  if (changed == object.section_end())
    return true;
  auto target = offsets.find(*changed);
  if (target == offsets.end())
    return true; // of a section that is not in the image
  for (const ELFRelocationRef relocation : section.relocations()) {
    symbol_iterator symbol = relocation.getSymbol();
    StringRef name = cantFail(symbol->getName());
    Expected<section_iterator> home = symbol->getSection();
    if (!home || *home == object.section_end() || !offsets.contains(**home)) {
      consumeError(home.takeError());
      return fail("'" + name + "' lies in no section of the image");
    }
    int64_t addend = cantFail(relocation.getAddend());
    uint64_t value = offsets.at(**home) + cantFail(symbol->getValue()) + addend;
    if (!apply(relocation.getType(), target->second + relocation.getOffset(), value, name))
      return false;
  }
  return true;
}

std::optional<std::vector<char>> Linker::run() {
  if (!place(/*isCode=*/true) || !place(/*isCode=*/false) || !readSymbols())
    return {};
  for (const SectionRef section : object.sections())
    if (!relocate(section))
      return {};
  return packImage(entries, code);
}

} // namespace

std::optional<std::vector<char>> linkImage(std::string_view object, std::string &error) {
  auto file = ObjectFile::createELFObjectFile(MemoryBufferRef(object, "object"));
  if (!file) {
    error = toString(file.takeError());
    return {};
  }
  Linker linker(cast<ELFObjectFileBase>(**file));
  std::optional<std::vector<char>> image = linker.run();
  error = linker.error;
  return image;
}

} // namespace h3::cpu
