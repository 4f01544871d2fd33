//===-- runtime/bundle/WriteManifest.cpp - A manifest from what a bundle holds -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/bundle/Manifest.h"

#include "runtime/bundle/CheckJson.h"

namespace h3::bundle {

namespace {

class ManifestWriter {
public:
  explicit ManifestWriter(const Contents &contents) : contents(contents) {}

  std::string run() {
    w.open('{');
    field("assembler", contents.assembler);
    field("compiler", contents.compiler);
    number("format", kFormat);
    w.key("images");
    w.array(contents.images, [&](const Image &image) { write(image); });
    field("name", contents.name);
    w.key("operators");
    w.array(contents.operators, [&](const Definition &definition) { write(definition); });
    w.key("probes");
    w.array(contents.probes, [&](const Definition &definition) { write(definition); });
    w.key("sets");
    w.array(contents.sets, [&](const OperatorSet &set) { write(set); });
    w.close('}');
    return w.take();
  }

private:
  void field(std::string_view key, std::string_view text) {
    w.key(key);
    w.string(text);
  }

  void number(std::string_view key, int64_t value) {
    w.key(key);
    w.integer(value);
  }

  template <typename List> void integers(std::string_view key, const List &list) {
    w.key(key);
    w.array(list, [&](auto value) { w.integer(static_cast<int64_t>(value)); });
  }

  void strings(std::string_view key, const std::vector<std::string> &list) {
    w.key(key);
    w.array(list, [&](const std::string &text) { w.string(text); });
  }

  void write(const Image &image) {
    w.open('{');
    number("bytes", static_cast<int64_t>(image.bytes.size()));
    field("digest", toHex(image.digest));
    field("kind", image.kind == ImageKind::Ptx ? "ptx" : "cubin");
    field("name", image.name);
    number("ptx_version", image.ptxVersion);
    w.close('}');
  }

  void write(const Definition &definition) {
    w.open('{');
    strings("approximations", definition.approximations);
    w.key("instances");
    w.array(definition.instances, [&](const DefinedInstance &instance) {
      w.open('{');
      w.key("checks");
      w.array(instance.checks, [&](const SelfCheck &check) { writeCheck(w, check); });
      field("digest", toHex(instance.digest));
      strings("type_arguments", instance.typeArguments);
      w.close('}');
    });
    field("name", definition.name);
    w.close('}');
  }

  void write(const OperatorSet &set) {
    w.open('{');
    field("backend", set.backend);
    integers("capability", std::initializer_list<int>{set.major, set.minor});
    w.key("enabled");
    w.boolean(set.enabled);
    strings("missing", set.missing);
    w.key("operators");
    w.array(set.operators, [&](const Operator &op) { write(op, contents.operators); });
    w.key("probes");
    w.array(set.probes, [&](const Operator &op) { write(op, contents.probes); });
    field("target", set.target);
    w.close('}');
  }

  void counts(std::string_view key, const std::vector<std::pair<std::string, uint64_t>> &list) {
    w.key(key);
    w.open('{');
    for (const auto &[name, count] : list)
      number(name, static_cast<int64_t>(count));
    w.close('}');
  }

  void write(const std::optional<Proof> &proof) {
    if (!proof)
      return w.null();
    w.open('{');
    strings("all_rows", proof->allRows);
    number("prover", proof->prover);
    field("ptx", toHex(proof->ptx));
    counts("rewrites", proof->rewrites);
    field("spec", toHex(proof->spec));
    w.key("variants");
    w.array(proof->variants, [&](const ProvedVariant &variant) {
      w.open('{');
      number("calls", static_cast<int64_t>(variant.calls));
      field("name", variant.name);
      field("problem", variant.problem);
      w.close('}');
    });
    w.close('}');
  }

  void write(const std::optional<Audit> &audit) {
    if (!audit)
      return w.null();
    w.open('{');
    field("assembler", audit->assembler);
    number("auditor", audit->auditor);
    field("cubin", toHex(audit->cubin));
    field("disassembler", audit->disassembler);
    counts("expansions", audit->expansions);
    field("fault", audit->fault);
    number("instructions", static_cast<int64_t>(audit->instructions));
    number("kernels", static_cast<int64_t>(audit->kernels));
    counts("operations", audit->operations);
    field("ptx", toHex(audit->ptx));
    w.close('}');
  }

  void write(const Operator &op, const std::vector<Definition> &definitions) {
    w.open('{');
    w.key("audit");
    write(op.audit);
    w.key("cubin");
    w.boolean(op.cubin.has_value());
    w.key("instances");
    w.array(op.instances, [&](const Instance &instance) {
      w.open('{');
      w.key("checks");
      w.array(instance.checksOfVariant, [&](const std::vector<uint32_t> &checks) {
        w.array(checks, [&](uint32_t check) { w.integer(check); });
      });
      w.key("plan");
      w.raw(plan::toJson(instance.plan));
      w.key("proof");
      write(instance.proof);
      w.close('}');
    });
    field("name", definitions[op.definition].name);
    w.key("ptx");
    w.boolean(op.ptx.has_value());
    w.close('}');
  }

  const Contents &contents;
  json::Writer w;
};

} // namespace

std::string writeManifest(const Contents &contents) { return ManifestWriter(contents).run(); }

} // namespace h3::bundle
