//===-- runtime/json/Fields.h - Objects with known fields ----- -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_RUNTIME_JSON_FIELDS_H
#define H3_RUNTIME_JSON_FIELDS_H

#include "runtime/json/Value.h"

#include <string>
#include <utility>

namespace h3::json {

/// What went wrong first while a document is read. Readers go on with empty values after an error,
/// and look here at the end.
class Problem {
public:
  bool isEmpty() const { return text.empty(); }
  const std::string &message() const { return text; }

  /// Keeps "WHERE: WHAT" unless something was kept before.
  void report(const std::string &where, const std::string &what) {
    if (text.empty())
      text = where.empty() ? what : where + ": " + what;
  }

private:
  std::string text;
};

/// Takes the fields of an object one after another, in the order of their names, so that one that
/// is missing, unknown or of another kind is noticed. \p where is the object in words: "tensor 2".
class Fields {
public:
  Fields(const Value &object, std::string where, Problem &problem);

  /// The next field, which must be \p name. Null after an error.
  std::optional<Value> take(std::string_view name);
  /// The next field if it is \p name.
  std::optional<Value> takeOptional(std::string_view name);

  std::string string(std::string_view name);
  /// An integer in \p lowest .. \p highest.
  int64_t integer(std::string_view name, int64_t lowest, int64_t highest);
  bool boolean(std::string_view name);
  std::optional<Value> array(std::string_view name);
  std::optional<Value> object(std::string_view name);

  /// After the last field: nothing may be left.
  void finish();

  const std::string &where() const { return place; }
  void report(const std::string &what) { problem.report(place, what); }

private:
  std::optional<Value> takeOf(Kind kind, std::string_view name);

  std::optional<Value::Iterator> next, end;
  std::string place;
  Problem &problem;
};

} // namespace h3::json

#endif // H3_RUNTIME_JSON_FIELDS_H
