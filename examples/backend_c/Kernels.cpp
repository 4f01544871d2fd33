//===-- examples/backend_c/Kernels.cpp - Scheduled kernels, read ----------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Kernels.h"

#include <stdexcept>

using nlohmann::json;

bool Type::isFloat() const {
  return is("f16") || is("bf16") || is("f32") || is("f64") || is("e4m3") || is("e5m2");
}

unsigned Type::bits() const {
  if (is("ptr"))
    return 64;
  if (is("e4m3") || is("e5m2"))
    return 8;
  return static_cast<unsigned>(std::stoul(element.substr(element.find_first_of("0123456789"))));
}

static Type typeNamed(const std::string &name) {
  size_t x = name.find('x');
  if (x == std::string::npos)
    return {name, 1};
  return {name.substr(0, x), static_cast<unsigned>(std::stoul(name.substr(x + 1)))};
}

namespace {

class Reader {
public:
  explicit Reader(Kernel &kernel) : kernel(kernel) {}

  unsigned define(const json &value) {
    unsigned number = value.at(0).get<unsigned>();
    if (kernel.types.size() <= number) {
      kernel.types.resize(number + 1);
      kernel.useCount.resize(number + 1);
    }
    kernel.types[number] = typeNamed(value.at(1).get<std::string>());
    return number;
  }

  Block block(const json &list) {
    Block result;
    for (const json &item : list)
      result.operations.push_back(operation(item));
    return result;
  }

private:
  Operation operation(const json &item) {
    Operation op;
    for (const auto &[field, value] : item.items()) {
      if (field == "op")
        op.name = value.get<std::string>();
      else if (field == "in")
        op.in = value.get<std::vector<unsigned>>();
      else if (field == "out" || field == "carried")
        for (const json &one : value)
          (field == "out" ? op.out : op.carried).push_back(define(one));
      else if (field == "index" && item.at("op") == "for")
        op.index = {define(value)};
      else if (field != "then" && field != "else" && field != "body")
        op.fields[field] = value;
    }
    for (const char *region : {"then", "else", "body"})
      if (item.contains(region))
        op.regions.push_back(block(item.at(region)));
    for (unsigned value : op.in)
      ++kernel.useCount.at(value);
    return op;
  }

  Kernel &kernel;
};

} // namespace

std::vector<Kernel> readKernels(const char *text, size_t length) {
  const json document = json::parse(text, text + length);
  constexpr int form = 1;
  if (document.at("h3_scheduled") != form)
    throw std::runtime_error("scheduled kernels of form " + document.at("h3_scheduled").dump() +
                             ", expected " + std::to_string(form));
  std::vector<Kernel> kernels;
  for (const json &item : document.at("kernels")) {
    Kernel &kernel = kernels.emplace_back();
    kernel.entry = item.at("entry").get<std::string>();
    kernel.op = item.at("operator").get<std::string>();
    kernel.variant = item.at("variant").get<std::string>();
    kernel.threads = item.at("threads").get<uint64_t>();
    kernel.tableBytes = item.value("table_bytes", uint64_t(0));
    Reader reader(kernel);
    for (const json &parameter : item.at("parameters"))
      kernel.parameters.push_back(
          {parameter.at("name").get<std::string>(), reader.define(parameter.at("out"))});
    kernel.body = reader.block(item.at("body"));
  }
  return kernels;
}
