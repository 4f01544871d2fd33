//===-- tests/conformance/Values.h - Values by distribution --- -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_TESTS_CONFORMANCE_VALUES_H
#define H3_TESTS_CONFORMANCE_VALUES_H

#include "dsl/scalar/Scalar.h"

#include <cstdint>
#include <iterator>
#include <random>
#include <string_view>

namespace h3::test {

using Engine = std::mt19937_64;

/// One of 0 .. \p count-1. The same on every standard library.
inline uint64_t below(Engine &engine, uint64_t count) { return engine() % count; }
/// True once in \p times.
inline bool once(Engine &engine, uint64_t times) { return below(engine, times) == 0; }
/// One element of an array or a vector.
template <typename Range> auto pick(Engine &engine, const Range &from) {
  return std::data(from)[below(engine, std::size(from))];
}

/// How the values of one tensor are drawn.
enum class Distribution : uint8_t {
  Normal,     ///< about a bell, scaled by a power of two
  AnyBits,    ///< every pattern alike
  Subnormal,  ///< below the normal numbers, of any size
  Huge,       ///< the largest two powers of two
  Constant,   ///< one number throughout
  Zeros,      ///< zeros of both signs
  Infinities, ///< bell, with infinities among them
  NaNs,       ///< bell, with NaNs of many payloads and both signs among them
  Mixed,      ///< for each element one of the above
};
std::string_view name(Distribution distribution);

/// Bell alone every second time, else any.
Distribution drawDistribution(Engine &engine);

/// The source of one float tensor's values.
class FloatSource {
public:
  FloatSource(ScalarType type, Distribution distribution, Engine &engine);
  Bits next();

private:
  Bits draw(Distribution kind);
  Bits bell();

  ScalarType type;
  Distribution distribution;
  Engine &engine;
  double scale;
  Bits constant = 0;
};

} // namespace h3::test

#endif // H3_TESTS_CONFORMANCE_VALUES_H
