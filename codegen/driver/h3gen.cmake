# Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# For projects that compile specs with their own build system. Include this file, or, where h3gen is
# installed, `find_package(h3gen CONFIG)`.
#
#   h3gen_add_module(NAME
#     SPECS file...           # relative to the current source folder
#     TARGETS target...       # 90, sm_100a, ...
#     [OUTPUT_DIR folder]     # relative to the current binary folder, which is the default
#     [OUTPUTS variable]      # is set to the files that are made
#     [OPTIONS option...])    # for h3gen: --ptx-only, --spec-path DIR, --ptxas PATH, ...
#
# adds the target NAME, built with the project's default target. Every spec is compiled for every
# target by a command of its own, so that ninja or make run as many as they run of other commands. A
# command runs again when its spec changes, a module that the spec uses, or h3gen. Of each operator
# the files are OPERATOR.TARGET.ptx, .cubin and .json; with --ptx-only the first alone. A changed spec
# configures the project again, since it may define other operators.
#
# The h3gen that runs is H3GEN_EXECUTABLE if set, else the project's target `h3gen`, else the one of
# this installation, else the one on the PATH.

# A plugin (examples/backend_c) links h3gen::backend, which has the header h3_backend.h.

include_guard(GLOBAL)
# Installed as share/cmake/h3gen/h3gen-config.cmake.
set(_h3gen_prefix_bin "${CMAKE_CURRENT_LIST_DIR}/../../../bin")
if(NOT TARGET h3gen::backend AND EXISTS "${CMAKE_CURRENT_LIST_DIR}/../../../include/h3_backend.h")
  add_library(h3gen::backend INTERFACE IMPORTED)
  set_target_properties(h3gen::backend PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${CMAKE_CURRENT_LIST_DIR}/../../../include")
endif()

# The names of the operators that a spec defines. `op` is a reserved word: outside comments it begins
# a definition and stands nowhere else.
function(_h3gen_operators spec result)
  file(READ "${spec}" text)
  string(REGEX REPLACE "//[^\n]*" "" text "${text}")
  string(REGEX REPLACE "[^A-Za-z0-9_.]+" " " text " ${text}")
  string(REGEX MATCHALL " op [A-Za-z_][A-Za-z0-9_]*" operators "${text}")
  list(TRANSFORM operators REPLACE "^ op " "")
  set(${result} ${operators} PARENT_SCOPE)
endfunction()

function(h3gen_add_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "OUTPUT_DIR;OUTPUTS" "SPECS;TARGETS;OPTIONS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "h3gen_add_module: unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_SPECS OR NOT arg_TARGETS)
    message(FATAL_ERROR "h3gen_add_module: SPECS and TARGETS are needed")
  endif()
  foreach(option IN LISTS arg_OPTIONS)
    if(option MATCHES "^(--sm|--out-dir|--emit|--depfile|--jobs|-j)")
      message(FATAL_ERROR "h3gen_add_module: ${option} is not for OPTIONS")
    endif()
  endforeach()
  set(endings .ptx .cubin .json)
  if("--ptx-only" IN_LIST arg_OPTIONS)
    set(endings .ptx)
  endif()

  if(H3GEN_EXECUTABLE)
    set(program "${H3GEN_EXECUTABLE}")
  elseif(TARGET h3gen)
    set(program h3gen)
  else()
    find_program(H3GEN_EXECUTABLE h3gen HINTS "${_h3gen_prefix_bin}" REQUIRED)
    set(program "${H3GEN_EXECUTABLE}")
  endif()

  set(folder "${CMAKE_CURRENT_BINARY_DIR}")
  cmake_path(ABSOLUTE_PATH arg_OUTPUT_DIR BASE_DIRECTORY "${folder}" OUTPUT_VARIABLE folder)
  string(REGEX REPLACE "/$" "" folder "${folder}")

  set(all)
  foreach(spec IN LISTS arg_SPECS)
    cmake_path(ABSOLUTE_PATH spec BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${spec}")
    _h3gen_operators("${spec}" operators)
    if(NOT operators)
      message(FATAL_ERROR "h3gen_add_module: '${spec}' defines no operator")
    endif()
    cmake_path(GET spec STEM stem)
    foreach(target IN LISTS arg_TARGETS)
      if(target STREQUAL "all" OR target MATCHES ",")
        message(FATAL_ERROR "h3gen_add_module: TARGETS are named one by one, not '${target}'")
      endif()
      if(NOT target MATCHES "^sm_")
        set(target "sm_${target}")
      endif()
      set(outputs)
      foreach(operator IN LISTS operators)
        foreach(ending IN LISTS endings)
          list(APPEND outputs "${folder}/${operator}.${target}${ending}")
        endforeach()
      endforeach()
      set(depfile "${CMAKE_CURRENT_BINARY_DIR}/${name}.${stem}.${target}.d")
      add_custom_command(OUTPUT ${outputs}
        COMMAND ${program} "${spec}" --sm ${target} --out-dir "${folder}" --jobs 1
          --depfile "${depfile}" ${arg_OPTIONS}
        DEPENDS ${program} "${spec}" DEPFILE "${depfile}"
        WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}"
        COMMENT "h3gen ${stem} ${target}" VERBATIM)
      list(APPEND all ${outputs})
    endforeach()
  endforeach()
  add_custom_target(${name} ALL DEPENDS ${all})
  if(arg_OUTPUTS)
    set(${arg_OUTPUTS} ${all} PARENT_SCOPE)
  endif()
endfunction()
