//===-- runtime/evidence/Run.cpp - h3gen evidence run ---------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/api/Create.h"
#include "runtime/evidence/Cases.h"
#include "runtime/evidence/Device.h"
#include "runtime/evidence/HostCall.h"
#include "runtime/evidence/Tool.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <ctime>

namespace h3::evidence {

namespace {

constexpr int kGood = 0, kDifferent = 1, kBadInput = 2, kLacking = 3;

int fail(int code, const std::string &text) {
  std::fprintf(stderr, "h3gen: error: %s\n", text.c_str());
  return code;
}

/// A line of what went wrong is kept this often for an operator.
constexpr size_t kMostFailures = 20;

class Runner {
public:
  explicit Runner(const RunOptions &options) : options(options) {}
  int run();

private:
  int open();
  int runOperator(const bundle::Operator &op, size_t instance);
  void runCase(const plan::OperatorPlan &plan, const Case &one, OperatorRecord &record);
  void runUnsupported(const plan::OperatorPlan &plan, const Case &one, OperatorRecord &record);
  void failed(OperatorRecord &record, const std::string &text) {
    ++failures;
    if (record.failures.size() < kMostFailures)
      record.failures.push_back(text);
  }
  /// False, with the driver's error kept, if the case's data are not on the device.
  bool place(const plan::OperatorPlan &plan, const Case &one);
  bool holds(const std::optional<cuda::Failure> &failure) {
    if (failure && deviceError.empty())
      deviceError = failure->message;
    return !failure;
  }

  /// Whether the device changed the buffer of a tensor.
  bool differs(size_t tensor, uint64_t bytes) const {
    return std::memcmp(found.data() + layout.offsets[tensor],
                       pristine.data() + layout.offsets[tensor], bytes) != 0;
  }

  const RunOptions &options;
  std::optional<bundle::Bundle> bundle;
  const bundle::OperatorSet *set = nullptr;
  CaseList cases;
  h3rt::Runtime runtime{static_cast<h3rt_runtime *>(nullptr)};
  std::unique_ptr<Device> device;
  DLDevice where{kDLCUDA, 0};
  std::string deviceError; ///< after it nothing is run
  Record record;
  size_t failures = 0;

