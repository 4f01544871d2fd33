//===-- backends/Image.h - One operator on one target --------- -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_BACKENDS_IMAGE_H
#define H3_BACKENDS_IMAGE_H

#include "codegen/kernel/Schedule.h"
#include "runtime/plan/Plan.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace h3 {

/// The stages of compiling that can be looked at, in order.
enum class Stage {
  H3,        ///< the h3 dialect as imported
  Mlir,      ///< the scheduled kernels in gpu, scf, arith and h3 scalars
  Scheduled, ///< the same as text of a documented form (codegen/scheduled/README.md)
  Llvm,      ///< LLVM IR as handed to the code generator
  Image,     ///< PTX, an object file
};

struct ImageOptions {
  Stage stage = Stage::Image;
  bool printAfterPasses = false; ///< to standard error
  /// As codegen/kernel/Schedule.h writes it: the only variant, of each case of the sizes in which
  /// it is legal. Empty: variants are chosen.
  std::string schedule;
  /// The kernels wait for the grids in front of them themselves, and their plans say so. They may
  /// be launched in the common way too. Needs a target with `Capability::DependentLaunch`.
  bool dependentLaunch = false;
  std::string header; ///< of an image that is text: lines of comment in front of it
};

/// What a backend keeps with an image to run it again.
struct Prepared {
  virtual ~Prepared() = default;
};

/// One operator on one target: all its type instances and variants.
struct Image {
  std::string text;                      ///< of the stage asked for; by default PTX, an object file
  std::string ending;                    ///< of a file that holds it: ".ptx"
  unsigned ptxVersion = 0;               ///< times 10; 0 where there is no PTX
  std::vector<plan::OperatorPlan> plans; ///< one for each type instance, variants filled in
  std::map<std::string, KernelSchedule> schedules; ///< of the variants, by entry
  double milliseconds = 0;
  std::shared_ptr<Prepared> prepared; ///< by `Backend::execute`
};

/// A program that was found, and the version it printed ("13.0.88").
struct Tool {
  std::string name; ///< "ptxas"
  std::string path;
  std::string version;
  /// Where it was found: "--ptxas", "H3GEN_PTXAS", "the project's environment", "PATH".
  std::string foundBy;
};

/// What is said of one kernel when it is assembled.
struct KernelUsage {
  unsigned registers = 0;
  unsigned spillBytes = 0;  ///< stores and loads together
  unsigned localBytes = 0;  ///< of a thread: the stack frame, what is spilled included
  unsigned sharedBytes = 0; ///< static
};

/// What a device loads.
struct Assembly {
  std::vector<char> bytes;
  std::string ending;                       ///< ".cubin"
  std::map<std::string, KernelUsage> usage; ///< by entry; empty if the assembler says nothing
  double milliseconds = 0;
};

} // namespace h3

#endif // H3_BACKENDS_IMAGE_H
