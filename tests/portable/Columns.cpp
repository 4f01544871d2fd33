//===-- tests/portable/Columns.cpp - Specs on blocks of elements ----------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Columns.h"

#include "dsl/interpreter/Evaluator.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace h3::test {

using namespace h3::interpreter;

/// Values are columns.
struct Recorder {
  using Value = uint32_t;
  Columns &columns;
  std::string &error;

  Value fail(std::string_view what) {
    if (error.empty())
      error = "not computed in columns: " + std::string(what);
    return 0;
  }
  Value add(const Columns::Step &step) {
    auto known = std::find(columns.steps.begin(), columns.steps.end(), step);
    if (known == columns.steps.end())
      known = columns.steps.insert(known, step);
    return Value(known - columns.steps.begin()) + 1;
  }

  Value literal(ScalarType type, Bits bits) {
    if (byteWidth(type) > 4)
      return fail("a literal of type " + std::string(name(type)));
    return add({.kind = Columns::Step::Kind::Literal, .bits = uint32_t(bits)});
  }
  Value parameter(unsigned) { return fail("a parameter"); }
  Value load(unsigned, int64_t) { return 0; }
  void store(unsigned, int64_t, Value value) { columns.result = value; }
  Value operation(const Operation &operation, const Value *operands) {
    auto isOf32Bits = [](ScalarType type) {
      return type == ScalarType::F32 || type == ScalarType::I32 || type == ScalarType::Bool;
    };
    constexpr Builtin ofIntegers[] = {Builtin::Add, Builtin::Sub, Builtin::Mul,     Builtin::Neg,
                                      Builtin::Shl, Builtin::Shr, Builtin::FromBits};
    bool isKnown = operation.rounding == Rounding::NearestEven && isOf32Bits(operation.type) &&
                   (operation.operand == ScalarType::F32 ||
                    (operation.operand == ScalarType::I32 &&
                     std::ranges::find(ofIntegers, operation.op) != std::end(ofIntegers)));
    if (!isKnown)
      return fail(spelling(operation.op));
    Columns::Step step{
        .kind = Columns::Step::Kind::Builtin, .op = operation.op, .operand = operation.operand};
    std::copy_n(operands, operandCount(operation.op), step.columns);
    return add(step);
  }
  Value convert(const Conversion &conversion, Value operand) {
    if (conversion.from != ScalarType::I32 || conversion.to != ScalarType::F32)
      return fail("a conversion");
    return add({.kind = Columns::Step::Kind::Convert, .columns = {operand}});
  }
  Value select(ScalarType, Value condition, Value then, Value otherwise) {
    return add({.kind = Columns::Step::Kind::Select, .columns = {condition, then, otherwise}});
  }
  std::optional<bool> decide(Value) { return std::nullopt; }
  std::optional<int64_t> integer(ScalarType, Value) { return std::nullopt; }
};

std::optional<Columns> Columns::record(const Program &program, std::string &error) {
  Columns columns;
  std::unique_ptr<Resolved> resolved = resolve(program, {1}, {{1}, {1}}, error);
  if (!resolved)
    return std::nullopt;
  Recorder recorder{columns, error};
  if (auto failure = Evaluator<Recorder>(*resolved, recorder).run())
    error = *failure;
  // One element of no particular value shows whether `carryOut` has every operation.
  uint32_t one = 0x3F800000, result;
  if (error.empty()) {
    try {
      columns.run({&one, 1}, {&result, 1});
    } catch (const std::out_of_range &) {
      recorder.fail("an operation");
    }
  }
  return error.empty() ? std::optional(std::move(columns)) : std::nullopt;
}

static constexpr uint32_t CanonicalNaN = 0x7FFFFFFF, SignBit = 0x80000000;
static bool isNaN(uint32_t bits) { return (bits & ~SignBit) > 0x7F800000; }

static float maximum(float a, float b) {
  if (a == b) // -0 < +0
    return std::bit_cast<float>(std::bit_cast<uint32_t>(a) & std::bit_cast<uint32_t>(b));
  return a > b || std::isnan(a) ? a : b;
}
static float minimum(float a, float b) {
  if (a == b)
    return std::bit_cast<float>(std::bit_cast<uint32_t>(a) | std::bit_cast<uint32_t>(b));
  return a < b || std::isnan(a) ? a : b;
}

