/*===-- runtime/include/h3rt.h - The embedded runtime of h3gen ------*- C -*-===*\
|* Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
\*===----------------------------------------------------------------------===*/

/*
 * Runs operators whose every bit their spec decides, where that is possible, and says why where it
 * is not. A host opens bundles, asks for operators by name, and calls them with its own tensors, on
 * its own stream. A call has one of three outcomes:
 *
 *   served    the operator was enqueued on the stream
 *   declined  nothing was launched and nothing written; the host does what it did before
 *   failed    a driver failed; what the outputs hold is undefined
 *
 *   h3rt_runtime *rt;
 *   h3rt_create(NULL, &rt);
 *   h3rt_open_bundle(rt, "h3_vae.h3b");
 *   h3rt_operator *swiglu;
 *   h3rt_find_operator(rt, "swiglu<f16>", &swiglu);
 *   ...
 *   const DLTensor *tensors[] = {&x, &y};
 *   h3rt_call call = {sizeof(call), tensors, 2, 0, NULL, stream, 0};
 *   if (h3rt_run(swiglu, &call, NULL) != H3RT_SERVED)
 *     my_swiglu(&x, &y, stream);
 *
 * ABI. Every struct begins with its size, which the caller sets to sizeof; members are only ever
 * added at the end, and what a smaller struct does not have is taken as 0. Enumerations only grow:
 * treat a value that you do not know as its general case. The exported symbols are those of this
 * file. Nothing throws.
 *
 * Threads. Everything may be called from any thread at any time, except h3rt_destroy, which must be
 * the last call on a runtime. A call of an operator that is loaded takes no lock, allocates no
 * memory and asks the driver nothing before it launches; on CUDA's null streams it reads which
 * context is current. (A list of an `each` operator longer than any before in its thread does
 * allocate.)
 *
 * Loading. The first call of an operator in a context loads its image, runs every variant on
 * built-in inputs and compares the results with the reference's digests. That waits for the device,
 * on a stream of its own, and cannot happen while the call's stream is being captured:
 * h3rt_preload does it beforehand.
 *
 * Lifetime. Nothing is released when the process ends. In a forked child every call on a runtime of
 * the parent fails with H3RT_FAILURE_FORKED. A host that destroys a CUDA context, or resets a
 * device, that calls have used, says so with h3rt_forget before it makes a new one.
 *
 * Bundles. A digest in the file finds damage, not malice: open only bundles that you would run.
 *
 * Environment (not read in set-user-ID programs, nor with H3RT_IGNORE_ENVIRONMENT):
 *   H3RT_VERBOSE=dispatch   one line on standard error for each decision
 *   H3RT_DISABLE=LIST       targets and operators that shall not serve, separated by commas:
 *                           "sm_90", "swiglu<f16>", "swiglu" (all its types), "all"
 */

#ifndef H3RT_H
#define H3RT_H

#include <dlpack/dlpack.h>

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define H3RT_API __attribute__((visibility("default")))
#else
#define H3RT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Enumerations ---------------------------------------------------------------------------- */

/* What functions return that do not run an operator. h3rt_last_error has the text. */
typedef enum h3rt_status {
  H3RT_OK = 0,
  H3RT_INVALID_ARGUMENT = 1, /* a null pointer, a size too small, a name of the wrong form */
  H3RT_NO_MEMORY = 2,
  H3RT_BAD_BUNDLE = 3, /* cannot be read, is damaged, or is not a bundle of this format */
  H3RT_DUPLICATE = 4,  /* the target already has the operator; the driver's name is taken */
  H3RT_INCOMPLETE = 5, /* an operator set that lacks operators, or an operator without contract */
  H3RT_NOT_FOUND = 6,  /* no such operator, driver, device or row */
  H3RT_NOT_LOADED = 7, /* h3rt_preload: not every operator serves; the first cause is reported */
  H3RT_FORKED = 8      /* the runtime belongs to the parent process */
} h3rt_status;

typedef enum h3rt_outcome { H3RT_SERVED = 0, H3RT_DECLINED = 1, H3RT_FAILED = 2 } h3rt_outcome;

