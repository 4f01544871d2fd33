#!/usr/bin/env python3
# Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators at the shapes of the MiniMax-H3 video VAE: PyTorch CPU eager beside h3gen's images.

    eager.py --h3gen build/release/bin/h3gen --bench build/release/bin/h3_cpu_bench [--target x86-64-v3]

Prints a row for each operator and number of threads: the least of many calls, in microseconds.
"""
import argparse
import os
import subprocess
import sys
import tempfile
import time

import torch
import torch.nn.functional as F


def qk_norm_rope(t, h=32, d=64, r=48):
    q, k = (torch.randn(1, t, h, d).half() for _ in range(2))
    cos, sin = (torch.randn(1, t, 1, r).half() for _ in range(2))

    def rope(x):
        head, rest = x[..., :r], x[..., r:]
        a, b = head.chunk(2, -1)
        return torch.cat((head * cos + torch.cat((-b, a), -1) * sin, rest), -1)

    def run():
        for x in (q, k):
            rope(F.rms_norm(x.float(), (d,), None, 1e-5).half())

    return run, f"tokens={t} heads_q={h} heads_k={h}"


def swiglu(t, d=5504):
    x = torch.randn(1, t, 2 * d).half()

    def run():
        a, b = x.chunk(2, -1)
        F.silu(a) * b

    return run, f"rows={t} d={d}"


def scaled_residual(t, d=2048):
    residual, branch, scale = torch.randn(1, t, d), torch.randn(1, t, d).half(), torch.randn(d)
    return lambda: residual + branch.float() * scale, f"rows={t} d={d}"


def residual_rms_norm(t, d=2048):
    residual, branch = torch.randn(1, t, d), torch.randn(1, t, d).half()
    scale, weight = torch.randn(d), torch.randn(d)

    def run():
        h = residual + branch.float() * scale
        F.rms_norm(h, (d,), weight, 1e-5).half()

    return run, f"rows={t}"


def least(run, seconds=2.0):
    run()
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best * 1e6


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--h3gen", required=True)
    parser.add_argument("--bench", required=True)
    parser.add_argument("--target", default="x86-64-v3")
    parser.add_argument("--specs", default=os.path.join(os.path.dirname(__file__), "../../../specs"))
    options = parser.parse_args()
    cases = [
        ("qk_norm_rope", "", qk_norm_rope),
        ("swiglu", "f16", swiglu),
        ("scaled_residual", "f32", scaled_residual),
        ("residual_rms_norm", "f32", residual_rms_norm),
    ]
    print(f"torch {torch.__version__}, {options.target}")
    print("| operator | threads | eager µs | h3gen µs | times |\n|---|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        for name, types, make in cases:
            subprocess.run([options.h3gen, f"{options.specs}/{name}.spec", "--target", options.target,
                            "--out-dir", folder], check=True, stdout=subprocess.DEVNULL)
            run, dims = make(1797)
            for threads in (1, 2):
                torch.set_num_threads(threads)
                eager = least(run)
                command = [options.bench, f"{folder}/{name}.{options.target}", types, *dims.split()]
                if threads == 1:
                    command = ["taskset", "-c", "0", *command]
                ours = float(subprocess.run(command, check=True, capture_output=True,
                                            text=True).stdout.split()[0])
                print(f"| {name} | {threads} | {eager:.0f} | {ours:.0f} | {eager / ours:.1f} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
