# Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Installs libh3rt, builds examples/host_app against it, and runs it. Without a GPU every call is
# declined and the program's own operations run.

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN}: ${status}\n${out}")
  endif()
  set(output "${out}" PARENT_SCOPE)
endfunction()

# The text must be in the last output.
function(expect text)
  string(FIND "${output}" "${text}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "expected '${text}' in\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE "${WORK}")
run(${CMAKE_COMMAND} --install ${BUILD} --component h3rt --prefix ${WORK}/prefix)
run(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/build -DCMAKE_PREFIX_PATH=${WORK}/prefix
  -DCMAKE_CXX_COMPILER=${COMPILER} "-DCMAKE_CXX_FLAGS=${FLAGS} -Wall -Wextra -Werror")
run(${CMAKE_COMMAND} --build ${WORK}/build)

run(${WORK}/build/host_app)
message("${output}")
expect("qk_norm_rope             not in the bundle, done here")
string(REGEX MATCH "checksums: [^\n]*" plain "${output}")

run(${WORK}/build/host_app ${BUNDLE})
message("${output}")
expect("qk_norm_rope             ")
string(FIND "${output}" "device: the host's memory" at)
if(at EQUAL -1)
  return() # a GPU: what it serves is not this test's
endif()
expect("qk_norm_rope             declined: no_operator_set: q is on device 0 of DLPack type 1, for which there is no driver; done here")
expect("swiglu<f16>              served 0 failed 0 no_operator_set 1")
expect("residual_rms_norm<f32>   served 0 failed 0 no_operator_set 1")
expect("${plain}")

# What is no bundle changes nothing but a warning.
file(WRITE ${WORK}/damaged.h3b "no bundle")
run(${WORK}/build/host_app ${WORK}/damaged.h3b)
expect("host_app: warning: ")
expect("${plain}")

# pkg-config says the same as the CMake package.
find_program(PKG_CONFIG pkg-config)
if(PKG_CONFIG)
  file(GLOB_RECURSE pc ${WORK}/prefix/*/h3rt.pc)
  run(${PKG_CONFIG} --cflags --libs ${pc})
  expect("-lh3rt")
else()
  message("skipped: no pkg-config on this machine")
endif()
