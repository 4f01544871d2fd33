/*===-- codegen/driver/plugin/h3_backend.h - A backend from outside -*- C -*-===*\
|* Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
\*===----------------------------------------------------------------------===*/

/*
 * What a plugin of h3gen implements: a backend for hardware that h3gen does not know. A plugin is a
 * shared object that exports
 *
 *   const h3_backend *h3_backend_get(uint32_t interface);
 *
 * `h3gen --plugin libNAME.so ...` loads it, and its targets then stand beside those of h3gen.
 *
 * h3gen does what decides bits and shapes: it reads the spec, chooses schedules for the machine
 * that the plugin describes, and makes launch plans. The plugin gets the scheduled kernels as text
 * (codegen/scheduled/README.md is its definition) and gives an image. No C++ object and no MLIR
 * crosses this boundary, and nothing throws across it.
 *
 * Structs begin with their size, set to sizeof by whoever makes them. Strings are UTF-8 and end
 * with a NUL. Pointers that a function is given are good until it returns; what the plugin points
 * to in its own structs stays as long as the process. Functions may be called from several threads
 * at once, but those of one loaded image from one at a time.
 */

#ifndef H3_BACKEND_H
#define H3_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised when a struct, a function or the text of scheduled kernels changes its meaning. h3gen
 * takes plugins of exactly this number. */
#define H3_BACKEND_INTERFACE 1u

/* What schedules assume of the hardware. Start from H3_BACKEND_MACHINE_ONE_THREAD or
 * H3_BACKEND_MACHINE_GPU. A schedule that is not possible on it is never made. */
typedef struct h3_backend_machine {
  size_t size;
  uint32_t wave_threads;    /* that exchange values, a power of two up to 64; 1: none do */
  uint32_t most_threads;    /* of a block, a power of two up to 1024; 1: a block is one thread */
  uint32_t usual_threads;   /* of a block whose rows need fewer */
  uint32_t widest_access;   /* bytes: 16 or 32 */
  int64_t most_held;        /* elements of a row that a thread can have in registers */
  int64_t usually_held;     /* the same, where the choice is free */
  int64_t shared_bytes;     /* of memory that the threads of a block share */
  uint32_t vector_elements; /* of a vector, where the choice is free; 0: an access of the narrowest
                               type fills the widest */
  int32_t aligns_accesses;  /* 1: a vector's address is a multiple of its bytes, or the variant does
                               not serve the call; 0: of an element's */
  int32_t joins_vectors;    /* 1: slots of a reduction that lie in one vector are joined as vectors;
                               0: as scalars */
} h3_backend_machine;

#define H3_BACKEND_MACHINE_ONE_THREAD                                                              \
  {sizeof(h3_backend_machine), 1, 1, 1, 16, 4096, 64, 0, 0, 0, 1}
#define H3_BACKEND_MACHINE_GPU                                                                     \
  {sizeof(h3_backend_machine), 32, 1024, 128, 16, 256, 64, 49152, 0, 1, 0}

typedef struct h3_backend_target {
  size_t size;
  const char *name; /* "c11": a small letter, then small letters, digits, '_' and '-' */
  h3_backend_machine machine;
  const char *image_ending;    /* of a file with what `emit` gives: ".c" */
  const char *assembly_ending; /* of one with what `assemble` gives: ".so"; NULL: images are loaded
                                  as they are */
} h3_backend_target;

/* A program that a step needs. Its contents are part of what h3gen's cache goes by. */
typedef struct h3_backend_tool {
  size_t size;
  const char *name; /* "cc" */
  const char *path;
  const char *version;  /* one line */
  const char *found_by; /* "CC", "PATH", "--assembler" */
} h3_backend_tool;

/* Where a function leaves what it has to say. Each may be called any number of times. */
typedef struct h3_backend_reply {
  size_t size;
  void *user;
  /* More of the result. */
  void (*bytes)(void *user, const void *bytes, size_t length);
  /* More of one line: of a function that fails, why; of `load`, what the image will run on. */
  void (*text)(void *user, const char *text);
  void (*tool)(void *user, const h3_backend_tool *tool);
} h3_backend_reply;

typedef enum h3_backend_step {
  H3_BACKEND_EMIT = 0,
  H3_BACKEND_ASSEMBLE = 1,
  H3_BACKEND_EXECUTE = 2 /* load, and all below it */
} h3_backend_step;

/* Memory that a call reads or writes. */
typedef struct h3_backend_buffer {
  size_t size;
  const char *name;
  void *bytes;
  size_t length;
  int32_t is_read, is_written;
} h3_backend_buffer;

/* One launch, as in h3rt.h: `arguments[i]` is the address of the bytes of the kernel's parameter i,
 * of a kernel with `table_bytes` first that of the table. */
typedef struct h3_backend_launch {
  size_t size;
  const char *entry;
  uint32_t grid[3], block[3];
  uint32_t shared_bytes;
  uint32_t argument_count;
  void *const *arguments;
} h3_backend_launch;

/* Functions return 0, or anything else after they have said why through `reply`. */
typedef struct h3_backend {
  size_t size;
  uint32_t interface;    /* H3_BACKEND_INTERFACE, as the plugin was compiled with it */
  const char *name;      /* "c", of the same form as a target's */
  uint32_t target_count; /* at least 1 */
  const h3_backend_target *targets;

  /* Whether this machine can take the step. `tool`: the program that the user names, or NULL; the
   * one that is found is left through `reply->tool`, if one is needed. */
  int32_t (*ability)(const char *target, int32_t step, const char *tool,
                     const h3_backend_reply *reply);

  /* Makes an image of scheduled kernels, one document. The same bytes for the same arguments.
   * `header` has lines that a text may begin with, each behind "// ". */
  int32_t (*emit)(const char *target, const char *scheduled, size_t length, const char *header,
                  const h3_backend_reply *reply);

  /* Makes of an image what is loaded. NULL where no target has an assembly. `tool`: as `ability`
   * left it, or NULL. */
  int32_t (*assemble)(const char *target, const void *image, size_t length,
                      const h3_backend_tool *tool, const h3_backend_reply *reply);

  /* Prepares an image, or what was made of it, to run on this machine. NULL, with all below it: the
   * plugin only compiles. */
  int32_t (*load)(const char *target, const void *image, size_t length,
                  const h3_backend_reply *reply, void **loaded);
  void (*unload)(void *loaded);

  /* Puts a call's buffers where kernels reach them and says at which addresses. NULL: kernels work
   * on this process's memory. */
  int32_t (*place)(void *loaded, const h3_backend_buffer *buffers, size_t count,
                   uint64_t *addresses, const h3_backend_reply *reply);
  /* Runs a launch to its end. */
  int32_t (*launch)(void *loaded, const h3_backend_launch *launch, const h3_backend_reply *reply);
  /* Brings the written buffers back. NULL with `place`. */
  int32_t (*fetch)(void *loaded, const h3_backend_buffer *buffers, size_t count,
                   const h3_backend_reply *reply);
} h3_backend;

/* What a plugin exports. `interface` is h3gen's number; a plugin that has a backend of several may
 * choose, all others return the one that they have. */
typedef const h3_backend *(*h3_backend_get_function)(uint32_t interface);
#define H3_BACKEND_GET "h3_backend_get"

#ifdef __cplusplus
}
#endif

#endif /* H3_BACKEND_H */
