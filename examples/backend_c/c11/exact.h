/* ---- Operations that C has not ----------------------------------------------------------------
 *
 * Directed roundings, fused multiply-adds in 16 bits, conversions of small floats: each computes
 * the exact result, or as much of it as decides the rounding, in integers, and rounds once.
 */

/* A binary encoding: sign, exponent field, fraction. `precision` counts the leading bit. e4m3 has
 * no infinity: its highest exponent holds numbers, and only the magnitude of all ones is NaN. */
typedef struct h3_format {
  int width, precision;
  bool has_infinity;
} h3_format;
static const h3_format h3_e4m3 = {8, 4, false}, h3_e5m2 = {8, 3, true}, h3_f16 = {16, 11, true},
                       h3_bf16 = {16, 8, true}, h3_f32 = {32, 24, true}, h3_f64 = {64, 53, true};

typedef enum h3_rounding { h3_rn, h3_rz, h3_rm, h3_rp } h3_rounding;

static inline uint64_t h3_nan(h3_format f) { return ((uint64_t)1 << (f.width - 1)) - 1; }
static inline uint64_t h3_sign(h3_format f, bool negative) {
  return negative ? (uint64_t)1 << (f.width - 1) : 0;
}
static inline int h3_bias(h3_format f) { return (1 << (f.width - f.precision - 1)) - 1; }
/* The first magnitude that is no finite number: infinity, or e4m3's NaN. */
static inline uint64_t h3_overflow(h3_format f) {
  return f.has_infinity ? h3_nan(f) >> (f.precision - 1) << (f.precision - 1) : h3_nan(f);
}
static inline uint64_t h3_magnitude(h3_format f, uint64_t x) { return x & h3_nan(f); }
static inline bool h3_is_negative(h3_format f, uint64_t x) { return x >> (f.width - 1) & 1; }
static inline bool h3_is_nan(h3_format f, uint64_t x) {
  return h3_magnitude(f, x) > (f.has_infinity ? h3_overflow(f) : h3_nan(f) - 1);
}
static inline bool h3_is_infinite(h3_format f, uint64_t x) {
  return f.has_infinity && h3_magnitude(f, x) == h3_overflow(f);
}
static inline bool h3_is_zero(h3_format f, uint64_t x) { return h3_magnitude(f, x) == 0; }

/* A finite number that is not zero: significand * 2^(exponent - 127), where the significand is
 * high * 2^64 + low, and the highest bit of `high` is set. */
typedef struct h3_number {
  bool negative;
  int exponent;
  uint64_t high, low;
} h3_number;

static inline h3_number h3_shifted_up(h3_number x) {
  while (!(x.high >> 63)) {
    x.high = x.high << 1 | x.low >> 63;
    x.low <<= 1;
    --x.exponent;
  }
  return x;
}

static inline h3_number h3_unpack(h3_format f, uint64_t x) {
  int fraction_bits = f.precision - 1;
  int field = (int)(h3_magnitude(f, x) >> fraction_bits);
  uint64_t fraction = x & (((uint64_t)1 << fraction_bits) - 1);
  if (field)
    fraction |= (uint64_t)1 << fraction_bits;
  h3_number number = {h3_is_negative(f, x), (field ? field : 1) - h3_bias(f),
                      fraction << (64 - f.precision), 0};
  return h3_shifted_up(number);
}

/* The nearest encoding in the sense of the rounding. */
static inline uint64_t h3_pack(h3_format f, h3_number x, h3_rounding rounding, bool saturate) {
  int field = x.exponent + h3_bias(f), dropped = 64 - f.precision;
  uint64_t significand = x.high | (x.low != 0); /* far below what is kept */
  if (field <= 0) {                             /* subnormal: fewer bits are kept, down to none */
    dropped += 1 - field;
    field = 1;
    if (dropped > 65) {
      significand = 1;
      dropped = 63;
    } else
      for (; dropped > 63; --dropped)
        significand = significand >> 1 | (significand & 1);
  }
  uint64_t kept = significand >> dropped, rest = significand << (64 - dropped);
  const uint64_t half = (uint64_t)1 << 63;
  bool up = rounding == h3_rn   ? rest > half || (rest == half && (kept & 1))
            : rounding == h3_rz ? false
                                : rest != 0 && (rounding == h3_rm) == x.negative;
  /* The leading bit is at the place of the exponent's lowest one; a carry raises that by itself. */
  uint64_t result = ((uint64_t)(field - 1) << (f.precision - 1)) + kept + up;
  if (field >= 1 << (f.width - f.precision) || result >= h3_overflow(f)) {
    bool away = rounding == h3_rn || (rounding != h3_rz && (rounding == h3_rm) == x.negative);
    result = away && !saturate ? h3_overflow(f) : h3_overflow(f) - 1;
    if (!f.has_infinity && away && !saturate)
      return h3_nan(f);
  }
  return result | h3_sign(f, x.negative);
}

