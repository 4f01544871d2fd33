#!/usr/bin/env python3
# Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times the compilation of the H3 set for six targets, without ptxas: from a cold cache and a warm one.

    tests/bench/compile/compile.py build/release/bin/h3gen [REPETITIONS]

Prints the median and the best of each, as wall-clock time and as CPU time of the process (user and
system), for one thread and for as many as the machine runs. The goal is under 3 s from a cold cache on
two idle cores; nothing fails if it is missed.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

OPERATORS = ("qk_norm_rope", "swiglu", "scaled_residual", "linear_weight_f16", "residual_rms_norm")
TARGETS = "80,89,90,100,103,120"
SPECS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "specs")


def measure(h3gen, folder, *options):
    """Wall-clock and CPU seconds of one call."""
    command = [h3gen, *(os.path.join(SPECS, name + ".spec") for name in OPERATORS), "--sm", TARGETS]
    command += ["--ptx-only", "--out-dir", os.path.join(folder, "out"), *options]
    environment = dict(os.environ, H3GEN_CACHE_DIR=os.path.join(folder, "cache"), H3GEN_CACHE_SIZE="1G")
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    output = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    cached = output.count("(cached)")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, cached


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    h3gen, repetitions = sys.argv[1], int(sys.argv[2]) if len(sys.argv) == 3 else 5
    print(f"{len(OPERATORS)} operators, targets {TARGETS}, {repetitions} repetitions, load "
          f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs")
    for threads in ("1", str(os.cpu_count())):
        cold, warm = [], []
        for _ in range(repetitions):
            with tempfile.TemporaryDirectory() as folder:
                cold.append(measure(h3gen, folder, "-j", threads))
                warm.append(measure(h3gen, folder, "-j", threads))
        assert all(run[2] == 0 for run in cold) and all(run[2] > 0 for run in warm)
        for name, runs in (("cold", cold), ("warm", warm)):
            wall, cpu = [run[0] for run in runs], [run[1] for run in runs]
            print(f"{name} cache, {threads} threads: wall {statistics.median(wall):.3f} s (best "
                  f"{min(wall):.3f}), CPU {statistics.median(cpu):.3f} s (best {min(cpu):.3f})")


if __name__ == "__main__":
    main()
