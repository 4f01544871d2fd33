//===-- codegen/driver/AuditRecord.cpp - What an audit has found ----------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/driver/AuditRecord.h"

#include "backends/Target.h"
#include "backends/nvptx/audit/Cubin.h"
#include "backends/nvptx/ptx/Reader.h"

#include <fmt/format.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/JSON.h>
#include <llvm/Support/SHA256.h>

namespace h3 {
namespace {

/// Changes with the meaning of a record.
constexpr int64_t version = 1;

std::string digestOf(const std::string &bytes) {
  llvm::SHA256 hash;
  hash.update(bytes);
  auto digest = hash.final();
  return llvm::toHex(llvm::ArrayRef(digest.data(), digest.size()), /*LowerCase=*/true);
}

llvm::json::Object objectOf(const std::map<std::string, uint64_t> &counts) {
  llvm::json::Object object;
  for (const auto &[name, count] : counts)
    object[name] = count;
  return object;
}

AuditOutcome lacking(AuditOutcome::Lack lack, std::string problem) {
  AuditOutcome outcome;
  outcome.lack = lack;
  outcome.problem = std::move(problem);
  return outcome;
}

/// The cubin with the lines of PTX: itself, or what ptxas makes of the PTX again. False with the
/// outcome: a lack, or a record that the code is another.
bool withLines(std::vector<char> &bytes, const audit::Cubin &cubin, const std::string &ptx,
               const std::optional<Tool> &ptxas, AuditOutcome &outcome) {
  if (cubin.hasPtxLines)
    return true;
  auto lack = [&](std::string problem) {
    outcome = lacking(AuditOutcome::Lack::Machine, std::move(problem));
    return false;
  };
  const Target *target = findTarget(cubin.target);
  if (!target) {
    outcome = lacking(AuditOutcome::Lack::BadInput,
                      fmt::format("the cubin is for '{}', which is no target", cubin.target));
    return false;
  }
  if (!ptxas || ptxas->version != cubin.ptxas)
    return lack(fmt::format("the cubin has no PTX lines, and the ptxas {} that made it is needed "
                            "for them; {} was found",
                            cubin.ptxas, ptxas ? "ptxas " + ptxas->version : "none"));
  std::string error;
  std::optional<Assembly> again =
      nvptx::assemble(*ptxas, ptx, *target, error, nvptx::PtxLines::Keep);
  if (!again)
    return lack(error);
  std::optional<audit::Cubin> repeated = audit::readCubin(again->bytes);
  if (!repeated || repeated->code != cubin.code) {
    outcome.record.fault = "the cubin is not what ptxas " + ptxas->version + " makes of the PTX";
    if (repeated)
      for (const auto &[name, contents] : cubin.code)
        if (auto other = repeated->code.find(name);
            other == repeated->code.end() || other->second != contents) {
          outcome.record.fault += ": section " + name + " differs";
          break;
        }
    return false;
  }
  bytes = std::move(again->bytes);
  return true;
}

} // namespace

std::string countsText(const std::map<std::string, uint64_t> &counts) {
  std::string text;
  for (const auto &[name, count] : counts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name);
  return text;
}

std::string AuditRecord::summary() const {
  if (!isAccounted())
    return fmt::format("{}: not accounted: {}", target, fault);
  std::string text = fmt::format("{}: accounted: {} kernels, {} instructions, {}", target, kernels,
                                 instructions, countsText(operations));
  return expansions.empty() ? text : text + "; expanded: " + countsText(expansions);
}

std::string AuditRecord::json() const {
  llvm::json::Object record{{"version", version},
                            {"target", target},
                            {"cubin_sha256", cubinDigest},
                            {"ptx_sha256", ptxDigest},
                            {"ptxas", ptxas},
                            {"nvdisasm", nvdisasm},
                            {"kernels", kernels},
                            {"instructions", instructions},
                            {"operations", objectOf(operations)},
                            {"expansions", objectOf(expansions)},
                            {"result", isAccounted() ? "accounted" : "not_accounted"}};
  if (!isAccounted())
    record["fault"] = fault;
  return llvm::formatv("{0}", llvm::json::Value(std::move(record))).str();
}

AuditOutcome auditCubin(const std::string &bytes, const std::string &ptx,
                        const std::optional<Tool> &ptxas, const Tool &nvdisasm) {
  std::optional<audit::Cubin> cubin = audit::readCubin(bytes);
  if (!cubin || cubin->code.empty())
    return lacking(AuditOutcome::Lack::BadInput, "this is no cubin with kernels");
  const audit::Expansions *expansions = audit::Expansions::ofVersion(cubin->ptxas);
  if (!expansions)
    return lacking(AuditOutcome::Lack::Machine,
                   fmt::format("the cubin was made by ptxas {}, of which nothing is known; known "
                               "are: {}; 'h3gen audit --learn FILE' learns another",
                               cubin->ptxas.empty() ? "of no version" : cubin->ptxas,
                               audit::Expansions::versions()));
  auto module = ptx::read(ptx);
  if (!module)
    return lacking(AuditOutcome::Lack::BadInput, module.error().message());

  AuditOutcome outcome;
  AuditRecord &record = outcome.record;
  record.target = cubin->target;
  record.cubinDigest = digestOf(bytes);
  record.ptxDigest = digestOf(ptx);
  record.ptxas = cubin->ptxas;
  record.nvdisasm = nvdisasm.version;
  std::vector<char> code(bytes.begin(), bytes.end());
  if (!withLines(code, *cubin, ptx, ptxas, outcome))
    return outcome;
  std::string error;
  std::optional<std::string> text =
      nvptx::disassemble(nvdisasm, code, error, nvptx::PtxLines::Keep);
  if (!text)
    return lacking(AuditOutcome::Lack::Machine, error);
  auto disassembly = audit::readSass(*text);
  if (!disassembly)
    return lacking(AuditOutcome::Lack::Machine,
                   "nvdisasm " + nvdisasm.version + ": " + disassembly.error());
  disassembly->target = cubin->target; // nvdisasm names the family alone
  outcome.audit = audit::audit(*disassembly, *module, *expansions);
  for (const audit::KernelAudit &kernel : outcome.audit.kernels) {
    ++record.kernels;
    record.instructions += kernel.instructions;
    for (const auto &[name, count] : kernel.operations)
      record.operations[name] += count;
    for (const auto &[name, count] : kernel.expansions)
      record.expansions[name] += count;
    if (kernel.fault && record.fault.empty())
      record.fault = kernel.name + ": " + kernel.fault->text;
  }
  return outcome;
}

} // namespace h3
