#!/usr/bin/env python3
# Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares compiled operators with PyTorch eager on the same GPU, bit for bit.

    tests/gpu/eager.py --h3gen build/release/bin/h3gen [--time N] [--json FILE]

Draws fresh inputs (the seed is printed), computes the reference with torch eager, writes both to a
safetensors file, and lets `h3gen run --backend cuda --expect` compare. Sizes that are multiples of
nothing, views, misaligned tensors, in-place calls and special values are among the cases. Exits 1 if
a case differs, 3 if there is no GPU.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

SPECS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "specs")

SPECIAL = {
    torch.float16: [0x8000, 0x0001, 0x8001, 0x03FF, 0x7BFF, 0x7C00, 0xFC00, 0x7E00],
    torch.bfloat16: [0x8000, 0x0001, 0x8001, 0x007F, 0x7F7F, 0x7F80, 0xFF80, 0x7FC0],
    torch.float32: [0x80000000, 0x00000001, 0x80000001, 0x007FFFFF, 0x7F7FFFFF, 0x7F800000,
                    0xFF800000, 0x7FC00000],
}


def draw(shape, dtype, scale=1.0, special=0):
    """Normal values; `special` of them replaced by zeros, subnormals, the largest, inf, NaN."""
    x = (torch.randn(shape, device="cuda") * scale).to(dtype)
    if special:
        bits = torch.int32 if dtype == torch.float32 else torch.int16
        width = 32 if dtype == torch.float32 else 16
        values = [v - (1 << width) if v >> (width - 1) else v for v in SPECIAL[dtype]]
        flat = x.view(bits).flatten()
        places = torch.randint(flat.numel(), (special,), device="cuda")
        picks = torch.randint(len(values), (special,), device="cuda")
        flat[places] = torch.tensor(values, device="cuda", dtype=bits)[picks]
    return x


def rope(n, cos, sin):
    a = n[..., :48]
    rotated = torch.cat((-a[..., 24:48], a[..., :24]), dim=-1)
    return torch.cat((a * cos + rotated * sin, n[..., 48:]), dim=-1)


def qk_norm_rope(q, k, cos, sin):
    norm = lambda x: F.rms_norm(x.float(), (64,), None, 1e-5).half()
    return rope(norm(q), cos, sin), rope(norm(k), cos, sin)


def qk_case(batch, tokens, heads, width=192, offset=0, transposed=False, special=0, scale=1.0):
    shape = (batch, heads, tokens, width) if transposed else (batch, tokens, heads, width)
    qkv = draw(shape, torch.float16, scale, special)
    # One tensor for each angle table, rounded once from f32, halves repeated.
    angle = torch.randn(batch, tokens, 1, 24, device="cuda").repeat(1, 1, 1, 2)
    cos, sin = angle.cos().half(), angle.sin().half()
    q, k = qkv[..., offset:offset + 64], qkv[..., offset + 64:offset + 128]
    if transposed:
        # batch is 1: [heads, tokens, width] viewed as [tokens, heads, width].
        q, k = q.transpose(1, 2), k.transpose(1, 2)
    q_out, k_out = qk_norm_rope(q, k, cos, sin)
    tensors = {"cos": cos, "sin": sin, "q_out": q_out, "k_out": k_out}
    if transposed:
        # A file holds rows without gaps; the wide buffer gives the strides.
        wide = torch.zeros(tokens, heads, 4, 192, dtype=torch.float16, device="cuda")
        wide[:, :, 1] = qkv[0].transpose(0, 1)
        tensors["wide"] = wide
        bind = {"q": f"wide[:, :, 1, {offset}:{offset + 64}]",
                "k": f"wide[:, :, 1, {offset + 64}:{offset + 128}]"}
        tensors["q_out"], tensors["k_out"] = q_out[0], k_out[0]
        tensors["cos"], tensors["sin"] = cos[0, :, 0], sin[0, :, 0]
    else:
        tensors["qkv"] = qkv
        bind = {"q": f"qkv[..., {offset}:{offset + 64}]",
                "k": f"qkv[..., {offset + 64}:{offset + 128}]"}
    bind.update(cos="cos", sin="sin")
    return "qk_norm_rope.spec", tensors, bind, ["q_out", "k_out"]


def swiglu_case(rows, d, dtype=torch.float16, offset=0, special=0, scale=1.0):
    wide = draw((rows, 2 * d + offset), dtype, scale, special)
    x = wide[:, offset:]
    y = F.silu(x[:, :d]) * x[:, d:]
    return "swiglu.spec", {"wide": wide, "y": y}, {"x": f"wide[:, {offset}:]"}, ["y"]


