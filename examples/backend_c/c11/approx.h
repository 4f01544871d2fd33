/* ---- Named approximations ---------------------------------------------------------------------
 *
 * Integer models of the f32 approximations of NVIDIA's special function unit: its bits for every
 * input, as measured on an H200. One quadratic polynomial for each segment of the reduced argument:
 *
 *   y = ((c0 << shift0) + c1 * x + ((c2 * square(x)) << shift2) + rounding) >> shift
 *
 * is the 24-bit significand of the result. The squarer drops the partial products of bits whose
 * places add up to less than 18.
 *
 * Source of the structure, and of the coefficients of rsqrt, ex2 and rcp as first published:
 * envytools (github.com/envytools/envytools, nvhw/sfu.c and nvhw/sfu_tab.c), MIT licence, Copyright
 * (C) 2015 Marcelina Koscielnicka. All numbers were measured again.
 */

typedef struct h3_segment {
  int32_t c0, c1, c2;
} h3_segment;

typedef struct h3_polynomial {
  const h3_segment *segments;
  int x_bits, square_scale, shift0, shift2;
  int64_t rounding;
  int shift;
} h3_polynomial;

static inline int64_t h3_square(uint32_t x) {
  uint32_t high = x >> 9, low = 0;
  for (int i = 2; i <= 8; ++i)
    low += (x >> i & 1) * (high >> (9 - i));
  return (int64_t)(high * high >> 1) + low;
}

/* The significand for the reduced argument. */
static inline uint32_t h3_evaluate(h3_polynomial p, uint32_t argument) {
  h3_segment c = p.segments[argument >> p.x_bits];
  uint32_t x = argument & (((uint32_t)1 << p.x_bits) - 1);
  int64_t y = (int64_t)c.c0 * ((int64_t)1 << p.shift0) + (int64_t)c.c1 * x +
              (int64_t)c.c2 * h3_square(x << p.square_scale) * ((int64_t)1 << p.shift2) +
              p.rounding;
  return (uint32_t)((uint64_t)y >> p.shift);
}

/* An exponent field, 0 allowed, and a significand; 2^24 carries into the exponent. */
static inline int64_t h3_assemble(int field, uint32_t significand) {
  return (int64_t)field * 0x800000 + (int64_t)significand - 0x800000;
}

/* A positive number as m * 4^half with m from 1 to 4; returns the place of m: the exponent's lowest
 * bit and the 23 fraction bits. */
static inline uint32_t h3_split_for_root(uint32_t bits, int *half) {
  int exponent = (int)(bits >> 23) - 127;
  uint32_t fraction = bits & 0x7FFFFF;
  if (exponent == -127) /* subnormal */
    for (exponent = -126; !(fraction >> 23); --exponent)
      fraction <<= 1;
  int odd = exponent & 1;
  *half = (exponent - odd) / 2;
  return (uint32_t)odd << 23 | (fraction & 0x7FFFFF);
}
