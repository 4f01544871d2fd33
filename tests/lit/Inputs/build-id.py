# Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""build-id.py FROM TO change|hide|append: copies a 64-bit ELF program with another build id, with none that
is recognised, or with one more byte at its end."""

import os
import struct
import sys

source, target, how = sys.argv[1:]
with open(source, "rb") as file:
    data = bytearray(file.read())
if how == "append":
    data.append(0)
else:
    note = struct.pack("<III", 4, 20, 3) + b"GNU\0"  # sizes of name and id, NT_GNU_BUILD_ID
    assert data.count(note) == 1, "the program has one build id"
    at = data.index(note)
    if how == "change":
        data[at + len(note)] ^= 1
    else:
        data[at + 8] = 99
with open(target, "wb") as file:
    file.write(data)
os.chmod(target, 0o755)
