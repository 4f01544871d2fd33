# Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""damage.py FOLDER flip|truncate: damages each entry of a compile cache, each in another place."""

import os
import sys

folder, how = sys.argv[1:]
names = sorted(os.listdir(folder))
assert names, "there is nothing to damage"
for number, name in enumerate(names):
    path = os.path.join(folder, name)
    with open(path, "rb") as file:
        data = bytearray(file.read())
    place = (len(data) - 1) * number // max(len(names) - 1, 1)
    if how == "flip":
        data[place] ^= 1
    else:
        del data[place:]
    with open(path, "wb") as file:
        file.write(data)
