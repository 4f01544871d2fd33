//===-- runtime/bundle/ReadManifest.cpp - What a bundle holds, from its manifest -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/bundle/Manifest.h"

#include "runtime/bundle/CheckJson.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace h3::bundle {

namespace {

class ManifestReader {
public:
  explicit ManifestReader(const Container &container) : container(container) {}

  Result<Contents, Error> run() {
    const Result<json::Document, json::SyntaxError> document =
        json::Document::parse(container.manifest);
    if (!document)
      return Error{"the manifest is not canonical JSON: " + document.error().message};
    read(document->root());
    if (!problem.isEmpty())
      return Error{"the manifest is wrong: " + problem.message()};
    return std::move(contents);
  }

private:
  using Fields = json::Fields;
  using Value = json::Value;

  void read(const Value &root) {
    Fields fields(root, "", problem);
    contents.assembler = fields.string("assembler");
    contents.compiler = fields.string("compiler");
    fields.integer("format", kFormat, kFormat);
    const auto images = fields.array("images");
    contents.name = fields.string("name");
    const auto operators = fields.array("operators"), probes = fields.array("probes"),
               sets = fields.array("sets");
    fields.finish();
    if (!problem.isEmpty())
      return;
    readImages(*images);
    readDefinitions(*operators, "operator", contents.operators);
    readDefinitions(*probes, "probe", contents.probes);
    if (problem.isEmpty())
      for (const Definition &probe : contents.probes)
        if (probe.approximations.size() != 1)
          problem.report("probe " + probe.name, "it is of no one approximation");
    for (const Value &set : *sets)
      if (problem.isEmpty())
        readSet(set);
    if (problem.isEmpty() && used.size() != contents.images.size())
      problem.report("", "an image belongs to no operator");
  }

  //===--------------------------------------------------------------------===//
  // Parts
  //===--------------------------------------------------------------------===//

  void report(const std::string &where, const std::string &what) { problem.report(where, what); }

  /// Whether \p name comes behind the last of \p list, of which `nameOf` gives names.
  template <typename List, typename Function>
  void checkOrder(const List &list, const std::string &name, const char *what, Function nameOf) {
    if (!list.empty() && name <= nameOf(list.back()))
      report("", std::string(what) + " '" + name + "' behind '" + std::string(nameOf(list.back())) +
                     "', they are sorted and none is there twice");
  }

  std::vector<std::string> sortedStrings(Fields &fields, std::string_view key) {
    std::vector<std::string> list = readStrings(fields, key);
    if (std::adjacent_find(list.begin(), list.end(), std::greater_equal<>()) != list.end())
      fields.report("'" + std::string(key) + "' is not sorted, or holds something twice");
    return list;
  }

  //===--------------------------------------------------------------------===//
  // Images
  //===--------------------------------------------------------------------===//

  void readImages(const Value &list) {
    for (const Value &value : list) {
      const size_t index = contents.images.size();
      Fields fields(value, "image " + std::to_string(index), problem);
      Image image;
      const int64_t bytes = fields.integer("bytes", 0, INT64_MAX);
      image.digest = readDigest(fields, "digest");
      const std::string kind = fields.string("kind");
      if (kind != "cubin" && kind != "ptx")
        fields.report("there is no kind '" + kind + "'");
      image.kind = kind == "ptx" ? ImageKind::Ptx : ImageKind::Cubin;
      image.name = fields.string("name");
      image.ptxVersion =
          static_cast<unsigned>(fields.integer("ptx_version", kind == "ptx" ? 10 : 0, 999));
      fields.finish();
      checkOrder(contents.images, image.name, "image", [](const Image &i) { return i.name; });
      if (problem.isEmpty())
        findBytes(image, static_cast<uint64_t>(bytes), index);
      if (!problem.isEmpty())
        return;
      contents.images.push_back(std::move(image));
    }
    if (contents.images.size() != container.images.size())
      report("", "the file has " + std::to_string(container.images.size()) +
                     " images, the manifest " + std::to_string(contents.images.size()));
  }