/* Why a call was declined. */
typedef enum h3rt_reason {
  H3RT_DECLINE_NONE = -1,
  H3RT_DECLINE_NO_OPERATOR_SET = 0,
  H3RT_DECLINE_ARGUMENTS = 1,
  H3RT_DECLINE_DTYPE = 2,
  H3RT_DECLINE_SHAPE = 3,
  H3RT_DECLINE_STRIDE = 4,
  H3RT_DECLINE_ALIGNMENT = 5,
  H3RT_DECLINE_ALIAS = 6,
  H3RT_DECLINE_REQUIREMENT = 7,
  H3RT_DECLINE_PARAMETER = 8,
  H3RT_DECLINE_SIZE = 9,
  H3RT_DECLINE_NO_VARIANT = 10,
  H3RT_DECLINE_REQUIRES_GRAD = 11,
  H3RT_DECLINE_COMPILING = 12,
  H3RT_DECLINE_CAPTURE_NEEDS_PRELOAD = 13,
  H3RT_DECLINE_SELFCHECK_FAILED = 14,
  H3RT_DECLINE_DEVICE = 15,        /* the tensors are not all on one device of the stream */
  H3RT_DECLINE_DISABLED = 16,      /* switched off: by the bundle, host or environment */
  H3RT_DECLINE_NOT_VALIDATED = 17, /* no evidence for the image, and the host asks for it */
  H3RT_DECLINE_NO_DRIVER = 18,     /* no driver is installed, or it is too old */
  H3RT_DECLINE_NO_DEVICE = 19,
  H3RT_DECLINE_NO_IMAGE = 20,      /* the set holds nothing that may be loaded here */
  H3RT_DECLINE_WRONG_IMAGE = 21,   /* the driver does not take the image */
  H3RT_DECLINE_PTX_TOO_NEW = 22,   /* the PTX is newer than the driver's assembler */
  H3RT_DECLINE_OUT_OF_MEMORY = 23, /* too little to load or check; the next call tries again */
  H3RT_DECLINE_LOAD_FAILED = 24    /* the driver failed meanwhile; the next call tries again */
} h3rt_reason;

/* h3rt_counters has room for as many reasons. */
#define H3RT_MAX_REASONS 64

/* Why a call failed. */
typedef enum h3rt_failure {
  H3RT_FAILURE_NONE = 0,
  H3RT_FAILURE_DRIVER = 1,            /* a driver call failed: driver_status has its code */
  H3RT_FAILURE_CONTEXT_ERROR = 2,     /* an earlier error, of whomever, has ended the context */
  H3RT_FAILURE_CONTEXT_DESTROYED = 3, /* the context or stream exists no more */
  H3RT_FAILURE_FORKED = 4,            /* the runtime belongs to the parent process */
  H3RT_FAILURE_STRICT = 5,            /* a decline, with its reason, in strict mode */
  H3RT_FAILURE_INVALID_CALL = 6,      /* the call itself cannot be read: null pointers, sizes */
  H3RT_FAILURE_NO_MEMORY = 7          /* of the host */
} h3rt_failure;

/* Whether evidence exists for what would serve. */
typedef enum h3rt_validation {
  H3RT_NOT_VALIDATED = 0,
  H3RT_VALIDATED = 1,     /* a record matches this image and this operator */
  H3RT_EVIDENCE_STALE = 2 /* there is evidence for other images of the operator on this target */
} h3rt_validation;

/* Options of a runtime. */
enum {
  H3RT_ALLOW_PTX = 1,          /* the driver may assemble PTX: not audited, never validated */
  H3RT_REQUIRE_VALIDATED = 2,  /* only what is validated serves */
  H3RT_STRICT = 4,             /* a decline is a failure, H3RT_FAILURE_STRICT */
  H3RT_VERBOSE_DISPATCH = 8,   /* a line for each decision */
  H3RT_IGNORE_ENVIRONMENT = 16 /* H3RT_VERBOSE and H3RT_DISABLE are not read */
};

/* The mode of a call. */
enum {
  H3RT_REQUIRES_GRAD = 1, /* a tensor takes part in differentiation: declined */
  H3RT_COMPILING = 2,     /* the host is tracing: declined */
  H3RT_CAPTURING = 4      /* the stream is being captured, if the driver cannot tell */
};

/* ---- Runtimes -------------------------------------------------------------------------------- */

typedef struct h3rt_runtime h3rt_runtime;

/* An operator with its types chosen. It belongs to its runtime and is never removed. */
typedef struct h3rt_operator h3rt_operator;

typedef struct h3rt_options {
  size_t size;
  uint32_t flags; /* H3RT_ALLOW_PTX and so on */
  /* Takes the lines of verbose mode, without a line end, from any thread. NULL: standard error. It
   * must not call the runtime. */
  void (*log)(void *user, const char *line);
  void *log_user;
} h3rt_options;

/* "0.1.0" */
H3RT_API const char *h3rt_version(void);

