//===-- examples/backend_c/Kernels.h - Scheduled kernels, read - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef BACKEND_C_KERNELS_H
#define BACKEND_C_KERNELS_H

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

/// The type of a value: "f32", and of a vector how many.
struct Type {
  std::string element;
  unsigned count = 1; ///< 1: a scalar
  bool isVector() const { return count > 1; }
  bool is(std::string_view name) const { return element == name; }
  bool isFloat() const;
  unsigned bits() const;
};

struct Block;

/// One operation. What its fields mean stands in h3gen's codegen/scheduled/README.md.
struct Operation {
  std::string name;
  std::vector<unsigned> in;
  std::vector<unsigned> out;
  nlohmann::json fields = nlohmann::json::object(); ///< all the others
  std::vector<Block> regions;                       ///< of `if`: then, else; of `for`: the body
  std::vector<unsigned> index, carried;             ///< of `for`

  std::string text(const char *field) const { return fields.value(field, std::string()); }
};

struct Block {
  std::vector<Operation> operations;
};

struct Parameter {
  std::string name;
  unsigned value;
};

struct Kernel {
  std::string entry, op, variant;
  uint64_t threads = 1, tableBytes = 0;
  std::vector<Parameter> parameters;
  Block body;
  std::vector<Type> types;        ///< of each value
  std::vector<unsigned> useCount; ///< of each value
};

/// Reads a document; an exception with one line for one that is of another form.
std::vector<Kernel> readKernels(const char *text, size_t length);

#endif // BACKEND_C_KERNELS_H
