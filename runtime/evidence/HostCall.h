//===-- runtime/evidence/HostCall.h - A call as a host makes it - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_RUNTIME_EVIDENCE_HOSTCALL_H
#define H3_RUNTIME_EVIDENCE_HOSTCALL_H

#include "runtime/bundle/SelfCheck.h"
#include "runtime/include/h3rt.hpp"

#include <string>
#include <vector>

namespace h3::evidence {

/// DLPack's code for a type of the language.
DLDataType dlTypeOf(plan::DType type);

/// A call that owns its descriptors, which may be changed before it is made.
struct HostCall {
  struct View {
    std::vector<int64_t> shape, strides;
    DLTensor tensor{}; ///< but for shape and strides, which `run` sets
  };
  std::vector<View> views;
  std::vector<h3rt::Parameter> parameters;
  uint32_t flags = 0;

  /// The call that \p check describes, on memory at \p address of the device.
  static HostCall of(const plan::OperatorPlan &plan, const bundle::SelfCheck &check,
                     const bundle::CheckLayout &layout, uint64_t address, DLDevice device);

  h3rt::Result run(const h3rt::Operator &op, void *stream);
};

/// A call that must be declined.
struct Unsupported {
  std::string what;   ///< is wrong with it
  std::string reason; ///< that it must be declined for
  HostCall call;
};

/// The calls out of contract that follow from one that is served: each has one thing wrong with it.
std::vector<Unsupported> unsupportedCalls(const plan::OperatorPlan &plan, const HostCall &served);

} // namespace h3::evidence

#endif // H3_RUNTIME_EVIDENCE_HOSTCALL_H
