//===-- runtime/bundle/CheckJson.cpp - Self-checks as JSON ----------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/bundle/CheckJson.h"

#include <charconv>

namespace h3::bundle {

void writeCheck(json::Writer &w, const SelfCheck &check) {
  const auto integers = [&](std::string_view key, const std::vector<int64_t> &list) {
    w.key(key);
    w.array(list, [&](int64_t value) { w.integer(value); });
  };
  w.open('{');
  w.key("outputs");
  w.string(toHex(check.outputs));
  w.key("parameters");
  w.array(check.parameters, [&](const plan::ParameterValue &value) {
    if (!value.given)
      return w.null();
    w.open('[');
    w.item();
    w.string(plan::name(value.dtype));
    w.item();
    w.hex(value.bits);
    w.close(']');
  });
  w.key("seed");
  w.hex(check.seed);
  w.key("tensors");
  w.array(check.tensors, [&](const CheckTensor &tensor) {
    w.open('{');
    if (tensor.values == Values::Index) {
      w.key("below");
      w.integer(tensor.below);
    }
    w.key("elements");
    w.integer(static_cast<int64_t>(tensor.elements));
    integers("extents", tensor.extents);
    if (tensor.inPlaceOf >= 0) {
      w.key("in_place_of");
      w.integer(tensor.inPlaceOf);
    }
    w.key("offset");
    w.integer(static_cast<int64_t>(tensor.offset));
    integers("strides", tensor.strides);
    if (tensor.values != Values::Finite) {
      w.key("values");
      w.string(name(tensor.values));
    }
    w.close('}');
  });
  w.close('}');
}

Digest readDigest(json::Fields &fields, std::string_view key) {
  const std::optional<Digest> value = digestOfHex(fields.string(key));
  if (!value)
    fields.report("'" + std::string(key) + "' is not 64 hexadecimal digits in lower case");
  return value.value_or(Digest());
}

std::vector<std::string> readStrings(json::Fields &fields, std::string_view key) {
  std::vector<std::string> list;
  if (const std::optional<json::Value> array = fields.array(key))
    for (const json::Value &value : *array) {
      if (!value.string())
        fields.report("'" + std::string(key) + "' holds what is no string");
      list.emplace_back(value.string().value_or(""));
    }
  return list;
}

std::vector<int64_t> readIntegers(json::Fields &fields, std::string_view key) {
  std::vector<int64_t> list;
  if (const std::optional<json::Value> array = fields.array(key))
    for (const json::Value &value : *array) {
      if (value.integer().value_or(-1) < 0)
        fields.report("'" + std::string(key) + "' holds what is no number of 0 or more");
      list.push_back(value.integer().value_or(0));
    }
  return list;
}

/// A number as Writer::hex has it.
static uint64_t readHex(std::string_view digits, json::Fields &fields) {
  uint64_t bits = 0;
  const char *end = digits.data() + digits.size();
  const auto [stop, code] = std::from_chars(digits.data(), end, bits, 16);
  const bool isShortest = !digits.empty() && (digits[0] != '0' || digits.size() == 1);
  const bool isLower = digits.find_first_of("ABCDEF") == std::string_view::npos;
  if (code != std::errc() || stop != end || !isShortest || !isLower)
    fields.report("'" + std::string(digits) + "' is no hexadecimal number in its shortest form");
  return bits;
}

static plan::ParameterValue readParameter(const json::Value &value, json::Fields &fields) {
  plan::ParameterValue result;
  if (value.isNull())
    return result;
  if (value.kind() != json::Kind::Array || value.size() != 2) {
    fields.report("a parameter is neither null nor a type with bits");
    return result;
  }
  json::Value::Iterator part = value.begin();
  const std::optional<plan::DType> type = plan::dtypeNamed((*part).string().value_or(""));
  if (!type)
    fields.report("a parameter has no type of the language");
  ++part;
  result.given = true;
  result.dtype = type.value_or(plan::DType::F32);
  result.bits = readHex((*part).string().value_or(""), fields);
  return result;
}

static CheckTensor readTensor(const json::Value &value, const std::string &where,
                              json::Problem &problem) {
  json::Fields fields(value, where, problem);
  CheckTensor tensor;
  const bool hasBelow = value.find("below").has_value();
  constexpr auto most = static_cast<int64_t>(kMaxCheckBytes);
  if (hasBelow)
    tensor.below = fields.integer("below", 0, INT64_MAX - 2);
  tensor.elements = static_cast<uint64_t>(fields.integer("elements", 1, most));
  tensor.extents = readIntegers(fields, "extents");
  if (value.find("in_place_of"))
    tensor.inPlaceOf =
        static_cast<int16_t>(fields.integer("in_place_of", 0, plan::kMaxTensors - 1));
  tensor.offset = static_cast<uint64_t>(fields.integer("offset", 0, most));
  tensor.strides = readIntegers(fields, "strides");
  if (value.find("values")) {
    const std::optional<Values> values = valuesNamed(fields.string("values"));
    if (!values || *values == Values::Finite)
      fields.report("'values' is no distribution, or the one that is not written");
    tensor.values = values.value_or(Values::Mixed);
  }
  fields.finish();
  if (hasBelow != (tensor.values == Values::Index))
    fields.report("'below' and the values 'index' go together");
  return tensor;
}

SelfCheck readCheck(const json::Value &value, const std::string &where, json::Problem &problem) {
  json::Fields fields(value, where, problem);
  SelfCheck check;
  check.outputs = readDigest(fields, "outputs");
  if (const std::optional<json::Value> parameters = fields.array("parameters"))
    for (const json::Value &parameter : *parameters)
      check.parameters.push_back(readParameter(parameter, fields));
  check.seed = readHex(fields.string("seed"), fields);
  if (const std::optional<json::Value> tensors = fields.array("tensors"))
    for (const json::Value &tensor : *tensors)
      check.tensors.push_back(
          readTensor(tensor, where + ", tensor " + std::to_string(check.tensors.size()), problem));
  fields.finish();
  return check;
}

} // namespace h3::bundle
