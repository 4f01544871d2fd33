//===-- runtime/evidence/HostCall.cpp - A call as a host makes it ---------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/evidence/HostCall.h"

#include <algorithm>

namespace h3::evidence {

DLDataType dlTypeOf(plan::DType type) {
  switch (type) {
  case plan::DType::F16:
    return {kDLFloat, 16, 1};
  case plan::DType::BF16:
    return {kDLBfloat, 16, 1};
  case plan::DType::F32:
    return {kDLFloat, 32, 1};
  case plan::DType::F64:
    return {kDLFloat, 64, 1};
  case plan::DType::E4M3:
    return {kDLFloat8_e4m3fn, 8, 1};
  case plan::DType::E5M2:
    return {kDLFloat8_e5m2, 8, 1};
  case plan::DType::I32:
    return {kDLInt, 32, 1};
  case plan::DType::I64:
    return {kDLInt, 64, 1};
  default:
    return {kDLOpaqueHandle, 8, 1};
  }
}

HostCall HostCall::of(const plan::OperatorPlan &plan, const bundle::SelfCheck &check,
                      const bundle::CheckLayout &layout, uint64_t address, DLDevice device) {
  HostCall call;
  for (size_t i = 0; i < check.tensors.size(); ++i) {
    const bundle::CheckTensor &from = check.tensors[i];
    const plan::DType type = plan.tensors[i % plan.tensors.size()].dtype;
    View &view = call.views.emplace_back();
    view.shape = from.extents;
    view.strides = from.strides;
    view.tensor.data = reinterpret_cast<void *>(address + layout.offsets[i]);
    view.tensor.byte_offset = from.offset * plan::bytes(type);
    view.tensor.device = device;
    view.tensor.dtype = dlTypeOf(type);
  }
  for (const plan::ParameterValue &value : check.parameters) {
    h3rt::Parameter &parameter = call.parameters.emplace_back();
    if (value.given)
      parameter.dtype = dlTypeOf(value.dtype);
    parameter.bits = value.bits;
  }
  return call;
}

h3rt::Result HostCall::run(const h3rt::Operator &op, void *stream) {
  std::vector<const DLTensor *> tensors;
  for (View &view : views) {
    view.tensor.ndim = static_cast<int32_t>(view.shape.size());
    view.tensor.shape = view.shape.data();
    view.tensor.strides = view.strides.data();
    tensors.push_back(&view.tensor);
  }
  return op(stream, tensors.data(), tensors.size(), parameters.data(), parameters.size(), flags);
}

namespace {

class Spoiler {
public:
  Spoiler(const plan::OperatorPlan &plan, const HostCall &served) : plan(plan), served(served) {}

  std::vector<Unsupported> run() {
    spoilCounts();
    for (size_t i = 0; i < plan.tensors.size(); ++i)
      spoilTensor(i);
    spoilOverlaps();
    spoilParameters();
    add("a tensor that takes part in differentiation", "requires_grad").flags = H3RT_REQUIRES_GRAD;
    add("a host that is tracing", "compiling").flags = H3RT_COMPILING;
    return std::move(result);
  }

private:
  HostCall &add(const std::string &what, const char *reason) {
    return result.emplace_back(Unsupported{what, reason, served}).call;
  }

  void spoilCounts() {
    add("one tensor too few", "arguments").views.pop_back();
    HostCall &more = add("one tensor too many", "arguments");
    more.views.push_back(more.views.back());
  }

  void spoilTensor(size_t i) {
    const plan::TensorSpec &spec = plan.tensors[i];
    const std::vector<int64_t> &shape = served.views[i].shape;
    const std::string name = " of " + spec.name;
    add("another type" + name, "dtype").views[i].tensor.dtype =
        dlTypeOf(spec.dtype == plan::DType::F64 ? plan::DType::I64 : plan::DType::F64);
    add("more than one lane" + name, "dtype").views[i].tensor.dtype.lanes = 2;
    if (i > 0)
      add("another device" + name, "device").views[i].tensor.device.device_id += 7;
    HostCall::View &nothing = add("no memory" + name, "arguments").views[i];
    nothing.tensor.data = nullptr;
    nothing.tensor.byte_offset = 0;
    if (spec.rank() == 0)
      return;
    HostCall::View &flat = add("too few axes" + name, "shape").views[i];
    flat.shape.assign(spec.rank() - 1, 1);
    flat.strides.assign(spec.rank() - 1, 1);
    add("a negative extent" + name, "shape").views[i].shape.back() = -1;
    add("2^62 rows" + name, "size").views[i].shape.front() = int64_t(1) << 62;
    // Where the last axis merges with those in front of it, a change of it shows as strides that do
    // not merge.
    const bool isMerged =
        spec.rank() == 1 &&
        std::any_of(shape.begin(), shape.end() - 1, [](int64_t extent) { return extent > 1; });
    // A dim that this tensor alone has could be any number.
    if (spec.isOutput)
      add("an extent too large" + name, isMerged ? "stride" : "shape").views[i].shape.back() += 1;
    if (plan::bytes(spec.dtype) > 1)
      add("an address off by a byte" + name, "alignment").views[i].tensor.byte_offset += 1;
    if (spec.align > 1)
      add("an address off by an element" + name, "alignment").views[i].tensor.byte_offset +=
          plan::bytes(spec.dtype);
    if (shape.back() > 1) {
      add("a negative stride" + name, "stride").views[i].strides.back() = -1;
      if (!spec.strides.empty() && spec.strides.back())
        add("an inner stride off by one" + name, "stride").views[i].strides.back() += 1;
      else if (spec.isOutput)
        add("a stride of 0" + name, isMerged ? "stride" : "alias").views[i].strides.back() = 0;
    }
  }

  /// An output over an input that it may not alias, and half over one that it may.
  void spoilOverlaps() {
    for (size_t out = 0; out < plan.tensors.size(); ++out)
      for (size_t in = 0; in < plan.tensors.size(); ++in) {
        const plan::TensorSpec &output = plan.tensors[out], &input = plan.tensors[in];
        if (!output.isOutput || input.isOutput)
          continue;
        const bool isPermitted = output.mayAlias == static_cast<int16_t>(in);
        HostCall &call =
            add(output.name + (isPermitted ? " half over " : " over ") + input.name, "alias");
        // Its buffer begins at a multiple of 256 bytes, with the view a few elements behind.
        call.views[out].tensor.data = call.views[in].tensor.data;
        if (isPermitted)
          call.views[out].tensor.byte_offset +=
              static_cast<uint64_t>(output.align) * plan::bytes(output.dtype);
      }
  }

  void spoilParameters() {
    HostCall &more = add("one parameter too many", "arguments");
    more.parameters.resize(plan.parameters.size() + 1);
    for (size_t i = 0; i < plan.parameters.size(); ++i) {
      HostCall &other = add("another type of " + plan.parameters[i].name, "parameter");
      other.parameters.resize(std::max(other.parameters.size(), i + 1));
      other.parameters[i].dtype = dlTypeOf(
          plan.parameters[i].dtype == plan::DType::I64 ? plan::DType::F64 : plan::DType::I64);
    }
  }

  const plan::OperatorPlan &plan;
  const HostCall &served;
  std::vector<Unsupported> result;
};

} // namespace

std::vector<Unsupported> unsupportedCalls(const plan::OperatorPlan &plan, const HostCall &served) {
  return Spoiler(plan, served).run();
}

} // namespace h3::evidence