void Columns::carryOut(const Step &step, const std::vector<uint32_t *> &columns, uint32_t *result,
                       size_t count) {
  const uint32_t *a = columns[step.columns[0]], *b = columns[step.columns[1]],
                 *c = columns[step.columns[2]];
  auto floats = [=](auto f) {
    for (size_t i = 0; i < count; ++i)
      result[i] =
          std::bit_cast<uint32_t>(f(std::bit_cast<float>(a[i]), std::bit_cast<float>(b[i])));
  };
  auto compare = [=](auto f) {
    for (size_t i = 0; i < count; ++i)
      result[i] = f(std::bit_cast<float>(a[i]), std::bit_cast<float>(b[i]));
  };
  auto bits = [=](auto f) {
    for (size_t i = 0; i < count; ++i)
      result[i] = f(a[i], b[i]);
  };
  switch (step.kind) {
  case Step::Kind::Literal:
    std::fill_n(result, count, step.bits);
    return;
  case Step::Kind::Convert:
    return bits([](uint32_t x, uint32_t) { return std::bit_cast<uint32_t>(float(int32_t(x))); });
  case Step::Kind::Select:
    for (size_t i = 0; i < count; ++i)
      result[i] = a[i] ? b[i] : c[i];
    return;
  case Step::Kind::Builtin:
    break;
  }
  const bool isFloat = step.operand == ScalarType::F32;
  switch (step.op) {
  case Builtin::Add:
    return isFloat ? floats([](float x, float y) { return x + y; })
                   : bits([](uint32_t x, uint32_t y) { return x + y; });
  case Builtin::Sub:
    return isFloat ? floats([](float x, float y) { return x - y; })
                   : bits([](uint32_t x, uint32_t y) { return x - y; });
  case Builtin::Mul:
    return isFloat ? floats([](float x, float y) { return x * y; })
                   : bits([](uint32_t x, uint32_t y) { return x * y; });
  case Builtin::Div:
    return floats([](float x, float y) { return x / y; });
  case Builtin::Sqrt:
    return floats([](float x, float) { return std::sqrt(x); });
  case Builtin::Fma:
    for (size_t i = 0; i < count; ++i)
      result[i] = std::bit_cast<uint32_t>(std::fma(
          std::bit_cast<float>(a[i]), std::bit_cast<float>(b[i]), std::bit_cast<float>(c[i])));
    return;
  case Builtin::Neg:
    return isFloat ? bits([](uint32_t x, uint32_t) { return x ^ SignBit; })
                   : bits([](uint32_t x, uint32_t) { return 0 - x; });
  case Builtin::Abs:
    return bits([](uint32_t x, uint32_t) { return x & ~SignBit; });
  case Builtin::Copysign:
    // The one NaN has sign 0.
    return bits(
        [](uint32_t x, uint32_t y) { return (x & ~SignBit) | (isNaN(y) ? 0 : y & SignBit); });
  case Builtin::Max:
    return floats(maximum);
  case Builtin::Min:
    return floats(minimum);
  case Builtin::Shl:
    return bits([](uint32_t x, uint32_t y) { return y < 32 ? x << y : 0; });
  case Builtin::Shr:
    return bits(
        [](uint32_t x, uint32_t y) { return uint32_t(int32_t(x) >> std::min<uint32_t>(y, 31)); });
  case Builtin::FromBits:
    return bits([](uint32_t x, uint32_t) { return x; });
  case Builtin::ToBits:
    return bits([](uint32_t x, uint32_t) { return isNaN(x) ? CanonicalNaN : x; });
  case Builtin::Less:
    return compare([](float x, float y) { return x < y; });
  case Builtin::LessEqual:
    return compare([](float x, float y) { return x <= y; });
  case Builtin::Greater:
    return compare([](float x, float y) { return x > y; });
  case Builtin::GreaterEqual:
    return compare([](float x, float y) { return x >= y; });
  case Builtin::Equal:
    return compare([](float x, float y) { return x == y; });
  default:
    throw std::out_of_range("operation");
  }
}

void Columns::run(std::span<const uint32_t> inputs, std::span<uint32_t> outputs) const {
  constexpr size_t Block = 256; // all columns of a block fit the second-level cache
  std::vector<uint32_t> storage((steps.size() + 1) * Block);
  std::vector<uint32_t *> columns;
  for (size_t k = 0; k <= steps.size(); ++k)
    columns.push_back(storage.data() + k * Block);
  for (size_t first = 0; first < inputs.size(); first += Block) {
    const size_t count = std::min(Block, inputs.size() - first);
    for (size_t i = 0; i < count; ++i) {
      uint32_t bits = inputs[first + i];
      columns[0][i] = isNaN(bits) ? CanonicalNaN : bits;
    }
    for (size_t k = 0; k < steps.size(); ++k)
      carryOut(steps[k], columns, columns[k + 1], count);
    for (size_t i = 0; i < count; ++i) {
      uint32_t bits = columns[result][i];
      outputs[first + i] = isNaN(bits) ? CanonicalNaN : bits;
    }
  }
}

} // namespace h3::test