/* The sign of a sum that is zero, of terms that are not both zeros of one sign. */
static inline uint64_t h3_cancelled(h3_format f, h3_rounding rounding) {
  return h3_sign(f, rounding == h3_rm);
}

/* The sum of two numbers; the lowest bit of `low` stands for all that lies below it. No bit of it
 * is lost that decides a rounding: both have 22 free bits at the end. Empty (high 0) if it is zero.
 */
static inline h3_number h3_sum(h3_number x, h3_number y) {
  if (x.exponent < y.exponent ||
      (x.exponent == y.exponent && (x.high < y.high || (x.high == y.high && x.low < y.low)))) {
    h3_number other = x;
    x = y;
    y = other;
  }
  int distance = x.exponent - y.exponent + 1;
  /* A place for the carry. */
  x.low = x.low >> 1 | x.high << 63;
  x.high >>= 1;
  ++x.exponent;
  bool rest = false;
  if (distance > 126) {
    y.high = y.low = 0;
    rest = true;
  } else if (distance >= 64) {
    rest = y.low != 0 || (distance > 64 && y.high << (128 - distance) != 0);
    y.low = distance > 64 ? y.high >> (distance - 64) : y.high;
    y.high = 0;
  } else {
    rest = y.low << (64 - distance) != 0;
    y.low = y.low >> distance | y.high << (64 - distance);
    y.high >>= distance;
  }
  y.low |= rest;
  h3_number sum = x;
  if (x.negative == y.negative) {
    sum.low = x.low + y.low;
    sum.high = x.high + y.high + (sum.low < x.low);
  } else {
    sum.low = x.low - y.low;
    sum.high = x.high - y.high - (x.low < y.low);
  }
  return sum.high || sum.low ? h3_shifted_up(sum) : sum;
}

/* The exact product. */
static inline h3_number h3_product(h3_number x, h3_number y) {
  uint64_t a = x.high >> 32, b = x.high & 0xFFFFFFFF, c = y.high >> 32, d = y.high & 0xFFFFFFFF;
  uint64_t middle = (b * d >> 32) + (a * d & 0xFFFFFFFF) + b * c;
  h3_number product = {x.negative != y.negative, x.exponent + y.exponent + 1,
                       a * c + (a * d >> 32) + (middle >> 32), x.high * y.high};
  return h3_shifted_up(product);
}

static inline uint64_t h3_add(h3_format f, uint64_t a, uint64_t b, h3_rounding rounding) {
  if (h3_is_nan(f, a) || h3_is_nan(f, b))
    return h3_nan(f);
  if (h3_is_infinite(f, a))
    return h3_is_infinite(f, b) && a != b ? h3_nan(f) : a;
  if (h3_is_infinite(f, b))
    return b;
  if (h3_is_zero(f, a) && h3_is_zero(f, b))
    return a == b ? a : h3_cancelled(f, rounding);
  if (h3_is_zero(f, a))
    return b;
  if (h3_is_zero(f, b))
    return a;
  h3_number sum = h3_sum(h3_unpack(f, a), h3_unpack(f, b));
  return sum.high ? h3_pack(f, sum, rounding, false) : h3_cancelled(f, rounding);
}

static inline uint64_t h3_sub(h3_format f, uint64_t a, uint64_t b, h3_rounding rounding) {
  return h3_add(f, a, b ^ h3_sign(f, true), rounding);
}

static inline uint64_t h3_mul(h3_format f, uint64_t a, uint64_t b, h3_rounding rounding) {
  bool negative = h3_is_negative(f, a) != h3_is_negative(f, b);
  bool has_zero = h3_is_zero(f, a) || h3_is_zero(f, b);
  if (h3_is_nan(f, a) || h3_is_nan(f, b))
    return h3_nan(f);
  if (h3_is_infinite(f, a) || h3_is_infinite(f, b))
    return has_zero ? h3_nan(f) : h3_overflow(f) | h3_sign(f, negative);
  if (has_zero)
    return h3_sign(f, negative);
  return h3_pack(f, h3_product(h3_unpack(f, a), h3_unpack(f, b)), rounding, false);
}

