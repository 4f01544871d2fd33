//===-- runtime/tensor/Header.cpp - The JSON header of a tensor file *- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/tensor/Header.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <numeric>

namespace h3::tensor {

namespace {

using Json = nlohmann::json;

/// Receives the parser's events and fills a Header. A tree would lose duplicate keys and could be
/// made deep; here each event is checked where it occurs, and the first wrong one stops the parse.
class HeaderReader : public nlohmann::json_sax<Json> {
public:
  Header header;
  std::string error;

  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("a boolean"); }
  bool number_integer(number_integer_t) override { return unexpected("a negative number"); }
  bool number_float(number_float_t, const string_t &text) override {
    return unexpected("the number " + text);
  }
  bool binary(binary_t &) override { return unexpected("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (place == Place::ShapeItem) {
      if (value > static_cast<uint64_t>(INT64_MAX))
        return fail(where() + ": an extent of " + std::to_string(value) + " is out of range");
      entry.shape.push_back(static_cast<int64_t>(value));
      return true;
    }
    if (place == Place::OffsetItem) {
      if (offsets.size() == 2)
        return fail(where() + ": data_offsets has more than two numbers");
      offsets.push_back(value);
      return true;
    }
    return unexpected("the number " + std::to_string(value));
  }

  bool string(string_t &text) override {
    if (place == Place::MetadataValue) {
      header.metadata[name] = text;
      place = Place::MetadataKey;
      return true;
    }
    if (place == Place::DType) {
      std::optional<StorageType> type = storageTypeNamed(text);
      if (!type)
        return fail(where() + ": dtype '" + text + "' is not supported");
      entry.type = *type;
      place = Place::Field;
      return true;
    }
    return unexpected("a string");
  }

  bool start_object(size_t) override {
    switch (place) {
    case Place::Start:
      place = Place::TensorKey;
      return true;
    case Place::Tensor:
      entry = {};
      entry.name = name;
      seen = 0;
      offsets.clear();
      place = Place::Field;
      return true;
    case Place::Metadata:
      place = Place::MetadataKey;
      return true;
    default:
      return unexpected("an object");
    }
  }

  bool key(string_t &text) override {
    switch (place) {
    case Place::TensorKey:
      name = text;
      place = text == "__metadata__" ? Place::Metadata : Place::Tensor;
      if (!names.emplace(text, true).second)
        return fail("'" + text + "' is in the header twice");
      return true;
    case Place::MetadataKey:
      name = text;
      place = Place::MetadataValue;
      if (header.metadata.count(text))
        return fail("'" + text + "' is in __metadata__ twice");
      return true;
    default:
      break;
    }
    static constexpr std::pair<std::string_view, Place> kFields[] = {
        {"dtype", Place::DType}, {"shape", Place::Shape}, {"data_offsets", Place::Offsets}};
    for (unsigned i = 0; i < 3; ++i)
      if (text == kFields[i].first) {
        if (seen & (1u << i))
          return fail(where() + ": '" + text + "' is given twice");
        seen |= 1u << i;
        place = kFields[i].second;
        return true;
      }
    return fail(where() + ": unknown field '" + text + "'");
  }

  bool end_object() override {
    if (place == Place::Field) {
      if (seen != 7)
        return fail(where() + ": dtype, shape and data_offsets are needed");
      header.entries.push_back(std::move(entry));
      place = Place::TensorKey;
      return true;
    }
    place = place == Place::MetadataKey ? Place::TensorKey : Place::End;
    return true;
  }

  bool start_array(size_t) override {
    if (place != Place::Shape && place != Place::Offsets)
      return unexpected("an array");
    place = place == Place::Shape ? Place::ShapeItem : Place::OffsetItem;
    return true;
  }

  bool end_array() override {
    if (place == Place::OffsetItem) {
      if (offsets.size() != 2)
        return fail(where() + ": data_offsets has " + std::to_string(offsets.size()) +
                    " numbers, two are needed");
      entry.begin = offsets[0];
      entry.end = offsets[1];
    }
    place = Place::Field;
    return true;
  }

  bool parse_error(size_t position, const std::string &, const Json::exception &) override {
    // The library counts the bytes read; the wrong one is the last of them.
    return fail("its header is not JSON at byte " +
                std::to_string(position == 0 ? 0 : position - 1));
  }

private:
  /// What may come next.
  enum class Place {
    Start,
    TensorKey,
    Tensor,
    Field,
    DType,
    Shape,
    ShapeItem,
    Offsets,
    OffsetItem,
    Metadata,
    MetadataKey,
    MetadataValue,
    End
  };

