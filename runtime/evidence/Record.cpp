//===-- runtime/evidence/Record.cpp - What a run on hardware has shown ----===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/evidence/Record.h"

#include "runtime/bundle/CheckJson.h"

#include <algorithm>
#include <cstdio>
#include <memory>

namespace h3::evidence {

namespace {

class RecordWriter {
public:
  std::string run(const Record &record) {
    w.open('{');
    field("cases", toHex(record.cases));
    field("date", record.date);
    number("format", kRecordFormat);
    w.key("machine");
    write(record.machine);
    w.key("operators");
    w.array(record.operators, [&](const OperatorRecord &op) { write(op); });
    field("set", record.set);
    field("target", record.target);
    field("tool", record.tool);
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
  void optional(std::string_view key, const std::string &text) {
    w.key(key);
    text.empty() ? w.null() : w.string(text);
  }
  void strings(std::string_view key, const std::vector<std::string> &list) {
    w.key(key);
    w.array(list, [&](const std::string &text) { w.string(text); });
  }

  void write(const Machine &machine) {
    w.open('{');
    w.key("capability");
    w.array(std::initializer_list<int>{machine.major, machine.minor},
            [&](int value) { w.integer(value); });
    optional("cuda", machine.cuda);
    optional("driver", machine.driver);
    optional("product", machine.product);
    optional("torch", machine.torch);
    optional("triton", machine.triton);
    w.close('}');
  }

  void write(const OperatorRecord &op) {
    w.open('{');
    w.key("cases");
    w.array(op.cases, [&](const bundle::Digest &digest) { w.string(toHex(digest)); });
    w.key("declines");
    w.array(op.declines, [&](const auto &decline) {
      w.open('[');
      w.item();
      w.string(decline.first);
      w.item();
      w.string(decline.second);
      w.close(']');
    });
    strings("failures", op.failures);
    w.key("figures");
    w.array(op.figures, [&](const Figure &figure) {
      w.open('{');
      field("method", figure.method);
      number("nanoseconds", figure.nanoseconds);
      field("variant", figure.variant);
      field("what", figure.what);
      w.close('}');
    });
    w.key("image");
    w.open('{');
    field("digest", toHex(op.image));
    field("name", op.imageName);
    w.close('}');
    field("name", op.name);
    field("operator", toHex(op.meaning));
    field("reference", op.reference);
    strings("unreached", op.unreached);
    w.key("variants");
    w.array(op.variants, [&](const auto &variant) {
      w.open('[');
      w.item();
      w.string(variant.first);
      w.item();
      w.integer(variant.second);
      w.close(']');
    });
    w.close('}');
  }

  json::Writer w;
};

class RecordReader {
public:
  Result<Record, bundle::Error> run(std::string_view text) {
    const Result<json::Document, json::SyntaxError> document = json::Document::parse(text);
    if (!document)
      return bundle::Error{"it is not canonical JSON: " + document.error().message};
    Record record = read(document->root());
    if (!problem.isEmpty())
      return bundle::Error{problem.message()};
    return record;
  }

private:
  using Value = json::Value;
  using Fields = json::Fields;

  Record read(const Value &root) {
    Fields fields(root, "", problem);
    Record record;
    record.cases = bundle::readDigest(fields, "cases");
    record.date = fields.string("date");
    fields.integer("format", kRecordFormat, kRecordFormat);
    if (const std::optional<Value> machine = fields.object("machine"))
      record.machine = readMachine(*machine);
    if (const std::optional<Value> operators = fields.array("operators"))
      for (const Value &op : *operators)
        record.operators.push_back(
            readOperator(op, "operator " + std::to_string(record.operators.size())));
    record.set = fields.string("set");
    record.target = fields.string("target");
    record.tool = fields.string("tool");
    fields.finish();
    return record;
  }

  std::string optional(Fields &fields, std::string_view key) {
    const std::optional<Value> value = fields.take(key);
    if (value && !value->isNull() && !value->string())
      fields.report("'" + std::string(key) + "' is neither null nor a string");
    return std::string(value ? value->string().value_or("") : "");
  }

  Machine readMachine(const Value &value) {
    Fields fields(value, "machine", problem);
    Machine machine;
    const std::vector<int64_t> capability = bundle::readIntegers(fields, "capability");
    if (capability.size() != 2 || capability[0] > 999 || capability[1] > 999)
      fields.report("'capability' is no pair of small numbers");
    else
      machine.major = static_cast<int>(capability[0]),
      machine.minor = static_cast<int>(capability[1]);
    machine.cuda = optional(fields, "cuda");
    machine.driver = optional(fields, "driver");
    machine.product = optional(fields, "product");
    machine.torch = optional(fields, "torch");
    machine.triton = optional(fields, "triton");
    fields.finish();
    return machine;
  }

  /// Two values of which the first is a string.
  std::optional<std::pair<std::string, Value>> pair(const Value &value, Fields &fields) {
    if (value.kind() == json::Kind::Array && value.size() == 2) {
      Value::Iterator part = value.begin();
      const std::optional<std::string_view> first = (*part).string();
      ++part;
      if (first)
        return std::pair(std::string(*first), *part);
    }
    fields.report("it has something that is no pair");
    return std::nullopt;
  }

