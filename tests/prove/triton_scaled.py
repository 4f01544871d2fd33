# Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The source of triton_*.ptx: y = x * w + b, element by element, in f32.

`python triton_scaled.py` writes them again (Triton 3.6; no GPU is needed).
"""

import os

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def plain(x, w, b, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    value = tl.load(x + i, inside) * tl.load(w + i, inside) + tl.load(b + i, inside)
    tl.store(y + i, value, inside)


@triton.jit
def unrounded(x, w, b, y, n, BLOCK: tl.constexpr):
    """What ptxas may make one operation of: neither has a rounding modifier."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    product = tl.inline_asm_elementwise(
        "mul.f32 $0, $1, $2;", "=f,f,f", [tl.load(x + i, inside), tl.load(w + i, inside)],
        dtype=tl.float32, is_pure=True, pack=1)
    value = tl.inline_asm_elementwise(
        "add.f32 $0, $1, $2;", "=f,f,f", [product, tl.load(b + i, inside)],
        dtype=tl.float32, is_pure=True, pack=1)
    tl.store(y + i, value, inside)


def ptx_of(kernel, fusion):
    signature = {name: "*fp32" for name in "xwby"} | {"n": "i32", "BLOCK": "constexpr"}
    aligned = {(k,): [["tt.divisibility", 16]] for k in range(4)}
    source = ASTSource(kernel, signature, constexprs={(5,): 256}, attrs=aligned)
    options = {"num_warps": 4, "enable_fp_fusion": fusion}
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options).asm["ptx"]


if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    for name, kernel, fusion in [("exact", plain, False), ("contracted", plain, True),
                                 ("unrounded", unrounded, False)]:
        with open(os.path.join(here, f"triton_{name}.ptx"), "w") as file:
            file.write(ptx_of(kernel, fusion))
