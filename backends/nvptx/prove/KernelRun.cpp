//===-- backends/nvptx/prove/KernelRun.cpp - One kernel over terms --------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/prove/KernelRun.h"

#include "dsl/interpreter/Evaluator.h"
#include "dsl/interpreter/Resolved.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

namespace h3::prove {

static_assert(interpreter::EvaluationDomain<TermDomain>);

KernelRun::KernelRun(const Subject &subject, size_t variant, TermStore &terms, ptx::Code decoded)
    : subject(subject), only(*subject.plan), terms(terms), code(std::move(decoded)),
      machine(std::make_unique<TermMachine>(terms, code, subject.canonicalNaN)),
      dead(deadCodeOf(*code.kernel)), picked(pickedAxesOf(*subject.program)) {
  only.variants = {subject.plan->variants[variant]};
  for (const Tensor &tensor : subject.program->tensors)
    names.tensors.push_back(tensor.name);
  for (const Parameter &parameter : subject.program->parameters)
    names.parameters.push_back(parameter.name);
}

std::unique_ptr<KernelRun> KernelRun::make(const Subject &subject, size_t variant, TermStore &terms,
                                           std::string &problem) {
  const ptx::Kernel *kernel = subject.module->findKernel(subject.plan->variants[variant].entry);
  Result<ptx::Code, ptx::Fault> code = ptx::decode(*subject.module, *kernel);
  if (!code) {
    problem = code.error().message();
    return nullptr;
  }
  return std::unique_ptr<KernelRun>(new KernelRun(subject, variant, terms, std::move(*code)));
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

// ---- The spec's side.

/// Indices inside their extent, below and beyond it, in turn, so that no two neighbours agree.
void KernelRun::fillIndices(const Bound &bound, unsigned variation, TermDomain &domain,
                            TermMemory *memory) {
  const Program &program = *subject.program;
  domain.indices.assign(program.tensors.size(), {});
  if (picked.empty())
    return;
  pickedExtent = bound.binding.tensors[picked.front().tensor].extents[picked.front().axis];
  TermMemory scratch(terms, program, bound.binding, std::vector<int>(program.tensors.size(), -1));
  for (TensorMemory &tensor : (memory ? *memory : scratch).tensors) {
    ScalarType type = program.tensors[tensor.tensor].type;
    if (isFloat(type) || !tensor.readable)
      continue;
    for (auto [offset, number] : tensor.indexOf) {
      unsigned kind = (number + variation) % 3;
      int64_t inside = pickedExtent > 1 ? number / 3 % 2 : 0;
      if (kind == 0 && inside >= pickedExtent)
        kind = 1;
      int64_t value = kind == 0 ? inside : kind == 1 ? -1 : pickedExtent;
      domain.indices[tensor.tensor][offset] = value;
      if (!memory)
        continue;
      Slopes slopes{};
      slopes[IndexInside + kind] = kind == 1 ? -1 : 1;
      unsigned width = bitWidth(type);
      uint64_t bits = uint64_t(value) & ptx::maskOf(width);
      tensor.elements[number].value = machine->affine(slopes, bits, width);
    }
  }
  if (memory)
    for (Picked axis : picked)
      for (TensorMemory &tensor : memory->tensors)
        if (tensor.tensor == axis.tensor)
          tensor.slopes[IndexInside] =
              bound.binding.tensors[axis.tensor].strides[axis.axis] * int64_t(tensor.bytes);
}

void KernelRun::setIndexRange(std::vector<std::array<int64_t, symbolCount>> &vertices) const {
  bool isWide = false;
  for (const Tensor &tensor : subject.program->tensors)
    isWide |= tensor.type == ScalarType::I64 && !tensor.isOutput;
  int64_t most = isWide ? INT64_MAX : INT32_MAX;
  const int64_t ends[] = {std::max<int64_t>(pickedExtent - 2, 0), most, most - pickedExtent};
  for (unsigned i = 0; i < 3 && !picked.empty(); ++i) {
    size_t count = vertices.size();
    for (size_t k = 0; k < count; ++k) {
      vertices.push_back(vertices[k]);
      vertices.back()[IndexInside + i] = ends[i];
    }
  }
}

std::optional<Outcome> KernelRun::evaluateSpec(const Bound &bound, unsigned, TermDomain &domain) {
  const Program &program = *subject.program;
  std::vector<int64_t> dims(bound.binding.dims.begin(),
                            bound.binding.dims.begin() + long(program.dims.size()));
  std::vector<std::vector<int64_t>> strides;
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    const auto &own = bound.binding.tensors[t].strides;
    strides.emplace_back(own.begin(), own.begin() + long(program.tensors[t].extents.size()));
  }
  std::string error;
  terms.setLine(0);
  std::unique_ptr<interpreter::Resolved> resolved =
      interpreter::resolve(program, dims, strides, error);
  if (resolved)
    error = interpreter::Evaluator<TermDomain>(*resolved, domain).run().value_or("");
  if (error.empty() && domain.problem)
    error = domain.problem;
  domain.outputs.resize(program.tensors.size());
  if (error.empty())
    return std::nullopt;
  return Outcome{Verdict::NotProvable, "the spec has no terms: " + error};
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

Outcome KernelRun::compare(const Call &call, TermMemory &memory, TermDomain &spec, int64_t rows) {
  const Program &program = *subject.program;
  for (unsigned t = 0; t < program.tensors.size(); ++t) {
    if (!program.tensors[t].isOutput)
      continue;
    TensorMemory *tensor = memory.ofOutput(t);
    if (!tensor)
      continue;
    for (auto [offset, number] : tensor->indexOf) {
      const Element &element = tensor->elements[number];
      bool isInside = element.row < rows;
      auto place = [&] {
        return fmt::format("element {} of '{}'", offset, program.tensors[t].name);
      };
      if (!isInside && element.writes == 0)
        continue;
      if (!isInside)
        return {Verdict::Fault, fmt::format("PTX line {}: {} belongs to another block's rows\n  "
                                            "call: {}",
                                            element.line, place(), callText(call))};
      if (element.writes != 1)
        return {Verdict::Fault,
                fmt::format("{} is written {} times\n  call: {}", place(),
                            element.writes == 0 ? "0" : std::to_string(element.writes),
                            callText(call))};
      auto expected = spec.outputs[t].find(offset);
      TermId wanted = expected == spec.outputs[t].end() ? 0 : expected->second;
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
  std::vector<int> noRows(subject.program->tensors.size(), -1);
  TermMemory memory(terms, *subject.program, bound.binding, noRows);
  TermDomain spec{terms, *subject.program};
  fillIndices(bound, variation, spec, &memory);
  if (auto problem = evaluateSpec(bound, variation, spec))
    return *problem;
  if (!bound.launch.isEmpty()) {
    ptx::GridMemory grid;
    if (auto problem = setParameters(bound, grid))
      return *problem;
    machine->memory = &memory;
    machine->blockSlopes.reset();
    machine->range.vertices.assign(1, {});
    setIndexRange(machine->range.vertices);
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
  return compare(call, memory, spec, INT64_MAX);
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
