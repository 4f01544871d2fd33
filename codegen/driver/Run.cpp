//===-- codegen/driver/Run.cpp - One call of an operator ------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/driver/Run.h"

#include "codegen/contract/Contract.h"
#include "codegen/driver/Backends.h"
#include "dsl/scalar/Format.h"
#include "runtime/plan/List.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace h3 {

namespace {

class Runner {
public:
  explicit Runner(const RunRequest &request) : request(request) {}

  /// Everything before the run; false with the reason in `result`.
  bool prepare() {
    return chooseOperator() && chooseTypes() && checkNames() && readParameters() &&
           allocateOutputs() && bindCall();
  }
  BoundMember member() const;
  const plan::OperatorPlan &plan() const { return *contract; }
  /// Runs these sets of tensors, of which this call's is the first.
  void run(std::span<const BoundMember> members, const RunBackend &backend, RunResult &into) const;
  /// Gives the outputs, with \p suffix behind their names, and the buffers made for them.
  void addOutputs(const std::string &suffix, RunResult &into);
  /// "T = f16", the types that were chosen.
  std::string types() const;

  RunResult result; ///< of the preparation

private:
  bool fail(ExitCode code, std::string message) {
    result.code = code;
    result.message = std::move(message);
    return false;
  }
  bool badInput(std::string message) { return fail(ExitCode::BadInput, std::move(message)); }

  bool chooseOperator();
  bool chooseTypes();
  bool checkNames();
  bool readParameters();
  bool allocateOutputs();
  bool bindCall();

  const RunRequest &request;
  const ast::Operator *op = nullptr;
  std::unique_ptr<Program> program;
  std::optional<plan::OperatorPlan> contract;
  std::vector<plan::ParameterValue> parameters;
  std::vector<BoundView> tensors;
  std::optional<plan::Binding> binding;
};

bool Runner::chooseOperator() {
  std::string names;
  for (const ast::Operator *candidate : request.spec->operators) {
    names += (names.empty() ? "" : ", ") + candidate->name.text;
    if (candidate->name.text == request.op)
      op = candidate;
  }
  if (op)
    return true;
  if (!request.op.empty())
    return badInput("unknown operator '" + request.op + "'; the spec defines: " + names);
  if (request.spec->operators.empty())
    return badInput("the spec defines no operator");
  if (request.spec->operators.size() > 1)
    return badInput("the spec defines several operators; choose one with --op: " + names);
  op = request.spec->operators.front();
  return true;
}

/// A type parameter is what `--set` says, else the type of the first bound tensor that has it.
bool Runner::chooseTypes() {
  TypeArguments types;
  for (const ast::Generic &generic : op->generics) {
    std::optional<ScalarType> type;
    if (auto setting = request.settings.find(generic.name.text);
        setting != request.settings.end()) {
      type = scalarTypeNamed(setting->second);
      if (!type)
        return badInput("'" + setting->second + "' is not a type, so '" + generic.name.text +
                        "' cannot be set to it");
    }
    for (const ast::Tensor &tensor : op->tensors)
      if (auto bound = request.tensors.find(tensor.name.text);
          !type && tensor.type.name.text == generic.name.text && bound != request.tensors.end()) {
        plan::DType dtype = tensor::dtype(bound->second.storage->type);
        if (dtype == plan::DType::Other)
          return badInput(fmt::format("declined: dtype: {} has type {}, which no operator takes",
                                      tensor.name.text, tensor::name(bound->second.storage->type)));
        type = scalarType(dtype);
      }
    if (!type)
      return badInput("type parameter '" + generic.name.text +
                      "' does not follow from a bound tensor; give it with --set " +
                      generic.name.text + "=f16");
    std::string admitted;
    bool isAdmitted = false;
    for (const ast::Name &choice : generic.types) {
      isAdmitted |= choice.text == name(*type);
      admitted += (admitted.empty() ? "" : ", ") + choice.text;
    }
    if (!isAdmitted)
      return badInput(fmt::format("declined: dtype: {} is {}, the operator takes {}",
                                  generic.name.text, name(*type), admitted));
    types[generic.name.text] = *type;
  }
  Diagnostics diagnostics;
  program = analyze(request.spec->modules, *op, types, diagnostics);
  if (!program)
    return badInput(diagnostics.renderText());
  std::string error;
  contract = contractOf(*program, error);
  return contract.has_value() || badInput(error);
}

bool Runner::checkNames() {
  for (const auto &[name, view] : request.tensors)
    if (std::none_of(program->tensors.begin(), program->tensors.end(),
                     [&](const Tensor &tensor) { return tensor.name == name; }))
      return badInput("operator '" + program->name + "' has no tensor '" + name + "'");
  for (const auto &[name, value] : request.settings) {
    bool known =
        std::any_of(program->parameters.begin(), program->parameters.end(),
                    [&](const Parameter &parameter) { return parameter.name == name; }) ||
        std::any_of(op->generics.begin(), op->generics.end(),
                    [&](const ast::Generic &generic) { return generic.name.text == name; });
    if (!known)
      return badInput("operator '" + program->name + "' has no parameter '" + name + "'");
  }
  return true;
}

/// A number as `--set` takes it: rounded once to the parameter's type.
std::optional<Bits> readNumber(ScalarType type, std::string text) {
  bool negative = text.starts_with('-');
  if (negative)
    text.erase(0, 1);
  if (isInteger(type)) {
    int64_t value = 0;
    auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc() || end != text.data() + text.size())
      return {};
    Bits bits = scalar::convert(ScalarType::I64, type, static_cast<Bits>(value));
    return negative ? scalar::neg(type, bits) : bits;
  }
  std::optional<Bits> bits;
  if (text == "inf")
    bits = scalar::infinity(type);
  else if (text == "nan")
    bits = scalar::canonicalNaN(type);
  else if (bool isPlain =
               text.find_first_not_of("0123456789") == std::string::npos && !text.empty();
           std::optional<scalar::Decimal> decimal =
               scalar::parseDecimal(type, isPlain ? text + ".0" : text))
    bits = decimal->bits;
  if (bits && negative)
    bits = scalar::neg(type, *bits);
  return bits;
}