def residual_case(rows, d, residual=torch.float32, offsets=(0, 0, 0), in_place=False, special=0):
    def wide(shape, dtype, offset):
        return draw((*shape[:-1], shape[-1] + offset), dtype, special=special)

    r = wide((rows, d), residual, offsets[0])
    b = wide((rows, d), torch.float16, offsets[1])
    s = wide((d,), torch.float32, offsets[2])
    h = r[:, offsets[0]:] + b[:, offsets[1]:] * s[offsets[2]:]
    bind = {"residual": f"r[:, {offsets[0]}:]", "branch": f"b[:, {offsets[1]}:]",
            "scale": f"s[{offsets[2]}:]"}
    if in_place:
        bind["h"] = bind["residual"]
    return "scaled_residual.spec", {"r": r, "b": b, "s": s, "h": h}, bind, ["h"]


def cases():
    yield "qk [2, 1797, 32, 64]", qk_case(2, 1797, 32)
    yield "qk [1, 195, 32, 64]", qk_case(1, 195, 32)
    for tokens in (1, 4, 255, 256, 257):
        yield f"qk [1, {tokens}, 5, 64]", qk_case(1, tokens, 5)
    yield "qk one head", qk_case(1, 33, 1)
    yield "qk special values", qk_case(1, 195, 32, special=4000)
    yield "qk tiny", qk_case(1, 195, 32, scale=1e-6)
    yield "qk huge", qk_case(1, 195, 32, scale=20000.0)
    for offset in (1, 2, 3, 4, 7, 8):
        yield f"qk offset {offset}", qk_case(1, 17, 3, offset=offset)
    yield "qk odd width", qk_case(1, 17, 3, width=129)
    yield "qk from a transposed buffer", qk_case(1, 19, 4, transposed=True)
    yield "swiglu [1797, 8192]", swiglu_case(1797, 8192)
    for d in (1, 7, 8, 2047, 2048, 2049, 3584, 17408):
        yield f"swiglu d = {d}", swiglu_case(5, d)
    yield "swiglu bf16", swiglu_case(97, 2048, torch.bfloat16)
    yield "swiglu bf16 special", swiglu_case(97, 2048, torch.bfloat16, special=20000)
    yield "swiglu special", swiglu_case(97, 2048, special=20000)
    for offset in range(1, 8):
        yield f"swiglu offset {offset}", swiglu_case(6, 512, offset=offset)
    yield "residual [1797, 2048]", residual_case(1797, 2048)
    yield "residual f16", residual_case(195, 2048, torch.float16)
    yield "residual in place", residual_case(195, 2048, in_place=True)
    yield "residual special", residual_case(195, 2048, special=3000)
    for d in (1, 2047, 2049, 3584):
        yield f"residual d = {d}", residual_case(9, d)
    for offsets in ((1, 0, 0), (0, 1, 0), (0, 0, 1), (4, 4, 4), (2, 2, 2), (3, 5, 7)):
        yield f"residual offsets {offsets}", residual_case(9, 512, offsets=offsets)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--h3gen", required=True)
    parser.add_argument("--time", type=int, default=0, help="time this many launches of each case")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", help="write the results here")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("skipped: no GPU")
        return 3
    torch.manual_seed(options.seed)
    print(f"seed {options.seed}, torch {torch.__version__}, {torch.cuda.get_device_name()}")
    results, failed = [], 0
    for name, (spec, tensors, bind, outputs) in cases():
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "case.safetensors")
            save_file({key: value.contiguous().cpu() for key, value in tensors.items()}, path)
            command = [options.h3gen, "run", os.path.join(SPECS, spec), "--in", path, "--backend",
                       "cuda", "--bind", *(f"{key}={value}" for key, value in bind.items()),
                       "--expect", *(f"{output}={output}" for output in outputs)]
            if options.time and not set(bind) & set(outputs):
                command += ["--time", str(options.time)]
            run = subprocess.run(command, capture_output=True, text=True)
        text = (run.stdout + run.stderr).strip().replace("\n", " | ")
        print(f"{'ok  ' if run.returncode == 0 else 'FAIL'} {name}: {text}", flush=True)
        results.append({"case": name, "exit": run.returncode, "output": text})
        failed += run.returncode != 0
    print(f"{len(results) - failed} passed, {failed} failed")
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"seed": options.seed, "torch": torch.__version__,
                       "gpu": torch.cuda.get_device_name(), "results": results}, file, indent=1)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