  std::string where() const { return "tensor '" + entry.name + "'"; }

  bool fail(std::string message) {
    if (error.empty())
      error = std::move(message);
    return false;
  }

  bool unexpected(const std::string &found) {
    switch (place) {
    case Place::Start:
      return fail("its header is " + found + ", expected an object");
    case Place::Tensor:
      return fail("tensor '" + name + "': found " + found +
                  ", expected an object with dtype, shape and data_offsets");
    case Place::DType:
      return fail(where() + ": dtype is " + found + ", expected a string");
    case Place::Shape:
    case Place::ShapeItem:
      return fail(where() + ": shape holds " + found + ", expected numbers of 0 or more");
    case Place::Offsets:
    case Place::OffsetItem:
      return fail(where() + ": data_offsets holds " + found +
                  ", expected two numbers of 0 or more");
    case Place::Metadata:
    case Place::MetadataValue:
      return fail("__metadata__ holds " + found + ", expected strings");
    default:
      return fail("its header holds " + found + " in an unexpected place");
    }
  }

  Place place = Place::Start;
  HeaderEntry entry;
  std::string name; ///< the key last read of a tensor or of the metadata
  unsigned seen = 0;
  std::vector<uint64_t> offsets;
  std::map<std::string, bool> names;
};

std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

/// The size of one tensor against its shape, and its offsets against the file.
std::string checkEntry(const HeaderEntry &entry, uint64_t dataBytes) {
  const std::string where = "tensor '" + entry.name + "': ";
  const std::string range =
      "data_offsets " + std::to_string(entry.begin) + " to " + std::to_string(entry.end);
  if (entry.begin > entry.end)
    return where + range + " run backwards";
  if (entry.end > dataBytes)
    return where + range + " reach past the " + std::to_string(dataBytes) +
           " bytes of data in the file";
  std::optional<int64_t> count = elementCount(entry.shape);
  int64_t size = 0;
  if (!count || __builtin_mul_overflow(*count, static_cast<int64_t>(bytes(entry.type)), &size))
    return where + "shape " + shapeText(entry.shape) + " has more bytes than 63 bits count";
  if (static_cast<uint64_t>(size) != entry.end - entry.begin)
    return where + range + " hold " + std::to_string(entry.end - entry.begin) + " bytes, shape " +
           shapeText(entry.shape) + " of " + std::string(name(entry.type)) + " needs " +
           std::to_string(size);
  return {};
}

/// That the tensors, in the order of their offsets, cover the data.
std::string checkCover(const std::vector<HeaderEntry> &entries, uint64_t dataBytes) {
  std::vector<size_t> order(entries.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(entries[a].begin, entries[a].end) <
           std::pair(entries[b].begin, entries[b].end);
  });
  uint64_t covered = 0;
  const std::string *previous = nullptr;
  for (size_t i : order) {
    const HeaderEntry &entry = entries[i];
    if (entry.begin < covered)
      return "tensors '" + *previous + "' and '" + entry.name + "' overlap in the file";
    if (entry.begin > covered)
      return "bytes " + std::to_string(covered) + " to " + std::to_string(entry.begin) +
             " of the data belong to no tensor";
    covered = entry.end;
    previous = &entry.name;
  }
  if (covered != dataBytes)
    return "bytes " + std::to_string(covered) + " to " + std::to_string(dataBytes) +
           " of the data belong to no tensor";
  return {};
}

} // namespace

Result<Header> parseHeader(std::string_view json, uint64_t dataBytes) {
  HeaderReader reader;
  if (!Json::sax_parse(json.begin(), json.end(), &reader))
    return Error{reader.error};
  Header header = std::move(reader.header);
  for (const HeaderEntry &entry : header.entries)
    if (std::string error = checkEntry(entry, dataBytes); !error.empty())
      return Error{error};
  if (std::string error = checkCover(header.entries, dataBytes); !error.empty())
    return Error{error};
  std::sort(header.entries.begin(), header.entries.end(),
            [](const HeaderEntry &a, const HeaderEntry &b) { return a.name < b.name; });
  return header;
}

} // namespace h3::tensor
