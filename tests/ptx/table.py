# Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of single-instruction tests, and the PTX of each test.

`python3 table.py --ptxas PATH` writes instructions.json beside this file: every candidate below that
ptxas takes for at least one target of PROBES. A row holds the test's name, the instruction under
test, the target that has it if the first probe has not, the kinds of its inputs and outputs (inputs.py) and the body: PTX lines that compute %out0,
%out1, ... from %in0, %in1, ...; %ia0 and %oa0 are the addresses of this thread's elements, for the
kinds that have no register, and for memory instructions. %p, %h, %r, %d are scratch registers.
"""

import argparse
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from inputs import WIDTHS

FOLDER = os.path.dirname(os.path.abspath(__file__))
PROBES = ("sm_90", "sm_100a", "sm_120a")
HEADER = ".version {version}\n.target {target}\n.address_size 64\n"
PTX_VERSION = "8.8"


class Table:
    def __init__(self):
        self.rows = []

    def add(self, instruction, inputs, outputs, body=None, name=None, declare=(), meaning=None):
        """`body` defaults to the instruction applied to all inputs and outputs. `meaning` names a
        test of the same inputs and the same bits by the definition of the PTX ISA: it stands in for
        targets that lack the instruction."""
        inputs, outputs = inputs.split(), outputs.split()
        if body is None:
            operands = [f"%out{i}" for i in range(len(outputs))] + [
                f"%in{i}" for i in range(len(inputs))]
            body = f"{instruction} {', '.join(operands)};"
        row = {"name": name or instruction, "instruction": instruction, "in": inputs,
               "out": outputs, "body": body.split("\n")}
        if declare:
            row["declare"] = list(declare)
        if meaning:
            row["meaning"] = meaning
        self.rows.append(row)


def choices(*groups):
    """All strings with one modifier of each group: choices("add", (".rn", ".rz"), ("", ".ftz"))."""
    return ["".join(parts) for parts in
            itertools.product(*[[g] if isinstance(g, str) else g for g in groups])]


ROUNDINGS = ("", ".rn", ".rz", ".rm", ".rp")
FLOATS = ("f16", "f16x2", "bf16", "bf16x2", "f32", "f64")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num",
               "nan")


def float_arithmetic(table):
    for t in FLOATS:
        for op in ("add", "sub", "mul"):
            for i in choices(op, ROUNDINGS, ("", ".ftz"), ("", ".sat"), "." + t):
                table.add(i, f"{t} {t}", t)
        for i in choices("fma", ROUNDINGS[1:], ("", ".ftz"), ("", ".sat", ".relu"), "." + t):
            table.add(i, f"{t} {t} {t}", t)
        for i in choices(("neg", "abs"), ("", ".ftz"), "." + t):
            table.add(i, t, t)
        for i in choices(("min", "max"), ("", ".ftz"), ("", ".NaN"), ("", ".xorsign.abs"), "." + t):
            table.add(i, f"{t} {t}", t)
        for i in choices("copysign.", t):
            table.add(i, f"{t} {t}", t)
        for i in choices(("ex2.approx", "tanh.approx"), ("", ".ftz"), "." + t):
            table.add(i, t, t)
    for t in ("f32", "f64"):
        for i in choices("div", (".approx", ".full") + ROUNDINGS[1:], ("", ".ftz"), "." + t):
            table.add(i, f"{t} {t}", t)
        for i in choices(("rcp", "sqrt"), (".approx",) + ROUNDINGS[1:], ("", ".ftz"), "." + t):
            table.add(i, t, t)
        for i in choices(("rsqrt", "lg2", "sin", "cos"), ".approx", ("", ".ftz"), "." + t):
            table.add(i, t, t)
        for kind in ("finite", "infinite", "number", "notanumber", "normal", "subnormal"):
            i = f"testp.{kind}.{t}"
            table.add(i, t, "b32", f"{i} %p0, %in0;\nselp.b32 %out0, 1, 0, %p0;")
    for narrow in ("f16", "bf16"):
        for op, inputs in (("add", f"{narrow} f32"), ("sub", f"{narrow} f32"),
                           ("fma", f"{narrow} {narrow} f32")):
            for i in choices(op, ROUNDINGS, ("", ".sat"), ".f32.", narrow):
                wide = i.removesuffix("." + narrow)
                widen = [f"cvt.f32.{narrow} %r{k}, %in{k};" for k in range(2 if op == "fma" else 1)]
                operands = "%r0, %r1, %in2" if op == "fma" else "%r0, %in1"
                table.add(wide, inputs, "f32", "\n".join(widen + [f"{wide} %out0, {operands};"]),
                          name=f"{wide} of widened {narrow}")
                table.add(i, inputs, "f32", meaning=f"{wide} of widened {narrow}")
    table.add("add.rn.f32x2", "f32x2 f32x2", "f32x2")
    table.add("mul.rn.f32x2", "f32x2 f32x2", "f32x2")
    table.add("fma.rn.f32x2", "f32x2 f32x2 f32x2", "f32x2")


def comparisons(table):
    for t in ("f16", "bf16", "f32", "f64"):
        for op in COMPARISONS:
            for i in choices("setp.", op, ("", ".ftz"), "." + t):
                table.add(i, f"{t} {t}", "b32", f"{i} %p0, %in0, %in1;\nselp.b32 %out0, 1, 0, %p0;")
            if op not in ("eq", "lt", "neu", "geu", "nan"):
                continue
            for i in choices("set.", op, ("", ".ftz"), (".u32", ".f32"), "." + t):
                table.add(i, f"{t} {t}", "f32" if ".f32." in i else "b32",
                          f"{i} %out0, %in0, %in1;")
    for t in ("f16x2", "bf16x2"):
        for op in ("lt", "geu", "eq", "neu", "nan"):
            i = f"setp.{op}.{t}"
            table.add(i, f"{t} {t}", "b32 b32", f"{i} %p0|%p1, %in0, %in1;\n"
                      "selp.b32 %out0, 1, 0, %p0;\nselp.b32 %out1, 1, 0, %p1;")
            i = f"set.{op}.{t}.{t}"
            table.add(i, f"{t} {t}", t)
    for width in ("16", "32", "64"):
        operators = [("b", "eq ne"), ("s", "eq ne lt le gt ge"), ("u", "eq ne lt le gt ge lo ls hi hs")]
        for prefix, names in operators:
            for op in names.split():
                i = f"setp.{op}.{prefix}{width}"
                table.add(i, f"b{width} b{width}", "b32",
                          f"{i} %p0, %in0, %in1;\nselp.b32 %out0, 1, 0, %p0;")
    for combine in ("and", "or", "xor"):
        i = f"setp.lt.{combine}.f32"
        table.add(i, "f32 f32 b32", "b32 b32",
                  f"and.b32 %r0, %in2, 1;\nsetp.ne.b32 %p2, %r0, 0;\n{i} %p0|%p1, %in0, %in1, %p2;\n"
                  "selp.b32 %out0, 1, 0, %p0;\nselp.b32 %out1, 1, 0, %p1;")
    i = "setp.lt.and.s32"
    table.add(i, "b32 b32 b32", "b32", f"and.b32 %r0, %in2, 1;\nsetp.ne.b32 %p2, %r0, 0;\n"
              f"{i} %p0, %in0, %in1, !%p2;\nselp.b32 %out0, 1, 0, %p0;")
    for t in ("b16", "u16", "s16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64"):
        width = "b" + t[1:]
        i = f"selp.{t}"
        table.add(i, f"{width} {width} b32", width,
                  f"and.b32 %r0, %in2, 1;\nsetp.ne.b32 %p0, %r0, 0;\n{i} %out0, %in0, %in1, %p0;")
        for i in (f"slct.{t}.s32", f"slct.{t}.f32", f"slct.ftz.{t}.f32"):
            table.add(i, f"{width} {width} {'b32' if i.endswith('s32') else 'f32'}", width)
    for op in ("and", "or", "xor"):
        i = f"{op}.pred"
        table.add(i, "b32 b32", "b32", "setp.lt.s32 %p0, %in0, 0;\nsetp.lt.s32 %p1, %in1, 0;\n"
                  f"{i} %p2, %p0, %p1;\nselp.b32 %out0, 1, 0, %p2;")
    table.add("not.pred", "b32", "b32", "setp.lt.s32 %p0, %in0, 0;\nnot.pred %p2, %p0;\n"
              "selp.b32 %out0, 1, 0, %p2;")
    table.add("mov.pred", "b32", "b32", "setp.lt.s32 %p0, %in0, 0;\nmov.pred %p2, %p0;\n"
              "selp.b32 %out0, 1, 0, %p2;")


def integer_register(t):
    """8-bit integers live in 32-bit registers."""
    return {"8": "b32", "16": "b16", "32": "b32", "64": "b64"}[t[1:]]


def conversions(table):
    integers = [s + w for w in ("8", "16", "32", "64") for s in "su"]
    floats = ("f16", "bf16", "f32", "f64")
    for to in floats:
        for source in floats:
            if to == source:
                modes = ("", ".rni", ".rzi", ".rmi", ".rpi")
            else:
                modes = ROUNDINGS
            for i in choices("cvt", modes, ("", ".ftz"), ("", ".sat", ".relu", ".satfinite"),
                             f".{to}.{source}"):
                table.add(i, source, to)
    for t, f in itertools.product(integers, floats):
        for i in choices("cvt", (".rni", ".rzi", ".rmi", ".rpi"), ("", ".ftz"), ("", ".sat"),
                         f".{t}.{f}"):
            table.add(i, f, integer_register(t))
        for i in choices("cvt", ROUNDINGS[1:], ("", ".sat"), f".{f}.{t}"):
            table.add(i, integer_register(t), f)
    for to, source in itertools.product(integers, integers):
        for i in choices("cvt", ("", ".sat"), f".{to}.{source}"):
            table.add(i, integer_register(source), integer_register(to))
    for t in ("f16x2", "bf16x2"):
        for i in choices("cvt", (".rn", ".rz"), ("", ".relu"), ("", ".satfinite"), f".{t}.f32"):
            table.add(i, "f32 f32", t)
    for t in ("e4m3x2", "e5m2x2"):
        for i in choices("cvt.rn.satfinite", ("", ".relu"), f".{t}.f32"):
            table.add(i, "f32 f32", t)
        for i in choices("cvt.rn.satfinite", ("", ".relu"), f".{t}.f16x2"):
            table.add(i, "f16x2", t)
        for i in choices("cvt.rn", ("", ".relu"), f".f16x2.{t}"):
            table.add(i, t, "f16x2")
    for i in choices("cvt", (".rna", ".rn", ".rz"), ("", ".satfinite"), ("", ".relu"), ".tf32.f32"):
        table.add(i, "f32", "tf32")
    for t in ("s16", "u16"):
        table.add(f"cvt.pack.sat.{t}.s32", "b32 b32", "b32")
    for t in ("s8", "u8"):
        table.add(f"cvt.pack.sat.{t}.s32.b32", "b32 b32 b32", "b32")


def integers(table):
    for w in ("16", "32", "64"):
        b = "b" + w
        for s in "su":
            t = s + w
            for i in choices(("add", "sub", "mul.lo", "mul.hi", "min", "max", "min.relu",
                              "max.relu"), "." + t):
                table.add(i, f"{b} {b}", b)
            for i in choices(("add", "sub"), ".sat.", t):
                table.add(i, f"{b} {b}", b)
            for i in choices(("div", "rem"), "." + t):
                table.add(i, f"{b} nonzero{w}", b)
            for i in choices(("mad.lo", "mad.hi", "mad.hi.sat"), "." + t):
                table.add(i, f"{b} {b} {b}", b)
            if w != "64":
                wide = {"16": "b32", "32": "b64"}[w]
                table.add(f"mul.wide.{t}", f"{b} {b}", wide)
                table.add(f"mad.wide.{t}", f"{b} {b} {wide}", wide)
            table.add(f"shr.{t}", f"{b} count", b)
        for i in choices(("abs", "neg"), f".s{w}"):
            table.add(i, b, b)
        for i in choices(("and", "or", "xor"), "." + b):
            table.add(i, f"{b} {b}", b)
        for i in choices(("not", "cnot"), "." + b):
            table.add(i, b, b)
        for i in choices(("shl", "shr"), "." + b):
            table.add(i, f"{b} count", b)
        for i in choices(("popc", "clz"), "." + b):
            table.add(i, b, "b32")
        table.add(f"brev.{b}", b, b)
        for i in choices(("bfind", "bfind.shiftamt"), (".s", ".u"), w):
            table.add(i, b, "b32")
        for i in choices("bfe", (".s", ".u"), w):
            table.add(i, f"{b} count count", b)
        table.add(f"bfi.{b}", f"{b} {b} count", b, f"bfi.{b} %out0, %in0, %in1, %in2, 5;",
                  name=f"bfi.{b} width 5")
        table.add(f"bfi.{b}", f"{b} {b} count", b, f"bfi.{b} %out0, %in0, %in1, 3, %in2;",
                  name=f"bfi.{b} position 3")
        for i in choices("sad", (".s", ".u"), w):
            table.add(i, f"{b} {b} {b}", b)
    for t in ("s16x2", "u16x2"):
        for i in choices(("add", "min", "max", "min.relu", "max.relu"), "." + t):
            table.add(i, "b32 b32", "b32")
    for op in ("add", "sub"):
        for w in ("32", "64"):
            b, i = "b" + w, f"{op}c.u{w}"
            table.add(i, f"{b} {b} {b}", f"{b} {b}",
                      f"{op}.cc.u{w} %out0, %in0, %in1;\n{i} %out1, %in2, %in0;")
    for i in choices(("mul24.lo", "mul24.hi"), (".s32", ".u32")):
        table.add(i, "b32 b32", "b32")
    for i in choices(("mad24.lo", "mad24.hi"), (".s32", ".u32")):
        table.add(i, "b32 b32 b32", "b32")
    for i in choices("shf", (".l", ".r"), (".clamp", ".wrap"), ".b32"):
        table.add(i, "b32 b32 count", "b32")
    for mode in ("", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"):
        table.add(f"prmt.b32{mode}", "b32 b32 b32", "b32")
    for lut in (0x00, 0x1B, 0x80, 0x96, 0xCA, 0xE8, 0xF8, 0xFE, 0x2D, 0xFF):
        table.add("lop3.b32", "b32 b32 b32", "b32",
                  f"lop3.b32 %out0, %in0, %in1, %in2, 0x{lut:02x};", name=f"lop3.b32 0x{lut:02x}")
    for i in choices(("bmsk.clamp", "bmsk.wrap"), ".b32"):
        table.add(i, "count count", "b32")
    for i in choices("szext", (".clamp", ".wrap"), (".s32", ".u32")):
        table.add(i, "b32 count", "b32")
    for i in choices("dp4a", (".s32", ".u32"), (".s32", ".u32")):
        table.add(i, "b32 b32 b32", "b32")
    for i in choices("dp2a", (".lo", ".hi"), (".s32", ".u32"), (".s32", ".u32")):
        table.add(i, "b32 b32 b32", "b32")


def moves(table):
    for t in ("b16", "u16", "s16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64"):
        table.add(f"mov.{t}", "b" + t[1:], "b" + t[1:])
    table.add("mov.b32", "b16 b16", "b32", "mov.b32 %out0, {%in0, %in1};", name="mov.b32 pack b16")
    table.add("mov.b32", "b32", "b16 b16", "mov.b32 {%out0, %out1}, %in0;",
              name="mov.b32 unpack b16")
    table.add("mov.b64", "b32 b32", "b64", "mov.b64 %out0, {%in0, %in1};", name="mov.b64 pack b32")
    table.add("mov.b64", "b64", "b32 b32", "mov.b64 {%out0, %out1}, %in0;",
              name="mov.b64 unpack b32")
    table.add("mov.b64", "b64", "b16 b16 b16 b16", "mov.b64 {%out0, %out1, %out2, %out3}, %in0;",
              name="mov.b64 unpack b16")
    table.add("mov.b64", "b16 b16 b16", "b64", "mov.b64 %out0, {%in0, %in1, %in2, %in0};",
              name="mov.b64 pack b16")
    table.add("mov.b32", "b32", "b16", "mov.b32 {_, %out0}, %in0;", name="mov.b32 unpack high b16")
    for register in ("tid.x", "tid.y", "ntid.x", "ntid.z", "ctaid.x", "ctaid.z", "nctaid.x",
                     "laneid", "lanemask_lt", "lanemask_ge"):
        table.add("mov.u32", "b32", "b32", f"mov.u32 %out0, %{register};",
                  name=f"mov.u32 %{register}")


def memory(table):
    for cache in ("", ".nc", ".nc.L1::no_allocate", ".L1::no_allocate", ".nc.L2::128B", ".ca",
                  ".cg", ".cs", ".cv", ".relaxed.gpu", ".acquire.gpu", ".volatile"):
        for t, width in (("b8", 1), ("b16", 2), ("b32", 4), ("b64", 8), ("u8", 1), ("s8", 1),
                         ("u16", 2), ("s16", 2), ("u32", 4), ("f32", 4), ("u64", 8), ("f64", 8)):
            if t[0] != "b" and cache not in ("", ".nc"):
                continue
            for vector, count in (("", 1), (".v2", 2), (".v4", 4)):
                if width * count > 16 or cache not in ("", ".nc") and t in ("b8", "b64"):
                    continue
                i = f"ld.volatile.global{vector}.{t}" if cache == ".volatile" else \
                    f"ld{cache}.global{vector}.{t}" if cache.endswith("gpu") else \
                    f"ld.global{cache}{vector}.{t}"
                names = [f"%out{k}" for k in range(count)]
                target = names[0] if count == 1 else "{" + ", ".join(names) + "}"
                out = {1: "b32", 2: "b16", 4: "b32", 8: "b64"}[width]
                table.add(i, "b128", " ".join([out] * count), f"{i} {target}, [%ia0];")
    # Into a wider register, which takes the sign along.
    for cache in ("", ".nc"):
        i = f"ld.global{cache}.s32"
        table.add(i, "b128", "b64", f"{i} %out0, [%ia0];")
    for cache in ("", ".cs", ".wt", ".wb", ".cg", ".L1::no_allocate", ".relaxed.gpu",
                  ".release.gpu", ".volatile"):
        for t, width in (("b8", 1), ("b16", 2), ("b32", 4), ("b64", 8), ("u8", 1), ("u16", 2),
                         ("u32", 4), ("f32", 4), ("u64", 8), ("f64", 8)):
            if t[0] != "b" and cache != "":
                continue
            for vector, count in (("", 1), (".v2", 2), (".v4", 4)):
                kept = t == "b32" or t == "b16" and (count == 4 or cache == ".cs")
                if width * count > 16 or cache and not kept:
                    continue
                i = f"st.volatile.global{vector}.{t}" if cache == ".volatile" else \
                    f"st{cache}.global{vector}.{t}" if cache.endswith("gpu") else \
                    f"st.global{cache}{vector}.{t}"
                size = {1: "b32", 2: "b16", 4: "b32", 8: "b64"}[width]
                names = [f"%in{k % 3}" for k in range(count)]
                value = names[0] if count == 1 else "{" + ", ".join(names) + "}"
                table.add(i, " ".join([size] * min(count, 3)), "b128",
                          "st.global.v4.b32 [%oa0], {0, 0, 0, 0};\n" + f"{i} [%oa0], {value};")
    # 32 bytes at once are the elements of two threads: a load gives each its own half, a store is
    # that of the first, with what it has from the second.
    for cache in ("", ".nc", ".nc.L1::no_allocate", ".L1::no_allocate"):
        i = f"ld.global{cache}.v8.b32"
        names = [f"%r{k}" for k in range(8)]
        body = ["and.b64 %d0, %ia0, -32;", f"{i} {{{', '.join(names)}}}, [%d0];",
                "and.b64 %d1, %ia0, 16;", "setp.eq.b64 %p0, %d1, 0;"]
        body += [f"selp.b32 %out{k}, %r{k}, %r{k + 4}, %p0;" for k in range(4)]
        table.add(i, "b128", "b32 b32 b32 b32", "\n".join(body), meaning="ld.global.v4.b32")
    for cache in ("", ".cs"):
        i = f"st.global{cache}.v8.b32"
        body = [f"shfl.sync.down.b32 %r{k}, %in{k}, 1, 0x1f, 0xffffffff;" for k in range(3)]
        body += ["and.b64 %d0, %oa0, 16;", "setp.eq.b64 %p0, %d0, 0;",
                 f"@%p0 {i} [%oa0], {{%in0, %in1, %in2, %in0, %r0, %r1, %r2, %r0}};"]
        table.add(i, "b32 b32 b32", "b128", "\n".join(body), meaning="st.global.v4.b32")
    table.add("cvta.to.global.u64", "b128", "b32", "cvta.global.u64 %d0, %ia0;\n"
              "cvta.to.global.u64 %d1, %d0;\nld.global.b32 %out0, [%d1+12];")
    table.add("ld.b32", "b128", "b32", "cvta.global.u64 %d0, %ia0;\nld.b32 %out0, [%d0+4];")
    # A pointer parameter in parts: its parts together are the pointer.
    for i, parts in (("ld.param.b8", 8), ("ld.param.u8", 8), ("ld.param.b16", 4),
                     ("ld.param.u16", 4), ("ld.param.b32", 2), ("ld.param.u32", 2),
                     ("ld.param.f32", 2), ("ld.param.b64", 1), ("ld.param.u64", 1),
                     ("ld.param.v2.b32", 0)):
        lines = ["mov.u64 %d0, 0;"]
        for k in range(parts):
            register = {8: "%r0", 4: "%h0", 2: "%r0", 1: "%d1"}[parts]
            lines.append(f"{i} {register}, [in0+{8 // parts * k}];")
            if parts != 1:
                lines.append(f"cvt.u64.u{ {8: 32, 4: 16, 2: 32}[parts]} %d1, {register};")
            lines += [f"shl.b64 %d2, %d1, {64 // parts * k};", "or.b64 %d0, %d0, %d2;"]
        if not parts:
            lines = [f"{i} {{%r0, %r1}}, [in0];", "mov.b64 %d0, {%r0, %r1};"]
        lines += ["sub.s64 %d3, %ia0, %d0;", "cvt.u32.u64 %r2, %d3;", "add.s32 %out0, %r2, %in0;"]
        table.add(i, "b32", "b32", "\n".join(lines))
    shared = [".shared .align 16 .b8 buffer[512];"]
    local = [".local .align 16 .b8 buffer[32];"]
    for t in ("b16", "b32", "b64"):
        size = int(t[1:]) // 8
        for barrier in ("bar.sync", "barrier.sync", "bar.warp.sync", "barrier.cta.sync",
                        "barrier.sync.aligned", "barrier.cta.sync.aligned"):
            operand = "0xffffffff" if "warp" in barrier else "0"
            table.add(f"ld.shared.{t}" if barrier == "bar.sync" else barrier, t, t,
                      "mov.u32 %r0, %laneid;\nmov.u32 %r1, buffer;\n"
                      f"mad.lo.u32 %r2, %r0, {size}, %r1;\nst.shared.{t} [%r2], %in0;\n"
                      f"{barrier} {operand};\nxor.b32 %r3, %r0, 21;\n"
                      f"mad.lo.u32 %r4, %r3, {size}, %r1;\nld.shared.{t} %out0, [%r4];",
                      name=f"exchange through shared {t}, {barrier}", declare=shared)
        table.add(f"ld.local.{t}", f"{t} {t}", t,
                  f"and.b32 %r0, %r9, 1;\nmul.wide.u32 %d1, %r0, {size};\nmov.u64 %d0, buffer;\n"
                  f"st.local.{t} [%d0], %in0;\nst.local.{t} [%d0+{size}], %in1;\n"
                  f"add.s64 %d2, %d0, %d1;\nld.local.{t} %out0, [%d2];".replace(
                      "%r9", "%tid_x"), name=f"through local {t}", declare=local)
    # A byte lies in the low half of a 16-bit register and comes back with zeros above it.
    table.add("ld.shared.b8", "b16", "b16", "mov.u32 %r0, %laneid;\nmov.u32 %r1, buffer;\n"
              "add.u32 %r2, %r0, %r1;\nst.shared.b8 [%r2], %in0;\nbar.sync 0;\n"
              "xor.b32 %r3, %r0, 21;\nadd.u32 %r4, %r3, %r1;\nld.shared.b8 %out0, [%r4];",
              name="exchange through shared b8, bar.sync", declare=shared)
    table.add("ld.shared.v4.b32", "b32", "b32 b32 b32 b32",
              "mov.u32 %r0, %laneid;\nmov.u64 %d0, buffer;\nmul.wide.u32 %d1, %r0, 16;\n"
              "add.s64 %d2, %d0, %d1;\nnot.b32 %r1, %in0;\n"
              "st.shared.v4.b32 [%d2], {%in0, %r0, %r1, 7};\n"
              "bar.sync 0;\nxor.b32 %r3, %r0, 1;\nmul.wide.u32 %d3, %r3, 16;\n"
              "add.s64 %d4, %d0, %d3;\nld.shared.v4.b32 {%out0, %out1, %out2, %out3}, [%d4];",
              name="exchange through shared v4.b32", declare=shared)
    for vector, t, names in ((2, "b32", "%in0, %r0"), (2, "b64", "%d5, %d6"),
                             (4, "b16", "%h0, %h1, %h1, %h0"), (2, "b16", "%h0, %h1")):
        i = f"ld.shared.v{vector}.{t}"
        outputs = [f"%out{k}" for k in range(vector)]
        table.add(i, "b32", " ".join([t] * vector),
                  "mov.b32 {%h0, %h1}, %in0;\nmov.u32 %r0, %laneid;\nmov.b64 %d5, {%in0, %r0};\n"
                  "mov.b64 %d6, {%r0, %in0};\nmov.u64 %d0, buffer;\nmul.wide.u32 %d1, %r0, 16;\n"
                  f"add.s64 %d2, %d0, %d1;\nst.shared.v{vector}.{t} [%d2], {{{names}}};\n"
                  "bar.sync 0;\nxor.b32 %r3, %r0, 9;\nmul.wide.u32 %d3, %r3, 16;\n"
                  f"add.s64 %d4, %d0, %d3;\n{i} {{{', '.join(outputs)}}}, [%d4];",
                  name=f"exchange through shared v{vector}.{t}", declare=shared)
    for i in ("griddepcontrol.wait", "griddepcontrol.launch_dependents", "membar.cta", "membar.gl",
              "fence.acq_rel.gpu", "fence.sc.gpu", "fence.acq_rel.cta"):
        table.add(i, "b32", "b32", f"{i};\nnot.b32 %out0, %in0;")


def control(table):
    table.add("bra", "b32 b32", "b32", "setp.lt.s32 %p0, %in0, %in1;\nmov.b32 %out0, 1;\n"
              "@%p0 bra $join;\nsub.s32 %out0, %in0, %in1;\n$join:\nadd.s32 %out0, %out0, 3;",
              name="bra, lanes part and join")
    table.add("bra", "b32", "b32", "and.b32 %r0, %in0, 7;\nmov.b32 %out0, 1;\n$loop:\n"
              "mul.lo.s32 %out0, %out0, 3;\nadd.s32 %r0, %r0, -1;\nsetp.ge.s32 %p0, %r0, 0;\n"
              "@%p0 bra $loop;", name="bra, trips differ by lane")
    table.add("bra.uni", "b32", "b32", "mov.b32 %out0, %in0;\nbra.uni $next;\n$next:\n"
              "not.b32 %out0, %out0;")
    table.add("ret", "b32", "b32", "st.global.b32 [%oa0], 5;\nsetp.lt.s32 %p0, %in0, 0;\n"
              "mov.b32 %out0, %in0;\n@%p0 ret;", name="ret of some lanes")
    table.add("exit", "b32", "b32", "st.global.b32 [%oa0], 5;\nsetp.lt.s32 %p0, %in0, 0;\n"
              "mov.b32 %out0, %in0;\n@!%p0 exit;", name="exit of some lanes")
    table.add("add.s32", "b32 b32", "b32", "setp.lt.s32 %p0, %in0, %in1;\nmov.b32 %out0, %in0;\n"
              "@%p0 add.s32 %out0, %in0, %in1;\n@!%p0 sub.s32 %out0, %in1, 17;",
              name="add.s32 under a predicate")


def warps(table):
    cases = {"up": (0x0000, 0x1800, 0x1000, 0x1E00, 0x0003),
             "down": (0x1F, 0x181F, 0x101F, 0x1E1F, 0x0010),
             "bfly": (0x1F, 0x181F, 0x101F, 0x1E1F, 0x0010),
             "idx": (0x1F, 0x181F, 0x101F, 0x1E1F, 0x0010)}
    for mode, operands in cases.items():
        i = f"shfl.sync.{mode}.b32"
        for c in operands:
            for b in ("1", "2", "4", "8", "16", "%in1"):
                if b != "%in1" and c not in operands[:2]:
                    continue
                table.add(i, "b32 lane" if b == "%in1" else "b32", "b32 b32",
                          f"{i} %out0|%p0, %in0, {b}, 0x{c:x}, 0xffffffff;\n"
                          "selp.b32 %out1, 1, 0, %p0;", name=f"{i} {b} 0x{c:x}")
        table.add(i, "b32", "b32", f"{i} %out0, %in0, 3, 0x{operands[0]:x}, -1;",
                  name=f"{i} without predicate")
    table.add("shfl.sync.bfly.b32", "b32", "b32", "mov.u32 %r0, %laneid;\nmov.b32 %out0, 9;\n"
              "setp.lt.u32 %p0, %r0, 16;\n@%p0 shfl.sync.bfly.b32 %out0, %in0, 8, 0x1f, 0xffff;",
              name="shfl.sync.bfly.b32 of half a warp")
    table.add("shfl.sync.bfly.b32", "b32", "b32", "mov.u32 %r0, %laneid;\nmov.b32 %out0, 9;\n"
              "setp.lt.u32 %p0, %r0, 16;\n@%p0 bra $low;\n"
              "shfl.sync.bfly.b32 %out0, %in0, 4, 0x1f, 0xffff0000;\nbra.uni $join;\n$low:\n"
              "shfl.sync.bfly.b32 %out0, %in0, 2, 0x1f, 0x0000ffff;\n$join:",
              name="shfl.sync.bfly.b32 in both arms of a branch")
    flag = "setp.ne.b32 %p0, %in0, 0;\n"
    for i in ("vote.sync.all.pred", "vote.sync.any.pred", "vote.sync.uni.pred"):
        for operand in ("%p0", "!%p0"):
            table.add(i, "bool", "b32", f"{flag}{i} %p1, {operand}, 0xffffffff;\n"
                      "selp.b32 %out0, 1, 0, %p1;", name=f"{i} {operand}")
    table.add("vote.sync.ballot.b32", "bool", "b32",
              f"{flag}vote.sync.ballot.b32 %out0, %p0, 0xffffffff;")
    table.add("vote.sync.ballot.b32", "bool", "b32", f"{flag}mov.u32 %r0, %laneid;\n"
              "mov.b32 %out0, 9;\nsetp.lt.u32 %p1, %r0, 16;\n"
              "@%p1 vote.sync.ballot.b32 %out0, %p0, 0xffff;",
              name="vote.sync.ballot.b32 of half a warp")
    for op, types in (("add", ("s32", "u32")), ("min", ("s32", "u32")), ("max", ("s32", "u32")),
                      ("and", ("b32",)), ("or", ("b32",)), ("xor", ("b32",))):
        for t in types:
            i = f"redux.sync.{op}.{t}"
            table.add(i, "b32", "b32", f"{i} %out0, %in0, 0xffffffff;")
    table.add("match.any.sync.b32", "bool", "b32", "match.any.sync.b32 %out0, %in0, 0xffffffff;")
    table.add("match.all.sync.b32", "bool", "b32 b32",
              "match.all.sync.b32 %out0|%p0, %in0, 0xffffffff;\nselp.b32 %out1, 1, 0, %p0;")
    table.add("activemask.b32", "b32", "b32", "activemask.b32 %out0;")
    table.add("elect.sync", "b32", "b32 b32",
              "elect.sync %out0|%p0, 0xffffffff;\nselp.b32 %out1, 1, 0, %p0;")


def candidates():
    table = Table()
    for part in (float_arithmetic, comparisons, conversions, integers, moves, memory, control,
                 warps):
        part(table)
    # One row a name: an unmodified form can come from two loops.
    return list({row["name"]: row for row in table.rows}.values())


def entry_name(row):
    name = row["name"].lower().replace("!", "not_")
    return "test_" + re.sub(r"[^a-z0-9]+", "_", name).strip("_")


def register_type(kind):
    return f".b{8 * WIDTHS[kind]}"


def kernel(row):
    """The test's entry: element i of every array belongs to thread i of the grid."""
    parameters = [f"in{i}" for i in range(len(row["in"]))] + [
        f"out{i}" for i in range(len(row["out"]))]
    lines = [f".visible .entry {entry_name(row)}("]
    lines += [f"\t.param .u64 {p}{',' if p != parameters[-1] else ''}" for p in parameters]
    lines += [")", "{", "\t.reg .pred %p<4>;", "\t.reg .b16 %h<4>;", "\t.reg .b32 %r<8>;",
              "\t.reg .b64 %d<8>;",
              "\t.reg .b32 %tid_x, %ctaid_x, %ntid_x, %thread;"]
    lines += ["\t" + line for line in row.get("declare", ())]
    for side, short in (("in", "ia"), ("out", "oa")):
        for i, kind in enumerate(row[side]):
            if kind != "b128":
                lines.append(f"\t.reg {register_type(kind)} %{side}{i};")
            lines.append(f"\t.reg .b64 %{short}{i}, %{short}{i}_base, %{short}{i}_offset;")
    lines += ["\tmov.u32 %tid_x, %tid.x;", "\tmov.u32 %ctaid_x, %ctaid.x;",
              "\tmov.u32 %ntid_x, %ntid.x;",
              "\tmad.lo.s32 %thread, %ctaid_x, %ntid_x, %tid_x;"]
    for side, short in (("in", "ia"), ("out", "oa")):
        for i, kind in enumerate(row[side]):
            lines += [f"\tld.param.b64 %{short}{i}_base, [{side}{i}];",
                      f"\tmul.wide.u32 %{short}{i}_offset, %thread, {WIDTHS[kind]};",
                      f"\tadd.s64 %{short}{i}, %{short}{i}_base, %{short}{i}_offset;"]
    for i, kind in enumerate(row["in"]):
        if kind != "b128":
            lines.append(f"\tld.global{register_type(kind)} %in{i}, [%ia{i}];")
    lines += [line if line.endswith(":") else "\t" + line for line in row["body"]]
    for i, kind in enumerate(row["out"]):
        if kind != "b128":
            lines.append(f"\tst.global{register_type(kind)} [%oa{i}], %out{i};")
    lines += ["\tret;", "}", ""]
    return "\n".join(lines)