/* The text for the last status in this thread that was not H3RT_OK; valid until the next one. */
H3RT_API const char *h3rt_last_error(void);

/* A runtime with the CUDA driver and no operators. `options` may be NULL. */
H3RT_API h3rt_status h3rt_create(const h3rt_options *options, h3rt_runtime **runtime);

/* Releases everything the runtime holds, on devices too. Work that it launched must be done. */
H3RT_API void h3rt_destroy(h3rt_runtime *runtime);

/* ---- The dispatch table ---------------------------------------------------------------------- */

/* Adds the operator sets of a bundle: all, or on an error none. A set that the bundle says is
 * incomplete stays out. The file stays mapped: replace it, do not rewrite it. */
H3RT_API h3rt_status h3rt_open_bundle(h3rt_runtime *runtime, const char *path);

/* The same from memory, which stays as it is as long as the runtime. */
H3RT_API h3rt_status h3rt_add_bundle(h3rt_runtime *runtime, const void *bytes, size_t length);

/* A tensor that met the contract: as many axes as the operator's tensor has; strides in elements.
 */
typedef struct h3rt_bound_tensor {
  size_t size;
  uint64_t address; /* of the first element */
  int32_t rank;
  const int64_t *extents;
  const int64_t *strides;
} h3rt_bound_tensor;

/* A call that met the contract. */
typedef struct h3rt_binding {
  size_t size;
  DLDevice device;
  void *stream;
  int32_t member_count;             /* of an `each` operator; else 1 */
  int32_t tensor_count;             /* of one member */
  const h3rt_bound_tensor *tensors; /* one member after another */
  int32_t dim_count;
  const int64_t *dims; /* in the contract's order, one member after another */
  int32_t parameter_count;
  const uint64_t *parameters; /* bits, defaults filled in */
} h3rt_binding;

/* An operator of the host's own. Enqueues its work on the stream; 0, or the driver's code. */
typedef int32_t (*h3rt_operator_function)(void *user, const h3rt_binding *binding);

typedef struct h3rt_set_operator {
  size_t size;
  const char *name;     /* "swiglu<f16>" */
  const char *contract; /* a plan as JSON; NULL: that of the operator in a set registered before */
  h3rt_operator_function function;
  void *user;
} h3rt_set_operator;

typedef struct h3rt_set {
  size_t size;
  const char *name;   /* of the operators together: "h3_vae" */
  const char *target; /* as the driver names the device's target, exactly */
  int32_t enabled;    /* whether the set may serve */
  int32_t operator_count;
  const h3rt_set_operator *operators;
} h3rt_set;

/* Adds an operator set of the host's own for one target, whole or not at all. The first set of a
 * name says what belongs to it; a later one must have the same operators. A target has an operator
 * once. */
H3RT_API h3rt_status h3rt_add_set(h3rt_runtime *runtime, const h3rt_set *set);

/* One record of a run on hardware: which image computed which operator. Digests are SHA-256. */
typedef struct h3rt_evidence {
  size_t size;
  const char *target;
  const char *operator_name; /* "swiglu<f16>" */
  uint8_t image_digest[32];
  uint8_t operator_digest[32];
} h3rt_evidence;

/* Evidence may come before or after the bundle. A record that matches nothing is no error. */
H3RT_API h3rt_status h3rt_add_evidence(h3rt_runtime *runtime, const h3rt_evidence *evidence);

/* The same of a file that `h3gen evidence run` wrote: every operator in it of which enough calls
 * were compared and none was wrong. H3RT_INVALID_ARGUMENT if it cannot be read or is no such
 * record. */
H3RT_API h3rt_status h3rt_add_evidence_file(h3rt_runtime *runtime, const char *path);

/* Switches a target, an operator ("swiglu<f16>"), an operator of all types ("swiglu") or "all" off
 * or on again. What the environment switched off is switched on too. */
H3RT_API h3rt_status h3rt_set_enabled(h3rt_runtime *runtime, const char *what, int32_t enabled);

/* One row of the table: an operator of a set. */
typedef struct h3rt_row {
  size_t size;
  const char *set;    /* "h3_vae" */
  const char *target; /* "sm_90" */
  const char *operator_name;
  int32_t enabled;    /* by the bundle, and not switched off */
  int32_t validation; /* h3rt_validation */
  int32_t has_cubin, has_ptx;
  int32_t is_function; /* of the host's own */
  int32_t variant_count;
  uint8_t image_digest[32];
  uint8_t operator_digest[32];
} h3rt_row;