bool Runner::readParameters() {
  for (const Parameter &parameter : program->parameters) {
    plan::ParameterValue value;
    value.dtype = *planType(parameter.type);
    if (auto setting = request.settings.find(parameter.name); setting != request.settings.end()) {
      std::optional<Bits> bits = readNumber(parameter.type, setting->second);
      if (!bits)
        return badInput(fmt::format("'{}' is not a number of type {}, which parameter '{}' takes",
                                    setting->second, name(parameter.type), parameter.name));
      value.given = true;
      value.bits = *bits;
    }
    parameters.push_back(value);
  }
  return true;
}

plan::Tensor forPlan(const BoundView &view) {
  return tensor::TensorView{view.storage, view.view}.forPlan();
}

/// Outputs that were not bound: the dims follow from the inputs, and the extents from the dims.
bool Runner::allocateOutputs() {
  plan::OperatorPlan inputs = *contract;
  std::vector<plan::Tensor> passed;
  std::vector<uint16_t> position(program->tensors.size());
  inputs.tensors.clear();
  tensors.resize(program->tensors.size());
  bool missing = false;
  for (size_t i = 0; i < program->tensors.size(); ++i) {
    auto bound = request.tensors.find(program->tensors[i].name);
    if (bound != request.tensors.end()) {
      tensors[i] = bound->second;
      position[i] = static_cast<uint16_t>(passed.size());
      inputs.tensors.push_back(contract->tensors[i]);
      inputs.tensors.back().mayAlias = -1;
      inputs.tensors.back().isOutput = false;
      passed.push_back(forPlan(bound->second));
    } else if (!program->tensors[i].isOutput) {
      return badInput("input '" + program->tensors[i].name +
                      "' is not bound; give it with --bind '" + program->tensors[i].name +
                      "=NAME'");
    } else {
      missing = true;
    }
  }
  if (!missing)
    return true;
  for (plan::BindingStep &step : inputs.bindings)
    if (step.kind == plan::BindingStep::Kind::FromExtent) {
      if (!tensors[step.tensor].storage)
        return badInput("the extents of output '" + program->tensors[step.tensor].name +
                        "' do not follow from the inputs; bind it");
      step.tensor = position[step.tensor];
    }
  auto bound = plan::bind(inputs, passed, parameters);
  if (auto *decline = std::get_if<plan::Decline>(&bound))
    return badInput(plan::describe(inputs, *decline));
  for (size_t i = 0; i < program->tensors.size(); ++i) {
    if (tensors[i].storage)
      continue;
    auto data = std::make_unique<tensor::TensorData>();
    data->name = program->tensors[i].name;
    data->type = *tensor::storageOf(*planType(program->tensors[i].type));
    for (plan::ExprId extent : contract->tensors[i].extents) {
      std::optional<int64_t> value =
          plan::evaluateExpr(inputs, extent, std::get<plan::Binding>(bound));
      if (!value)
        return badInput("the extents of output '" + data->name + "' do not fit 64 bits");
      data->shape.push_back(*value);
    }
    std::optional<int64_t> count = tensor::elementCount(data->shape);
    std::optional<tensor::AlignedBuffer> buffer;
    if (count && *count < INT64_MAX / 8)
      buffer = tensor::AlignedBuffer::allocate(*count * tensor::bytes(data->type));
    if (!buffer)
      return fail(ExitCode::Lacking, "not enough memory for output '" + data->name + "'");
    data->data = std::move(*buffer);
    // An element that is not written shows.
    std::memset(data->data.data(), 0xA5, data->data.size());
    tensors[i] = {data.get(), tensor::wholeView(data->shape)};
    result.owned.push_back(std::move(data));
  }
  return true;
}

