//===-- codegen/driver/plugin/PluginBackend.cpp - A backend behind the C interface -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/driver/plugin/PluginBackend.h"

#include "codegen/import/Import.h"
#include "codegen/scheduled/Scheduled.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/raw_ostream.h>

#include <chrono>
#include <deque>
#include <map>

namespace h3 {
namespace {

/// What a call of the plugin left.
struct Reply {
  std::string bytes, text;
  std::optional<Tool> tool;
  h3_backend_reply calls{
      sizeof(h3_backend_reply), this,
      [](void *user, const void *bytes, size_t length) {
        static_cast<Reply *>(user)->bytes.append(static_cast<const char *>(bytes), length);
      },
      [](void *user, const char *text) { static_cast<Reply *>(user)->text += text; },
      [](void *user, const h3_backend_tool *tool) {
        auto copy = [](const char *text) { return std::string(text ? text : ""); };
        static_cast<Reply *>(user)->tool =
            Tool{copy(tool->name), copy(tool->path), copy(tool->version), copy(tool->found_by)};
      }};

  Reply() = default;
  Reply(const Reply &) = delete;
  Reply &operator=(const Reply &) = delete;

  /// The text of a failure, one line whatever the plugin said.
  std::string failure(const std::string &name) const {
    std::string line = text.empty() ? "it did not say why" : text;
    for (char &c : line)
      if (c == '\n')
        c = ' ';
    return "the plugin " + name + ": " + line;
  }
};

Machine machineOf(const h3_backend_machine &given) {
  Machine machine;
  machine.waveThreads = given.wave_threads;
  machine.mostThreads = given.most_threads;
  machine.usualThreads = given.usual_threads;
  machine.mostHeld = given.most_held;
  machine.usuallyHeld = given.usually_held;
  machine.widestAccess = given.widest_access;
  machine.sharedBytes = given.shared_bytes;
  machine.vectorElements = given.vector_elements;
  machine.alignsAccesses = given.aligns_accesses != 0;
  machine.joinsVectors = given.joins_vectors != 0;
  return machine;
}

class PluginBackend : public Backend {
public:
  explicit PluginBackend(const h3_backend &plugin) : Backend(plugin.name), plugin(plugin) {}

  Machine machine(const Target &target) const override { return machineOf(rowOf(target).machine); }

  Ability ability(const Target &target, Step step, const std::string &tool) const override;

  std::vector<KernelSchedule> schedules(const Program &, const Target &target,
                                        const std::vector<Job> &jobs,
                                        std::string &error) const override {
    return schedulesFor(jobs, machine(target), error);
  }

  std::optional<Image> compile(mlir::MLIRContext &context, std::span<const Program *const> programs,
                               const Target &target, const ImageOptions &options,
                               std::string &error) const override;

  std::optional<Assembly> assemble(const Image &image, const Target &target,
                                   const std::optional<Tool> &tool,
                                   std::string &error) const override;

  std::optional<std::string> execute(Image &image, const Target &target, const Execution &call,
                                     std::string &report) const override;

private:
  const h3_backend_target &rowOf(const Target &target) const {
    return plugin.targets[target.minor]; // as addPlugin numbers them
  }
  std::string nameForUsers() const { return std::string(name()); }

