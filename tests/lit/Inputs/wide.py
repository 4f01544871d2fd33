# Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints a spec that is correct, with an operator of more tensors than a launch plan holds."""

NAMES = [f"x{i}" for i in range(25)]
print("op wide {\n  dim n")
for name in NAMES:
    print(f"  in  {name} : f16[n]")
print("  out y : f16[n]\n\n  y[i] = " + " + ".join(name + "[i]" for name in NAMES) + "\n}")
