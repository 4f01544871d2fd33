//===-- runtime/api/Create.h - A runtime on another driver library - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_RUNTIME_API_CREATE_H
#define H3_RUNTIME_API_CREATE_H

#include "runtime/include/h3rt.h"

#include <string>

namespace h3::rt {

/// h3rt_create with another CUDA driver than the installed one. For tests; libh3rt.so does not
/// export it.
h3rt_status create(const h3rt_options *options, const std::string &library, h3rt_runtime **runtime);

} // namespace h3::rt

#endif // H3_RUNTIME_API_CREATE_H