  // Of the current case.
  bundle::CheckLayout layout;
  std::vector<std::byte> pristine, found;
  h3rt::Operator op;
  uint64_t address = 0;
};

int Runner::open() {
  constexpr std::string_view kind = "cuda:";
  const std::string_view name = options.device;
  const char *end = name.data() + name.size();
  if (!name.starts_with(kind) ||
      std::from_chars(name.data() + kind.size(), end, where.device_id).ptr != end ||
      name.size() == kind.size() || where.device_id < 0)
    return fail(kBadInput, "'" + options.device + "' is no device, expected cuda:N");
  auto opened = bundle::Bundle::openFile(options.bundle);
  if (!opened)
    return fail(kBadInput, opened.error().message);
  bundle.emplace(std::move(*opened));
  const std::optional<std::string> text = readFile(options.cases);
  if (!text)
    return fail(kBadInput, "cannot read '" + options.cases + "'");
  auto list = readCases(*text);
  if (!list)
    return fail(kBadInput, "'" + options.cases + "' is no list of cases: " + list.error().message);
  cases = std::move(*list);
  record.cases = bundle::sha256(std::as_bytes(std::span(*text)));

  auto made = Device::open(options.library, where.device_id);
  if (!made)
    return fail(kLacking, made.error().message);
  device = std::move(*made);
  h3rt_options wanted{};
  wanted.size = sizeof(wanted);
  wanted.flags = H3RT_IGNORE_ENVIRONMENT | (options.allowPtx ? uint32_t(H3RT_ALLOW_PTX) : 0);
  h3rt_runtime *created = nullptr;
  if (rt::create(&wanted, options.library, &created) != H3RT_OK)
    return fail(kLacking, h3rt_last_error());
  runtime = h3rt::Runtime(created);
  if (!runtime.openBundle(options.bundle.c_str()))
    return fail(kBadInput, h3rt_last_error());
  h3rt_device_info info{};
  info.size = sizeof(info);
  if (h3rt_get_device(runtime.get(), where, &info) != H3RT_OK)
    return fail(kLacking, h3rt_last_error());
  for (const bundle::OperatorSet &each : bundle->contents().sets)
    if (each.target == info.target)
      set = &each;
  if (!set)
    return fail(kLacking, options.device + " is " + info.target + ", for which the bundle has no " +
                              "operator set");
  if (!set->missing.empty())
    return fail(kBadInput, "the operator set for " + set->target + " is incomplete");
  return kGood;
}

/// Whether a call may write the buffer of tensor \p index: it is an output's, or one is in its
/// place.
bool isWritten(const plan::OperatorPlan &plan, const bundle::SelfCheck &call, size_t index) {
  const size_t count = plan.tensors.size(), member = index - index % count;
  for (size_t i = member; i < member + count; ++i)
    if (call.tensors[i].inPlaceOf == static_cast<int16_t>(index - member))
      return true;
  return plan.tensors[index - member].isOutput;
}

bool Runner::place(const plan::OperatorPlan &plan, const Case &one) {
  layout = layoutOf(plan, one.call);
  pristine.resize(layout.bytes);
  found.resize(layout.bytes);
  fill(plan, one.call, layout, pristine);
  auto memory = device->memory(layout.bytes);
  if (!memory) {
    deviceError = memory.error().message;
    return false;
  }
  address = *memory;
  return holds(device->upload(pristine));
}

void Runner::runCase(const plan::OperatorPlan &plan, const Case &one, OperatorRecord &record) {
  if (!place(plan, one))
    return;
  HostCall call = HostCall::of(plan, one.call, layout, address, where);
  const h3rt::Result result = call.run(op, device->stream());
  if (!result.served())
    return failed(record, one.what + ": " + result.text());
  if (!holds(device->download(found)))
    return;
  record.cases.push_back(digestOfOutputs(plan, one.call, layout, found));
  if (record.cases.back() != one.call.outputs)
    failed(record, one.what + ": the bits are not the reference's");
  for (size_t i = 0; i < one.call.tensors.size(); ++i)
    if (!isWritten(plan, one.call, i) && differs(i, bufferBytes(plan, one.call, i)))
      failed(record,
             one.what + ": input " + plan.tensors[i % plan.tensors.size()].name + " was written");
  const int32_t variant = result.raw().variant;
  if (variant >= 0)
    for (auto &[name, count] : record.variants)
      count += name == plan.variants[static_cast<size_t>(variant)].name;
  if (!one.isTimed)
    return;
  auto timing = device->time([&] { return call.run(op, device->stream()).served(); });
  if (!timing) {
    deviceError = timing.error().message;
    return;
  }
  record.figures.push_back({one.what,
                            variant < 0 ? "" : plan.variants[static_cast<size_t>(variant)].name,
                            timing->method, static_cast<int64_t>(timing->nanoseconds + 0.5)});
}

void Runner::runUnsupported(const plan::OperatorPlan &plan, const Case &one,
                            OperatorRecord &record) {
  if (!place(plan, one))
    return;
  const HostCall served = HostCall::of(plan, one.call, layout, address, where);
  for (Unsupported &each : unsupportedCalls(plan, served)) {
    const h3rt::Result result = each.call.run(op, device->stream());
    if (!holds(device->download(found)))
      return;
    if (!result.declined() || result.reason() != each.reason)
      failed(record, each.what + ": must be declined for " + each.reason + ", was " +
                         (result.served() ? "served" : result.text()));
    else if (found != pristine)
      failed(record, each.what + ": declined, and memory was written");
    else
      record.declines.emplace_back(each.what, each.reason);
  }
}

int Runner::runOperator(const bundle::Operator &bundled, size_t instance) {
  const bundle::Contents &contents = bundle->contents();
  const plan::OperatorPlan &plan = bundled.instances[instance].plan;
  OperatorRecord &own = record.operators.emplace_back();
  own.name = nameOf(plan);
  own.meaning = contents.operators[bundled.definition].instances[instance].digest;
  const bundle::Image &image = contents.images[bundled.cubin ? *bundled.cubin : *bundled.ptx];
  own.imageName = image.name;
  own.image = image.digest;
  for (const plan::Variant &variant : plan.variants)
    own.variants.emplace_back(variant.name, 0);
  const auto list = std::ranges::find(cases.operators, own.name, &OperatorCases::name);
  if (list == cases.operators.end() || list->meaning != own.meaning)
    return fail(kBadInput,
                list == cases.operators.end()
                    ? "'" + options.cases + "' has no cases of " + own.name
                    : "the cases of " + own.name + " are of another meaning than the bundle's: " +
                          "prepare them anew from the specs that the bundle was made of");
  own.reference = list->reference;
  op = runtime.find(own.name.c_str());
  const Case *smallest = nullptr;
  for (const Case &one : list->cases) {
    if (const std::string problem = checkViews(plan, one.call); !problem.empty())
      return fail(kBadInput, own.name + ", " + one.what + ": " + problem);
    const size_t before = failures;
    runCase(plan, one, own);
    if (!deviceError.empty())
      return fail(kDifferent, own.name + ", " + one.what + ": " + deviceError);
    // Served, with some elements in every view, so that what is wrong with it matters.
    const bool isGood =
        failures == before &&
        std::ranges::all_of(std::span(one.call.tensors).first(plan.tensors.size()),
                            [](const bundle::CheckTensor &t) {
                              return t.inPlaceOf < 0 &&
                                     std::ranges::all_of(
                                         t.extents, [](int64_t n) { return n > 1; });
                            });
    if (isGood && (!smallest || layout.bytes < layoutOf(plan, smallest->call).bytes))
      smallest = &one;
  }
  if (smallest)
    runUnsupported(plan, *smallest, own);
  if (!deviceError.empty())
    return fail(kDifferent, own.name + ": " + deviceError);
  std::erase_if(own.variants, [&](const auto &variant) {
    if (variant.second == 0)
      own.unreached.push_back(variant.first);
    return variant.second == 0;
  });
  std::printf("%s: %zu calls compared, %zu declined as they must be, %zu wrong\n", own.name.c_str(),
              own.cases.size(), own.declines.size(), own.failures.size());
  for (const std::string &line : own.failures)
    std::printf("  %s\n", line.c_str());
  for (const Figure &figure : own.figures)
    std::printf("  %s: %.2f us by %s (%s)\n", figure.what.c_str(),
                static_cast<double>(figure.nanoseconds) / 1000, figure.variant.c_str(),
                figure.method.c_str());
  std::fflush(stdout);
  return kGood;
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[16] = "";
  std::strftime(text, sizeof(text), "%Y-%m-%d", &utc);
  return text;
}

bool writeWhole(const std::string &path, const std::string &bytes) {
  const std::string fresh = path + ".new";
  std::FILE *file = std::fopen(fresh.c_str(), "wb");
  if (!file)
    return false;
  const bool isWritten = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  if (std::fclose(file) == 0 && isWritten && std::rename(fresh.c_str(), path.c_str()) == 0)
    return true;
  std::remove(fresh.c_str());
  return false;
}

int Runner::run() {
  if (int code = open())
    return code;
  record.tool = h3rt_version();
  record.date = today();
  record.set = bundle->contents().name;
  record.target = set->target;
  record.machine = device->machine();
  h3rt_set_enabled(runtime.get(), set->target.c_str(), 1);
  if (h3rt_preload(runtime.get(), where, device->stream()) != H3RT_OK)
    std::printf("not everything can be loaded: %s\n", h3rt_last_error());
  for (const bundle::Operator &each : set->operators)
    for (size_t i = 0; i < each.instances.size(); ++i)
      if (int code = runOperator(each, i))
        return code;
  if (!writeWhole(options.output, writeRecord(record) + "\n"))
    return fail(kBadInput, "cannot write '" + options.output + "'");
  std::printf("%s: %s on %s, %zu operators, %zu calls wrong\n", options.output.c_str(),
              set->target.c_str(), record.machine.product.c_str(), record.operators.size(),
              failures);
  return failures ? kDifferent : kGood;
}

} // namespace

int run(const RunOptions &options) { return Runner(options).run(); }

} // namespace h3::evidence
