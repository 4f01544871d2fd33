//===-- backends/nvptx/ptx/Interpreter.cpp - PTX on the CPU ---------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/ptx/Interpreter.h"

#include "backends/nvptx/ptx/Block.h"
#include "backends/nvptx/ptx/Machine.h"

#include <fmt/format.h>

#include <cstring>
#include <numeric>

namespace h3::ptx {
namespace {

/// CUDA's limits for local and constant memory; the last is ours.
constexpr uint64_t maxLocalBytes = 512 << 10, maxConstBytes = 64 << 10,
                   maxVariableBytes = uint64_t(1) << 30;

Fault launchFault(std::string text) {
  Fault fault;
  fault.text = std::move(text);
  return fault;
}

uint64_t alignUp(uint64_t value, uint64_t align) { return (value + align - 1) / align * align; }

/// Writes a variable's initial value; what the text does not give is zero.
void initialize(const Variable &variable, std::byte *into) {
  unsigned bytes = bitWidth(variable.type) / 8;
  for (const Operand &value : variable.initializer) {
    uint64_t bits = value.bits;
    if (value.kind == Operand::Kind::Double && variable.type == Modifier::F32)
      bits = scalar::convert(ScalarType::F64, ScalarType::F32, bits);
    std::memcpy(into, &bits, bytes);
    into += bytes;
  }
}

} // namespace

std::string_view name(FaultKind kind) {
  constexpr std::string_view names[] = {"launch",
                                        "unsupported instruction",
                                        "unset register",
                                        "out of bounds",
                                        "read-only",
                                        "misaligned access",
                                        "uninitialised read",
                                        "race",
                                        "non-coherent",
                                        "inactive lane",
                                        "divergent sync",
                                        "divergent barrier",
                                        "deadlock",
                                        "instruction budget",
                                        "trap",
                                        "division by zero"};
  return names[static_cast<size_t>(kind)];
}

std::string Fault::message() const {
  if (line == 0)
    return fmt::format("{}: {}", name(kind), text);
  std::string where = kind == FaultKind::Unsupported
                          ? ""
                          : fmt::format(", block ({},{},{}), thread ({},{},{})", block[0], block[1],
                                        block[2], thread[0], thread[1], thread[2]);
  return fmt::format("PTX line {}{}: {}: {} [{}]", line, where, name(kind), text, instruction);
}

LaunchConfig::LaunchConfig(const plan::Launch &launch)
    : grid(launch.grid), block(launch.block), sharedBytes(launch.sharedBytes) {
  for (size_t at = 0; at < launch.members.size(); at += 8) {
    plan::Argument &argument = arguments.emplace_back();
    argument.bytes = 8;
    for (size_t i = 0; i < 8; ++i)
      argument.bits |= std::to_integer<uint64_t>(launch.members[at + i]) << (8 * i);
  }
  arguments.insert(arguments.end(), launch.args().begin(), launch.args().end());
}

struct Executable::Impl {
  Code code;

