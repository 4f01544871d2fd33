//===-- codegen/driver/ProofRecord.cpp - What a proof has shown -----------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/driver/ProofRecord.h"

#include "backends/nvptx/NanFacts.h"
#include "codegen/driver/Cache.h"
#include "codegen/driver/CompilerBuild.h"
#include "dsl/program/Dump.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/JSON.h>
#include <llvm/Support/SHA256.h>

#include <algorithm>
#include <set>

namespace h3 {
namespace {

/// Changes with the meaning of a record.
constexpr int64_t version = 2;

constexpr const char *verdicts[] = {"proved", "not_equal", "fault", "not_provable"};

std::string hexOf(llvm::SHA256 &hash) {
  auto digest = hash.final();
  return llvm::toHex(llvm::ArrayRef(digest.data(), digest.size()), /*LowerCase=*/true);
}

llvm::json::Array arrayOf(const std::vector<std::string> &texts) {
  llvm::json::Array array;
  for (const std::string &text : texts)
    array.push_back(text);
  return array;
}

std::vector<std::string> textsOf(const llvm::json::Array *array) {
  std::vector<std::string> texts;
  if (array)
    for (const llvm::json::Value &value : *array)
      texts.push_back(value.getAsString().value_or("").str());
  return texts;
}

/// What stands before the first comma of each.
std::set<std::string> firstWords(const std::vector<std::string> &texts) {
  std::set<std::string> words;
  for (const std::string &text : texts)
    words.insert(text.substr(0, text.find(',')));
  return words;
}

} // namespace

std::string programText(const Program &program) {
  std::string types;
  for (const auto &[name, type] : program.typeArguments)
    types += fmt::format("{}{} = {}", types.empty() ? "<" : ", ", name, h3::name(type));
  return program.name + (types.empty() ? "" : types + ">");
}

ProofRecord makeProofRecord(const Program &program, const Target &target, const std::string &ptx,
                            const LoadedSpec &spec, prove::Proof proof) {
  ProofRecord record;
  record.name = programText(program);
  record.target = target.name;
  llvm::SHA256 texts, kernels;
  for (const std::unique_ptr<SourceFile> &source : spec.modules.sources)
    texts.update(std::to_string(source->text.size()) + "\n" + source->text);
  kernels.update(ptx);
  record.specDigest = hexOf(texts);
  record.ptxDigest = hexOf(kernels);
  record.proof = std::move(proof);
  return record;
}

/// Everything that a proof follows from is in the key.
ProofRecord proofOfImage(const Program &program, const Target &target, const LoadedSpec &spec,
                         const ptx::Module &module, const std::string &text,
                         const plan::OperatorPlan &plan, VariantsOf variants, Cache *cache) {
  std::optional<std::string> build = cache ? compilerBuild(*cache) : std::nullopt;
  CacheKey key;
  if (build) {
    key.add("format", "proof 1");
    key.add("build", *build);
    key.add("target", target.name);
    key.add("program", dump(program));
    for (const std::unique_ptr<SourceFile> &source : spec.modules.sources)
      key.add("text", source->text);
    key.add("ptx", text);
    key.add("plan", plan::toJson(plan));
    key.add("variants", variants == VariantsOf::Image ? "all" : "some");
    if (std::optional<std::string> known = cache->load(key.digest()))
      if (std::optional<ProofRecord> record = ProofRecord::parse(*known)) {
        record->fromCache = true;
        return *record;
      }
  }
  prove::Subject subject;
  subject.program = &program;
  subject.plan = &plan;
  subject.module = &module;
  subject.hasAllVariants = variants == VariantsOf::Image;
  subject.canonicalNaN = [&](std::string_view instruction) {
    return nvptx::givesCanonicalNaN(instruction, target);
  };
  ProofRecord record = makeProofRecord(program, target, text, spec, prove::prove(subject));
  if (build)
    cache->store(key.digest(), record.json());
  return record;
}

bundle::Proof ProofRecord::forBundle() const {
  bundle::Proof result;
  result.prover = version;
  result.spec = bundle::digestOfHex(specDigest).value_or(bundle::Digest());
  result.ptx = bundle::digestOfHex(ptxDigest).value_or(bundle::Digest());
  std::optional<std::set<std::string>> rows;
  for (const prove::KernelProof &kernel : proof.kernels) {
    result.variants.push_back({kernel.variant, kernel.calls.size(), kernel.problem});
    std::set<std::string> own = firstWords(kernel.allRows);
    if (rows)
      std::erase_if(*rows, [&](const std::string &row) { return !own.count(row); });
    else
      rows = std::move(own);
  }
  if (rows)
    result.allRows.assign(rows->begin(), rows->end());
  for (size_t i = 0; i < prove::rewriteCount; ++i)
    if (proof.rewrites[i])
      result.rewrites.emplace_back(prove::name(static_cast<prove::Rewrite>(i)), proof.rewrites[i]);
  std::ranges::sort(result.rewrites);
  return result;
}

std::string ProofRecord::summary() const {
  size_t proved = 0;
  std::set<std::string> rows;
  bool isFirst = true, isEverywhere = true;
  size_t calls = 0;
  for (const prove::KernelProof &kernel : proof.kernels) {
    proved += kernel.verdict == prove::Verdict::Proved;
    calls += kernel.calls.size();
    std::set<std::string> own = firstWords(kernel.allRows);
    if (isFirst)
      rows = own;
    isEverywhere &= own == rows;
    std::erase_if(rows, [&](const std::string &row) { return !own.count(row); });
    isFirst = false;
  }
  std::vector<std::string> used;
  for (size_t i = 0; i < prove::rewriteCount; ++i)
    if (proof.rewrites[i])
      used.emplace_back(prove::name(static_cast<prove::Rewrite>(i)));
  std::string text = fmt::format("{} {}: ", name, target);
  if (isProved())
    text += fmt::format("proved: {} variants, ", proof.kernels.size());
  else
    text += fmt::format("not proved: {} of {} variants are, ", proved, proof.kernels.size());
  if (!rows.empty())
    text += fmt::format("all numbers of {}{}, ", fmt::join(rows, " and of "),
                        isEverywhere ? "" : " and, in some, of more");
  text += fmt::format("{} sizes and layouts, {:.2f} M terms, rewrites: {}", calls,
                      double(proof.terms) / 1e6,
                      used.empty() ? "none" : fmt::format("{}", fmt::join(used, " ")));
  return text;
}

std::string ProofRecord::json() const {
  llvm::json::Array kernels;
  for (const prove::KernelProof &kernel : proof.kernels) {
    llvm::json::Array unreached;
    for (unsigned line : kernel.unreached)
      unreached.push_back(int64_t(line));
    kernels.push_back(
        llvm::json::Object{{"all_rows", arrayOf(kernel.allRows)},
                           {"calls", arrayOf(kernel.calls)},
                           {"entry", kernel.entry},
                           {"not_all_rows", arrayOf(kernel.notAllRows)},
                           {"problem", kernel.problem},
                           {"steps", int64_t(kernel.steps)},
                           {"unreached", std::move(unreached)},
                           {"variant", kernel.variant},
                           {"verdict", verdicts[static_cast<size_t>(kernel.verdict)]}});
  }
  llvm::json::Object rewrites;
  for (size_t i = 0; i < prove::rewriteCount; ++i)
    if (proof.rewrites[i])
      rewrites[llvm::StringRef(prove::name(static_cast<prove::Rewrite>(i)))] =
          int64_t(proof.rewrites[i]);
  llvm::json::Value value(llvm::json::Object{{"kernels", std::move(kernels)},
                                             {"operator", name},
                                             {"ptx_sha256", ptxDigest},
                                             {"rewrites", std::move(rewrites)},
                                             {"spec_sha256", specDigest},
                                             {"steps", int64_t(proof.steps)},
                                             {"target", target},
                                             {"terms", int64_t(proof.terms)},
                                             {"unserved", proof.unserved},
                                             {"version", version}});
  return llvm::formatv("{0}", value).str();
}

std::optional<ProofRecord> ProofRecord::parse(std::string_view text) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(llvm::StringRef(text));
  if (!value) {
    llvm::consumeError(value.takeError());
    return std::nullopt;
  }
  const llvm::json::Object *object = value->getAsObject();
  if (!object || object->getInteger("version") != version)
    return std::nullopt;
  ProofRecord record;
  auto textOf = [](const llvm::json::Object &from, llvm::StringRef key) {
    return from.getString(key).value_or("").str();
  };
  record.name = textOf(*object, "operator");
  record.target = textOf(*object, "target");
  record.specDigest = textOf(*object, "spec_sha256");
  record.ptxDigest = textOf(*object, "ptx_sha256");
  record.proof.terms = uint64_t(object->getInteger("terms").value_or(0));
  record.proof.steps = uint64_t(object->getInteger("steps").value_or(0));
  record.proof.unserved = textOf(*object, "unserved");
  const llvm::json::Object *rewrites = object->getObject("rewrites");
  const llvm::json::Array *kernels = object->getArray("kernels");
  if (!rewrites || !kernels)
    return std::nullopt;
  for (size_t i = 0; i < prove::rewriteCount; ++i)
    record.proof.rewrites[i] =
        uint64_t(rewrites->getInteger(llvm::StringRef(prove::name(static_cast<prove::Rewrite>(i))))
                     .value_or(0));
  for (const llvm::json::Value &item : *kernels) {
    const llvm::json::Object *from = item.getAsObject();
    if (!from)
      return std::nullopt;
    prove::KernelProof &kernel = record.proof.kernels.emplace_back();
    kernel.variant = textOf(*from, "variant");
    kernel.entry = textOf(*from, "entry");
    kernel.problem = textOf(*from, "problem");
    kernel.steps = uint64_t(from->getInteger("steps").value_or(0));
    kernel.allRows = textsOf(from->getArray("all_rows"));
    kernel.notAllRows = textsOf(from->getArray("not_all_rows"));
    kernel.calls = textsOf(from->getArray("calls"));
    if (const llvm::json::Array *lines = from->getArray("unreached"))
      for (const llvm::json::Value &line : *lines)
        kernel.unreached.push_back(unsigned(line.getAsInteger().value_or(0)));
    std::string verdict = textOf(*from, "verdict");
    size_t number = 0;
    while (number < std::size(verdicts) && verdict != verdicts[number])
      ++number;
    if (number == std::size(verdicts))
      return std::nullopt;
    kernel.verdict = static_cast<prove::Verdict>(number);
  }
  return record;
}

} // namespace h3
