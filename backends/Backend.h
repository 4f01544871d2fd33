//===-- backends/Backend.h - What a backend is ---------------- -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A backend turns operators into images for its targets. All that the rest of the compiler knows of
// one is this page; `backends.def` lists them, `targets.def` says whose a target is.
//
//===----------------------------------------------------------------------===//

#ifndef H3_BACKENDS_BACKEND_H
#define H3_BACKENDS_BACKEND_H

#include "backends/Image.h"
#include "backends/Target.h"
#include "codegen/kernel/Machine.h"
#include "codegen/kernel/Schedule.h"
#include "dsl/program/Program.h"

#include <llvm/ADT/STLFunctionalExtras.h>
#include <mlir/IR/MLIRContext.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace h3 {

/// What may be done with an operator for a target.
enum class Step {
  Compile,
  Assemble, ///< make of an image what a device loads, if that is something else
  Execute,  ///< run an image, or what was assembled, on this machine
  Prove,    ///< show that an image computes the spec's terms
};

/// Whether this machine can take a step.
struct Ability {
  std::string obstacle;     ///< why not, in one line; empty: it can
  std::optional<Tool> tool; ///< the program that does it, if one does

  explicit operator bool() const { return obstacle.empty(); }
};

/// Memory that a call reads or writes.
struct Buffer {
  std::string name;
  std::span<std::byte> bytes;
  bool isRead = false, isWritten = false;
};

/// A call of an image's operator on buffers of this process.
struct Execution {
  const plan::OperatorPlan &plan; ///< of the image, perhaps with fewer variants
  std::span<const Buffer> buffers;
  /// The launches of `plan` when buffer k lies at `addresses[k]`; none if it declines the call.
  llvm::function_ref<std::span<const plan::Launch>(std::span<const uint64_t> addresses)> launches;
};

class Backend {
public:
  explicit Backend(std::string_view name) : ownName(name) {}
  virtual ~Backend() = default;

  /// As in `targets.def`: "nvptx".
  std::string_view name() const { return ownName; }

  /// What \p target runs kernels on.
  virtual Machine machine(const Target &target) const = 0;

  /// Whether this machine can take \p step for \p target. \p tool names the program to do it with;
  /// if empty, the backend looks for one.
  virtual Ability ability(const Target &target, Step step, const std::string &tool = {}) const = 0;

  /// The variants that \p target gets of an operator's jobs, best first. Empty with \p error set.
  virtual std::vector<KernelSchedule> schedules(const Program &program, const Target &target,
                                                const std::vector<Job> &jobs,
                                                std::string &error) const = 0;

  /// Compiles the type instances \p programs of one operator. The same bytes from the same
  /// arguments, whatever was done in \p context before. Empty with \p error set.
  virtual std::optional<Image> compile(mlir::MLIRContext &context,
                                       std::span<const Program *const> programs,
                                       const Target &target, const ImageOptions &options,
                                       std::string &error) const = 0;

  /// Makes of \p image what a device loads, with the tool that `ability` found. Empty with
  /// \p error set.
  virtual std::optional<Assembly> assemble(const Image &image, const Target &target,
                                           const std::optional<Tool> &tool,
                                           std::string &error) const = 0;

  /// Runs a call of \p image on this machine. \p report becomes what runs it, before `launches` is
  /// asked, and may grow afterwards. Returns what went wrong, and nothing if the outputs are there
  /// or the plan declined the call.
  virtual std::optional<std::string> execute(Image &image, const Target &target,
                                             const Execution &call, std::string &report) const = 0;

private:
  std::string_view ownName;
};

/// All backends, in the order of `backends.def`, and behind them those that were added.
std::span<const Backend *const> backends();

/// Adds a backend from outside, whose name and targets are not there yet; it stays until the
/// process ends. Not while another thread asks for backends.
void addBackend(std::unique_ptr<const Backend> backend, std::span<const Target> targets);

/// By name, or null.
const Backend *findBackend(std::string_view name);

/// The backend of \p target.
const Backend &backendOf(const Target &target);

/// A context with everything loaded that code generation needs before it asks a backend, which
/// loads what it needs itself. Making one takes some milliseconds; it serves any number of
/// images, one at a time.
std::unique_ptr<mlir::MLIRContext> makeContext();

} // namespace h3

#endif // H3_BACKENDS_BACKEND_H