bool Runner::bindCall() {
  std::vector<plan::Tensor> passed;
  for (const BoundView &view : tensors)
    passed.push_back(forPlan(view));
  auto bound = plan::bind(*contract, passed, parameters);
  if (auto *decline = std::get_if<plan::Decline>(&bound))
    return badInput(plan::describe(*contract, *decline));
  binding = std::get<plan::Binding>(bound);
  return true;
}

BoundMember Runner::member() const { return {*binding, tensors}; }

void Runner::run(std::span<const BoundMember> members, const RunBackend &backend,
                 RunResult &into) const {
  backend({*program, *contract, members, parameters, request}, into);
}

void Runner::addOutputs(const std::string &suffix, RunResult &into) {
  for (size_t i = 0; i < tensors.size(); ++i)
    if (program->tensors[i].isOutput)
      into.outputs[program->tensors[i].name + suffix] = tensors[i];
  std::move(result.owned.begin(), result.owned.end(), std::back_inserter(into.owned));
  result.owned.clear();
}

std::string Runner::types() const {
  std::string text;
  for (const auto &[parameter, type] : program->typeArguments)
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", parameter, name(type));
  return text;
}

/// One argument set of a call: `w[2]` is tensor `w` of member 2. Names without a number are those
/// of the only member.
struct Members {
  std::vector<std::map<std::string, BoundView>> tensors;
  bool isList = false; ///< some name has a number
};

/// False with \p error set: numbers that are none, or leave one out.
bool splitMembers(const std::map<std::string, BoundView> &tensors, Members &members,
                  std::string &error) {
  bool hasPlain = false;
  std::map<size_t, std::map<std::string, BoundView>> byNumber;
  for (const auto &[name, view] : tensors) {
    size_t bracket = name.find('[');
    if (bracket == std::string::npos) {
      hasPlain = true;
      byNumber[0][name] = view;
      continue;
    }
    members.isList = true;
    size_t number = 0;
    const char *end = name.data() + name.size() - 1;
    auto [stop, code] = std::from_chars(name.data() + bracket + 1, end, number);
    if (name.back() != ']' || code != std::errc() || stop != end) {
      error = "'" + name + "' is not a tensor of a list; write NAME[0], NAME[1], ...";
      return false;
    }
    byNumber[number][name.substr(0, bracket)] = view;
  }
  if (hasPlain && members.isList) {
    error = "some tensors are bound with a number, as in NAME[0], and some without";
    return false;
  }
  for (auto &[number, own] : byNumber) {
    if (number != members.tensors.size()) {
      error = fmt::format("member {} of the list has no tensors, but member {} has",
                          members.tensors.size(), number);
      return false;
    }
    members.tensors.push_back(std::move(own));
  }
  if (members.tensors.empty())
    members.tensors.emplace_back();
  return true;
}

