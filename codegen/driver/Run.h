//===-- codegen/driver/Run.h - One call of an operator -------- -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What `h3gen run` and the golden tests do: bind named tensors to an operator through its launch
// plan, run it on a backend, and compare bits.
//
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_DRIVER_RUN_H
#define H3_CODEGEN_DRIVER_RUN_H

#include "codegen/driver/Driver.h"
#include "codegen/driver/Specs.h"
#include "runtime/plan/Plan.h"
#include "runtime/tensor/Slice.h"
#include "runtime/tensor/TensorData.h"

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace h3 {

/// A bound tensor: a view into a buffer that the caller keeps. An output is written in place.
struct BoundView {
  tensor::TensorData *storage = nullptr;
  tensor::StridedView view;
};

struct RunRequest {
  const LoadedSpec *spec = nullptr;
  std::string op; ///< may be empty if the spec has one operator
  /// By name. For an `each` operator `w[2]` is tensor `w` of the argument set 2; without numbers
  /// the call has one set.
  std::map<std::string, BoundView> tensors;
  std::map<std::string, std::string> settings; ///< parameters and type parameters, as text
  std::string backend = "reference";
  std::string ptxas;    ///< cuda: the ptxas to use
  std::string target;   ///< whose image is run; empty: the backend chooses; not for cuda
  std::string variant;  ///< ptx, cuda: the only variant that may serve; empty: the first that can
  std::string schedule; ///< ptx, cuda: the only schedule, as KernelSchedule has it; empty: chosen
  unsigned repetitions = 0; ///< cuda: time this many launches more
  /// ptx, cuda: kernels that wait for the one in front of them themselves; cuda: started early.
  bool dependentLaunch = false;
};

/// Times of one launch in microseconds, as means over many (runtime/cuda/Session.h), and what was
/// launched.
struct LaunchTimes {
  std::string device, driver, ptxas, variant, entry;
  std::array<uint32_t, 3> grid{}, block{};
  uint32_t sharedBytes = 0; ///< dynamic
  unsigned registers = 0, spillBytes = 0;
  unsigned repetitions = 0;
  uint64_t bufferBytes = 0; ///< of all buffers of one call
  double plain = 0;         ///< launched one by one: what the host spends on a launch may show
  double same = 0;          ///< replayed by a CUDA graph, always on the same buffers
  double rotated = 0;       ///< replayed by a CUDA graph, on `copies` sets of buffers in turn
  unsigned copies = 0;      ///< 256 MiB in all or more, and 8 or more, where memory allows
};

struct RunResult {
  ExitCode code = ExitCode::Good;
  std::string message;                    ///< why not Good: one line, or rendered diagnostics
  std::string report;                     ///< what ran: the variant, the device
  std::optional<LaunchTimes> times;       ///< cuda, with repetitions; of a list, the last one's
  std::vector<std::string> variants;      ///< of the image, best first; empty without an image
  std::shared_ptr<const std::string> ptx; ///< of the image, likewise
  /// By tensor, with the number where the tensors were bound with one. An output that was not bound
  /// got a buffer of its own, contiguous in the operator's shape, in `owned`.
  std::map<std::string, BoundView> outputs;
  std::vector<std::unique_ptr<tensor::TensorData>> owned;
};

RunResult runOperator(const RunRequest &request);

/// How two tensors of one type differ. A NaN in \p expected counts as the canonical one; one in
/// \p actual does not.
struct Comparison {
  bool sameShape = true;
  int64_t elements = 0, different = 0;
  std::string first; ///< place, values and bits of the first difference
};

/// Compares bits. Shapes are the same when leading axes collapse to the same extents.
Comparison compareBits(const BoundView &actual, const BoundView &expected);

} // namespace h3

#endif // H3_CODEGEN_DRIVER_RUN_H
