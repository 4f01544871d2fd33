//===-- tests/field_reports/Calls.h - Calls on every backend -- -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// One call of an operator, run on any backend through the library's own path (the one behind
// `h3gen run`), and compared bit for bit. Every tensor lies between guard bytes; outputs are
// poisoned before each run.
//
//===----------------------------------------------------------------------===//

#ifndef H3_TESTS_FIELD_REPORTS_CALLS_H
#define H3_TESTS_FIELD_REPORTS_CALLS_H

#include "codegen/driver/Run.h"

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace h3::test {

/// Where calls run. A backend added here runs every row and every general test.
struct Backend {
  const char *name; ///< as in test names
  const char *backend, *target;
  /// Whether `expectOutputs` runs each variant of the image, and not only the one that serves.
  bool everyVariant;
  bool isReference() const;
};
std::span<const Backend> backends();

/// A spec of this folder, or else of the project's specs. Read once.
const LoadedSpec &specNamed(const std::string &name);

class Call {
public:
  Call(const std::string &spec, std::string op) : spec(specNamed(spec)), op(std::move(op)) {}

  /// Type parameters and parameters, as text.
  void set(const std::string &name, const std::string &value) { settings[name] = value; }
  /// An input and its elements, row-major.
  void input(const std::string &name, tensor::StorageType type, const std::vector<int64_t> &shape,
             const std::vector<Bits> &elements);
  void output(const std::string &name, tensor::StorageType type, const std::vector<int64_t> &shape);
  /// An input that is a view of a buffer with these elements.
  void inputView(const std::string &name, tensor::StorageType type,
                 const std::vector<Bits> &elements, tensor::StridedView view);
  /// An output, row-major, whose first element lies \p offset elements behind an aligned address.
  void outputAt(const std::string &name, tensor::StorageType type,
                const std::vector<int64_t> &shape, int64_t offset);

  /// Runs it. Afterwards all guards and inputs are as they were, or the test has failed.
  RunResult run(const Backend &backend, const std::string &variant = "");

  /// An output's elements after a run, NaNs as they are.
  std::vector<Bits> elements(const std::string &name) const;
  std::vector<std::string> outputs() const;
  /// "y[1, 7]" of element 7 + 1 * width, for messages.
  std::string placeOf(const std::string &name, size_t element) const;

private:
  struct Buffer {
    tensor::TensorData storage;
    tensor::StridedView view;
    bool isOutput;
    size_t first = 0;              ///< of an output: the byte of the buffer where it begins
    std::vector<std::byte> before; ///< as it is before each run
  };
  /// A buffer of \p count elements, filled from the front.
  Buffer &add(const std::string &name, tensor::StorageType type, size_t count, bool isOutput,
              const std::vector<Bits> &elements);

  const LoadedSpec &spec;
  std::string op;
  std::map<std::string, std::string> settings;
  std::map<std::string, Buffer> buffers;
};

using Outputs = std::map<std::string, std::vector<Bits>>;

/// Every output of the call by the reference interpreter; a failure of it is a test failure.
Outputs referenceOf(Call &call);

/// Runs the call on \p backend, with its variants as `everyVariant` says, and expects every
/// output to be \p expected. Returns what this machine lacks, such as a GPU, or an empty string.
std::string expectOutputs(Call &call, const Backend &backend, const Outputs &expected);

/// \p count floats of \p type, +-(1 + m) 2^e with e from \p low to \p high, from a fixed sequence.
std::vector<Bits> randomFloats(ScalarType type, size_t count, unsigned seed, int low = -6,
                               int high = 3);
std::vector<Bits> everyPattern16();

ScalarType scalarTypeOf(tensor::StorageType type);

} // namespace h3::test

#endif // H3_TESTS_FIELD_REPORTS_CALLS_H
