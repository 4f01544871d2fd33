//===-- tests/unit/runtime/stub/Control.cpp - Loads the stub driver -------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "tests/unit/runtime/stub/Stub.h"

#include <cstdio>
#include <cstdlib>

#include <dlfcn.h>

namespace h3::stub {

template <typename F> static void get(F &function, void *library, const char *symbol) {
  function = reinterpret_cast<F>(dlsym(library, symbol));
  if (!function) {
    std::fprintf(stderr, "the stub driver has no %s\n", symbol);
    std::abort();
  }
}

Control::Control(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::abort();
  }
  get(reset, library, "stubReset");
  get(failCall, library, "stubFailCall");
  get(breakContext, library, "stubBreakContext");
  get(calls, library, "stubCalls");
  get(clearCalls, library, "stubClearCalls");
  get(alive, library, "stubAlive");
  get(calledSymbols, library, "stubCalledSymbols");
  get(setIdle, library, "stubSetIdle");
  get(kernelsRun, library, "stubKernelsRun");
  get(lastFault, library, "stubLastFault");
  get(createContext, library, "stubCreateContext");
  get(destroyContext, library, "stubDestroyContext");
  get(primaryContext, library, "stubPrimaryContext");
  get(setCurrent, library, "stubSetCurrent");
  get(current, library, "stubCurrent");
  get(depth, library, "stubDepth");
  get(createStream, library, "stubCreateStream");
  get(destroyStream, library, "stubDestroyStream");
  get(beginCapture, library, "stubBeginCapture");
  get(endCapture, library, "stubEndCapture");
  get(replay, library, "stubReplay");
  get(allocate, library, "stubAllocate");
  get(release, library, "stubRelease");
}

} // namespace h3::stub
