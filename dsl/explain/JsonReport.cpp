//===-- dsl/explain/JsonReport.cpp - Explanations as JSON -----------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/explain/Report.h"
#include "dsl/interpreter/OrderText.h"
#include "dsl/scalar/Format.h"
#include "dsl/syntax/Utf8.h"

#include <fmt/format.h>

namespace h3 {

namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (size_t at = 0; at < text.size();) {
    Utf8Character c = decodeUtf8(text.substr(at));
    if (c.error != Utf8Error::None)
      out += "\xEF\xBF\xBD";
    else if (c.code == '"' || c.code == '\\')
      (out += '\\') += static_cast<char>(c.code);
    else if (c.code < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c.code));
    else
      out += text.substr(at, c.length);
    at += c.length;
  }
  return out + '"';
}

/// A comma-separated list of what \p write makes of each element.
template <class List, class Write> std::string list(const List &elements, const Write &write) {
  std::string out;
  for (const auto &element : elements)
    out += (out.empty() ? "" : ", ") + write(element);
  return "[" + out + "]";
}

std::string strings(const std::vector<std::string> &texts) {
  return list(texts, [](const std::string &text) { return quoted(text); });
}

class JsonReport {
public:
  explicit JsonReport(const Explanation &explanation)
      : explanation(explanation), program(*explanation.program) {}

  std::string instance() const {
    return fmt::format(
        "{{\"types\": {}, \"class\": \"{}\", \"approximations\": {},\n   \"contract\": {},\n"
        "   \"functions\": {},\n   \"cases\": {}}}",
        types(), explanation.approximations.empty() ? "ieee" : "approx",
        strings(explanation.approximations), contract(),
        list(explanation.functions,
             [](const auto &function) {
               return fmt::format("{{\"name\": {}, \"documentation\": {}}}", quoted(function.first),
                                  quoted(function.second));
             }),
        list(explanation.cases, [this](const ExplainedCase &one) { return oneCase(one); }));
  }

private:
  using Item = ExplainedItem;

  std::string amount(const Amount &amount) const {
    std::optional<int64_t> number = amount.asNumber();
    return fmt::format("{{\"text\": {}, \"value\": {}}}", quoted(explanation.amounts.text(amount)),
                       number ? std::to_string(*number) : "null");
  }

  std::string types() const {
    std::string out;
    for (const auto &[parameter, type] : program.typeArguments)
      out += fmt::format("{}{}: \"{}\"", out.empty() ? "" : ", ", quoted(parameter), name(type));
    return "{" + out + "}";
  }

  std::string contract() const {
    return fmt::format(
        "{{\"each\": {}, \"dims\": {}, \"parameters\": {}, \"tensors\": {}, \"require\": {}}}",
        program.each, list(program.dims, [this](const Dim &dim) { return one(dim); }),
        list(program.parameters, [](const Parameter &parameter) { return one(parameter); }),
        list(program.tensors, [this](const Tensor &tensor) { return one(tensor); }),
        list(program.requirements,
             [](const Requirement &requirement) { return quoted(requirement.text); }));
  }

  std::string one(const Dim &dim) const {
    return fmt::format("{{\"name\": {}, \"value\": {}, \"from\": {}}}", quoted(dim.name),
                       dim.fixed ? std::to_string(*dim.fixed) : "null",
                       quoted(dimSource(dim, program)));
  }

  static std::string one(const Parameter &parameter) {
    return fmt::format("{{\"name\": {}, \"type\": \"{}\", \"default\": {}}}",
                       quoted(parameter.name), name(parameter.type),
                       parameter.defaultBits
                           ? quoted(scalar::format(parameter.type, *parameter.defaultBits))
                           : "null");
  }

  std::string one(const Tensor &tensor) const {
    return fmt::format(
        "{{\"name\": {}, \"output\": {}, \"type\": \"{}\", \"extents\": {}, \"strides\": {}, "
        "\"align\": {}, \"may_alias\": {}}}",
        quoted(tensor.name), tensor.isOutput, name(tensor.type),
        list(tensor.extents,
             [this](const Extent &extent) { return quoted(toString(*extent.size, program)); }),
        list(tensor.strides,
             [](const std::optional<int64_t> &stride) {
               return stride ? std::to_string(*stride) : std::string("null");
             }),
        tensor.align, tensor.mayAlias ? quoted(program.tensors[*tensor.mayAlias].name) : "null");
  }