/// All members are bound before any is computed, and none writes what another reads or writes.
RunResult runMembers(const RunRequest &request, const Members &members, const RunBackend &backend) {
  std::vector<RunRequest> requests(members.tensors.size(), request);
  std::vector<Runner> runners;
  runners.reserve(requests.size());
  RunResult all;
  auto fail = [&](ExitCode code, std::string message) {
    all.code = code;
    all.message = std::move(message);
    return std::move(all);
  };
  for (size_t k = 0; k < requests.size(); ++k) {
    requests[k].tensors = members.tensors[k];
    Runner &runner = runners.emplace_back(requests[k]);
    if (!runner.prepare())
      return fail(runner.result.code, fmt::format("member {}: {}", k, runner.result.message));
    if (runner.types() != runners[0].types())
      return fail(ExitCode::BadInput,
                  fmt::format("declined: dtype: member {} has {}, member 0 has {}", k,
                              runner.types(), runners[0].types()));
  }
  std::vector<BoundMember> bound;
  std::vector<plan::BoundTensor> tensors;
  for (const Runner &runner : runners) {
    bound.push_back(runner.member());
    tensors.insert(tensors.end(), bound.back().binding.tensors.begin(),
                   bound.back().binding.tensors.begin() + bound.back().tensors.size());
  }
  const plan::OperatorPlan &contract = runners[0].plan();
  if (std::optional<plan::Decline> decline = plan::checkMembers(contract, tensors))
    return fail(ExitCode::BadInput, plan::describe(contract, *decline));
  runners[0].run(bound, backend, all);
  if (all.code != ExitCode::Good)
    return all;
  for (size_t k = 0; k < runners.size(); ++k)
    runners[k].addOutputs(fmt::format("[{}]", k), all);
  all.report += fmt::format(", {} member{}", runners.size(), runners.size() == 1 ? "" : "s");
  return all;
}

} // namespace

RunResult runOperator(const RunRequest &request) {
  RunResult refused;
  refused.code = ExitCode::BadInput;
  const RunBackend backend = runBackend(request.backend);
  if (!backend) {
    refused.message = "unknown backend '" + request.backend + "'";
    return refused;
  }
  Members members;
  if (!splitMembers(request.tensors, members, refused.message))
    return refused;
  bool isEach = false;
  for (const ast::Operator *op : request.spec->operators)
    isEach |= op->each && (request.op.empty() || op->name.text == request.op);
  if (members.isList && isEach)
    return runMembers(request, members, backend);
  if (members.isList) {
    refused.message = "the operator takes one set of tensors, not a list: it is not an 'each'";
    return refused;
  }
  Runner runner(request);
  if (!runner.prepare())
    return std::move(runner.result);
  RunResult result;
  const BoundMember member = runner.member();
  runner.run({&member, 1}, backend, result);
  if (result.code == ExitCode::Good)
    runner.addOutputs("", result);
  return result;
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

/// Whether \p a and \p b are one shape once the leading axes of the longer one are multiplied.
static bool collapseAlike(std::vector<int64_t> a, std::vector<int64_t> b) {
  auto shorten = [](std::vector<int64_t> &shape, size_t rank) {
    while (shape.size() > std::max<size_t>(rank, 1)) {
      shape[1] *= shape[0];
      shape.erase(shape.begin());
    }
  };
  shorten(a, b.size());
  shorten(b, a.size());
  if (a.size() != b.size()) // one has rank 0
    return tensor::elementCount(a) == tensor::elementCount(b);
  return a == b;
}

Comparison compareBits(const BoundView &actual, const BoundView &expected) {
  Comparison result;
  result.sameShape = actual.storage->type == expected.storage->type &&
                     collapseAlike(actual.view.extents, expected.view.extents);
  if (!result.sameShape)
    return result;
  std::vector<std::byte> a = tensor::TensorView{actual.storage, actual.view}.packed();
  std::vector<std::byte> b = tensor::TensorView{expected.storage, expected.view}.packed();
  ScalarType type = scalarType(tensor::dtype(actual.storage->type));
  unsigned width = tensor::bytes(actual.storage->type);
  result.elements = static_cast<int64_t>(a.size() / width);
  for (int64_t element = 0; element < result.elements; ++element) {
    Bits got = 0, wanted = 0;
    std::memcpy(&got, a.data() + element * width, width);
    std::memcpy(&wanted, b.data() + element * width, width);
    if (got == scalar::canonical(type, wanted))
      continue;
    if (result.different++ == 0) {
      std::vector<int64_t> place(actual.view.extents.size());
      int64_t rest = element;
      for (size_t axis = place.size(); axis-- > 0;) {
        place[axis] = rest % actual.view.extents[axis];
        rest /= actual.view.extents[axis];
      }
      result.first = fmt::format("first at [{}]: got {} (0x{:0{}X}), expected {} (0x{:0{}X})",
                                 fmt::join(place, ", "), scalar::format(type, got), got, width * 2,
                                 scalar::format(type, wanted), wanted, width * 2);
    }
  }
  return result;
}

} // namespace h3