  void findBytes(Image &image, uint64_t bytes, size_t index) {
    const std::string where = "image " + image.name;
    if (index >= container.images.size() || container.images[index].name != image.name)
      return report(where, "there is no tensor for it");
    const std::span<const std::byte> stored = container.images[index].bytes;
    const uint64_t least = bytes + (image.kind == ImageKind::Ptx);
    if (bytes == 0 || least > stored.size() || stored.size() - least >= kAlignment)
      return report(where, std::to_string(bytes) + " bytes do not fit its tensor of " +
                               std::to_string(stored.size()));
    for (std::byte byte : stored.subspan(bytes))
      if (byte != std::byte{0})
        return report(where, "its padding is not zero");
    image.bytes = stored.first(bytes);
    if (image.kind == ImageKind::Ptx &&
        std::find(image.bytes.begin(), image.bytes.end(), std::byte{0}) != image.bytes.end())
      return report(where, "there is a NUL in its text");
    if (sha256(image.bytes) != image.digest)
      report(where, "its digest is not that of its bytes");
  }

  //===--------------------------------------------------------------------===//
  // Definitions
  //===--------------------------------------------------------------------===//

  void readDefinitions(const Value &list, const char *what, std::vector<Definition> &definitions) {
    for (const Value &value : list) {
      Fields fields(value, std::string(what) + " " + std::to_string(definitions.size()), problem);
      Definition definition;
      types.clear();
      definition.approximations = sortedStrings(fields, "approximations");
      if (const std::optional<Value> instances = fields.array("instances"))
        for (const Value &instance : *instances)
          readInstance(instance, fields.where(), definition.instances);
      definition.name = fields.string("name");
      fields.finish();
      if (definition.instances.empty())
        fields.report("it has no instance");
      checkOrder(definitions, definition.name, what, [](const Definition &d) { return d.name; });
      if (!problem.isEmpty())
        return;
      definitions.push_back(std::move(definition));
    }
  }

  void readInstance(const Value &value, const std::string &where,
                    std::vector<DefinedInstance> &instances) {
    Fields fields(value, where + ", instance " + std::to_string(instances.size()), problem);
    DefinedInstance instance;
    if (const std::optional<Value> checks = fields.array("checks"))
      for (const Value &check : *checks)
        instance.checks.push_back(readCheck(
            check, fields.where() + ", check " + std::to_string(instance.checks.size()), problem));
    instance.digest = readDigest(fields, "digest");
    instance.typeArguments = readStrings(fields, "type_arguments");
    fields.finish();
    if (!types.insert(instance.typeArguments).second)
      fields.report("its types are those of another");
    instances.push_back(std::move(instance));
  }

  //===--------------------------------------------------------------------===//
  // Operator sets
  //===--------------------------------------------------------------------===//

  void readSet(const Value &value) {
    OperatorSet set;
    const std::optional<Value> target = value.find("target");
    const std::string name(target ? target->string().value_or("") : "");
    Fields fields(value, "set " + name, problem);
    set.backend = fields.string("backend");
    const std::vector<int64_t> capability = readIntegers(fields, "capability");
    if (capability.size() != 2 || std::ranges::max(capability) > 999)
      return fields.report("'capability' is no pair of small numbers");
    set.major = static_cast<int>(capability[0]);
    set.minor = static_cast<int>(capability[1]);
    set.enabled = fields.boolean("enabled");
    set.missing = sortedStrings(fields, "missing");
    const auto operators = fields.array("operators"), probes = fields.array("probes");
    set.target = fields.string("target");
    fields.finish();
    checkOrder(contents.sets, set.target, "set", [](const OperatorSet &s) { return s.target; });
    const auto [earlier, isNew] =
        capabilities.emplace(std::tuple(set.backend, set.major, set.minor), set.target);
    if (!isNew)
      fields.report("its capability is that of " + earlier->second);
    if (!problem.isEmpty())
      return;
    readOperators(*probes, set.target, contents.probes, set.probes);
    readOperators(*operators, set.target, contents.operators, set.operators);
    if (problem.isEmpty())
      checkComplete(set);
    if (problem.isEmpty())
      findProbes(set);
    contents.sets.push_back(std::move(set));
  }

