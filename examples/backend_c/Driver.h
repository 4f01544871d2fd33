//===-- examples/backend_c/Driver.h - The embedded runtime's driver for c11 images - -*- C++
//-*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef BACKEND_C_DRIVER_H
#define BACKEND_C_DRIVER_H

#include <h3rt.h>

/// Registers a device "c11:0" whose tensors are in this process's memory, with the device type
/// kDLExtDev. Its one context does each launch before it returns, whatever the stream.
h3rt_status addC11Driver(h3rt_runtime *runtime);

#endif // BACKEND_C_DRIVER_H
