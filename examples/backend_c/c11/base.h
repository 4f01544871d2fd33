/* ---- What every kernel needs ------------------------------------------------------------------
 *
 * Floats of 32 and 64 bits are C's; f16, bf16 and the 8-bit ones are their bits in unsigned
 * integers. Integers are unsigned, so that they wrap; where an operation is signed it says so.
 * Each operation rounds once, to nearest even: compile with -ffp-contract=off, and without
 * -ffast-math and what it stands for. The rounding mode must be the default one, and subnormals
 * must be kept.
 */

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if FLT_EVAL_METHOD != 0
#error "this compiler computes in a wider type than the program says; on x86 use -mfpmath=sse"
#endif
#ifdef __FAST_MATH__
#error "-ffast-math changes results"
#endif
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

static inline uint32_t h3_bits_of_f32(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
static inline float h3_f32_of_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
static inline uint64_t h3_bits_of_f64(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
static inline double h3_f64_of_bits(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* The integer of the same bits, signed. */
static inline int32_t h3_signed_i32(uint32_t x) {
  return x <= INT32_MAX ? (int32_t)x : (int32_t)(x - 0x80000000u) + INT32_MIN;
}
static inline int64_t h3_signed_i64(uint64_t x) {
  return x <= INT64_MAX ? (int64_t)x : (int64_t)(x - 0x8000000000000000u) + INT64_MIN;
}

/* What a store writes: every NaN is the type's one NaN, sign 0 and all other bits 1. */
static inline uint8_t h3_canonical_e4m3(uint8_t x) { return (x & 0x7F) == 0x7F ? 0x7F : x; }
static inline uint8_t h3_canonical_e5m2(uint8_t x) { return (x & 0x7F) > 0x7C ? 0x7F : x; }
static inline uint16_t h3_canonical_f16(uint16_t x) { return (x & 0x7FFF) > 0x7C00 ? 0x7FFF : x; }
static inline uint16_t h3_canonical_bf16(uint16_t x) { return (x & 0x7FFF) > 0x7F80 ? 0x7FFF : x; }
static inline uint32_t h3_canonical_f32(float x) {
  return isnan(x) ? 0x7FFFFFFFu : h3_bits_of_f32(x);
}
static inline uint64_t h3_canonical_f64(double x) {
  return isnan(x) ? 0x7FFFFFFFFFFFFFFFu : h3_bits_of_f64(x);
}

static inline float h3_f32_of_f16(uint16_t x) {
  uint32_t sign = (uint32_t)(x & 0x8000) << 16, magnitude = x & 0x7FFF;
  if (magnitude >= 0x7C00) /* infinity, NaN */
    return h3_f32_of_bits(sign | 0x7F800000u | (magnitude & 0x3FF) << 13);
  if (magnitude < 0x400) { /* in units of 2^-24 */
    float value = (float)magnitude * 0x1p-24f;
    return h3_f32_of_bits(sign | h3_bits_of_f32(value));
  }
  return h3_f32_of_bits(sign | ((magnitude << 13) + 0x38000000u));
}
static inline uint16_t h3_f16_of_f32(float x) {
  uint32_t bits = h3_bits_of_f32(x), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000)
    return 0x7FFF;
  if (magnitude >= 0x477FF000) /* what rounds to 65536 or more */
    return (uint16_t)(sign | 0x7C00);
  if (magnitude < 0x38800000) { /* subnormal: the addition rounds to units of 2^-24 */
    float shifted = h3_f32_of_bits(magnitude) + 0.5f;
    return (uint16_t)(sign | (h3_bits_of_f32(shifted) - 0x3F000000));
  }
  magnitude += 0xFFF + (magnitude >> 13 & 1);
  return (uint16_t)(sign | (magnitude - 0x38000000) >> 13);
}
static inline float h3_f32_of_bf16(uint16_t x) { return h3_f32_of_bits((uint32_t)x << 16); }
static inline uint16_t h3_bf16_of_f32(float x) {
  uint32_t bits = h3_bits_of_f32(x);
  if (isnan(x))
    return 0x7FFF;
  return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

/* -0 < +0. In max and min a NaN wins, in max_num and min_num it loses. */
static inline float h3_max_f32(float a, float b) {
  if (isnan(a) || isnan(b))
    return NAN;
  return a < b || (a == b && signbit(a)) ? b : a;
}
static inline float h3_min_f32(float a, float b) {
  if (isnan(a) || isnan(b))
    return NAN;
  return b < a || (a == b && signbit(b)) ? b : a;
}
static inline float h3_max_num_f32(float a, float b) {
  return isnan(a) ? b : isnan(b) ? a : h3_max_f32(a, b);
}
static inline float h3_min_num_f32(float a, float b) {
  return isnan(a) ? b : isnan(b) ? a : h3_min_f32(a, b);
}
static inline double h3_max_f64(double a, double b) {
  if (isnan(a) || isnan(b))
    return NAN;
  return a < b || (a == b && signbit(a)) ? b : a;
}
static inline double h3_min_f64(double a, double b) {
  if (isnan(a) || isnan(b))
    return NAN;
  return b < a || (a == b && signbit(b)) ? b : a;
}
static inline double h3_max_num_f64(double a, double b) {
  return isnan(a) ? b : isnan(b) ? a : h3_max_f64(a, b);
}
static inline double h3_min_num_f64(double a, double b) {
  return isnan(a) ? b : isnan(b) ? a : h3_min_f64(a, b);
}

/* A NaN has sign 0. */
static inline float h3_copysign_f32(float x, float sign) {
  return isnan(sign) ? fabsf(x) : copysignf(x, sign);
}
static inline double h3_copysign_f64(double x, double sign) {
  return isnan(sign) ? fabs(x) : copysign(x, sign);
}

/* Shifts of the language: a count outside the width gives 0, of shr the sign. */
static inline uint32_t h3_sshr_i32(uint32_t x, uint32_t count) {
  return x <= INT32_MAX ? x >> count : ~(~x >> count);
}
static inline uint64_t h3_sshr_i64(uint64_t x, uint64_t count) {
  return x <= INT64_MAX ? x >> count : ~(~x >> count);
}
static inline uint32_t h3_shl_i32(uint32_t x, uint32_t count) {
  return count < 32 ? x << count : 0;
}
static inline uint64_t h3_shl_i64(uint64_t x, uint64_t count) {
  return count < 64 ? x << count : 0;
}
static inline uint32_t h3_shr_i32(uint32_t x, uint32_t count) {
  return h3_sshr_i32(x, count < 32 ? count : 31);
}
static inline uint64_t h3_shr_i64(uint64_t x, uint64_t count) {
  return h3_sshr_i64(x, count < 64 ? count : 63);
}

/* Signed quotients, rounded down and up. */
static inline int64_t h3_floordiv(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
static inline int64_t h3_ceildiv(int64_t a, int64_t b) {
  return a / b + (a % b != 0 && (a < 0) == (b < 0));
}

/* Memory, at any address. */
static inline uint8_t h3_load_8(const unsigned char *at) { return *at; }
static inline uint16_t h3_load_16(const unsigned char *at) {
  uint16_t x;
  memcpy(&x, at, sizeof x);
  return x;
}
static inline uint32_t h3_load_32(const unsigned char *at) {
  uint32_t x;
  memcpy(&x, at, sizeof x);
  return x;
}
static inline uint64_t h3_load_64(const unsigned char *at) {
  uint64_t x;
  memcpy(&x, at, sizeof x);
  return x;
}
static inline float h3_load_f32(const unsigned char *at) { return h3_f32_of_bits(h3_load_32(at)); }
static inline double h3_load_f64(const unsigned char *at) { return h3_f64_of_bits(h3_load_64(at)); }
static inline unsigned char *h3_load_address(const unsigned char *at) {
  return (unsigned char *)(uintptr_t)h3_load_64(at);
}
static inline void h3_store_8(unsigned char *at, uint8_t x) { *at = x; }
static inline void h3_store_16(unsigned char *at, uint16_t x) { memcpy(at, &x, sizeof x); }
static inline void h3_store_32(unsigned char *at, uint32_t x) { memcpy(at, &x, sizeof x); }
static inline void h3_store_64(unsigned char *at, uint64_t x) { memcpy(at, &x, sizeof x); }