  void readOperators(const Value &list, const std::string &target,
                     const std::vector<Definition> &definitions, std::vector<Operator> &operators) {
    for (const Value &value : list) {
      const std::optional<Value> name = value.find("name");
      const std::string text(name ? name->string().value_or("") : "");
      const std::string where = text + " for " + target;
      Fields fields(value, where, problem);
      const auto definition = std::ranges::lower_bound(definitions, text, {}, &Definition::name);
      if (definition == definitions.end() || definition->name != text)
        return fields.report("there is no definition of it");
      Operator op;
      op.definition = static_cast<uint32_t>(definition - definitions.begin());
      if (!operators.empty() && operators.back().definition >= op.definition)
        return fields.report("operators are sorted and none is there twice");
      const std::optional<Value> audit = fields.take("audit");
      if (fields.boolean("cubin"))
        op.cubin = findImage(text + "." + target + ".cubin", ImageKind::Cubin, where);
      if (const std::optional<Value> instances = fields.array("instances"))
        for (const Value &instance : *instances)
          readInstance(instance, *definition, where, op.instances);
      fields.string("name");
      if (fields.boolean("ptx"))
        op.ptx = findImage(text + "." + target + ".ptx", ImageKind::Ptx, where);
      fields.finish();
      if (!op.cubin && !op.ptx)
        fields.report("it has no image");
      if (op.instances.size() != definition->instances.size())
        fields.report("it has " + std::to_string(op.instances.size()) + " instances, expected " +
                      std::to_string(definition->instances.size()));
      for (size_t i = 0; problem.isEmpty() && i < op.instances.size(); ++i)
        checkProof(op, op.instances[i], where + ", instance " + std::to_string(i));
      if (problem.isEmpty() && !audit->isNull())
        readAudit(*audit, where + ", audit", op);
      if (!problem.isEmpty())
        return;
      operators.push_back(std::move(op));
    }
  }

  std::optional<uint32_t> findImage(const std::string &name, ImageKind kind,
                                    const std::string &where) {
    const auto image = std::ranges::lower_bound(contents.images, name, {}, &Image::name);
    if (image == contents.images.end() || image->name != name || image->kind != kind) {
      report(where, "there is no image " + name);
      return std::nullopt;
    }
    const auto index = static_cast<uint32_t>(image - contents.images.begin());
    used.insert(index);
    return index;
  }

  void readInstance(const Value &value, const Definition &definition,
                    const std::string &operatorName, std::vector<Instance> &instances) {
    const std::string where = operatorName + ", instance " + std::to_string(instances.size());
    if (instances.size() >= definition.instances.size())
      return report(where, "there is no definition of it");
    const DefinedInstance &defined = definition.instances[instances.size()];
    Fields fields(value, where, problem);
    const auto checks = fields.array("checks");
    const auto tree = fields.object("plan");
    const auto proof = fields.take("proof");
    fields.finish();
    if (!problem.isEmpty())
      return;
    Result<plan::OperatorPlan, plan::JsonError> plan = plan::fromJson(*tree);
    if (!plan)
      return report(where + ", plan", plan.error().message);
    Instance instance;
    instance.plan = std::move(*plan);
    if (instance.plan.name != definition.name ||
        instance.plan.typeArguments != defined.typeArguments)
      return report(where, "its plan is that of another operator or of other types");
    if (instance.plan.variants.empty() || instance.plan.variants.size() != checks->size())
      return report(where, "it has " + std::to_string(instance.plan.variants.size()) +
                               " variants and checks for " + std::to_string(checks->size()));
    for (const Value &list : *checks)
      readChecks(list, defined, where, instance);
    if (problem.isEmpty() && !proof->isNull())
      readProof(*proof, where + ", proof", instance);
    instances.push_back(std::move(instance));
  }

  std::vector<std::pair<std::string, uint64_t>> readCounts(Fields &fields, std::string_view key) {
    std::vector<std::pair<std::string, uint64_t>> counts;
    if (const std::optional<Value> object = fields.object(key))
      for (Value::Iterator at = object->begin(); at != object->end(); ++at) {
        if ((*at).integer().value_or(-1) < 0)
          fields.report("'" + std::string(key) + "' holds what is no number of 0 or more");
        counts.emplace_back(at.key(), static_cast<uint64_t>((*at).integer().value_or(0)));
      }
    return counts;
  }

  uint64_t readCount(Fields &fields, std::string_view key) {
    return static_cast<uint64_t>(fields.integer(key, 0, INT64_MAX));
  }

