//===-- examples/backend_c/Backend.cpp - The plugin -----------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The target `c11`: one C11 file for an operator, and a shared object that the machine's own C
// compiler makes of it. Everything that decides bits is in the text; see README.md.
//
//===----------------------------------------------------------------------===//

#include "Cc.h"
#include "EmitC.h"

#include <h3_backend.h>

#include <exception>

namespace {

/// A row is walked by one thread, eight elements at a time.
constexpr h3_backend_machine machine() {
  h3_backend_machine one = H3_BACKEND_MACHINE_ONE_THREAD;
  one.vector_elements = 8;
  return one;
}

constexpr h3_backend_target targets[] = {
    {sizeof(h3_backend_target), "c11", machine(), ".c", ".so"}};

int32_t fail(const h3_backend_reply *reply, const std::string &why) {
  reply->text(reply->user, why.c_str());
  return 1;
}

int32_t ability(const char *, int32_t step, const char *tool, const h3_backend_reply *reply) {
  if (step == H3_BACKEND_EMIT)
    return 0;
  std::string error;
  std::optional<CCompiler> compiler = findCompiler(tool, error);
  if (!compiler)
    return fail(reply, error);
  h3_backend_tool found = {sizeof(h3_backend_tool), "cc", compiler->path.c_str(),
                           compiler->version.c_str(), compiler->foundBy.c_str()};
  reply->tool(reply->user, &found);
  return 0;
}

int32_t emit(const char *, const char *scheduled, size_t length, const char *header,
             const h3_backend_reply *reply) {
  try {
    const std::string text = emitC(readKernels(scheduled, length), header);
    reply->bytes(reply->user, text.data(), text.size());
    return 0;
  } catch (const std::exception &problem) { // none leaves this function
    return fail(reply, problem.what());
  }
}

int32_t assemble(const char *, const void *image, size_t length, const h3_backend_tool *tool,
                 const h3_backend_reply *reply) {
  std::string error = "no C compiler is given";
  std::optional<std::string> object;
  if (tool)
    object = compileC(tool->path, static_cast<const char *>(image), length, error);
  if (!object)
    return fail(reply, error);
  reply->bytes(reply->user, object->data(), object->size());
  return 0;
}

int32_t load(const char *, const void *image, size_t length, const h3_backend_reply *reply,
             void **loaded) {
  std::string error;
  *loaded = SharedObject::load(image, length, error);
  if (!*loaded)
    return fail(reply, error);
  reply->text(reply->user, "C11, compiled for this machine");
  return 0;
}

void unload(void *loaded) { delete static_cast<SharedObject *>(loaded); }

int32_t launch(void *loaded, const h3_backend_launch *launch, const h3_backend_reply *reply) {
  Entry entry = static_cast<SharedObject *>(loaded)->find(launch->entry);
  if (!entry)
    return fail(reply, std::string("the image has no entry '") + launch->entry + "'");
  entry(launch->arguments, 0, launch->grid[0]);
  return 0;
}

#ifndef H3_BACKEND_C_INTERFACE // another number, to test that h3gen refuses it
#define H3_BACKEND_C_INTERFACE H3_BACKEND_INTERFACE
#endif

constexpr h3_backend backend = {sizeof(h3_backend),
                                H3_BACKEND_C_INTERFACE,
                                "c",
                                1,
                                targets,
                                ability,
                                emit,
                                assemble,
                                load,
                                unload,
                                nullptr,
                                launch,
                                nullptr};

} // namespace

extern "C" __attribute__((visibility("default"))) const h3_backend *h3_backend_get(uint32_t) {
  return &backend;
}
