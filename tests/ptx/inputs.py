# Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The inputs of the instruction tests, the same on every machine and in every run.

A set is named by the kinds of its columns, joined by commas: "f32,f32" holds pairs of f32, and
every test that takes two f32 uses the same one. A column is a list of encodings; a row is what one
thread reads. Rows come in whole warps.
"""

import itertools
import random
import struct


# Bytes of one element in memory. The register has as many bits; b128 has no register.
WIDTHS = {
    "f16": 2, "bf16": 2, "f32": 4, "f64": 8, "f16x2": 4, "bf16x2": 4, "e4m3x2": 2, "e5m2x2": 2,
    "b16": 2, "b32": 4, "b64": 8, "b128": 16, "count": 4, "nonzero16": 2, "nonzero32": 4,
    "nonzero64": 8, "lane": 4, "bool": 4, "tf32": 4, "f32x2": 8,
}

# width, fraction bits
FORMATS = {"f16": (16, 10), "bf16": (16, 7), "f32": (32, 23), "f64": (64, 52)}


def bias(kind):
    width, fraction = FORMATS[kind]
    return (1 << (width - fraction - 2)) - 1


def encode(kind, value):
    """The encoding of a double, rounded toward zero where it does not fit (sign kept)."""
    width, fraction = FORMATS[kind]
    bits = struct.unpack("<Q", struct.pack("<d", value))[0]
    if kind == "f64":
        return bits
    sign = bits >> 63 << (width - 1)
    exponent = (bits >> 52 & 0x7FF) - 1023 + bias(kind)
    significand = bits & ((1 << 52) - 1)
    if exponent >= (1 << (width - fraction - 1)) - 1:
        return sign | (((1 << (width - fraction - 1)) - 1) << fraction) - 1
    if exponent <= 0:
        drop = 52 - fraction + 1 - exponent
        return sign | ((significand | 1 << 52) >> drop if drop < 64 else 0)
    return sign | exponent << fraction | significand >> (52 - fraction)


def decode(kind, bits):
    """The double with the value of a finite encoding."""
    width, fraction = FORMATS[kind]
    field = bits >> fraction & ((1 << (width - fraction - 1)) - 1)
    significand = bits & ((1 << fraction) - 1)
    value = (significand + (1 << fraction if field else 0)) * 2.0 ** (
        max(field, 1) - bias(kind) - fraction)
    return -value if bits >> (width - 1) else value


def specials(kind):
    """Zeros, ones, the edges of the subnormal and normal ranges, infinities and NaNs; 22 values."""
    width, fraction = FORMATS[kind]
    infinity = ((1 << (width - fraction - 1)) - 1) << fraction
    quiet = 1 << (fraction - 1)
    normal = 1 << fraction
    positive = [0, 1, normal - 1, normal, encode(kind, 1.0), infinity - 1, infinity,
                infinity | quiet, infinity | 1, infinity | quiet | quiet >> 1 | 5,
                encode(kind, 1.5)]
    return [bits | sign << (width - 1) for bits in positive for sign in (0, 1)]


def boundaries(kind):
    """Where conversions change: halves, the ranges of the integers, halfway cases of the narrower
    floats; each with its two neighbours and both signs. NaNs with one bit of payload."""
    width, fraction = FORMATS[kind]
    values = [0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.5, 15.5, 100.0, 255.5, 1e4]
    for bits in (7, 8, 15, 16, 24, 31, 32, 53, 63, 64):
        values += [2.0 ** bits, 2.0 ** bits - 0.5, 2.0 ** bits - 1]
    values += [448.0, 464.0, 480.0, 57344.0, 61440.0, 65504.0, 65520.0, 2.0 ** -24, 2.0 ** -25,
               2.0 ** -14, 1 + 2.0 ** -11, 1 + 3 * 2.0 ** -11, 1 + 2.0 ** -8, 1 + 3 * 2.0 ** -8,
               1 + 2.0 ** -24, 1 + 3 * 2.0 ** -24, 2.0 ** -10, 2.0 ** -9 * 1.5, 1.0625, 1.1875,
               2.0 ** -126, 2.0 ** -149, 2.0 ** -150, 126.0, 127.0, 2.0 ** 126, 2.0 ** 127]
    result = []
    for value in values:
        bits = encode(kind, value)
        for near in (bits - 1, bits, bits + 1):
            if 0 <= near < 1 << (width - 1):
                result += [near, near | 1 << (width - 1)]
    infinity = ((1 << (width - fraction - 1)) - 1) << fraction
    for bit in range(0, fraction, fraction // 6):
        result += [infinity | 1 << bit, infinity | 1 << bit | 1 << (width - 1)]
    return list(dict.fromkeys(result))


def random_float(source, kind):
    width, fraction = FORMATS[kind]
    bits = source.getrandbits(width)
    shape = source.randrange(10)
    if shape == 9:  # a NaN of any payload
        return bits | ((1 << (width - fraction - 1)) - 1) << fraction | 1 << bits % fraction
    shape %= 4
    if shape == 0:
        return bits
    low = bits & (1 << fraction | (1 << fraction) - 1) & ~(1 << fraction)
    sign = bits >> (width - 1) << (width - 1)
    if shape == 1:
        return sign | low >> source.randrange(fraction)
    spread = 6 if shape == 2 else min(40, bias(kind) - 1)
    return sign | (bias(kind) + source.randrange(-spread, spread + 1)) << fraction | low


INTEGERS = [0, 1, 2, 3, 7, 8, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0x8000, 0xFFFF, 0x10000,
            0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x100000000, 0x7FFFFFFFFFFFFFFF,
            0x8000000000000000, 0xFFFFFFFFFFFFFFFF, 0xFFFFFFFFFFFF8000, 0xFFFFFFFFFFFFFF80,
            0xFFFFFFFF80000000, 0x5555555555555555, 0xAAAAAAAAAAAAAAAA, 0x0123456789ABCDEF]
COUNTS = [0, 1, 2, 7, 8, 15, 16, 17, 24, 31, 32, 33, 47, 48, 63, 64, 65, 127, 128, 255, 256, 257,
          0x8000, 0x10000, 0x80000000, 0xFFFFFFFF, 0x1F08, 0x0810, 0x2020]


def random_integer(source, width):
    bits = source.getrandbits(width)
    shape = source.randrange(4)
    if shape == 0:
        bits >>= source.randrange(width)
    elif shape == 1:
        bits = (1 << width) - 1 - (bits >> source.randrange(width))
    return bits


def column(source, kind, length):
    """Values of a kind in a row of a length: those that must occur, and a source of more."""
    if kind in FORMATS:
        listed = specials(kind) + (boundaries(kind) if length == 1 else [])
        return listed, lambda: random_float(source, kind)
    if kind == "tf32":
        return specials("f32"), lambda: random_float(source, "f32")
    if kind in ("f16x2", "bf16x2", "f32x2"):
        half, width = kind[:-2], WIDTHS[kind] * 4
        listed = specials(half) + (boundaries(half) if length == 1 else [])
        mixed = listed[:]
        source.shuffle(mixed)
        return ([low | high << width for low, high in zip(listed, mixed)],
                lambda: random_float(source, half) | random_float(source, half) << width)
    if kind in ("e4m3x2", "e5m2x2"):
        return [i | (i * 37 + 11 & 255) << 8 for i in range(256)], lambda: source.getrandbits(16)
    if kind == "count":
        return COUNTS, lambda: source.randrange(70)
    if kind == "lane":
        return list(range(40)), lambda: source.randrange(48)
    if kind == "b128":
        return [], lambda: source.getrandbits(128)
    if kind.startswith("nonzero"):
        width = int(kind[7:])
        listed = list(dict.fromkeys(x & (1 << width) - 1 for x in INTEGERS))
        return [x for x in listed if x], lambda: random_integer(source, width) or 1
    width = int(kind[1:])
    listed = list(dict.fromkeys(x & (1 << width) - 1 for x in INTEGERS))
    return listed, lambda: random_integer(source, width)


def related(source, kinds, row):
    """Makes a random row of floats interesting: sums that nearly cancel, equal operands."""
    kind = kinds[0]
    if kind not in FORMATS or set(kinds) != {kind} or len(kinds) == 1 or source.randrange(3):
        return row
    width, fraction = FORMATS[kind]
    infinity = ((1 << (width - fraction - 1)) - 1) << fraction
    sign = 1 << (width - 1)
    if any(bits & ~sign >= infinity for bits in row):
        return row
    target = decode(kind, row[0]) * (decode(kind, row[1]) if len(row) == 3 else 1.0)
    if target in (float("inf"), float("-inf")):
        return row
    last = encode(kind, target) ^ sign
    last = max(last & ~sign, 4) + source.randrange(-2, 3) | last & sign
    return row[:-1] + (last if source.randrange(4) else last ^ sign,)


def votes(source, kind):
    """One bit a lane: warps that agree, that agree but for one lane, and that do not."""
    rows = []
    for warp in range(12):
        bits = [0, 0xFFFFFFFF, 1, 0x80000000, 0xFFFF, 0xFFFF0000, 0xFFFFFFFE][warp] if warp < 7 \
            else source.getrandbits(32)
        rows += [(bits >> lane & 1,) for lane in range(32)]
    return rows


def rows(name):
    """The rows of the set."""
    kinds = name.split(",")
    source = random.Random("h3gen " + name)
    if kinds == ["bool"]:
        return votes(source, "bool")
    columns = [column(source, kind, len(kinds)) for kind in kinds]
    count = 512 if kinds[0] in FORMATS or kinds == [kinds[0]] and kinds[0].endswith("f16x2") else 256
    if kinds == ["b128"]:
        count = 64
    listed = [values for values, _ in columns]
    if all(listed):
        product = list(itertools.product(*listed))
    else:
        product = []
    share = count * 3 // 4 if len(kinds) < 3 else count // 2
    if len(kinds) == 1:
        share = count * 7 // 8
    result = []
    if len(product) > share:
        # Every value of every column occurs; the rest of the share is a sample of the product.
        longest = max(len(values) for values in listed)
        for index in range(longest):
            for turn in range(len(kinds)):
                row = tuple(values[(index + 5 * (position == turn)) % len(values)]
                            for position, values in enumerate(listed))
                result.append(row)
        result = list(dict.fromkeys(result))[:share]
        rest = [row for row in product if row not in set(result)]
        result += source.sample(rest, share - len(result))
    else:
        result = product
    while len(result) < count:
        result.append(related(source, kinds, tuple(draw() for _, draw in columns)))
    return result


def columns(name):
    """The set as bytes, one string of bytes a column."""
    table = rows(name)
    return [b"".join(row[i].to_bytes(WIDTHS[kind], "little") for row in table)
            for i, kind in enumerate(name.split(","))]