H3RT_API size_t h3rt_row_count(const h3rt_runtime *runtime);
H3RT_API h3rt_status h3rt_get_row(const h3rt_runtime *runtime, size_t index, h3rt_row *row);

/* ---- Drivers --------------------------------------------------------------------------------- */

typedef enum h3rt_driver_kind {
  H3RT_DRIVER_OK = 0,
  H3RT_DRIVER_ERROR = 1, /* none of the following */
  H3RT_DRIVER_MISSING = 2,
  H3RT_DRIVER_NO_DEVICE = 3,
  H3RT_DRIVER_CAPTURING = 4, /* a capture forbids it */
  H3RT_DRIVER_WRONG_IMAGE = 5,
  H3RT_DRIVER_PTX_TOO_NEW = 6,
  H3RT_DRIVER_OUT_OF_MEMORY = 7,
  H3RT_DRIVER_CONTEXT_ERROR = 8,
  H3RT_DRIVER_CONTEXT_DESTROYED = 9,
  H3RT_DRIVER_WRONG_DEVICE = 10 /* the stream is of another device */
} h3rt_driver_kind;

/* `code` is the driver's own number, for people. */
typedef struct h3rt_driver_result {
  int32_t kind;
  int32_t code;
} h3rt_driver_result;

typedef enum h3rt_image_kind { H3RT_IMAGE_BINARY = 0, H3RT_IMAGE_PTX = 1 } h3rt_image_kind;

typedef struct h3rt_launch {
  size_t size;
  uint32_t grid[3], block[3];
  uint32_t shared_bytes;
  uint32_t argument_count;
  void *const *arguments; /* the address of each argument's bytes */
} h3rt_launch;

/* How a kind of hardware is reached. `target` is required; of the others a driver has either all
 * (but `key`) or, if every operator set for its devices is of functions, none. Functions below the
 * line are called under the runtime's lock, between `enter` and `leave`, never during a call of an
 * operator that is loaded. */
typedef struct h3rt_driver {
  size_t size;
  const char *name;    /* "cuda": devices are "cuda:0" */
  int32_t device_type; /* DLDeviceType of the tensors it serves */
  void *user;

  /* The target of a device, "sm_90", NUL-terminated, at most `capacity` bytes. */
  h3rt_driver_result (*target)(void *user, int32_t device, char *text, size_t capacity);

  /* A number that is the same only for streams of one context, without asking the driver. NULL: the
   * stream itself. */
  uintptr_t (*key)(void *user, int32_t device, void *stream);

  /* Enqueues. The stream belongs to the context. */
  h3rt_driver_result (*launch)(void *user, void *context, void *stream, void *kernel,
                               const h3rt_launch *launch);

  /* ---- */

  /* The context in which the stream's work runs. */
  h3rt_driver_result (*resolve)(void *user, int32_t device, void *stream, void **context);
  /* Whether the stream is being captured: *capturing is 0 or 1. Outside of enter and leave. */
  h3rt_driver_result (*capturing)(void *user, void *context, void *stream, int32_t *capturing);

  /* Makes this thread work in the context without harm to captures in others. */
  h3rt_driver_result (*enter)(void *user, void *context);
  h3rt_driver_result (*leave)(void *user, void *context);

  h3rt_driver_result (*load)(void *user, const void *image, size_t length, int32_t kind,
                             void **module);
  h3rt_driver_result (*unload)(void *user, void *module);
  /* The kernel with that symbol, ready for up to `shared_bytes` of dynamic shared memory. */
  h3rt_driver_result (*kernel)(void *user, void *module, const char *symbol, uint32_t shared_bytes,
                               void **kernel);

  h3rt_driver_result (*open_stream)(void *user, void **stream);
  h3rt_driver_result (*close_stream)(void *user, void *stream);
  h3rt_driver_result (*synchronize)(void *user, void *stream);
  h3rt_driver_result (*allocate)(void *user, size_t length, uint64_t *address); /* 256-aligned */
  h3rt_driver_result (*release)(void *user, uint64_t address);
  h3rt_driver_result (*upload)(void *user, void *stream, uint64_t to, const void *from,
                               size_t length);
  h3rt_driver_result (*download)(void *user, void *stream, void *to, uint64_t from, size_t length);

  /* The driver's name for a code, or NULL. May be NULL. */
  const char *(*error_name)(void *user, int32_t code);
} h3rt_driver;

/* Registers a driver; the struct is copied, what it points to stays. */
H3RT_API h3rt_status h3rt_add_driver(h3rt_runtime *runtime, const h3rt_driver *driver);

