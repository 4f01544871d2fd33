//===-- codegen/driver/CompilerBuild.cpp - Which h3gen this is ------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/driver/CompilerBuild.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/Alignment.h>
#include <llvm/Support/FileSystem.h>

#include <vector>

#include <elf.h>
#include <link.h>

using namespace llvm;

namespace h3 {
namespace {

struct LoadedObject {
  std::string path;
  std::string buildId; ///< hexadecimal; empty if the linker made none
};

/// The build id among the notes of one segment (elf(5): name and descriptor are padded to the
/// segment's alignment).
std::string buildIdOf(StringRef notes, uint64_t alignment) {
  Align padding(alignment == 8 ? 8 : 4);
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    std::copy_n(notes.begin(), sizeof header, reinterpret_cast<char *>(&header));
    uint64_t description = alignTo(sizeof header + header.n_namesz, padding);
    uint64_t end = description + header.n_descsz;
    if (end > notes.size())
      break;
    StringRef name = notes.substr(sizeof header, header.n_namesz);
    if (header.n_type == NT_GNU_BUILD_ID && name == StringRef("GNU\0", 4))
      return toHex(notes.slice(description, end), /*LowerCase=*/true);
    notes = notes.drop_front(std::min<uint64_t>(alignTo(end, padding), notes.size()));
  }
  return {};
}

int addObject(dl_phdr_info *info, size_t, void *data) {
  auto &objects = *static_cast<std::vector<LoadedObject> *>(data);
  LoadedObject object{info->dlpi_name, {}};
  if (objects.empty())
    object.path = "/proc/self/exe"; // the program itself comes first, without a name
  else if (object.path.find('/') == std::string::npos)
    return 0; // the kernel's own object
  for (unsigned i = 0; i < info->dlpi_phnum && object.buildId.empty(); ++i) {
    const ElfW(Phdr) &segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE)
      continue;
    auto *begin = reinterpret_cast<const char *>(info->dlpi_addr + segment.p_vaddr);
    object.buildId = buildIdOf(StringRef(begin, segment.p_memsz), segment.p_align);
  }
  objects.push_back(std::move(object));
  return 0;
}

} // namespace

std::optional<std::string> compilerBuild(Cache &cache) {
  std::vector<LoadedObject> objects;
  dl_iterate_phdr(addObject, &objects);
  std::string build;
  for (LoadedObject &object : objects) {
    if (object.buildId.empty()) {
      std::optional<Digest> digest = cache.digestOfFile(object.path);
      if (!digest)
        return {};
      object.buildId = toHex(ArrayRef<uint8_t>(*digest), /*LowerCase=*/true);
    }
    build += object.buildId + "\n";
  }
  return build;
}

std::string programPath() {
  return sys::fs::getMainExecutable("h3gen", reinterpret_cast<void *>(&compilerBuild));
}

} // namespace h3