def module(rows, target):
    return HEADER.format(version=PTX_VERSION, target=target) + "".join(
        "\n" + kernel(row) for row in rows)


def assemble(ptxas, rows, target):
    """The cubin of the rows' kernels, or None if ptxas refuses the module."""
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = os.path.join(folder, "m.ptx"), os.path.join(folder, "m.cubin")
        with open(source, "w") as file:
            file.write(module(rows, target))
        run = subprocess.run([ptxas, "-arch", target, source, "-o", cubin], capture_output=True,
                             text=True)
        if run.returncode:
            return None, run.stdout + run.stderr
        with open(cubin, "rb") as file:
            return file.read(), ""


def assemble_each(ptxas, rows, target, chunk=64, jobs=None):
    """Assembles the rows, several a module. Returns [(rows, cubin)] and {name: why refused}."""
    refused = {}

    def halve(part):
        if not part:
            return []
        cubin, why = assemble(ptxas, part, target)
        if cubin is not None:
            return [(part, cubin)]
        if len(part) == 1:
            refused[part[0]["name"]] = next(
                (line.split(":", 1)[-1].strip() for line in why.splitlines() if "error" in line), why)
            return []
        # The lines that ptxas names tell which kernels to leave out.
        starts, line = [], 3
        for row in part:
            starts.append(line + 1)
            line += kernel(row).count("\n") + 1
        bad = set()
        for number in re.findall(r"line (\d+)", why):
            bad.add(max(i for i, start in enumerate(starts) if start <= int(number)))
        if not bad:
            middle = len(part) // 2
            return halve(part[:middle]) + halve(part[middle:])
        for i in bad:
            halve([part[i]])
        return halve([row for i, row in enumerate(part) if i not in bad])

    parts = [rows[i:i + chunk] for i in range(0, len(rows), chunk)]
    with ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        return [m for modules in pool.map(halve, parts) for m in modules], refused


