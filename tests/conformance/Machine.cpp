//===-- tests/conformance/Machine.cpp - What runs a compiled operator -----===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Machine.h"

#include "runtime/plan/List.h"

#include "backends/Backend.h"
#include "backends/cpu/LinkImage.h"
#include "backends/nvptx/Tools.h"
#include "backends/nvptx/ptx/Interpreter.h"
#include "backends/nvptx/ptx/Reader.h"
#include "dsl/interpreter/Interpreter.h"
#include "dsl/scalar/Format.h"
#include "runtime/cpu/Parallel.h"
#include "runtime/cuda/Session.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

namespace h3::test {
namespace {

std::optional<Image> compileOne(const Instance &instance, const Target &target,
                                std::string &error) {
  static const std::unique_ptr<mlir::MLIRContext> context = makeContext();
  const Program *programs[] = {instance.program};
  return nvptx::compile(*context, programs, target, {}, error);
}

/// Buffers have addresses of their own, far from each other, so that alignment is the call's.
uint64_t addressOf(size_t buffer) { return uint64_t(buffer + 1) << 40; }

class PtxMachine : public Machine {
public:
  PtxMachine(Image image, ptx::Module module, const Target &target) : module(std::move(module)) {
    operatorPlan = std::move(image.plans.front());
    deviceName = "PTX interpreter (" + std::string(target.name) + ")";
  }

  std::vector<uint64_t> place(const DrawnCall &call, std::string &error) override {
    error = restore(call);
    std::vector<uint64_t> addresses;
    for (size_t k = 0; k < memory.size(); ++k)
      addresses.push_back(addressOf(k));
    return addresses;
  }

  std::string launch(const plan::Launch &launch) override {
    if (launch.isEmpty())
      return {};
    const std::string &entry = operatorPlan.variants[launch.variant].entry;
    auto executable = executables.find(entry);
    if (executable == executables.end()) {
      auto made = ptx::Executable::make(module, entry);
      if (!made)
        return made.error().message();
      executable = executables.emplace(entry, std::move(*made)).first;
    }
    auto fault = executable->second.run(ptx::LaunchConfig(launch), regions);
    return fault ? fault->message() : "";
  }

  std::string restore(const DrawnCall &call) override {
    memory.clear();
    regions.clear();
    for (const DrawnBuffer &buffer : call.buffers)
      memory.push_back(buffer.bytes);
    for (size_t k = 0; k < memory.size(); ++k) {
      ptx::Region region;
      region.name = call.buffers[k].name;
      region.address = addressOf(k);
      region.bytes = memory[k];
      region.writable = call.buffers[k].isWritten;
      region.initialised = call.buffers[k].isRead;
      regions.push_back(region);
    }
    return {};
  }

  Memory fetch(const DrawnCall &, std::string &) override { return memory; }

private:
  ptx::Module module;
  std::map<std::string, ptx::Executable> executables;
  Memory memory;
  std::vector<ptx::Region> regions;
};

class CpuMachine : public Machine {
public:
  CpuMachine(plan::OperatorPlan plan, cpu::MappedImage image, const Target &target)
      : image(std::move(image)) {
    operatorPlan = std::move(plan);
    deviceName = std::string(target.name);
  }

  std::vector<uint64_t> place(const DrawnCall &call, std::string &error) override {
    memory.clear();
    for (const DrawnBuffer &buffer : call.buffers)
      memory.emplace_back(buffer.bytes.size());
    error = restore(call);
    std::vector<uint64_t> addresses;
    for (std::vector<std::byte> &buffer : memory)
      addresses.push_back(reinterpret_cast<uint64_t>(buffer.data()));
    return addresses;
  }

  std::string launch(const plan::Launch &launch) override {
    if (launch.isEmpty())
      return {};
    const std::string &entry = operatorPlan.variants[launch.variant].entry;
    cpu::Entry function = image.find(entry);
    if (!function)
      return "the image has no entry '" + entry + "'";
    cpu::run(function, launch, cpu::defaultParallelFor(), 0);
    return {};
  }

