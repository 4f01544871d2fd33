//===-- tests/conformance/Values.cpp - Values by distribution -------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Values.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace h3::test {

std::string_view name(Distribution distribution) {
  static constexpr std::string_view names[] = {
      "normal", "any bits", "subnormal", "huge", "constant", "zeros", "inf", "nan", "mixed"};
  return names[static_cast<size_t>(distribution)];
}

Distribution drawDistribution(Engine &engine) {
  if (once(engine, 2))
    return Distribution::Normal;
  return static_cast<Distribution>(below(engine, 9));
}

/// Bits of the fraction.
static unsigned fractionOf(ScalarType type) {
  switch (type) {
  case ScalarType::F16:
    return 10;
  case ScalarType::BF16:
    return 7;
  case ScalarType::F32:
    return 23;
  case ScalarType::E4M3:
    return 3;
  case ScalarType::E5M2:
    return 2;
  default:
    return 52;
  }
}

FloatSource::FloatSource(ScalarType type, Distribution distribution, Engine &engine)
    : type(type), distribution(distribution), engine(engine),
      scale(std::ldexp(1.0, static_cast<int>(below(engine, 13)) - 6)) {
  constant = draw(once(engine, 2) ? Distribution::Normal : Distribution::AnyBits);
}

Bits FloatSource::next() {
  return distribution == Distribution::Constant ? constant : draw(distribution);
}

/// The sum of four uniform numbers: sums and products here are exact in double.
Bits FloatSource::bell() {
  int64_t sum = 0;
  uint64_t bits = engine();
  for (int k = 0; k < 4; ++k, bits >>= 16)
    sum += static_cast<int16_t>(bits & 0xFFFF);
  const double value =
      (static_cast<double>(sum) + 0.5 / 65536 * static_cast<double>(engine() >> 48)) * scale /
      32768;
  return scalar::convert(ScalarType::F64, type, std::bit_cast<uint64_t>(value));
}

Bits FloatSource::draw(Distribution kind) {
  const unsigned width = bitWidth(type), fraction = fractionOf(type);
  const Bits sign = Bits(engine() & 1) << (width - 1), fractions = (Bits(1) << fraction) - 1;
  const Bits exponents = (Bits(1) << (width - 1 - fraction)) - 1; // those of NaNs and infinities
  switch (kind) {
  case Distribution::Normal:
  case Distribution::Constant:
    return bell();
  case Distribution::AnyBits:
    return width == 64 ? engine() : engine() & ((Bits(1) << width) - 1);
  case Distribution::Subnormal: {
    // A random number of leading zeros.
    const Bits some = engine() & fractions;
    return sign | some >> below(engine, fraction);
  }
  case Distribution::Huge:
    return sign | (exponents - 1 - below(engine, 2)) << fraction | (engine() & fractions);
  case Distribution::Zeros:
    return sign;
  case Distribution::Infinities:
    return once(engine, 16) ? sign | exponents << fraction : bell();
  case Distribution::NaNs:
    if (!once(engine, 16))
      return bell();
    return sign | exponents << fraction | std::max<Bits>(engine() & fractions, 1);
  case Distribution::Mixed:
    break;
  }
  return draw(once(engine, 2) ? Distribution::Normal : static_cast<Distribution>(below(engine, 8)));
}

} // namespace h3::test