  const h3_backend &plugin;
};

Ability PluginBackend::ability(const Target &target, Step step, const std::string &tool) const {
  if (step == Step::Prove)
    return {"no prover reads images of the plugin " + nameForUsers(), {}};
  if (step == Step::Assemble && !plugin.assemble)
    return {"images of the plugin " + nameForUsers() + " are loaded as they are", {}};
  if (step == Step::Execute && !plugin.load)
    return {"the plugin " + nameForUsers() + " only compiles", {}};
  int32_t asked = step == Step::Compile    ? H3_BACKEND_EMIT
                  : step == Step::Assemble ? H3_BACKEND_ASSEMBLE
                                           : H3_BACKEND_EXECUTE;
  Reply reply;
  if (plugin.ability(target.name.data(), asked, tool.empty() ? nullptr : tool.c_str(),
                     &reply.calls))
    return {reply.failure(nameForUsers()), {}};
  return {"", reply.tool};
}

std::optional<Image> PluginBackend::compile(mlir::MLIRContext &context,
                                            std::span<const Program *const> programs,
                                            const Target &target, const ImageOptions &options,
                                            std::string &error) const {
  auto start = std::chrono::steady_clock::now();
  if (options.dependentLaunch) {
    error = std::string(target.name) + " has no programmatic dependent launch, which needs sm_90";
    return {};
  }
  if (options.stage == Stage::Llvm) {
    error = "images for " + std::string(target.name) + " are made without LLVM IR";
    return {};
  }
  Image image;
  image.ending = rowOf(target).image_ending;
  llvm::raw_string_ostream text(image.text);
  if (options.stage == Stage::H3) {
    for (const Program *program : programs) {
      mlir::OwningOpRef<mlir::ModuleOp> module = importProgram(context, *program, error);
      if (!module)
        return {};
      module->print(text);
      text << "\n";
    }
    return image;
  }
  std::optional<ScheduledOperator> scheduled = scheduleOperator(
      context, programs,
      {std::string(target.name), machine(target), options.schedule, options.printAfterPasses},
      error);
  if (!scheduled)
    return {};
  image.plans = std::move(scheduled->plans);
  image.schedules = std::move(scheduled->schedules);
  if (options.stage == Stage::Mlir) {
    scheduled->kernels().print(text);
    text << "\n";
    return image;
  }
  std::optional<std::string> kernels =
      serialise(scheduled->kernels(), image.plans, target.name, error);
  if (!kernels)
    return {};
  if (options.stage == Stage::Scheduled) {
    image.text = std::move(*kernels);
    return image;
  }
  Reply reply;
  if (plugin.emit(target.name.data(), kernels->data(), kernels->size(), options.header.c_str(),
                  &reply.calls)) {
    error = reply.failure(nameForUsers());
    return {};
  }
  image.text = std::move(reply.bytes);
  std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
  image.milliseconds = elapsed.count();
  return image;
}

std::optional<Assembly> PluginBackend::assemble(const Image &image, const Target &target,
                                                const std::optional<Tool> &tool,
                                                std::string &error) const {
  auto start = std::chrono::steady_clock::now();
  h3_backend_tool found{sizeof(h3_backend_tool), nullptr, nullptr, nullptr, nullptr};
  if (tool)
    found = {sizeof(h3_backend_tool), tool->name.c_str(), tool->path.c_str(), tool->version.c_str(),
             tool->foundBy.c_str()};
  Reply reply;
  if (plugin.assemble(target.name.data(), image.text.data(), image.text.size(),
                      tool ? &found : nullptr, &reply.calls)) {
    error = reply.failure(nameForUsers());
    return {};
  }
  std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
  return Assembly{
      {reply.bytes.begin(), reply.bytes.end()}, rowOf(target).assembly_ending, {}, elapsed.count()};
}

/// What the plugin has loaded of an image.
struct LoadedImage : Prepared {
  LoadedImage(const h3_backend &plugin, void *handle, std::string report)
      : plugin(plugin), handle(handle), report(std::move(report)) {}
  ~LoadedImage() override { plugin.unload(handle); }