  std::string restore(const DrawnCall &call) override {
    for (size_t k = 0; k < memory.size(); ++k)
      std::ranges::copy(call.buffers[k].bytes, memory[k].begin());
    return {};
  }

  Memory fetch(const DrawnCall &, std::string &) override { return memory; }

private:
  cpu::MappedImage image;
  Memory memory;
};

class CudaMachine : public Machine {
public:
  CudaMachine(Image image, Assembly assembly, cuda::Session opened)
      : assembly(std::move(assembly)), session(std::move(opened)) {
    operatorPlan = std::move(image.plans.front());
    deviceName = session.deviceName();
  }

  /// Memory of earlier calls is used again where it is large enough.
  std::vector<uint64_t> place(const DrawnCall &call, std::string &error) override {
    addresses.clear();
    for (size_t k = 0; k < call.buffers.size(); ++k) {
      const size_t size = call.buffers[k].bytes.size();
      if (slots.size() <= k)
        slots.emplace_back();
      if (slots[k].size < size) {
        const size_t grown = std::max(size, 2 * slots[k].size);
        cuda::Result<uint64_t> address = session.allocate(grown, 0);
        if (!address) {
          error = address.error().message;
          return {};
        }
        slots[k] = {*address, grown};
      }
      addresses.push_back(slots[k].address);
    }
    error = restore(call);
    return error.empty() ? addresses : std::vector<uint64_t>();
  }

  std::string launch(const plan::Launch &launch) override {
    auto failure = session.run(std::as_bytes(std::span(assembly.bytes)),
                               operatorPlan.variants[launch.variant].entry, launch);
    return failure ? failure->message : "";
  }

  std::string restore(const DrawnCall &call) override {
    for (size_t k = 0; k < addresses.size(); ++k)
      if (auto failure = session.overwrite(addresses[k], call.buffers[k].bytes))
        return failure->message;
    return {};
  }