  std::string oneCase(const ExplainedCase &one) const {
    return fmt::format(
        "{{\"when\": {}, \"sections\": {}, \"trees\": {}}}",
        list(one.conditions,
             [](const auto &condition) {
               return fmt::format("{{\"condition\": {}, \"holds\": {}}}", quoted(condition.first),
                                  condition.second);
             }),
        list(one.sections, [this](const ExplainedSection &section) { return this->one(section); }),
        list(one.trees, [this](const ExplainedTree &tree) { return this->one(tree); }));
  }

  std::string one(const ExplainedSection &section) const {
    auto traffic = [this](const ExplainedTraffic &traffic) { return one(traffic); };
    return fmt::format("\n    {{\"title\": {}, \"outputs\": {}, \"rows\": {}, \"items\": {},\n"
                       "     \"flops_per_row\": {}, \"flops_shared\": {}, \"bytes_per_row\": {}, "
                       "\"reads\": {}, \"writes\": {}}}",
                       quoted(section.title), strings(section.outputs), quoted(section.rows),
                       items(section.items), amount(section.flopsPerRow),
                       amount(section.flopsShared), amount(section.bytesPerRow),
                       list(section.reads, traffic), list(section.writes, traffic));
  }

  std::string one(const ExplainedTraffic &traffic) const {
    return fmt::format("{{\"tensor\": {}, \"bytes\": {}, \"gathered\": {}, \"shared_by\": {}}}",
                       quoted(program.tensors[traffic.tensor].name), amount(traffic.bytes),
                       traffic.isGathered, strings(traffic.sharedBy));
  }

  std::string one(const ExplainedTree &tree) const {
    return fmt::format(
        "{{\"order\": {}, \"digits\": {}, \"extent\": {}, \"form\": \"{}\", \"slots\": {}, "
        "\"idle\": {}}}",
        tree.order ? quoted(tree.order->name) : "\"any\"",
        tree.order ? quoted(orderText(*tree.order)) : "null",
        quoted(toString(*tree.extent, program)), tree.hasSeed ? "from" : "of", amount(tree.slots),
        tree.idle ? std::to_string(*tree.idle) : "null");
  }

  std::string items(const std::vector<Item> &all) const {
    return list(all, [this](const Item &item) { return one(item); });
  }

  std::string one(const Item &item) const {
    static constexpr const char *kinds[] = {"step",      "loop", "choice",  "branch",
                                            "reduction", "seed", "element", "join"};
    std::string out =
        fmt::format("{{\"kind\": \"{}\", \"title\": {}", kinds[int(item.kind)], quoted(item.title));
    if (item.kind == Item::Kind::Step) {
      static constexpr const char *roundings[] = {"nearest_even", "toward_zero", "down", "up"};
      out += fmt::format(", \"number\": {}, \"type\": \"{}\", \"rounding\": {}, \"flops\": {}, "
                         "\"source\": {}, ",
                         item.number, name(item.type),
                         item.isApproximation ? "null" : quoted(roundings[int(item.rounding)]),
                         item.flops, quoted(item.source));
      if (item.range.file)
        out += fmt::format("\"file\": {}, \"line\": {}}}", quoted(item.range.file->path),
                           lineColumn(*item.range.file, item.range.begin).line);
      else
        out += "\"file\": null, \"line\": null}";
      return out;
    }
    if (item.times)
      out += ", \"times\": " + amount(*item.times);
    if (item.tree)
      out += fmt::format(", \"tree\": {}", *item.tree);
    return out + ", \"items\": " + items(item.items) + "}";
  }

  const Explanation &explanation;
  const Program &program;
};

} // namespace

std::string explainJson(std::span<const Explanation> instances) {
  const Program &first = *instances.front().program;
  std::string out = fmt::format(" {{\"name\": {}, \"documentation\": {}, \"instances\": [",
                                quoted(first.name), quoted(first.documentation));
  std::string between = "\n  ";
  for (const Explanation &instance : instances) {
    out += between + JsonReport(instance).instance();
    between = ",\n  ";
  }
  return out + "]}";
}

} // namespace h3
