# Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the instruction tests on the GPU of this machine and records every output.

    python3 capture.py --out FOLDER [--ptxas PATH]
    python3 capture.py --check sm_90 [--ptxas PATH]     assembles only; needs no GPU

Needs Python's standard library, CUDA's ptxas and a driver (libcuda). data/README.md describes the
file that it writes.
"""

import argparse
import ctypes
import json
import os
import re
import subprocess
import sys

import table
from inputs import WIDTHS, columns

WARP = 32


class Driver:
    """The calls of libcuda that this needs; a status other than success ends the program."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        self("cuInit", 0)
        self.device = ctypes.c_int()
        self("cuDeviceGet", ctypes.byref(self.device), 0)
        context = ctypes.c_void_p()
        self("cuDevicePrimaryCtxRetain", ctypes.byref(context), self.device)
        self("cuCtxSetCurrent", context)

    def __call__(self, function, *arguments):
        status = getattr(self.library, function)(*arguments)
        if status != 0:
            text = ctypes.c_char_p()
            self.library.cuGetErrorString(status, ctypes.byref(text))
            sys.exit(f"{function}: {status} {(text.value or b'').decode()}")

    def facts(self):
        name = ctypes.create_string_buffer(256)
        self("cuDeviceGetName", name, 256, self.device)
        parts = []
        for attribute in (75, 76):  # compute capability, major and minor
            value = ctypes.c_int()
            self("cuDeviceGetAttribute", ctypes.byref(value), attribute, self.device)
            parts.append(value.value)
        api = ctypes.c_int()
        self("cuDriverGetVersion", ctypes.byref(api))
        version = "unknown"
        for path in ("/proc/driver/nvidia/version", "/sys/module/nvidia/version"):
            if os.path.exists(path):
                with open(path) as file:
                    found = re.search(r"\d+\.\d+(\.\d+)?", file.read())
                    version = found.group(0) if found else version
                    break
        return {"product": name.value.decode(), "capability": "{}.{}".format(*parts),
                "driver": version, "driver_api": str(api.value)}

    def allocate(self, size):
        address = ctypes.c_uint64()
        self("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(size, 256)))
        return address

    def upload(self, data):
        address = self.allocate(len(data))
        self("cuMemcpyHtoD_v2", address, data, ctypes.c_size_t(len(data)))
        return address

    def download(self, address, size):
        data = ctypes.create_string_buffer(size)
        self("cuMemcpyDtoH_v2", data, address, ctypes.c_size_t(size))
        return data.raw

    def launch(self, function, threads, addresses):
        pointers = (ctypes.c_void_p * len(addresses))(
            *[ctypes.cast(ctypes.pointer(a), ctypes.c_void_p) for a in addresses])
        self("cuLaunchKernel", function, threads // WARP, 1, 1, WARP, 1, 1, 0, None, pointers, None)
        self("cuCtxSynchronize")


def safetensors(tensors, metadata):
    """The file's bytes; tensors are (name, bytes an element, data)."""
    header, position = {"__metadata__": metadata}, 0
    for name, width, data in tensors:
        header[name] = {"dtype": "U8", "shape": [len(data) // width, width],
                        "data_offsets": [position, position + len(data)]}
        position += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + b"".join(data for _, _, data in tensors)


def fnv1a(text):
    """64-bit FNV-1a of a kernel's text: a recording belongs to exactly that text."""
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def ptxas_version(ptxas):
    text = subprocess.run([ptxas, "--version"], capture_output=True, text=True, check=True).stdout
    return re.search(r"V(\d+\.\d+\.\d+)", text).group(1)


def capture(arguments):
    rows = table.load()
    driver = Driver()
    facts = driver.facts()
    facts["ptxas"] = ptxas_version(arguments.ptxas)
    target = "sm_" + facts["capability"].replace(".", "")
    modules, refused = table.assemble_each(arguments.ptxas, rows, target)
    print(f"{facts}: {len(rows)} tests, {len(refused)} refused by ptxas", flush=True)

    sets = {",".join(row["in"]): None for row in rows}
    for name in sets:
        data = columns(name)
        sets[name] = (len(data[0]) // WIDTHS[name.split(",")[0]], data,
                      [driver.upload(column) for column in data])
    results = {}
    for part, cubin in modules:
        module = ctypes.c_void_p()
        driver("cuModuleLoadData", ctypes.byref(module), cubin)
        for row in part:
            function = ctypes.c_void_p()
            driver("cuModuleGetFunction", ctypes.byref(function), module,
                   table.entry_name(row).encode())
            threads, _, inputs = sets[",".join(row["in"])]
            sizes = [threads * WIDTHS[kind] for kind in row["out"]]
            outputs = []
            for size in sizes:
                outputs.append(driver.allocate(size))
                driver("cuMemsetD8_v2", outputs[-1], 0xA5, ctypes.c_size_t(size))
            driver.launch(function, threads, inputs + outputs)
            results[row["name"]] = [driver.download(a, s) for a, s in zip(outputs, sizes)]
            for address in outputs:
                driver("cuMemFree_v2", address)
        driver("cuModuleUnload", module)

    tensors = [(f"in/{name}/{i}", WIDTHS[name.split(",")[i]], column)
               for name, (_, data, _) in sets.items() for i, column in enumerate(data)]
    tensors += [(f"out/{row['name']}/{i}", WIDTHS[row["out"][i]], data) for row in rows
                for i, data in enumerate(results.get(row["name"], []))]
    facts["kernels"] = json.dumps({row["name"]: fnv1a(table.kernel(row)) for row in rows},
                                  separators=(",", ":"))
    facts["absent"] = json.dumps(refused, separators=(",", ":"), sort_keys=True)
    path = os.path.join(arguments.out, f"{target}.safetensors")
    with open(path, "wb") as file:
        file.write(safetensors(tensors, facts))
    print(f"{len(results)} recorded in {path}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptxas", default="ptxas")
    parser.add_argument("--out", default=".")
    parser.add_argument("--check", metavar="TARGET")
    arguments = parser.parse_args()
    if not arguments.check:
        capture(arguments)
        return
    rows = table.load()
    modules, refused = table.assemble_each(arguments.ptxas, rows, arguments.check)
    for name, why in refused.items():
        print(f"{name}: {why}")
    print(f"{arguments.check}: {sum(len(part) for part, _ in modules)} of {len(rows)} assemble")


if __name__ == "__main__":
    main()