/* What a device is and has. */
typedef struct h3rt_device_info {
  size_t size;
  char target[32];        /* "sm_90"; empty if the driver cannot say */
  int32_t operator_count; /* of the rows of this target */
  int32_t enabled_count;
  int32_t validated_count;
} h3rt_device_info;

/* H3RT_NOT_FOUND, with the reason, where there is no driver or no such device. */
H3RT_API h3rt_status h3rt_get_device(h3rt_runtime *runtime, DLDevice device,
                                     h3rt_device_info *info);

/* The context of the stream is about to be destroyed, or has been: what was loaded there is
 * forgotten, and in a context that still exists released. */
H3RT_API h3rt_status h3rt_forget(h3rt_runtime *runtime, DLDevice device, void *stream);

/* ---- Operators ------------------------------------------------------------------------------- */

/* The operator of that name and types: "qk_norm_rope", "swiglu<f16>". Look it up once. */
H3RT_API h3rt_status h3rt_find_operator(h3rt_runtime *runtime, const char *name,
                                        h3rt_operator **result);
H3RT_API size_t h3rt_operator_count(const h3rt_runtime *runtime);
H3RT_API h3rt_operator *h3rt_get_operator(h3rt_runtime *runtime, size_t index);
H3RT_API const char *h3rt_operator_name(const h3rt_operator *op);

/* A parameter's value: the low bytes of `bits` are those of a `dtype`. dtype.bits == 0: not given,
 * the default is taken. */
typedef struct h3rt_parameter {
  size_t size;
  DLDataType dtype;
  uint64_t bits;
} h3rt_parameter;

/* Tensors are borrowed for the call: descriptors may go when it returns, memory when the stream has
 * passed. They stand in the order in which the spec declares them; of an `each` operator, one
 * member after another. byte_offset counts; strides == NULL is row-major without gaps; extents of 0
 * are legal, and nothing is launched then; a stride of 0 (broadcast) is admitted for inputs and
 * declined for outputs. */
typedef struct h3rt_call {
  size_t size;
  const DLTensor *const *tensors;
  int32_t tensor_count;
  int32_t parameter_count;          /* may be fewer than the operator has */
  const h3rt_parameter *parameters; /* in the spec's order */
  void *stream; /* of the tensors' device; NULL is CUDA's null stream in the current context, or in
                   the device's primary one if that is of another device or there is none */
  uint32_t flags; /* H3RT_REQUIRES_GRAD and so on */
} h3rt_call;

/* More about an outcome. Numbers that do not apply are -1, `found` and `expected` 0. */
typedef struct h3rt_result {
  size_t size;
  int32_t outcome;       /* h3rt_outcome */
  int32_t reason;        /* h3rt_reason; H3RT_DECLINE_NONE unless declined */
  int32_t failure;       /* h3rt_failure */
  int32_t driver_status; /* the driver's own code, 0 if it had no part */
  int32_t variant;       /* that was launched */
  int32_t tensor;        /* a decline's: which tensor, axis, and what was found there */
  int32_t axis;
  int32_t index;
  int32_t member;
  int32_t other_member;
  int32_t detail;
  int64_t found;
  int64_t expected;
  const void *opaque[2]; /* for h3rt_describe, as long as the runtime lives */
} h3rt_result;

/* Calls an operator. `result` may be NULL; its size must be set. */
H3RT_API h3rt_outcome h3rt_run(h3rt_operator *op, const h3rt_call *call, h3rt_result *result);

/* One line about a result of this operator, `declined: stride: q has stride 2 in axis 2, the
 * contract says 1`, cut to `capacity` bytes with its NUL. Returns the bytes it needs. */
H3RT_API size_t h3rt_describe(const h3rt_operator *op, const h3rt_result *result, char *text,
                              size_t capacity);

/* Loads and checks all operators that may serve on the device, in the stream's context. Waits.
 * H3RT_NOT_LOADED if one cannot be loaded; the others are. */
H3RT_API h3rt_status h3rt_preload(h3rt_runtime *runtime, DLDevice device, void *stream);

/* "no_operator_set"; "unknown" for a number that is none. */
H3RT_API const char *h3rt_reason_name(int32_t reason);

typedef struct h3rt_counters {
  size_t size;
  uint64_t served;
  uint64_t failed;
  uint64_t declined[H3RT_MAX_REASONS]; /* by reason */
} h3rt_counters;

/* Since the runtime was made. */
H3RT_API h3rt_status h3rt_get_counters(const h3rt_operator *op, h3rt_counters *counters);

#ifdef __cplusplus
}
#endif

#endif /* H3RT_H */
