#!/usr/bin/env python3
# Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""read_safetensors.py H3GEN SPECS FOLDER: a bundle read by the Python package safetensors.

Writes a bundle into FOLDER and compares every tensor that the package finds with what the manifest says of it.
Prints `skipped: ...` where the package is not installed.
"""

import hashlib
import json
import os
import subprocess
import sys


def main():
    h3gen, specs, folder = sys.argv[1:]
    try:
        import safetensors
    except ImportError:
        print("skipped: the Python package safetensors is not installed; ./dev setup does it")
        return
    os.makedirs(folder, exist_ok=True)
    operator_set, bundle = os.path.join(folder, "read.opset"), os.path.join(folder, "read.h3b")
    with open(operator_set, "w") as file:
        file.write("set read\n")
        for name in ("linear_weight_f16", "qk_norm_rope"):
            file.write(f"operator {name} from {specs}/{name}.spec\n")
        file.write("target sm_90 enabled\ntarget sm_120 disabled\n")
    subprocess.run([h3gen, "bundle", "--ptx-only", "--no-prove", operator_set, "-o", bundle], check=True)

    with open(bundle, "rb") as file:
        data = file.read()
    tensors = dict(safetensors.deserialize(data))
    header = json.loads(data[8:8 + int.from_bytes(data[:8], "little")])
    metadata = header["__metadata__"]
    assert list(metadata) == ["h3.manifest"], list(metadata)
    manifest = json.loads(metadata["h3.manifest"])
    canonical = json.dumps(manifest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert canonical == metadata["h3.manifest"], "the manifest is not canonical"

    images = manifest["images"]
    assert len(images) == 6 and len(tensors) == len(images) + 1, (len(images), sorted(tensors))
    for image in images:
        tensor = tensors["image/" + image["name"]]
        assert tensor["dtype"] == "U8" and tensor["shape"] == [len(tensor["data"])], tensor["shape"]
        assert len(tensor["data"]) % 64 == 0
        content = bytes(tensor["data"])[:image["bytes"]]
        assert hashlib.sha256(content).hexdigest() == image["digest"], image["name"]
        assert not any(bytes(tensor["data"])[image["bytes"]:]), "padding is not zero"
        assert image["kind"] != "ptx" or content.rstrip().endswith(b"}"), content[-40:]
    digest = bytes(tensors["h3.digest"]["data"])
    assert digest == data[-32:] == hashlib.sha256(data[:-32]).digest()

    print(f"safetensors {safetensors.__version__} read {len(tensors)} tensors")


main()