  Memory fetch(const DrawnCall &call, std::string &error) override {
    Memory memory;
    for (size_t k = 0; k < addresses.size(); ++k) {
      memory.emplace_back(call.buffers[k].bytes.size());
      if (auto failure = session.download(addresses[k], memory.back())) {
        error = failure->message;
        return {};
      }
    }
    return memory;
  }

private:
  struct Slot {
    uint64_t address = 0;
    size_t size = 0;
  };
  Assembly assembly;
  cuda::Session session;
  std::vector<Slot> slots;
  std::vector<uint64_t> addresses;
};

/// One flag a byte of each buffer: whether an output covers it.
std::vector<std::vector<bool>> covered(const Instance &instance, const DrawnCall &call) {
  std::vector<std::vector<bool>> flags;
  for (const DrawnBuffer &buffer : call.buffers)
    flags.emplace_back(buffer.bytes.size(), false);
  for (size_t t = 0; t < call.tensors.size(); ++t) {
    if (!instance.program->tensors[t].isOutput)
      continue;
    const tensor::StridedView &view = call.tensors[t].view;
    if (std::ranges::find(view.extents, 0) != view.extents.end())
      continue;
    const unsigned width = byteWidth(instance.program->tensors[t].type);
    std::vector<bool> &own = flags[call.tensors[t].buffer];
    std::vector<int64_t> place(view.extents.size(), 0);
    for (bool more = true; more;) {
      int64_t element = view.offset;
      for (size_t axis = 0; axis < place.size(); ++axis)
        element += place[axis] * view.strides[axis];
      for (unsigned byte = 0; byte < width; ++byte)
        own[size_t(element) * width + byte] = true;
      more = false;
      for (size_t axis = place.size(); axis-- > 0 && !more;) {
        more = ++place[axis] < view.extents[axis];
        if (!more)
          place[axis] = 0;
      }
    }
  }
  return flags;
}

} // namespace

std::unique_ptr<Machine> makePtxMachine(const Instance &instance, const Target &target,
                                        std::string &error) {
  std::optional<Image> image = compileOne(instance, target, error);
  return image ? makePtxMachine(std::move(*image), target, error) : nullptr;
}

std::unique_ptr<Machine> makePtxMachine(Image image, const Target &target, std::string &error) {
  auto module = ptx::read(image.text);
  if (!module) {
    error = module.error().message();
    return nullptr;
  }
  return std::make_unique<PtxMachine>(std::move(image), std::move(*module), target);
}

std::unique_ptr<Machine> makeCpuMachine(const Instance &instance, const Target &target,
                                        std::string &error, bool &isMissing) {
  error = backendOf(target).ability(target, Step::Execute).obstacle;
  isMissing = !error.empty();
  if (isMissing)
    return nullptr;
  static const std::unique_ptr<mlir::MLIRContext> context = makeContext();
  const Program *programs[] = {instance.program};
  std::optional<Image> image = backendOf(target).compile(*context, programs, target, {}, error);
  if (!image)
    return nullptr;
  std::optional<std::vector<char>> linked = cpu::linkImage(image->text, error);
  if (!linked)
    return nullptr;
  auto mapped = cpu::MappedImage::map(std::as_bytes(std::span(*linked)));
  if (!mapped) {
    error = mapped.error();
    return nullptr;
  }
  return std::make_unique<CpuMachine>(std::move(image->plans.front()), std::move(*mapped), target);
}

std::unique_ptr<Machine> makeCudaMachine(const Instance &instance, std::string &error,
                                         bool &isMissing) {
  isMissing = true;
  cuda::Result<cuda::Session> session = cuda::Session::open(std::nullopt);
  if (!session) {
    error = session.error().message;
    isMissing = session.error().isMissing();
    return nullptr;
  }
  const cuda::Capability capability = session->capability();
  const std::string name = fmt::format("sm_{}{}", capability.major, capability.minor);
  const Target *target = findTarget(name);
  if (!target) {
    error = "there is no target " + name + " for " + session->deviceName();
    return nullptr;
  }
  std::optional<Tool> ptxas = nvptx::findTool("ptxas", "", "H3GEN_PTXAS", error);
  if (!ptxas)
    return nullptr;
  isMissing = false;
  std::optional<Image> image = compileOne(instance, *target, error);
  if (!image)
    return nullptr;
  std::optional<Assembly> assembly = nvptx::assemble(*ptxas, image->text, *target, error);
  if (!assembly)
    return nullptr;
  return std::make_unique<CudaMachine>(std::move(*image), std::move(*assembly),
                                       std::move(*session));
}

std::variant<plan::Launch, plan::Decline>
evaluateCall(const plan::OperatorPlan &plan, std::span<const plan::Tensor> tensors,
             std::span<const plan::ParameterValue> parameters) {
  if (!plan.each)
    return plan::evaluate(plan, tensors, parameters);
  // The launch has the address of the list's table.
  static plan::ListCall list;
  if (std::optional<plan::Decline> decline = list.evaluate(plan, tensors, parameters))
    return *decline;
  return list.launches().empty() ? plan::Launch() : list.launches().front();
}

std::optional<plan::Launch> launchOf(const plan::OperatorPlan &plan, size_t index,
                                     std::span<const plan::Tensor> tensors,
                                     std::span<const plan::ParameterValue> parameters,
                                     std::string &error) {
  plan::OperatorPlan only = plan;
  only.variants = {plan.variants[index]};
  auto chosen = evaluateCall(only, tensors, parameters);
  if (const plan::Decline *decline = std::get_if<plan::Decline>(&chosen)) {
    if (decline->reason != plan::DeclineReason::NoVariant)
      error = plan::describe(only, *decline);
    return {};
  }
  std::get<plan::Launch>(chosen).variant = uint32_t(index);
  return std::get<plan::Launch>(chosen);
}

/// Rows first .. first + count - 1 of a call whose arguments are \p whole.
static Arguments rowsOf(const Program &program, const Arguments &whole, unsigned batchDim,
                        int64_t first, int64_t count) {
  Arguments part = whole;
  part.dims[batchDim] = count;
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    const std::vector<Extent> &extents = program.tensors[t].extents;
    if (!extents.empty() && extents[0].size->kind == Size::Kind::Dim &&
        extents[0].size->dim == batchDim)
      part.tensors[t].offset += first * part.tensors[t].strides[0];
  }
  return part;
}