  void readProof(const Value &value, const std::string &where, Instance &instance) {
    Fields fields(value, where, problem);
    Proof proof;
    proof.allRows = sortedStrings(fields, "all_rows");
    proof.prover = fields.integer("prover", 0, INT64_MAX);
    proof.ptx = readDigest(fields, "ptx");
    proof.rewrites = readCounts(fields, "rewrites");
    proof.spec = readDigest(fields, "spec");
    if (const std::optional<Value> variants = fields.array("variants"))
      for (const Value &variant : *variants) {
        Fields of(variant, where + ", variant " + std::to_string(proof.variants.size()), problem);
        ProvedVariant &proved = proof.variants.emplace_back();
        proved.calls = readCount(of, "calls");
        proved.name = of.string("name");
        proved.problem = of.string("problem");
        of.finish();
      }
    fields.finish();
    if (!std::ranges::equal(proof.variants, instance.plan.variants, {}, &ProvedVariant::name,
                            &plan::Variant::name))
      fields.report("its variants are not the plan's");
    instance.proof = std::move(proof);
  }

  /// A proof is of the very PTX that the bundle has.
  void checkProof(const Operator &op, const Instance &instance, const std::string &where) {
    if (instance.proof && op.ptx && instance.proof->ptx != contents.images[*op.ptx].digest)
      report(where + ", proof", "it is of other PTX than the bundle's");
  }

  void readAudit(const Value &value, const std::string &where, Operator &op) {
    Fields fields(value, where, problem);
    Audit audit;
    audit.assembler = fields.string("assembler");
    audit.auditor = fields.integer("auditor", 0, INT64_MAX);
    audit.cubin = readDigest(fields, "cubin");
    audit.disassembler = fields.string("disassembler");
    audit.expansions = readCounts(fields, "expansions");
    audit.fault = fields.string("fault");
    audit.instructions = readCount(fields, "instructions");
    audit.kernels = readCount(fields, "kernels");
    audit.operations = readCounts(fields, "operations");
    audit.ptx = readDigest(fields, "ptx");
    fields.finish();
    if (!op.cubin || audit.cubin != contents.images[*op.cubin].digest ||
        (op.ptx && audit.ptx != contents.images[*op.ptx].digest))
      fields.report("it is of other images than the bundle's");
    op.audit = std::move(audit);
  }

  /// The checks of the next variant.
  void readChecks(const Value &list, const DefinedInstance &defined,
                  const std::string &instanceName, Instance &instance) {
    const size_t variant = instance.checksOfVariant.size();
    const std::string where = instanceName + ", variant " + instance.plan.variants[variant].name;
    std::vector<uint32_t> &checks = instance.checksOfVariant.emplace_back();
    for (const Value &value : list) {
      const int64_t index = value.integer().value_or(-1);
      const bool isNext = checks.empty() || index > checks.back();
      if (index < 0 || static_cast<uint64_t>(index) >= defined.checks.size() || !isNext)
        return report(where, "its checks are no increasing numbers below " +
                                 std::to_string(defined.checks.size()));
      const SelfCheck &check = defined.checks[static_cast<size_t>(index)];
      if (std::string error = checkFor(instance.plan, variant, check); !error.empty())
        return report(where + ", check " + std::to_string(index), error);
      checks.push_back(static_cast<uint32_t>(index));
    }
    if (checks.empty())
      report(where, "it has no check");
  }

  /// Every operator is there or missing.
  void checkComplete(const OperatorSet &set) {
    std::vector<std::string> names = set.missing;
    for (const Operator &op : set.operators)
      names.push_back(contents.operators[op.definition].name);
    std::ranges::sort(names);
    if (!std::ranges::equal(names, contents.operators, {}, {}, &Definition::name))
      report("set " + set.target, "its operators and those it misses are not all of the bundle's");
  }

  void findProbes(OperatorSet &set) {
    for (Operator &op : set.operators)
      for (const std::string &approximation : contents.operators[op.definition].approximations) {
        const auto probe = std::ranges::find_if(set.probes, [&](const Operator &candidate) {
          return contents.probes[candidate.definition].approximations[0] == approximation;
        });
        if (probe == set.probes.end())
          return report("set " + set.target, "there is no probe of " + approximation);
        op.probes.push_back(static_cast<uint32_t>(probe - set.probes.begin()));
      }
  }

  const Container &container;
  Contents contents;
  json::Problem problem;
  std::set<uint32_t> used;                  ///< images of operators
  std::set<std::vector<std::string>> types; ///< of the definition that is read
  std::map<std::tuple<std::string, int, int>, std::string> capabilities; ///< of the sets so far
};

} // namespace

Result<Contents, Error> readManifest(const Container &container) {
  return ManifestReader(container).run();
}

} // namespace h3::bundle
