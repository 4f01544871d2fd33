//===-- tests/gpu/runtime/Device.cpp - A GPU for the runtime's tests ------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "tests/gpu/runtime/Device.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>

#include <dlfcn.h>

namespace h3::gpu {

void fail(const std::string &text) {
  std::fprintf(stderr, "  %s\n", text.c_str());
  std::fflush(stderr);
  std::_Exit(1);
}

static const cuda::Driver &driver() {
  static const std::shared_ptr<const cuda::Driver> loaded = [] {
    auto result = cuda::Driver::load();
    if (!result)
      fail(result.error().message);
    return *result;
  }();
  return *loaded;
}

const cuda::DriverApi &api() { return driver().api(); }

void must(cuda::CUresult code, const char *what) {
  if (auto failure = driver().check(code, what))
    fail(failure->message);
}

/// A function of the driver that the runtime has no use for.
template <typename F> static F more(const char *symbol) {
  api();
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  auto function = reinterpret_cast<F>(dlsym(library, symbol));
  if (!function)
    fail(std::string("the driver has no ") + symbol);
  return function;
}

cuda::CUcontext createContext() {
  static const auto create =
      more<cuda::CUresult (*)(cuda::CUcontext *, unsigned, cuda::CUdevice)>("cuCtxCreate_v2");
  cuda::CUcontext context = nullptr, popped = nullptr;
  must(create(&context, 0, 0), "cuCtxCreate");
  must(api().ctxPopCurrent(&popped), "cuCtxPopCurrent");
  return context;
}

void destroyContext(cuda::CUcontext context) {
  static const auto destroy = more<cuda::CUresult (*)(cuda::CUcontext)>("cuCtxDestroy_v2");
  must(destroy(context), "cuCtxDestroy");
}

void makeCurrent(cuda::CUcontext context) {
  static const auto set = more<cuda::CUresult (*)(cuda::CUcontext)>("cuCtxSetCurrent");
  must(set(context), "cuCtxSetCurrent");
}

cuda::CUcontext primaryContext() {
  cuda::CUcontext context = nullptr;
  must(api().primaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
  return context;
}

cuda::CUstream createStream() {
  cuda::CUstream stream = nullptr;
  must(api().streamCreate(&stream, cuda::kStreamNonBlocking), "cuStreamCreate");
  return stream;
}

cuda::CUfunction kernelOf(const char *ptx, const char *entry) {
  cuda::CUmodule module = nullptr;
  cuda::CUfunction function = nullptr;
  must(api().moduleLoadData(&module, ptx), "cuModuleLoadData");
  must(api().moduleGetFunction(&function, module, entry), "cuModuleGetFunction");
  return function;
}

Buffer::Buffer(size_t size) : size(size) {
  must(api().memAlloc(&address, std::max<size_t>(size, 1)), "cuMemAlloc");
}

Buffer::Buffer(const void *from, size_t size) : Buffer(size) {
  write(from);
  must(api().streamSynchronize(nullptr), "cuStreamSynchronize");
}

Buffer::~Buffer() {
  if (address)
    api().memFree(address);
}

void Buffer::write(const void *from, cuda::CUstream stream) {
  must(api().memcpyHtoDAsync(address, from, size, stream), "cuMemcpyHtoDAsync");
}

std::vector<std::byte> Buffer::read(cuda::CUstream stream) const {
  std::vector<std::byte> bytes(size);
  must(api().memcpyDtoHAsync(bytes.data(), address, size, stream), "cuMemcpyDtoHAsync");
  must(api().streamSynchronize(stream), "cuStreamSynchronize");
  return bytes;
}

static const tensor::TensorFile &fileOf(const std::string &path) {
  static std::map<std::string, std::unique_ptr<tensor::TensorFile>> files;
  auto &file = files[path];
  if (!file) {
    auto read = tensor::readSafetensors(path);
    if (!read)
      fail(path + ": " + read.error().message);
    file = std::make_unique<tensor::TensorFile>(std::move(*read));
  }
  return *file;
}

static DLDataType typeOf(plan::DType type) {
  switch (type) {
  case plan::DType::F16:
    return {kDLFloat, 16, 1};
  case plan::DType::BF16:
    return {kDLBfloat, 16, 1};
  case plan::DType::F32:
    return {kDLFloat, 32, 1};
  default:
    fail("a type that no case has");
  }
}

/// The recording's NaNs as operators store them: sign 0, all other bits 1.
static void canonicalise(std::vector<std::byte> &bytes, plan::DType type) {
  const bool wide = type == plan::DType::F32;
  const uint32_t infinity = wide ? 0x7f800000 : type == plan::DType::F16 ? 0x7c00 : 0x7f80;
  const uint32_t nan = wide ? 0x7fffffff : 0x7fff;
  for (size_t at = 0; at < bytes.size(); at += plan::bytes(type)) {
    uint32_t value = 0;
    std::memcpy(&value, &bytes[at], plan::bytes(type));
    if ((value & nan) > infinity)
      std::memcpy(&bytes[at], &nan, plan::bytes(type));
  }
}

Call::Call(const std::string &golden, const char *file, const char *prefix,
           std::vector<Tensor> tensors) {
  const tensor::TensorFile &data = fileOf(golden + "/" + file);
  for (const Tensor &each : tensors) {
    std::string reference = each.reference;
    reference.replace(reference.find("{case}"), 6, prefix);
    auto view = tensor::select(data, reference);
    if (!view)
      fail(reference + ": " + view.error().message);
    const plan::DType type = tensor::dtype(view->tensor->type);
    std::vector<std::byte> bytes = each.isOutput
                                       ? view->packed()
                                       : std::vector<std::byte>(view->tensor->data.span().begin(),
                                                                view->tensor->data.span().end());
    std::vector<int64_t> strides = view->view.strides;
    uint64_t offset = static_cast<uint64_t>(view->view.offset) * plan::bytes(type);
    if (each.isOutput) {
      canonicalise(bytes, type);
      strides = tensor::wholeView(view->view.extents).strides;
      offset = 0;
    }
    Buffer buffer(bytes.data(), bytes.size());
    parts.push_back(
        {view->view.extents, strides, std::move(buffer), std::move(bytes), type, each.isOutput});
    DLTensor tensor{};
    tensor.byte_offset = offset;
    views.push_back(tensor);
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    Part &part = parts[i];
    views[i].data = reinterpret_cast<void *>(part.buffer.address);
    views[i].device = {kDLCUDA, 0};
    views[i].ndim = static_cast<int32_t>(part.shape.size());
    views[i].dtype = typeOf(part.type);
    views[i].shape = part.shape.data();
    views[i].strides = part.strides.data();
  }
}

void Call::reset(cuda::CUstream stream) {
  for (Part &part : parts) {
    if (part.isOutput)
      must(api().memsetD8Async(part.buffer.address, 0xa5, part.buffer.size, stream),
           "cuMemsetD8Async");
    else
      part.buffer.write(part.bytes.data(), stream);
  }
}

h3rt::Result Call::run(const h3rt::Operator &op, cuda::CUstream stream) {
  std::vector<const DLTensor *> tensors;
  for (const DLTensor &view : views)
    tensors.push_back(&view);
  return op(stream, tensors.data(), tensors.size());
}

size_t Call::differences(cuda::CUstream stream) const {
  size_t count = 0;
  for (const Part &part : parts) {
    const std::vector<std::byte> found = part.buffer.read(stream);
    for (size_t i = 0; i < found.size(); ++i)
      count += found[i] != part.bytes[i];
  }
  return count;
}

} // namespace h3::gpu