  std::optional<Fault> checkLaunch(const LaunchConfig &launch) const;
  std::optional<Fault> setParameters(const LaunchConfig &launch, GridMemory &memory) const;
  std::optional<Fault> setRegions(std::span<const Region> regions, GridMemory &memory,
                                  std::vector<std::vector<std::byte>> &variables) const;
  std::optional<Fault> run(const LaunchConfig &launch, GridMemory &memory,
                           const RunOptions &options, RunStatistics &statistics) const;
};

std::optional<Fault> Executable::Impl::checkLaunch(const LaunchConfig &launch) const {
  uint64_t threads = 1;
  for (unsigned axis = 0; axis < 3; ++axis) {
    if (launch.grid[axis] == 0 || launch.grid[axis] > plan::kMaxGrid[axis])
      return launchFault(fmt::format("a grid of {} blocks in axis {}", launch.grid[axis], axis));
    if (launch.block[axis] == 0 || launch.block[axis] > plan::kMaxBlock[axis])
      return launchFault(fmt::format("a block of {} threads in axis {}", launch.block[axis], axis));
    threads *= launch.block[axis];
  }
  if (threads > static_cast<uint64_t>(plan::kMaxThreadsPerBlock))
    return launchFault(fmt::format("a block of {} threads", threads));
  if (launch.sharedBytes + code.layout.sharedBytes > static_cast<uint64_t>(plan::kMaxSharedBytes))
    return launchFault(
        fmt::format("{} bytes of shared memory", launch.sharedBytes + code.layout.sharedBytes));
  if (code.layout.localBytes > maxLocalBytes)
    return launchFault(fmt::format("{} bytes of local memory a thread", code.layout.localBytes));
  if (code.layout.constBytes > maxConstBytes)
    return launchFault(fmt::format("{} bytes of constant memory", code.layout.constBytes));
  if (code.layout.globalBytes > maxVariableBytes)
    return launchFault(fmt::format("{} bytes of .global variables", code.layout.globalBytes));
  for (const PerformanceDirective &directive : code.kernel->directives) {
    uint64_t product = std::accumulate(directive.values.begin(), directive.values.end(),
                                       uint64_t(1), std::multiplies<>());
    if (directive.name == "maxntid" && threads > product)
      return launchFault(
          fmt::format("a block of {} threads, .maxntid allows {}", threads, product));
    if (directive.name != "reqntid")
      continue;
    for (unsigned axis = 0; axis < 3; ++axis)
      if (launch.block[axis] != (axis < directive.values.size() ? directive.values[axis] : 1))
        return launchFault(fmt::format("a block of {} threads in axis {}, .reqntid says otherwise",
                                       launch.block[axis], axis));
  }
  return std::nullopt;
}

std::optional<Fault> Executable::Impl::setParameters(const LaunchConfig &launch,
                                                     GridMemory &memory) const {
  const Layout &layout = code.layout;
  const std::vector<Variable> &parameters = code.kernel->parameters;
  memory.parameters.assign(layout.parameterBytes, std::byte(0));
  size_t next = 0;
  for (size_t i = 0; i < parameters.size(); ++i) {
    uint64_t offset = 0, bytes = parameters[i].bytes();
    while (offset < bytes) {
      if (next == launch.arguments.size())
        return launchFault(fmt::format("{} arguments, parameter '{}' has none",
                                       launch.arguments.size(), parameters[i].name));
      const plan::Argument &argument = launch.arguments[next++];
      offset = argument.bytes == 0 ? bytes + 1 : alignUp(offset, argument.bytes);
      if (offset + argument.bytes > bytes || (!parameters[i].isArray && argument.bytes != bytes))
        return launchFault(fmt::format("argument {} has {} bytes, parameter '{}' has {}", next - 1,
                                       argument.bytes, parameters[i].name, bytes));
      std::memcpy(memory.parameters.data() + layout.parameterOffsets[i] + offset, &argument.bits,
                  argument.bytes);
      offset += argument.bytes;
    }
  }
  if (next != launch.arguments.size())
    return launchFault(
        fmt::format("{} arguments, the kernel takes {}", launch.arguments.size(), next));
  return std::nullopt;
}

std::optional<Fault>
Executable::Impl::setRegions(std::span<const Region> regions, GridMemory &memory,
                             std::vector<std::vector<std::byte>> &variables) const {
  auto add = [&](std::string name, uint64_t address, std::span<std::byte> bytes, bool writable,
                 bool initialised) {
    SharedBytes &region = memory.regions.emplace_back();
    region.name = std::move(name);
    region.address = address;
    region.bytes = bytes;
    region.writable = writable;
    region.tracked = writable || !initialised;
    if (region.tracked)
      region.shadow.reset(bytes.size(), initialised);
  };
  for (size_t i = 0; i < regions.size(); ++i) {
    const Region &region = regions[i];
    uint64_t size = region.bytes.size();
    if (region.address > windowVariables || size > windowVariables - region.address)
      return launchFault(fmt::format("region '{}' lies outside the address space", region.name));
    for (const Region &other : regions.first(i)) {
      bool apart = region.address + size <= other.address ||
                   other.address + other.bytes.size() <= region.address;
      if (!apart && (region.writable || other.writable))
        return launchFault(fmt::format("regions '{}' and '{}' overlap", other.name, region.name));
    }
    add("'" + region.name + "'", region.address, region.bytes, region.writable, region.initialised);
  }
  memory.constants.assign(code.layout.constBytes, std::byte(0));
  for (size_t i = 0; i < code.module->variables.size(); ++i) {
    const Variable &variable = code.module->variables[i];
    uint64_t address = code.layout.moduleVariables[i];
    if (variable.initializer.size() * bitWidth(variable.type) / 8 > variable.bytes())
      return launchFault(fmt::format("variable '{}' has too many values", variable.name));
    if (variable.space == Space::Const)
      initialize(variable, memory.constants.data() + address);
    if (variable.space != Space::Global)
      continue;
    std::vector<std::byte> &bytes = variables.emplace_back(variable.bytes(), std::byte(0));
    initialize(variable, bytes.data());
    add("variable '" + variable.name + "'", address, bytes, true, true);
  }
  return std::nullopt;
}

std::optional<Fault> Executable::Impl::run(const LaunchConfig &launch, GridMemory &memory,
                                           const RunOptions &options,
                                           RunStatistics &statistics) const {
  BlockRun block(code, launch, memory, options.budget);
  Random random{options.seed};
  // Blocks in the order start, start + step, ... around the grid, where the step has no divisor in
  // common with their number.
  uint64_t x = launch.grid[0], y = launch.grid[1];
  auto blocks = static_cast<unsigned __int128>(x) * y * launch.grid[2];
  if (blocks > UINT64_MAX / 2)
    return launchFault("the grid has too many blocks");
  auto count = static_cast<uint64_t>(blocks);
  uint64_t place = random.next() % count, step = 1 + random.next() % count;
  while (std::gcd(step, count) != 1)
    ++step;
  for (uint64_t i = 0; i < count; ++i) {
    std::array<uint32_t, 3> position = {static_cast<uint32_t>(place % x),
                                        static_cast<uint32_t>(place / x % y),
                                        static_cast<uint32_t>(place / x / y)};
    bool good = block.run(position, random);
    statistics.blocks = i + 1;
    statistics.instructions = block.instructions;
    if (!good)
      return block.found;
    place = static_cast<uint64_t>((static_cast<unsigned __int128>(place) + step) % count);
  }
  return std::nullopt;
}

Executable::Executable(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Executable::Executable(Executable &&) noexcept = default;
Executable &Executable::operator=(Executable &&) noexcept = default;
Executable::~Executable() = default;

Result<Executable, Fault> Executable::make(const Module &module, std::string_view entry) {
  const Kernel *kernel = module.findKernel(entry);
  if (!kernel)
    return launchFault(fmt::format("the module has no kernel '{}'", entry));
  Result<Code, Fault> code = decode(module, *kernel);
  if (!code)
    return code.error();
  auto impl = std::make_unique<Impl>();
  impl->code = std::move(*code);
  return Executable(std::move(impl));
}

std::optional<Fault> Executable::run(const LaunchConfig &launch, std::span<const Region> regions,
                                     const RunOptions &options, RunStatistics *statistics) {
  GridMemory memory;
  std::vector<std::vector<std::byte>> variables;
  variables.reserve(impl->code.module->variables.size());
  if (auto fault = impl->checkLaunch(launch))
    return fault;
  if (auto fault = impl->setParameters(launch, memory))
    return fault;
  if (auto fault = impl->setRegions(regions, memory, variables))
    return fault;
  RunStatistics done;
  std::optional<Fault> fault = impl->run(launch, memory, options, done);
  if (statistics)
    *statistics = done;
  return fault;
}

std::optional<Fault> run(const Module &module, std::string_view entry, const LaunchConfig &launch,
                         std::span<const Region> regions, const RunOptions &options,
                         RunStatistics *statistics) {
  Result<Executable, Fault> executable = Executable::make(module, entry);
  if (!executable)
    return executable.error();
  return executable->run(launch, regions, options, statistics);
}

} // namespace h3::ptx
