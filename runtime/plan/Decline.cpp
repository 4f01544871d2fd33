//===-- runtime/plan/Decline.cpp - Names of decline reasons -----*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/plan/Decline.h"

namespace h3::plan {

std::string_view name(DeclineReason reason) {
  switch (reason) {
#define H3_DECLINE(Enumerator, Name, Meaning)                                                      \
  case DeclineReason::Enumerator:                                                                  \
    return Name;
#include "runtime/plan/declines.def"
  }
  return "unknown";
}

std::string_view meaning(DeclineReason reason) {
  switch (reason) {
#define H3_DECLINE(Enumerator, Name, Meaning)                                                      \
  case DeclineReason::Enumerator:                                                                  \
    return Meaning;
#include "runtime/plan/declines.def"
  }
  return "unknown";
}

} // namespace h3::plan