static inline uint64_t h3_div(h3_format f, uint64_t a, uint64_t b, h3_rounding rounding) {
  bool negative = h3_is_negative(f, a) != h3_is_negative(f, b);
  if (h3_is_nan(f, a) || h3_is_nan(f, b) || (h3_is_infinite(f, a) && h3_is_infinite(f, b)) ||
      (h3_is_zero(f, a) && h3_is_zero(f, b)))
    return h3_nan(f);
  if (h3_is_infinite(f, a) || h3_is_zero(f, b))
    return h3_overflow(f) | h3_sign(f, negative);
  if (h3_is_infinite(f, b) || h3_is_zero(f, a))
    return h3_sign(f, negative);
  h3_number x = h3_unpack(f, a), y = h3_unpack(f, b);
  uint64_t left = x.high >> 1, divisor = y.high >> 1, quotient = 0;
  for (int bit = 0; bit < 64; ++bit, left <<= 1) {
    quotient = quotient << 1 | (left >= divisor);
    if (left >= divisor)
      left -= divisor;
  }
  h3_number result = {negative, x.exponent - y.exponent, quotient, left != 0};
  return h3_pack(f, h3_shifted_up(result), rounding, false);
}

static inline uint64_t h3_fma(h3_format f, uint64_t a, uint64_t b, uint64_t c,
                              h3_rounding rounding) {
  bool negative = h3_is_negative(f, a) != h3_is_negative(f, b);
  bool has_zero = h3_is_zero(f, a) || h3_is_zero(f, b);
  if (h3_is_nan(f, a) || h3_is_nan(f, b) || h3_is_nan(f, c))
    return h3_nan(f);
  if (h3_is_infinite(f, a) || h3_is_infinite(f, b)) {
    uint64_t product = h3_overflow(f) | h3_sign(f, negative);
    return has_zero || (h3_is_infinite(f, c) && c != product) ? h3_nan(f) : product;
  }
  if (h3_is_infinite(f, c))
    return c;
  if (has_zero)
    return h3_is_zero(f, c) && h3_is_negative(f, c) != negative ? h3_cancelled(f, rounding) : c;
  h3_number product = h3_product(h3_unpack(f, a), h3_unpack(f, b));
  if (h3_is_zero(f, c))
    return h3_pack(f, product, rounding, false);
  h3_number sum = h3_sum(product, h3_unpack(f, c));
  return sum.high ? h3_pack(f, sum, rounding, false) : h3_cancelled(f, rounding);
}

static inline uint64_t h3_sqrt(h3_format f, uint64_t a, h3_rounding rounding) {
  if (h3_is_nan(f, a))
    return h3_nan(f);
  if (h3_is_zero(f, a))
    return a;
  if (h3_is_negative(f, a))
    return h3_nan(f);
  if (h3_is_infinite(f, a))
    return a;
  h3_number x = h3_unpack(f, a);
  bool is_odd = x.exponent & 1;
  /* 4^(half + 1) times a fraction from 1/4 on. */
  uint64_t fraction = is_odd ? x.high : x.high >> 1, root = 0, left = 0;
  enum { root_bits = 56 };
  for (int bit = 0; bit < root_bits; ++bit, fraction <<= 2) {
    left = left << 2 | fraction >> 62;
    uint64_t tried = root << 2 | 1;
    root = root << 1 | (left >= tried);
    if (left >= tried)
      left -= tried;
  }
  h3_number result = {false, (x.exponent - is_odd) / 2, root << (64 - root_bits), left != 0};
  return h3_pack(f, result, rounding, false);
}

static inline uint64_t h3_convert(h3_format from, h3_format to, uint64_t a, h3_rounding rounding,
                                  bool saturate) {
  bool negative = h3_is_negative(from, a);
  if (h3_is_nan(from, a))
    return h3_nan(to);
  if (h3_is_infinite(from, a))
    return saturate          ? (h3_overflow(to) - 1) | h3_sign(to, negative)
           : to.has_infinity ? h3_overflow(to) | h3_sign(to, negative)
                             : h3_nan(to);
  if (h3_is_zero(from, a))
    return h3_sign(to, negative);
  return h3_pack(to, h3_unpack(from, a), rounding, saturate);
}

static inline uint64_t h3_convert_integer(h3_format to, int64_t a, h3_rounding rounding,
                                          bool saturate) {
  if (a == 0)
    return 0;
  uint64_t magnitude = a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
  h3_number number = {a < 0, 63, magnitude, 0};
  return h3_pack(to, h3_shifted_up(number), rounding, saturate);
}
