//===-- runtime/json/Fields.cpp - Objects with known fields ---------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/json/Fields.h"

namespace h3::json {

Fields::Fields(const Value &object, std::string where, Problem &problem)
    : place(std::move(where)), problem(problem) {
  if (object.kind() != Kind::Object) {
    report("expected an object, found " + std::string(nameOf(object.kind())));
    return;
  }
  next = object.begin();
  end = object.end();
}

std::optional<Value> Fields::takeOptional(std::string_view name) {
  if (!next || *next == *end || next->key() != name)
    return std::nullopt;
  Value value = **next;
  ++*next;
  return value;
}

std::optional<Value> Fields::take(std::string_view name) {
  std::optional<Value> value = takeOptional(name);
  if (!value && next) {
    const std::string found = *next == *end ? "nothing" : "'" + std::string(next->key()) + "'";
    report("expected the field '" + std::string(name) + "', found " + found);
  }
  return value;
}

std::optional<Value> Fields::takeOf(Kind kind, std::string_view name) {
  std::optional<Value> value = take(name);
  if (value && value->kind() != kind) {
    report("'" + std::string(name) + "' is " + std::string(nameOf(value->kind())) + ", expected " +
           std::string(nameOf(kind)));
    return std::nullopt;
  }
  return value;
}

std::string Fields::string(std::string_view name) {
  std::optional<Value> value = takeOf(Kind::String, name);
  return value ? std::string(*value->string()) : std::string();
}

int64_t Fields::integer(std::string_view name, int64_t lowest, int64_t highest) {
  std::optional<Value> value = takeOf(Kind::Integer, name);
  if (!value)
    return lowest;
  const int64_t number = *value->integer();
  if (number >= lowest && number <= highest)
    return number;
  report("'" + std::string(name) + "' is " + std::to_string(number) + ", expected " +
         std::to_string(lowest) + " to " + std::to_string(highest));
  return lowest;
}

bool Fields::boolean(std::string_view name) {
  std::optional<Value> value = takeOf(Kind::Boolean, name);
  return value && *value->boolean();
}

std::optional<Value> Fields::array(std::string_view name) { return takeOf(Kind::Array, name); }

std::optional<Value> Fields::object(std::string_view name) { return takeOf(Kind::Object, name); }

void Fields::finish() {
  if (next && *next != *end)
    report("unknown field '" + std::string(next->key()) + "'");
}

} // namespace h3::json