Memory referenceOf(const Instance &instance, const DrawnCall &call, std::string &error,
                   std::optional<unsigned> batchDim) {
  const Program &program = *instance.program;
  Memory memory;
  std::vector<uint64_t> addresses;
  for (const DrawnBuffer &buffer : call.buffers) {
    memory.push_back(buffer.bytes);
    addresses.push_back(addressOf(addresses.size()));
  }
  auto bound = plan::bind(instance.contract, forPlan(instance, call, addresses), call.parameters);
  if (const plan::Decline *decline = std::get_if<plan::Decline>(&bound)) {
    error = plan::describe(instance.contract, *decline);
    return {};
  }
  const plan::Binding &binding = std::get<plan::Binding>(bound);
  Arguments arguments;
  arguments.dims.assign(binding.dims.begin(), binding.dims.begin() + long(program.dims.size()));
  arguments.parameters.assign(binding.parameters.begin(),
                              binding.parameters.begin() + long(program.parameters.size()));
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    const plan::BoundTensor &tensor = binding.tensors[t];
    TensorView view;
    view.data = memory[call.tensors[t].buffer].data();
    view.offset = call.tensors[t].view.offset;
    view.strides.assign(tensor.strides.begin(),
                        tensor.strides.begin() + long(program.tensors[t].extents.size()));
    arguments.tensors.push_back(view);
  }
  const int64_t rows = batchDim ? arguments.dims[*batchDim] : 1, together = batchDim ? 64 : 1;
  std::atomic<int64_t> next = 0;
  std::mutex mutex;
  auto work = [&] {
    for (int64_t first = next.fetch_add(together); first < rows; first = next.fetch_add(together)) {
      std::optional<std::string> failure =
          interpret(program, batchDim ? rowsOf(program, arguments, *batchDim, first,
                                               std::min(together, rows - first))
                                      : arguments);
      const std::scoped_lock lock(mutex);
      if (failure)
        error = *failure;
    }
  };
  std::vector<std::jthread> threads;
  for (unsigned k = 1; batchDim && k < std::thread::hardware_concurrency(); ++k)
    threads.emplace_back(work);
  work();
  threads.clear(); // waits for them
  return error.empty() ? memory : Memory();
}

std::string firstDifference(const Instance &instance, const DrawnCall &call, const Memory &actual,
                            const Memory &expected) {
  for (size_t k = 0; k < expected.size(); ++k) {
    if (actual[k] == expected[k])
      continue;
    // The tensor that wrote there: an output if there is one.
    size_t owner = 0;
    for (size_t t = 0; t < call.tensors.size(); ++t)
      if (call.tensors[t].buffer == k)
        owner = t;
    const ScalarType type = instance.program->tensors[owner].type;
    const unsigned width = byteWidth(type);
    const int64_t count = int64_t(expected[k].size() / width);
    int64_t different = 0;
    std::string first;
    for (int64_t element = 0; element < count; ++element) {
      Bits got = 0, wanted = 0;
      std::memcpy(&got, actual[k].data() + element * width, width);
      std::memcpy(&wanted, expected[k].data() + element * width, width);
      if (got != wanted && different++ == 0)
        first = fmt::format("element {} of the view is {} (0x{:0{}X}), expected {} (0x{:0{}X})",
                            element - call.tensors[owner].view.offset, scalar::format(type, got),
                            got, width * 2, scalar::format(type, wanted), wanted, width * 2);
    }
    return fmt::format("{}: {} of {} elements differ, {}", instance.program->tensors[owner].name,
                       different, count, first);
  }
  return {};
}

std::string changedOutside(const Instance &instance, const DrawnCall &call, const Memory &now) {
  const std::vector<std::vector<bool>> outputs = covered(instance, call);
  for (size_t k = 0; k < now.size(); ++k)
    for (size_t byte = 0; byte < now[k].size(); ++byte)
      if (!outputs[k][byte] && now[k][byte] != call.buffers[k].bytes[byte])
        return fmt::format("{}: byte {} of its buffer has changed and lies in no output",
                           call.buffers[k].name, byte);
  return {};
}

} // namespace h3::test
