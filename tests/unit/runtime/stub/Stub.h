//===-- tests/unit/runtime/stub/Stub.h - A CUDA driver that can be told to fail - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What tests tell libstubcuda, a shared library with the symbols of libcuda that the runtime uses.
// It keeps contexts, streams, modules, memory and captures as the real driver does, for any number
// of threads, runs kernels on the PTX interpreter at once when they are launched, and fails calls
// when asked to. Its devices: 0 has capability 12.0, 1 and 2 have 9.0, 3 has 12.1, 4 has 8.9,
// 5 10.7.
//
// Images. PTX text with a version up to 8.8 is "assembled" by parsing it. A cubin is `kCubinHead`
// and PTX text behind it; one whose `.target` is not the device's is refused as such.
//
// Captures. Only mode "global" is there: while one is going on, in any thread, an unsafe call
// (memory, modules, waiting) of a thread that is not in relaxed mode fails and invalidates it.
//
// Destructive calls (free, unload, destroy, pop) that are made to fail do their work nevertheless:
// the real driver, too, reports earlier errors there.
//
//===----------------------------------------------------------------------===//

#ifndef H3_TESTS_UNIT_RUNTIME_STUB_STUB_H
#define H3_TESTS_UNIT_RUNTIME_STUB_STUB_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace h3::stub {

/// Begins as an ELF file does.
inline constexpr std::string_view kCubinHead =
    "\x7f"
    "ELF stub: PTX text follows, to be run by the interpreter of PTX\n";

/// The library's functions. One state for the process; `reset` makes it new.
struct Control {
  /// Loads the library at that path; aborts the test program if it cannot.
  explicit Control(const char *path);

  void (*reset)();
  /// Fails the call of that symbol that comes after `skip` others of it, once, with the code.
  void (*failCall)(const char *symbol, int skip, int code);
  /// Every call in the context fails with the code from now on, as after a fault of a kernel.
  void (*breakContext)(void *context, int code);
  /// How often a symbol was called since the last `clearCalls`; of nullptr: all symbols.
  unsigned (*calls)(const char *symbol);
  void (*clearCalls)();
  /// Contexts retained, streams, modules, memory that are alive.
  int (*alive)();
  /// Symbols that have been called, with the newline between them, in the order of the first call.
  const char *(*calledSymbols)();
  /// Contexts, launches and nothing else do nothing at all from now on: for timing the runtime.
  void (*setIdle)(bool isIdle);
  /// Kernels run, by any thread; what the interpreter said of the last that failed.
  unsigned (*kernelsRun)();
  const char *(*lastFault)();

  void *(*createContext)(int device);
  void (*destroyContext)(void *context);
  void *(*primaryContext)(int device);
  void (*setCurrent)(void *context); ///< in this thread; the only one on its stack
  void *(*current)();
  int (*depth)(); ///< of this thread's stack

  void *(*createStream)(void *context);
  void (*destroyStream)(void *stream);
  void (*beginCapture)(void *stream);
  /// Ends it; false if it had become invalid. Replays run what was captured.
  bool (*endCapture)(void *stream);
  void (*replay)(void *stream);

  uint64_t (*allocate)(size_t bytes); ///< the test's own memory, not counted by `alive`
  void (*release)(uint64_t address);
};

} // namespace h3::stub

#endif // H3_TESTS_UNIT_RUNTIME_STUB_STUB_H