  const h3_backend &plugin;
  void *handle;
  std::string report; ///< what it runs on
};

std::optional<std::string> PluginBackend::execute(Image &image, const Target &target,
                                                  const Execution &call,
                                                  std::string &report) const {
  if (!image.prepared) {
    std::span<const char> bytes = image.text;
    std::optional<Assembly> assembly;
    if (plugin.assemble) {
      Ability assembler = ability(target, Step::Assemble, {});
      if (!assembler)
        return assembler.obstacle;
      std::string error;
      assembly = assemble(image, target, assembler.tool, error);
      if (!assembly)
        return error;
      bytes = assembly->bytes;
    }
    Reply reply;
    void *handle = nullptr;
    if (plugin.load(target.name.data(), bytes.data(), bytes.size(), &reply.calls, &handle))
      return reply.failure(nameForUsers());
    image.prepared = std::make_shared<LoadedImage>(plugin, handle, reply.text);
  }
  const auto &loaded = static_cast<const LoadedImage &>(*image.prepared);
  report = loaded.report.empty() ? std::string(target.name) : loaded.report;

  std::vector<h3_backend_buffer> buffers;
  std::vector<uint64_t> addresses;
  for (const Buffer &buffer : call.buffers) {
    buffers.push_back({sizeof(h3_backend_buffer), buffer.name.c_str(), buffer.bytes.data(),
                       buffer.bytes.size(), buffer.isRead, buffer.isWritten});
    addresses.push_back(reinterpret_cast<uint64_t>(buffer.bytes.data()));
  }
  Reply reply;
  if (plugin.place &&
      plugin.place(loaded.handle, buffers.data(), buffers.size(), addresses.data(), &reply.calls))
    return reply.failure(nameForUsers());
  for (const plan::Launch &launch : call.launches(addresses)) {
    if (launch.isEmpty())
      continue;
    std::vector<void *> arguments;
    if (!launch.members.empty())
      arguments.push_back(const_cast<std::byte *>(launch.members.data()));
    for (const plan::Argument &argument : launch.args())
      arguments.push_back(const_cast<uint64_t *>(&argument.bits)); // little-endian
    h3_backend_launch described{sizeof(h3_backend_launch),
                                call.plan.variants[launch.variant].entry.c_str(),
                                {launch.grid[0], launch.grid[1], launch.grid[2]},
                                {launch.block[0], launch.block[1], launch.block[2]},
                                launch.sharedBytes,
                                static_cast<uint32_t>(arguments.size()),
                                arguments.data()};
    if (plugin.launch(loaded.handle, &described, &reply.calls))
      return reply.failure(nameForUsers());
  }
  if (plugin.fetch && plugin.fetch(loaded.handle, buffers.data(), buffers.size(), &reply.calls))
    return reply.failure(nameForUsers());
  return {};
}

//===----------------------------------------------------------------------===//
// What a plugin says of itself
//===----------------------------------------------------------------------===//

bool isName(const char *text) {
  if (!text || !llvm::isAlpha(text[0]))
    return false;
  return llvm::all_of(std::string_view(text), [](char c) {
    return (c >= 'a' && c <= 'z') || llvm::isDigit(c) || c == '_' || c == '-';
  });
}

bool isPowerOfTwo(uint32_t number, uint32_t most) {
  return number && number <= most && (number & (number - 1)) == 0;
}

std::string wrongMachine(const h3_backend_machine &machine) {
  if (machine.size < sizeof(h3_backend_machine))
    return "its machine has a size that is too small";
  if (!isPowerOfTwo(machine.wave_threads, 64))
    return "wave_threads is no power of two from 1 to 64";
  if (!isPowerOfTwo(machine.most_threads, 1024) || machine.most_threads < machine.wave_threads)
    return "most_threads is no power of two from wave_threads to 1024";
  if (!isPowerOfTwo(machine.usual_threads, machine.most_threads))
    return "usual_threads is no power of two from 1 to most_threads";
  if (machine.widest_access != 16 && machine.widest_access != 32)
    return "widest_access is neither 16 nor 32";
  if (machine.usually_held < 1 || machine.most_held < machine.usually_held)
    return "usually_held is not from 1 to most_held";
  if (machine.vector_elements && !isPowerOfTwo(machine.vector_elements, 64))
    return "vector_elements is no power of two from 1 to 64, nor 0";
  return {};
}

std::string wrongTarget(const h3_backend_target &target) {
  if (target.size < sizeof(h3_backend_target))
    return "a target has a size that is too small";
  if (!isName(target.name))
    return "a target has no name of small letters, digits, '_' and '-'";
  std::string own = "target '" + std::string(target.name) + "': ";
  if (findTarget(target.name))
    return own + "there is one of that name";
  auto isEnding = [](const char *text) { return text && text[0] == '.' && isName(text + 1); };
  if (!isEnding(target.image_ending) ||
      (target.assembly_ending && !isEnding(target.assembly_ending)))
    return own + "an ending is not of the form '.name'";
  std::string wrong = wrongMachine(target.machine);
  return wrong.empty() ? "" : own + wrong;
}

std::string wrongBackend(const h3_backend &plugin) {
  if (plugin.size < sizeof(h3_backend))
    return "its description has a size that is too small";
  if (!isName(plugin.name))
    return "it has no name of small letters, digits, '_' and '-'";
  for (std::string_view taken : {"reference", "cuda", "ptx"})
    if (taken == plugin.name)
      return "there is a backend '" + std::string(plugin.name) + "'";
  if (findBackend(plugin.name))
    return "there is a backend '" + std::string(plugin.name) + "'";
  if (!plugin.ability || !plugin.emit)
    return "it lacks 'ability' or 'emit'";
  if (plugin.load && (!plugin.unload || !plugin.launch))
    return "it has 'load', and lacks 'unload' or 'launch'";
  if (!plugin.place != !plugin.fetch)
    return "it has one of 'place' and 'fetch'";
  if (plugin.target_count == 0 || !plugin.targets)
    return "it has no target";
  for (uint32_t i = 0; i < plugin.target_count; ++i) {
    const h3_backend_target &target = plugin.targets[i];
    if (std::string wrong = wrongTarget(target); !wrong.empty())
      return wrong;
    if ((target.assembly_ending != nullptr) != (plugin.assemble != nullptr))
      return "target '" + std::string(target.name) +
             "': 'assemble' and assembly_ending go together";
    for (uint32_t j = 0; j < i; ++j)
      if (std::string_view(plugin.targets[j].name) == target.name)
        return "target '" + std::string(target.name) + "' is there twice";
  }
  return {};
}

std::map<std::string, std::string, std::less<>> &filesOfPlugins() {
  static std::map<std::string, std::string, std::less<>> files;
  return files;
}

} // namespace

std::string addPlugin(const h3_backend *plugin, const std::string &path) {
  if (!plugin)
    return "it has no backend for version " + std::to_string(H3_BACKEND_INTERFACE) +
           " of the interface";
  if (plugin->interface != H3_BACKEND_INTERFACE)
    return "it was built for version " + std::to_string(plugin->interface) +
           " of the backend interface, and this h3gen has version " +
           std::to_string(H3_BACKEND_INTERFACE) + "; build it against this h3gen's h3_backend.h";
  if (std::string wrong = wrongBackend(*plugin); !wrong.empty())
    return wrong;
  std::vector<Target> targets;
  for (uint32_t i = 0; i < plugin->target_count; ++i)
    targets.push_back(
        {plugin->targets[i].name, plugin->name, 0, static_cast<int>(i), "", 0, Capability::None});
  addBackend(std::make_unique<PluginBackend>(*plugin), targets);
  filesOfPlugins()[plugin->name] = path;
  return {};
}

std::string pluginFileOf(std::string_view backend) {
  auto known = filesOfPlugins().find(backend);
  return known == filesOfPlugins().end() ? "" : known->second;
}

} // namespace h3
