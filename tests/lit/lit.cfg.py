# Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Tests written as text, with RUN lines and FileCheck. They lie beside what they test, in codegen/
# and backends/, or here where they are about the whole command.
#   %specs             the folder of the operators
#   %root              the root of the repository
#   %fake_cuda         a folder with a driver of CUDA that has no GPU and whose kernels do nothing
#   %build             the build folder
#   %h3gen, %python    the programs, where the PATH is not searched
#   %ptxas, %nvdisasm  the tools, in tests that REQUIRE them
# The project's programs and LLVM's (FileCheck, not, split-file) are on the PATH.

import os
import shutil
import sys

import lit.formats

config.name = "h3gen"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".spec", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = config.h3_source_dir
config.test_exec_root = os.path.join(config.h3_binary_dir, "tests", "lit")

config.environment["PATH"] = os.pathsep.join(
    [os.path.join(config.h3_binary_dir, "bin"), config.llvm_tools_dir, os.environ["PATH"]])
for name in ("H3GEN_PTXAS", "ASAN_OPTIONS", "UBSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

config.substitutions.append(("%specs", os.path.join(config.h3_source_dir, "specs")))
config.substitutions.append(("%root", config.h3_source_dir))
config.substitutions.append(("%fake_cuda", os.path.join(
    config.h3_binary_dir, "tests", "unit", "runtime", "cuda", "fake")))
config.substitutions.append(("%build", config.h3_binary_dir))
config.substitutions.append(("%h3gen", os.path.join(config.h3_binary_dir, "bin", "h3gen")))
config.substitutions.append(("%python", sys.executable))

# Every call compiles, but where a test is about the cache and names one of its own.
config.environment["H3GEN_CACHE_SIZE"] = "0"


def find_tool(name, variable):
    """The tool that h3gen would find: the variable, the project's environment, the PATH."""
    local = os.path.join(config.h3_source_dir, ".venv", "bin", name)
    for path in (os.environ.get(variable), local, shutil.which(name)):
        if path and os.access(path, os.X_OK):
            return path
    return None


# `REQUIRES: ptxas` or `REQUIRES: nvdisasm`: such a test is reported as unsupported elsewhere.
for name, variable in (("ptxas", "H3GEN_PTXAS"), ("nvdisasm", "H3GEN_NVDISASM")):
    path = find_tool(name, variable)
    if path:
        config.available_features.add(name)
        config.environment[variable] = path
        config.substitutions.append(("%" + name, path))

# `REQUIRES: cmake`: a build of another project; with `make` for one without ninja.
if shutil.which("cmake") and shutil.which("ninja"):
    config.available_features.add("cmake")
if shutil.which("make"):
    config.available_features.add("make")
# `REQUIRES: cc`: a small shared object.
if shutil.which("cc"):
    config.available_features.add("cc")
