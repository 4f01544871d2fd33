# Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the operators are measured against: PyTorch eager, and Triton kernels as others publish them.

The Triton kernels are written here after the published descriptions: Q/K norm and RoPE with 8 heads a
program and 4 warps, Q and K in two launches; the residual with one row a program. Every rounding of
eager is kept by instructions with a rounding modifier, which no compiler contracts. The reduction of
the norm is the tree that Triton builds for this launch layout; it happens to be eager's.
"""

import torch
import torch.nn.functional as F
import triton
import triton.language as tl

EPS = 1e-5
HEAD = 64  # components of a head
ROTARY = tl.constexpr(48)  # of which RoPE turns the first
HEADS_A_PROGRAM = 8


# ---- Eager


def rope(n, cos, sin):
    a = n[..., :48]
    rotated = torch.cat((-a[..., 24:48], a[..., :24]), dim=-1)
    return torch.cat((a * cos + rotated * sin, n[..., 48:]), dim=-1)


def qk_norm_rope(q, k, cos, sin):
    cos, sin = cos[:, :, None], sin[:, :, None]
    q = F.rms_norm(q.float(), (HEAD,), None, EPS).half()
    k = F.rms_norm(k.float(), (HEAD,), None, EPS).half()
    return rope(q, cos, sin), rope(k, cos, sin)


def residual_rms_norm(residual, branch, scale, weight):
    h = residual + branch * scale
    return h, F.rms_norm(h, (h.shape[-1],), weight, EPS).half()


def swiglu(x):
    d = x.shape[-1] // 2
    return (F.silu(x[..., :d]) * x[..., d:],)


def scaled_residual(residual, branch, scale):
    return (residual + branch * scale,)


# ---- Triton


@triton.jit
def mul_f16(a, b):
    return tl.inline_asm_elementwise(
        "mul.rn.f16x2 $0, $1, $2;", "=r,r,r", [a, b], dtype=tl.float16, is_pure=True, pack=2
    )


@triton.jit
def add_f16(a, b):
    return tl.inline_asm_elementwise(
        "add.rn.f16x2 $0, $1, $2;", "=r,r,r", [a, b], dtype=tl.float16, is_pure=True, pack=2
    )


@triton.jit
def neg_f16(a):
    return tl.inline_asm_elementwise(
        "xor.b32 $0, $1, 0x80008000;", "=r,r", [a], dtype=tl.float16, is_pure=True, pack=2
    )


@triton.jit
def mul_f32(a, b):
    return tl.inline_asm_elementwise(
        "mul.rn.f32 $0, $1, $2;", "=f,f,f", [a, b], dtype=tl.float32, is_pure=True, pack=1
    )


@triton.jit
def norm_rope_kernel(
    x, cos, sin, out, token_stride, head_stride, eps, HEADS: tl.constexpr, PER: tl.constexpr
):
    program = tl.program_id(0)
    token = (program // (HEADS // PER)).to(tl.int64)
    head = (program % (HEADS // PER)) * PER + tl.arange(0, PER)
    i = tl.arange(0, 64)
    turns = i < ROTARY
    row = x + token * token_stride + head[:, None] * head_stride

    v = tl.load(row + i[None, :]).to(tl.float32)
    r = tl.rsqrt(tl.sum(v * v, axis=1) * (1.0 / 64) + eps)
    n = (v * r[:, None]).to(tl.float16)

    # The other component of each pair comes from memory again, which is the cache. Four of them lie
    # together as their partners do; Triton is told so and loads them as a vector.
    partner = tl.where(i < ROTARY // 2, i + ROTARY // 2, tl.where(turns, i - ROTARY // 2, i))
    partner = tl.max_contiguous(tl.multiple_of(partner, 4), 4)
    m = (tl.load(row + partner[None, :]).to(tl.float32) * r[:, None]).to(tl.float16)
    m = tl.where(i[None, :] < ROTARY // 2, neg_f16(m), m)

    c = tl.load(cos + token * ROTARY + i, mask=turns, other=0.0)
    s = tl.load(sin + token * ROTARY + i, mask=turns, other=0.0)
    c = tl.broadcast_to(c[None, :], (PER, 64))
    s = tl.broadcast_to(s[None, :], (PER, 64))
    turned = add_f16(mul_f16(n, c), mul_f16(m, s))
    y = tl.where(turns[None, :], turned, n)
    tl.store(out + (token * HEADS + head[:, None]) * 64 + i[None, :], y)


@triton.jit
def residual_kernel(residual, branch, scale, out, D: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * D
    i = tl.arange(0, D)
    product = mul_f32(tl.load(branch + at + i).to(tl.float32), tl.load(scale + i))
    tl.store(out + at + i, tl.load(residual + at + i) + product)


def triton_norm_rope(x, cos, sin):
    batch, tokens, heads, _ = x.shape
    assert x.stride(0) == tokens * x.stride(1) and x.stride(3) == 1
    out = torch.empty((batch, tokens, heads, HEAD), dtype=x.dtype, device=x.device)
    norm_rope_kernel[(batch * tokens * heads // HEADS_A_PROGRAM,)](
        x, cos, sin, out, x.stride(1), x.stride(2), EPS,
        HEADS=heads, PER=HEADS_A_PROGRAM, num_warps=4,
    )  # fmt: skip
    return out


def triton_qk_norm_rope(q, k, cos, sin):
    return triton_norm_rope(q, cos, sin), triton_norm_rope(k, cos, sin)


def triton_residual(residual, branch, scale, warps):
    """The last extent is a power of two, as Triton's ranges are."""
    out = torch.empty_like(residual)
    d = residual.shape[-1]
    residual_kernel[(residual.numel() // d,)](residual, branch, scale, out, D=d, num_warps=warps)
    return (out,)


def triton_residual_eager_norm(residual, branch, scale, weight, warps):
    (h,) = triton_residual(residual, branch, scale, warps)
    return h, F.rms_norm(h, (h.shape[-1],), weight, EPS).half()