  OperatorRecord readOperator(const Value &value, const std::string &where) {
    Fields fields(value, where, problem);
    OperatorRecord op;
    if (const std::optional<Value> cases = fields.array("cases"))
      for (const Value &each : *cases) {
        const auto digest = bundle::digestOfHex(each.string().value_or(""));
        if (!digest)
          fields.report("'cases' holds what is no digest");
        op.cases.push_back(digest.value_or(bundle::Digest()));
      }
    if (const std::optional<Value> declines = fields.array("declines"))
      for (const Value &each : *declines)
        if (const auto decline = pair(each, fields))
          op.declines.emplace_back(decline->first, decline->second.string().value_or(""));
    op.failures = bundle::readStrings(fields, "failures");
    if (const std::optional<Value> figures = fields.array("figures"))
      for (const Value &each : *figures)
        op.figures.push_back(readFigure(each, where + ", figure"));
    if (const std::optional<Value> image = fields.object("image")) {
      Fields of(*image, where + ", image", problem);
      op.image = bundle::readDigest(of, "digest");
      op.imageName = of.string("name");
      of.finish();
    }
    op.name = fields.string("name");
    op.meaning = bundle::readDigest(fields, "operator");
    op.reference = fields.string("reference");
    op.unreached = bundle::readStrings(fields, "unreached");
    if (const std::optional<Value> variants = fields.array("variants"))
      for (const Value &each : *variants)
        if (const auto variant = pair(each, fields)) {
          if (variant->second.integer().value_or(-1) < 0)
            fields.report("'variants' holds what is no count");
          op.variants.emplace_back(variant->first, variant->second.integer().value_or(0));
        }
    fields.finish();
    return op;
  }

  Figure readFigure(const Value &value, const std::string &where) {
    Fields fields(value, where, problem);
    Figure figure;
    figure.method = fields.string("method");
    figure.nanoseconds = fields.integer("nanoseconds", 0, INT64_MAX);
    figure.variant = fields.string("variant");
    figure.what = fields.string("what");
    fields.finish();
    return figure;
  }

  json::Problem problem;
};

} // namespace

std::string writeRecord(const Record &record) { return RecordWriter().run(record); }

Result<Record, bundle::Error> readRecord(std::string_view text) {
  if (text.ends_with('\n'))
    text.remove_suffix(1);
  return RecordReader().run(text);
}

std::optional<std::string> readFile(const std::string &path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE *)> file(std::fopen(path.c_str(), "rb"),
                                                              &std::fclose);
  if (!file)
    return std::nullopt;
  std::string bytes;
  char room[65536];
  for (size_t count; (count = std::fread(room, 1, sizeof(room), file.get())) > 0;)
    bytes.append(room, count);
  if (std::ferror(file.get()))
    return std::nullopt;
  return bytes;
}

Result<Record, bundle::Error> readRecordFile(const std::string &path) {
  const std::optional<std::string> text = readFile(path);
  if (!text)
    return bundle::Error{"cannot read '" + path + "'"};
  Result<Record, bundle::Error> record = readRecord(*text);
  if (!record)
    return bundle::Error{"'" + path + "' is no record of evidence: " + record.error().message};
  return record;
}

std::string nameOf(const plan::OperatorPlan &plan) {
  std::string name = plan.name;
  for (size_t i = 0; i < plan.typeArguments.size(); ++i)
    name += (i ? "," : "<") + plan.typeArguments[i];
  return plan.typeArguments.empty() ? name : name + ">";
}

std::string_view text(Standing standing) {
  switch (standing) {
  case Standing::NotValidated:
    return "not validated";
  case Standing::Stale:
    return "evidence is for other images";
  case Standing::Failed:
    return "not validated, calls failed";
  case Standing::Validated:
    return "validated";
  }
  return "";
}

std::string text(Standing standing, bool isEnabled) {
  if (standing == Standing::Validated)
    return isEnabled ? "validated" : "disabled, validated";
  return std::string(isEnabled ? "enabled" : "disabled") +
         (standing == Standing::Stale ? "; " : ", ") + std::string(text(standing));
}

Standing standingOf(const bundle::Contents &contents, const bundle::OperatorSet &set,
                    const bundle::Operator &op, size_t instance, std::span<const Record> records,
                    size_t leastCases) {
  const std::string name = nameOf(op.instances[instance].plan);
  const bundle::Digest &meaning = contents.operators[op.definition].instances[instance].digest;
  Standing result = Standing::NotValidated;
  for (const Record &record : records) {
    if (record.target != set.target)
      continue;
    for (const OperatorRecord &one : record.operators) {
      if (one.name != name)
        continue;
      // What a driver assembles itself is never what a record is about.
      const bool isIt =
          op.cubin && contents.images[*op.cubin].digest == one.image && meaning == one.meaning;
      if (isIt && one.isGood(leastCases))
        return Standing::Validated;
      result = std::max(result, isIt ? Standing::Failed : Standing::Stale);
    }
  }
  return result;
}

Standing standingOf(const bundle::Contents &contents, const bundle::OperatorSet &set,
                    std::span<const Record> records, size_t leastCases) {
  bool isAll = set.missing.empty() && !set.operators.empty();
  Standing worst = Standing::NotValidated;
  for (const bundle::Operator &op : set.operators)
    for (size_t i = 0; i < op.instances.size(); ++i) {
      const Standing one = standingOf(contents, set, op, i, records, leastCases);
      isAll &= one == Standing::Validated;
      if (one != Standing::Validated)
        worst = std::max(worst, one);
    }
  return isAll ? Standing::Validated : worst;
}

} // namespace h3::evidence
