//===-- backends/nvptx/Tools.cpp - ptxas and nvdisasm ---------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/Tools.h"

#include <llvm/ADT/ScopeExit.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Path.h>
#include <llvm/Support/Program.h>
#include <llvm/Support/raw_ostream.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

using namespace llvm;

namespace h3::nvptx {
namespace {

/// A file in the temporary folder that is removed with this object.
class TemporaryFile {
public:
  TemporaryFile(StringRef suffix) {
    if (sys::fs::createTemporaryFile("h3gen", suffix, path))
      path.clear();
  }
  ~TemporaryFile() {
    if (!path.empty())
      sys::fs::remove(path);
  }
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;

  StringRef name() const { return path; }

  bool write(StringRef data) {
    std::error_code code;
    raw_fd_ostream stream(path, code);
    stream << data;
    stream.close();
    bool good = !code && !stream.has_error();
    stream.clear_error();
    return good;
  }

  std::string read() const {
    auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    return buffer ? (*buffer)->getBuffer().str() : std::string();
  }

private:
  SmallString<128> path;
};

constexpr std::chrono::seconds timeLimit(60);

/// Waits for a child process and returns its status, negative if it crashed or had to be killed at
/// the time limit. LLVM's own limit is an alarm, of which a process has one: of several threads
/// that wait, one would end the wait of another.
int waitFor(const sys::ProcessInfo &process) {
  auto deadline = std::chrono::steady_clock::now() + timeLimit;
  for (;;) {
    sys::ProcessInfo state = sys::Wait(process, /*SecondsToWait=*/0);
    if (state.Pid != 0)
      return state.ReturnCode;
    if (std::chrono::steady_clock::now() > deadline) {
      ::kill(process.Pid, SIGKILL);
      sys::Wait(process, std::nullopt);
      return -2;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
}

/// Runs a program with its output and errors collected. False if it could not be started.
bool execute(const std::string &path, ArrayRef<StringRef> arguments, int &status,
             std::string &output) {
  TemporaryFile captured("txt");
  SmallVector<StringRef> all{path};
  append_range(all, arguments);
  std::optional<StringRef> redirects[] = {StringRef(), captured.name(), captured.name()};
  bool failed = false;
  std::string message;
  sys::ProcessInfo process =
      sys::ExecuteNoWait(path, all, std::nullopt, redirects, 0, &message, &failed);
  if (failed)
    return false;
  status = waitFor(process);
  output = captured.read();
  return status >= 0;
}

/// "Cuda compilation tools, release 13.0, V13.0.88" -> "13.0.88".
std::string versionOf(const std::string &path) {
  int status;
  std::string output;
  if (!execute(path, {"--version"}, status, output) || status != 0)
    return {};
  size_t at = output.rfind(", V");
  if (at == std::string::npos)
    return {};
  StringRef version = StringRef(output).drop_front(at + 3);
  return version.take_while([](char c) { return isDigit(c) || c == '.'; }).str();
}

std::string firstLine(const std::string &output) {
  for (StringRef rest = output; !rest.empty();) {
    auto [line, tail] = rest.split('\n');
    if (line.contains("error") || line.contains("fatal"))
      return line.trim().str();
    rest = tail;
  }
  return StringRef(output).split('\n').first.trim().str();
}

} // namespace

std::optional<Tool> findTool(const std::string &name, const std::string &option,
                             const char *variable, std::string &error) {
  auto named = [&](const std::string &path, const std::string &by) -> std::optional<Tool> {
    std::string version = versionOf(path);
    if (version.empty()) {
      error = by + " names '" + path + "', which is not a " + name + " that runs";
      return {};
    }
    return Tool{name, path, version, by};
  };
  if (!option.empty())
    return named(option, "--" + name);
  if (const char *value = std::getenv(variable); value && *value)
    return named(value, variable);
  std::string environment = std::string(H3GEN_ENVIRONMENT) + "/bin/" + name;
  if (sys::fs::can_execute(environment))
    if (std::string version = versionOf(environment); !version.empty())
      return Tool{name, environment, version, "the project's environment"};
  if (ErrorOr<std::string> found = sys::findProgramByName(name))
    if (std::string version = versionOf(*found); !version.empty())
      return Tool{name, *found, version, "PATH"};
  error = "no " + name + " was found (looked at --" + name + ", " + variable +
          ", the project's environment and PATH)";
  return {};
}

/// Reads what `ptxas -v` prints: for each entry "Compiling entry function 'NAME'", then a line with
/// spills and a line with registers.
static std::map<std::string, KernelUsage> parseUsage(StringRef log) {
  std::map<std::string, KernelUsage> usage;
  KernelUsage *current = nullptr;
  auto numberBefore = [](StringRef line, StringRef what) {
    unsigned value = 0;
    StringRef head = line.split(what).first.rtrim();
    if (line.contains(what))
      head.take_back(head.size() - (head.find_last_not_of("0123456789") + 1))
          .getAsInteger(10, value);
    return value;
  };
  for (StringRef line : split(log, '\n')) {
    if (line.contains("Compiling entry function '"))
      current = &usage[line.split('\'').second.split('\'').first.str()];
    if (!current)
      continue;
    current->spillBytes +=
        numberBefore(line, "bytes spill stores") + numberBefore(line, "bytes spill loads");
    if (unsigned local = numberBefore(line, "bytes stack frame"))
      current->localBytes = local;
    if (unsigned registers = numberBefore(line, "registers"))
      current->registers = registers;
    if (unsigned shared = numberBefore(line, "bytes smem"))
      current->sharedBytes = shared;
  }
  return usage;
}

std::optional<Assembly> assemble(const Tool &ptxas, const std::string &ptx, const Target &target,
                                 std::string &error, PtxLines lines) {
  TemporaryFile source("ptx"), result("cubin");
  if (source.name().empty() || result.name().empty() || !source.write(ptx)) {
    error = "cannot write a temporary file for ptxas";
    return {};
  }
  auto start = std::chrono::steady_clock::now();
  std::string architecture = "-arch=" + std::string(target.name);
  int status;
  std::string log;
  SmallVector<StringRef> arguments{architecture, "-v", "-o", result.name(), source.name()};
  if (lines == PtxLines::Keep)
    arguments.push_back("-lineinfo");
  if (!execute(ptxas.path, arguments, status, log)) {
    error = "cannot run " + ptxas.path;
    return {};
  }
  if (status != 0) {
    bool unknown = log.find("is not defined for option 'gpu-name'") != std::string::npos;
    error = unknown ? "ptxas " + ptxas.version + " does not know " + std::string(target.name) +
                          "; a newer one is needed"
                    : "ptxas " + ptxas.version + ": " + firstLine(log);
    return {};
  }
  Assembly assembly;
  std::string bytes = result.read();
  assembly.bytes.assign(bytes.begin(), bytes.end());
  assembly.ending = ".cubin";
  assembly.usage = parseUsage(log);
  std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
  assembly.milliseconds = elapsed.count();
  return assembly;
}

std::optional<std::string> disassemble(const Tool &nvdisasm, const std::vector<char> &cubin,
                                       std::string &error, PtxLines lines) {
  TemporaryFile image("cubin");
  int status;
  std::string output;
  SmallVector<StringRef> arguments{"-c", image.name()};
  if (lines == PtxLines::Keep)
    arguments.append(
        {"-gp", "-ndf"}); // without the analysis of branches: the lines take half as long
  if (image.name().empty() || !image.write(StringRef(cubin.data(), cubin.size())) ||
      !execute(nvdisasm.path, arguments, status, output)) {
    error = "cannot run " + nvdisasm.path;
    return {};
  }
  if (status != 0) {
    error = "nvdisasm " + nvdisasm.version + ": " + firstLine(output);
    return {};
  }
  return output;
}

} // namespace h3::nvptx
