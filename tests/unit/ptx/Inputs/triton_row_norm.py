# Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The source of triton_row_norm.ptx: row_norm[(5,)](x, y, 200, 200, 1e-5, BLOCK=256, num_warps=4)."""

import triton
import triton.language as tl


@triton.jit
def row_norm(x_ptr, y_ptr, stride, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    x = tl.load(x_ptr + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
    total = tl.sum(x * x, axis=0)
    r = tl.rsqrt(total / n + eps)
    tl.store(y_ptr + row * stride + cols, (x * r).to(tl.float16), mask=mask)
