#!/bin/sh
# Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#   run.sh BUILD SOURCE WORK CXX CONFORMANCE_TEST GOLDEN_TEST
#
# Installs h3gen and libh3rt of BUILD into WORK, builds SOURCE/examples/backend_c against them, and
# runs the suites and a bundle through it. With H3GEN_PLUGIN_FULL=1 that is all of them. By default it
# is one choice of types an operator, a few calls, compiled without optimisation, and without most of
# the operators whose trees have hundreds of slots: a C compiler takes seconds for each of those.
set -eu
build=$1 source=$2 work=$3 cxx=$4 conformance=$5 golden=$6

rm -rf "$work"
for component in compiler h3rt; do
  cmake --install "$build" --component $component --prefix "$work/installed" >"$work.log" 2>&1 ||
    { cat "$work.log"; exit 1; }
done
cp -r "$source/examples/backend_c" "$work/backend_c"
cmake -S "$work/backend_c" -B "$work/backend_c/build" -D CMAKE_PREFIX_PATH="$work/installed" \
  -D CMAKE_CXX_COMPILER="$cxx" >"$work.log" 2>&1 || { cat "$work.log"; exit 1; }
cmake --build "$work/backend_c/build" -j 2 >"$work.log" 2>&1 || { cat "$work.log"; exit 1; }
rm "$work.log"

h3gen=$work/installed/bin/h3gen
plugin=$work/backend_c/build/libh3_backend_c.so
"$h3gen" targets --plugin "$plugin" | grep '^c11 *c *yes'

H3GEN_PLUGINS=$plugin
H3GEN_CONFORMANCE_TARGET=c11
H3GEN_GOLDEN_BACKEND=c
export H3GEN_PLUGINS H3GEN_CONFORMANCE_TARGET H3GEN_GOLDEN_BACKEND
# The goldens of norms run every variant at sizes of production.
goldens='*norm_?:*norm_w_?:*_??'
large='*modulate*:*layer_norm:*layer_norm_w:*ltx_norm_rope:*wan_norm_rope:*rms_scale:*rms_norm_w'
if [ "${H3GEN_PLUGIN_FULL:-0}" = 1 ]; then
  large=none goldens=none
else
  H3_BACKEND_C_FLAGS=-O0 H3GEN_CONFORMANCE_INSTANCES=1 H3GEN_CONFORMANCE_CALLS=3
  export H3_BACKEND_C_FLAGS H3GEN_CONFORMANCE_INSTANCES H3GEN_CONFORMANCE_CALLS
fi
"$conformance" --gtest_brief=1 --gtest_filter="*BackendConformance*-$large"
"$golden" --gtest_brief=1 --gtest_filter="*PluginHasTheBits*-$goldens"

# A bundle, and a host that serves it on hardware of its own.
printf 'set outside\noperator swiglu from %s/specs/swiglu.spec\ntarget c11 enabled\n' "$source" \
  >"$work/outside.opset"
"$h3gen" bundle --plugin "$plugin" "$work/outside.opset" -o "$work/outside.h3b"
"$work/backend_c/build/c11_host" "$work/outside.h3b" | tee "$work/host.out"
grep -q '^swiglu: served$' "$work/host.out"
grep -q '^swiglu: declined: shape' "$work/host.out"
grep -q '^swiglu<f16>: served 1, failed 0, declined 1: shape$' "$work/host.out"
