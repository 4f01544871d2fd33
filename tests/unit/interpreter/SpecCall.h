//===-- tests/unit/interpreter/SpecCall.h - Specs run on data --*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A spec as text, and calls of its operators with tensors made of bit patterns.
//
//===----------------------------------------------------------------------===//

#ifndef H3_TESTS_UNIT_INTERPRETER_SPECCALL_H
#define H3_TESTS_UNIT_INTERPRETER_SPECCALL_H

#include "dsl/interpreter/Interpreter.h"
#include "dsl/program/Analysis.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace h3::test {

/// An operator of a spec, with types chosen. `use eager.norm` finds the project's own library. A
/// spec with errors is a test failure that shows them, and `program` is null.
class Spec {
public:
  explicit Spec(const std::string &text, const std::string &op = "", TypeArguments types = {});
  /// An operator, the first unless named, of this file of the project's specs folder.
  static Spec file(const std::string &name, TypeArguments types = {}, const std::string &op = "");

  std::unique_ptr<Program> program;

private:
  Spec() = default;
  void load(const std::string &path, const std::string &op, const TypeArguments &types);

  ModuleSet modules; ///< what the program's diagnostics point into
};

/// One call. Tensors are contiguous and start as poison (0x5A in every byte), with guard bytes on
/// either side that `run` checks.
class SpecCall {
public:
  /// \p dims: values of the free dims, by name.
  SpecCall(const Spec &spec, const std::map<std::string, int64_t> &dims);

  /// Sets a parameter's bits; those not set have their default.
  void set(const std::string &parameter, Bits bits);
  /// Gives a tensor other strides and a first element \p offset elements into its buffer. Before
  /// `fill`.
  void layout(const std::string &tensor, int64_t offset, std::vector<int64_t> strides);
  /// Makes \p output lie in the memory of \p input.
  void share(const std::string &output, const std::string &input);
  /// Writes all elements, in row-major order.
  void fill(const std::string &tensor, const std::vector<Bits> &elements);

  /// Runs it, and checks that no byte outside the outputs' elements has changed. A failure of the
  /// interpreter is a test failure.
  void run();
  /// Runs it and returns what the interpreter says is wrong.
  std::string error();

  /// All elements, in row-major order.
  std::vector<Bits> get(const std::string &tensor) const;
  int64_t elements(const std::string &tensor) const;

private:
  unsigned tensor(const std::string &name) const;
  std::vector<int64_t> extents(unsigned tensor) const;
  /// Offsets of all elements, in row-major order.
  std::vector<int64_t> offsets(unsigned tensor) const;
  void allocate(unsigned tensor);
  std::optional<std::string> interpretNow();

  const Program &program;
  Arguments arguments;
  std::vector<std::shared_ptr<std::vector<std::byte>>> buffers; ///< one for each tensor
};

/// \p count pseudo-random floats of \p type, most of them between -4 and 4, from a fixed sequence.
std::vector<Bits> randomFloats(ScalarType type, int64_t count, unsigned seed);
/// \p count times the same.
std::vector<Bits> repeat(int64_t count, Bits bits);
/// A number, written out.
Bits f16(const char *decimal);
Bits f32(const char *decimal);

} // namespace h3::test

#endif // H3_TESTS_UNIT_INTERPRETER_SPECCALL_H
