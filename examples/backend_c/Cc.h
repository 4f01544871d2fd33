//===-- examples/backend_c/Cc.h - The C compiler, and what it makes - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef BACKEND_C_CC_H
#define BACKEND_C_CC_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

struct CCompiler {
  std::string path, version, foundBy;
};

/// The C compiler: \p named, else CC, else the first of cc, gcc and clang on the PATH. Empty with
/// \p error set.
std::optional<CCompiler> findCompiler(const char *named, std::string &error);

/// A shared object of C text, by `cc -std=c11 -O2 -ffp-contract=off -shared -fPIC`, then what
/// H3_BACKEND_C_FLAGS says. Empty with \p error set.
std::optional<std::string> compileC(const std::string &compiler, const char *text, size_t length,
                                    std::string &error);

/// The entry of a kernel, as EmitC.h has it.
using Entry = void (*)(void *const *arguments, uint64_t firstBlock, uint64_t lastBlock);

/// A shared object in memory, mapped by the system's loader.
class SharedObject {
public:
  /// Null with \p error set.
  static SharedObject *load(const void *bytes, size_t length, std::string &error);
  ~SharedObject();
  SharedObject(const SharedObject &) = delete;
  SharedObject &operator=(const SharedObject &) = delete;

  /// Null if there is none of that name.
  Entry find(const char *name) const;

private:
  SharedObject(void *handle, int file) : handle(handle), file(file) {}
  void *handle;
  int file; ///< stays open: another one of the same number would be taken for this one
};

#endif // BACKEND_C_CC_H
