#!/usr/bin/env python3
# Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Captures what PyTorch eager computes on this machine's GPU, as golden files.

    tests/gpu/capture.py [FOLDER]

Writes rows.safetensors (means of squares, softmax, unary functions) and operators.safetensors (one
output for each operator, which share their inputs) for tests/golden, and sweep.safetensors, which is too
large for the tree: log of every 2147th f32 pattern, long and many rows. The seed is fixed.
"""

import sys

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

torch.manual_seed(0)
files = {"rows": {}, "operators": {}, "sweep": {}}
TYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}
f32 = torch.float32


def put(file, case, **tensors):
    for name, tensor in tensors.items():
        files[file][f"{case}.{name}"] = tensor.cpu().clone().contiguous()


def draw(*shape, t=f32):
    return torch.randn(shape, device="cuda").to(t)


def pick(limit, *shape):
    return torch.randint(limit, shape, device="cuda")


# Rows: F.rms_norm with a weight of another type, LlamaRMSNorm, torch.softmax.
def mixed(file, name, t, u, rows, n):
    x, w = draw(rows, n, t=t), draw(n, t=u)
    put(file, f"mixed_{name}_{rows}x{n}", x=x, w=w, y=F.rms_norm(x, (n,), w, 1e-6))


def llama(name, t, n):
    x, w = draw(17, n, t=t), draw(n, t=t)
    r = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-6)
    put("rows", f"llama_{name}_{n}", x=x, w=w, y=w * (x.float() * r).to(t))


def softmax(file, name, t, rows, n):
    x = draw(rows, n, t=t) * 3
    x[0, ::3] = -torch.inf
    put(file, f"softmax_{name}_{rows}x{n}", x=x, y=torch.softmax(x, -1))


for n in (32, 50, 64, 127, 128, 132, 1000, 2048):
    mixed("rows", "f32_f16", f32, TYPES["f16"], 16 + n % 3, n)
for rows, n in ((16, 8160), (31, 4000), (4096, 64), (257, 516), (1000, 96)):
    mixed("sweep", "f32_bf16", f32, TYPES["bf16"], rows, n)
for name, t in TYPES.items():
    for n in (64, 128, 1000) if t != f32 else ():
        mixed("rows", name + "_f32", t, f32, 17, n)
        llama(name, t, n)
    for n in (1, 5, 31, 33, 77, 200, 1000, 1024):
        softmax("rows", name, t, 4, n)
    for n in (9, 48, 300, 777, 1023):
        softmax("sweep", name, t, 50, n)

# Unary functions: f32 on drawn bits; entry i is f(bit pattern i) for f16 and bf16.
x = (pick(2**32, 15000) - 2**31).int().view(f32)
x[:9] = torch.tensor([0.0, -0.0, 1, -1, torch.inf, -torch.inf, torch.nan, 1e-40, 0.7])
put("rows", "f32", x=x, log=x.log(), erf=x.erf(), gelu_erf=F.gelu(x), over_7=x / 7.0)
for name in ("f16", "bf16"):
    x = torch.arange(65536, device="cuda").short().view(TYPES[name])
    put("rows", name, erf=x.erf(), over_0p1=x / 0.1)
x = (torch.arange(2000000, device="cuda") * 2147).int().view(f32)
put("sweep", "f32", log=x.log())


# Operators.
def neox(x, cos, sin):
    r = cos.shape[-1]
    a, b = x[..., :r].chunk(2, -1)
    return torch.cat((x[..., :r] * cos + torch.cat((-b, a), -1) * sin, x[..., r:]), -1)


def interleaved(x, c, s):
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack((a * c - b * s, a * s + b * c), -1).flatten(-2)


def turned(x, c, s):
    z = torch.view_as_complex(x.unflatten(-1, (-1, 2))) * torch.complex(c, s)
    return torch.view_as_real(z).flatten(-2)


def split(x, c, s):
    v = x.float().unflatten(-1, (2, -1))
    out = v * c[:, None]
    out[..., :1, :].addcmul_(-s[:, None], v[..., 1:, :])
    out[..., 1:, :].addcmul_(s[:, None], v[..., :1, :])
    return out.flatten(-2)


for name, t in TYPES.items():
    n = 384
    x, branch = draw(6, n, t=t), draw(6, n, t=t)
    gate, scale, shift = draw(3, 2, 1, n, t=t)
    gates, scales, shifts = draw(3, 3, n, t=t)
    w = draw(n, t=t)
    kind = pick(3, 6)
    wide = draw(3, 2, 1, n)
    rms = lambda v: F.rms_norm(v, (n,), w, 1e-6)
    ln = lambda v: F.layer_norm(v, (n,), None, None, 1e-6)
    b, tanh = lambda v: v.view(2, 3, n), "tanh"
    h, hk = b(x) + gate * b(branch), x + gates[kind] * branch
    k, m = scales[kind], shifts[kind]
    left, right = x.chunk(2, -1)
    peak = (x.abs().amax(-1, True).float() / 448.0).clamp(min=1e-5)
    put("operators", name, x=x, branch=branch, gate=gate, scale=scale, shift=shift, gates=gates,
        scales=scales, shifts=shifts, w=w, kind=kind.int(), wide=wide, gated=h, gated_picked=hk,
        ln_modulate=ln(b(x)) * (1 + scale) + shift, ln_modulate_picked=ln(x) * (1 + k) + m,
        rms_modulate_picked=rms(x) * (1 + k) + m, gated_rms=rms(h) * (1 + scale) + shift,
        gated_ln=ln(h) * (1 + scale) + shift, gated_rms_picked=rms(hk) * (1 + k) + m,
        wan_modulate=(ln(b(x).float()) * (1 + wide[0]) + wide[1]).to(t),
        wan_gated=(b(x).float() + b(branch) * wide[2]).to(t),
        tanh_gated=b(x) + gate.tanh() * rms(b(branch)), rms_scale=rms(b(x)) * (1 + scale),
        geglu_erf=left * F.gelu(right), geglu_tanh=left * F.gelu(right, approximate=tanh),
        silu_and_mul=F.silu(left) * right, bias_relu=F.relu(x + w), bias_silu=F.silu(x + w),
        bias_gelu_erf=F.gelu(x + w), bias_gelu_tanh=F.gelu(x + w, approximate=tanh), peak=peak,
        e4m3=(x.float() / peak).to(torch.float8_e4m3fn))
    if t == f32:
        put("operators", name, half=x.half())
    q, kk = draw(5, 3, 128, t=t), draw(5, 2, 128, t=t)
    wq, wk, bq, bk = draw(4, 128, t=t)
    angle = draw(9, 1, 64).double()
    c, s = angle.cos(), angle.sin()
    c5, s5 = c[:5], s[:5]
    ct, st = (torch.cat((v, v), -1).to(t) for v in (c, s))
    cf, sf = c5.float(), s5.float()
    position = pick(9, 5)
    heads = lambda r: {f"{key}_{r}": neox(F.rms_norm(v, (128,), u, 1e-6), ct[:5, :, :r],
                                          st[:5, :, :r])
                       for key, v, u in (("q", q, wq), ("k", kk, wk))}
    put("operators", name, q=q, k=kk, wq=wq, wk=wk, bq=bq, bk=bk, cos=ct, sin=st, cos_f32=cf,
        sin_f32=sf, cos_f64=c5, sin_f64=s5, position=position, **heads(128), **heads(96),
        q_ln=F.layer_norm(q, (128,), wq, bq, 1e-6), k_ln=F.layer_norm(kk, (128,), wk, bk, 1e-6),
        neox=neox(q, ct[:5, :, :96], st[:5, :, :96]), interleaved=interleaved(q, cf.to(t), sf.to(t)),
        neox_f32=neox(q.float(), torch.cat((cf, cf), -1), torch.cat((sf, sf), -1)).to(t),
        interleaved_f32=interleaved(q.float(), cf, sf).to(t), split_f32=split(q, cf, sf).to(t),
        complex_f32=turned(q.float(), cf, sf).to(t), complex_f64=turned(q.double(), c5, s5).to(t),
        positions=neox(q, ct[position], st[position]),
        wan_norm_rope=interleaved(rms(x)[:5].view(5, 3, 128).float(), cf, sf).to(t).flatten(1))

metadata = {"torch": str(torch.__version__), "gpu": torch.cuda.get_device_name(), "seed": "0",
            "cuda": str(torch.version.cuda)}
for name, tensors in files.items():
    save_file(tensors, f"{sys.argv[1] if len(sys.argv) > 1 else '.'}/{name}.safetensors", metadata)
    print(name, len(tensors), "tensors", sum(v.nbytes for v in tensors.values()), "bytes")