def load():
    with open(os.path.join(FOLDER, "instructions.json")) as file:
        return json.load(file)["tests"]


def write(rows):
    names = [entry_name(row) for row in rows]
    assert len(names) == len(set(names)), [n for n in names if names.count(n) > 1]
    with open(os.path.join(FOLDER, "instructions.json"), "w") as file:
        file.write('{"note": "Generated by table.py. Change that instead.",\n "ptx": "' + PTX_VERSION
                   + '",\n "tests": [\n')
        file.write(",\n".join("  " + json.dumps(row) for row in rows))
        file.write("\n]}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ptxas", default="ptxas")
    arguments = parser.parse_args()
    rows, taken = candidates(), set()
    for target in PROBES:
        left = [row for row in rows if row["name"] not in taken]
        modules, refused = assemble_each(arguments.ptxas, left, target)
        good = {row["name"] for part, _ in modules for row in part}
        taken |= good
        if target != PROBES[0]:
            for row in left:
                if row["name"] in good:
                    row["target"] = target
        print(f"{target}: {len(good)} of {len(left)}", file=sys.stderr)
    rows = [row for row in rows if row["name"] in taken]
    write(rows)
    print(f"{len(rows)} tests, {len({r['instruction'] for r in rows})} instructions", file=sys.stderr)


if __name__ == "__main__":
    main()
