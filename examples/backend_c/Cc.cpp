//===-- examples/backend_c/Cc.cpp - The C compiler, and what it makes -----===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Cc.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" char **environ;

namespace fs = std::filesystem;

/// Runs a program to its end, with what it says in the file \p log. Whether it ended well.
static bool runProgram(const std::vector<std::string> &words, const std::string &log) {
  std::vector<char *> arguments;
  for (const std::string &word : words)
    arguments.push_back(const_cast<char *>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child;
  int status = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (status != 0 || waitpid(child, &status, 0) < 0)
    return false;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static std::string contentsOf(const std::string &path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

namespace {
/// A folder that goes when the object does.
struct TemporaryFolder {
  std::string path;
  TemporaryFolder() {
    path = (fs::temp_directory_path() / "h3_backend_c.XXXXXX").string();
    if (!mkdtemp(path.data()))
      path.clear();
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path.empty())
      fs::remove_all(path, ignored);
  }
};
} // namespace

/// Where a program of that name lies; empty if there is none.
static std::string onPath(const std::string &name) {
  if (name.find('/') != std::string::npos)
    return access(name.c_str(), X_OK) == 0 ? name : "";
  const char *folders = std::getenv("PATH");
  std::istringstream list(folders ? folders : "");
  for (std::string folder; std::getline(list, folder, ':');)
    if (std::string path = folder + "/" + name; access(path.c_str(), X_OK) == 0)
      return path;
  return {};
}

std::optional<CCompiler> findCompiler(const char *named, std::string &error) {
  const char *variable = std::getenv("CC");
  CCompiler found;
  auto take = [&](const std::string &name, const char *by) {
    found.path = onPath(name);
    found.foundBy = by;
    return !found.path.empty();
  };
  if (named && *named) {
    if (!take(named, "--assembler")) {
      error = "there is no C compiler '" + std::string(named) + "'";
      return {};
    }
  } else if (variable && *variable) {
    if (!take(variable, "CC")) {
      error = "CC names '" + std::string(variable) + "', and there is no such program";
      return {};
    }
  } else if (!take("cc", "PATH") && !take("gcc", "PATH") && !take("clang", "PATH")) {
    error = "no C compiler was found (looked for CC, and for cc, gcc and clang on the PATH)";
    return {};
  }
  TemporaryFolder folder;
  const std::string log = folder.path + "/version";
  if (folder.path.empty() || !runProgram({found.path, "--version"}, log)) {
    error = "'" + found.path + " --version' fails";
    return {};
  }
  const std::string text = contentsOf(log);
  found.version = text.substr(0, text.find('\n'));
  return found;
}

std::optional<std::string> compileC(const std::string &compiler, const char *text, size_t length,
                                    std::string &error) {
  TemporaryFolder folder;
  if (folder.path.empty()) {
    error = std::string("no temporary folder: ") + std::strerror(errno);
    return {};
  }
  const std::string source = folder.path + "/kernels.c", object = folder.path + "/kernels.so",
                    log = folder.path + "/log";
  std::ofstream(source, std::ios::binary).write(text, static_cast<std::streamsize>(length));
  std::vector<std::string> words = {compiler,  "-std=c11", "-O2", "-ffp-contract=off",
                                    "-shared", "-fPIC",    "-s"};
  const char *flags = std::getenv("H3_BACKEND_C_FLAGS");
  std::istringstream list(flags ? flags : "");
  for (std::string word; list >> word;)
    words.push_back(word);
  words.insert(words.end(), {source, "-o", object, "-lm"});
  if (!runProgram(words, log)) {
    const std::string said = contentsOf(log);
    error = compiler + " refuses the C text: " + said.substr(0, said.find('\n'));
    return {};
  }
  return contentsOf(object);
}

SharedObject *SharedObject::load(const void *bytes, size_t length, std::string &error) {
  int file = memfd_create("h3_kernels", MFD_CLOEXEC);
  const auto *from = static_cast<const char *>(bytes);
  for (size_t done = 0; file >= 0 && done < length;) {
    ssize_t written = write(file, from + done, length - done);
    if (written <= 0) {
      close(file);
      file = -1;
      break;
    }
    done += static_cast<size_t>(written);
  }
  if (file < 0) {
    error = std::string("no memory for the image: ") + std::strerror(errno);
    return nullptr;
  }
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *why = dlerror();
    error = std::string("the image does not load: ") + (why ? why : "");
    close(file);
    return nullptr;
  }
  return new SharedObject(handle, file);
}

SharedObject::~SharedObject() {
  dlclose(handle);
  close(file);
}

Entry SharedObject::find(const char *name) const {
  return reinterpret_cast<Entry>(dlsym(handle, name));
}
