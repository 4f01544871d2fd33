//===-- backends/nvptx/prove/KernelRun.cpp - One kernel over terms --------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/prove/KernelRun.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

namespace h3::prove {

/// Of an `each` kernel the table comes first.
static std::vector<uint64_t> parameterBitsOf(const plan::OperatorPlan &plan,
                                             const plan::Variant &variant) {
  return plan.each ? std::vector<uint64_t>() : argumentBitsOf(plan, variant);
}

KernelRun::KernelRun(const Subject &subject, size_t variant, SharedTerms &shared, ptx::Code decoded)
    : subject(subject), only(*subject.plan), terms(shared.terms), spec(shared.spec),
      code(std::move(decoded)),
      machine(std::make_unique<TermMachine>(terms, shared.operations, code, subject.canonicalNaN)),
      dead(deadCodeOf(*code.kernel, parameterBitsOf(only, subject.plan->variants[variant]))),
      picked(pickedAxesOf(*subject.program)) {
  only.variants = {subject.plan->variants[variant]};
  for (const Tensor &tensor : subject.program->tensors)
    names.tensors.push_back(tensor.name);
  for (const Parameter &parameter : subject.program->parameters)
    names.parameters.push_back(parameter.name);
}

std::unique_ptr<KernelRun> KernelRun::make(const Subject &subject, size_t variant,
                                           SharedTerms &shared, std::string &problem) {
  const ptx::Kernel *kernel = subject.module->findKernel(subject.plan->variants[variant].entry);
  Result<ptx::Code, ptx::Fault> code = ptx::decode(*subject.module, *kernel);
  if (!code) {
    problem = code.error().message();
    return nullptr;
  }
  return std::unique_ptr<KernelRun>(new KernelRun(subject, variant, shared, std::move(*code)));
}

std::optional<KernelRun::Bound> KernelRun::bind(const Call &call) const {
  std::vector<plan::Tensor> tensors = tensorsOf(*subject.program, only, call);
  std::vector<plan::ParameterValue> parameters = parametersOf(only);
  auto binding = plan::bind(only, tensors, parameters);
  if (!std::holds_alternative<plan::Binding>(binding))
    return std::nullopt;
  Bound bound{std::get<plan::Binding>(binding), {}, nullptr};
  if (only.each) {
    // A list of this one member.
    bound.list = std::make_shared<plan::ListCall>();
    if (bound.list->evaluate(only, tensors, parameters))
      return std::nullopt;
    if (!bound.list->launches().empty())
      bound.launch = bound.list->launches().front();
    return bound;
  }
  auto launch = plan::selectVariant(only, bound.binding);
  if (!std::holds_alternative<plan::Launch>(launch))
    return std::nullopt;
  bound.launch = std::get<plan::Launch>(launch);
  return bound;
}

bool KernelRun::admits(const Call &call) const { return bind(call).has_value(); }

std::string KernelRun::callText(const Call &call) const {
  std::vector<std::string> parts;
  for (size_t dim = 0; dim < call.dims.size(); ++dim)
    parts.push_back(fmt::format("{} = {}", subject.program->dims[dim].name, call.dims[dim]));
  return fmt::format("{}; {}{}", fmt::join(parts, ", "), name(call.layout),
                     call.inPlace ? ", in place" : "");
}

Outcome KernelRun::faultOf(const Call &call, const ptx::Fault &fault) const {
  bool hasNoTerm = fault.kind == ptx::FaultKind::Unsupported;
  std::string message = fault.message();
  if (hasNoTerm)
    message = fmt::format("PTX line {}: {} [{}]", fault.line, fault.text, fault.instruction);
  return {hasNoTerm ? Verdict::NotProvable : Verdict::Fault,
          fmt::format("{}\n  call: {}", message, callText(call))};
}

// ---- Indices.

IndexPattern KernelRun::indicesOf(const Bound &bound, unsigned variation) const {
  if (picked.empty())
    return {};
  Picked axis = picked.front();
  return {true, bound.binding.tensors[axis.tensor].extents[axis.axis], variation};
}

void KernelRun::fillIndices(const Bound &bound, const IndexPattern &indices, TermMemory &memory) {
  if (!indices.isUsed)
    return;
  for (TensorMemory &tensor : memory.tensors) {
    ScalarType type = subject.program->tensors[tensor.tensor].type;
    if (isFloat(type) || !tensor.readable)
      continue;
    for (size_t number = 0; number < tensor.elements.size(); ++number) {
      auto place = static_cast<int64_t>(number);
      IndexPattern::Kind kind = indices.kindAt(place);
      Slopes slopes{};
      slopes[IndexInside + static_cast<unsigned>(kind)] =
          kind == IndexPattern::Kind::Below ? -1 : 1;
      unsigned width = bitWidth(type);
      uint64_t bits = uint64_t(indices.at(place)) & ptx::maskOf(width);
      tensor.elements[number].value = machine->affine(slopes, bits, width);
    }
  }
  for (Picked axis : picked)
    for (TensorMemory &tensor : memory.tensors)
      if (tensor.tensor == axis.tensor)
        tensor.slopes[IndexInside] =
            bound.binding.tensors[axis.tensor].strides[axis.axis] * int64_t(tensor.bytes);
}

void KernelRun::setIndexRange(const IndexPattern &indices,
                              std::vector<std::array<int64_t, symbolCount>> &vertices) const {
  if (!indices.isUsed)
    return;
  bool isWide = false;
  for (const Tensor &tensor : subject.program->tensors)
    isWide |= tensor.type == ScalarType::I64 && !tensor.isOutput;
  int64_t most = isWide ? INT64_MAX : INT32_MAX;
  const int64_t ends[] = {std::max<int64_t>(indices.extent - 2, 0), most, most - indices.extent};
  for (unsigned i = 0; i < 3; ++i) {
    size_t count = vertices.size();
    for (size_t k = 0; k < count; ++k) {
      vertices.push_back(vertices[k]);
      vertices.back()[IndexInside + i] = ends[i];
    }
  }
}

// ---- The kernel's side.

std::optional<Outcome> KernelRun::setParameters(const Bound &bound, ptx::GridMemory &grid) {
  const plan::Variant &variant = only.variants[0];
  const std::vector<ptx::Variable> &parameters = kernel().parameters;
  size_t first = 0;
  grid.parameters.assign(code.layout.parameterBytes, std::byte(0));
  machine->parameters.clear();
  auto mismatch = [&] {
    return Outcome{Verdict::NotProvable, "the kernel's parameters are not those of the plan"};
  };
  if (only.each) {
    if (parameters.empty() || parameters[0].bytes() < bound.launch.members.size())
      return mismatch();
    std::memcpy(grid.parameters.data() + code.layout.parameterOffsets[0],
                bound.launch.members.data(), bound.launch.members.size());
    first = 1;
  }
  if (parameters.size() != first + bound.launch.argumentCount)
    return mismatch();
  for (size_t i = 0; i < bound.launch.argumentCount; ++i) {
    const plan::Argument &argument = bound.launch.arguments[i];
    uint64_t offset = code.layout.parameterOffsets[first + i];
    if (parameters[first + i].bytes() != argument.bytes)
      return mismatch();
    std::memcpy(grid.parameters.data() + offset, &argument.bits, argument.bytes);
    const plan::ArgumentSpec &spec = variant.arguments[i];
    if (spec.kind == plan::ArgumentSpec::Kind::Parameter)
      machine->parameters[offset] = terms.parameter(spec.index, 8u * argument.bytes);
  }
  return std::nullopt;
}

Outcome KernelRun::compare(const Call &call, TermMemory &memory,
                           const SpecTerms::Outputs &outputs) {
  const Program &program = *subject.program;
  for (unsigned t = 0; t < program.tensors.size(); ++t) {
    if (!program.tensors[t].isOutput)
      continue;
    TensorMemory *tensor = memory.ofOutput(t);
    if (!tensor)
      continue;
    for (size_t number = 0; number < tensor->elements.size(); ++number) {
      const Element &element = tensor->elements[number];
      auto place = [&] {
        return fmt::format("element {} of '{}'", number, program.tensors[t].name);
      };
      if (element.writes != 1)
        return {Verdict::Fault,
                fmt::format("{} is written {} times\n  call: {}", place(),
                            element.writes == 0 ? "0" : std::to_string(element.writes),
                            callText(call))};
      TermId wanted = outputs.elements[t][number];
      if (wanted == element.value)
        continue;
      auto [left, right] = whereTheyPart(terms, wanted, element.value);
      unsigned specLine = 0;
      std::string specPath;
      for (const Statement &statement : program.body) {
        std::function<void(const Statement &)> look = [&](const Statement &one) {
          if (one.kind == Statement::Kind::Equation && one.equation.tensor == t &&
              one.equation.range.file) {
            specLine = lineColumn(*one.equation.range.file, one.equation.range.begin).line;
            specPath = one.equation.range.file->path;
          }
          for (const Statement &inner : one.body)
            look(inner);
        };
        look(statement);
      }
      return {Verdict::NotEqual,
              fmt::format("{} differs\n  call: {}\n  {}:{}: {}\n  PTX line {}: {}\n  they part at\n"
                          "  spec: {}\n  PTX line {}: {}",
                          place(), callText(call), specPath, specLine,
                          describe(terms, wanted, names, 4), element.line,
                          describe(terms, element.value, names, 4), describe(terms, left, names, 5),
                          terms.lineOf(right), describe(terms, right, names, 5))};
    }
  }
  return {};
}

Outcome KernelRun::prove(const Call &call) {
  std::optional<Bound> bound = bind(call);
  for (unsigned variation = 0; variation < variations(); ++variation) {
    Outcome outcome = prove(call, *bound, variation);
    if (outcome.verdict != Verdict::Proved)
      return outcome;
  }
  return {};
}

Outcome KernelRun::prove(const Call &call, const Bound &bound, unsigned variation) {
  const IndexPattern indices = indicesOf(bound, variation);
  const SpecTerms::Outputs &outputs = spec.of(bound.binding, indices);
  if (!outputs.problem.empty())
    return {Verdict::NotProvable, "the spec has no terms: " + outputs.problem};
  TermMemory memory(terms, *subject.program, bound.binding);
  if (!memory.problem.empty())
    return {Verdict::NotProvable, memory.problem + "\n  call: " + callText(call)};
  fillIndices(bound, indices, memory);
  if (!bound.launch.isEmpty()) {
    ptx::GridMemory grid;
    if (auto problem = setParameters(bound, grid))
      return *problem;
    machine->memory = &memory;
    machine->blockSlopes.reset();
    machine->range.vertices.assign(1, {});
    setIndexRange(indices, machine->range.vertices);
    ptx::LaunchConfig launch(bound.launch);
    ptx::BlockRun block(code, launch, grid, UINT64_MAX, machine.get());
    ptx::Random random{1};
    const auto &blocks = launch.grid;
    for (uint32_t z = 0; z < blocks[2]; ++z)
      for (uint32_t y = 0; y < blocks[1]; ++y)
        for (uint32_t x = 0; x < blocks[0]; ++x) {
          if (!block.run({x, y, z}, random))
            return faultOf(call, *block.found);
          memory.endBlock();
        }
  }
  return compare(call, memory, outputs);
}

// ---- Coverage.

uint64_t KernelRun::reached() const {
  uint64_t count = 0;
  for (size_t i = 0; i < machine->coverage.executed.size(); ++i)
    count += (machine->coverage.executed[i] != 0) + (machine->coverage.guards[i] == 3);
  return count;
}

std::vector<unsigned> KernelRun::unreached() const {
  std::vector<unsigned> lines;
  for (size_t i = 0; i < kernel().instructions.size(); ++i) {
    const ptx::Instruction &instruction = kernel().instructions[i];
    bool isExecuted = machine->coverage.executed[i] != 0;
    bool isSeen = instruction.guard && !dead.oneWay[i] ? machine->coverage.guards[i] == 3
                  : instruction.guard                  ? machine->coverage.guards[i] != 0
                                                       : isExecuted;
    if (!dead.unreachable[i] && !isSeen)
      lines.push_back(instruction.line.number);
  }
  return lines;
}

} // namespace h3::prove
