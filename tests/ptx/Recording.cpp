//===-- tests/ptx/Recording.cpp - Instruction tests and their bits --------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "tests/ptx/Recording.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <cctype>
#include <fstream>
#include <memory>

namespace h3::ptxtest {

using Json = nlohmann::json;

static std::vector<std::string> strings(const Json &row, const char *key) {
  return row.value(key, std::vector<std::string>());
}

const Table &table() {
  static const Table result = [] {
    Table table;
    std::ifstream file(H3_PTX_TESTS "/instructions.json");
    Json json = Json::parse(file, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object())
      return table;
    table.ptxVersion = json["ptx"];
    for (const Json &row : json["tests"])
      table.tests.push_back({row["name"], row["instruction"], row.value("meaning", ""),
                             row.value("target", ""), strings(row, "in"), strings(row, "out"),
                             strings(row, "declare"), strings(row, "body")});
    return table;
  }();
  return result;
}

const InstructionTest *Table::find(std::string_view name) const {
  for (const InstructionTest &test : tests)
    if (test.name == name)
      return &test;
  return nullptr;
}

unsigned widthOf(std::string_view kind) {
  static const std::map<std::string_view, unsigned> widths = {
      {"f16", 2},    {"bf16", 2},      {"f32", 4},    {"f64", 8},       {"f16x2", 4},
      {"bf16x2", 4}, {"e4m3x2", 2},    {"e5m2x2", 2}, {"b16", 2},       {"b32", 4},
      {"b64", 8},    {"b128", 16},     {"count", 4},  {"nonzero16", 2}, {"nonzero32", 4},
      {"lane", 4},   {"nonzero64", 8}, {"bool", 4},   {"tf32", 4},      {"f32x2", 8}};
  auto found = widths.find(kind);
  return found == widths.end() ? 0 : found->second;
}

std::string InstructionTest::entry() const {
  std::string text;
  for (char c : name)
    text += c == '!' ? "not_" : std::string(1, static_cast<char>(std::tolower(c)));
  std::string result = "test_";
  for (char c : text) {
    bool kept = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (kept)
      result += c;
    else if (result.back() != '_')
      result += '_';
  }
  while (result.back() == '_')
    result.pop_back();
  return result;
}

std::string InstructionTest::inputColumn(size_t index) const {
  std::string set;
  for (const std::string &kind : inputs)
    set += (set.empty() ? "" : ",") + kind;
  return fmt::format("in/{}/{}", set, index);
}

std::string InstructionTest::outputColumn(size_t index) const {
  return fmt::format("out/{}/{}", name, index);
}

std::string InstructionTest::kernel() const {
  std::string text = ".visible .entry " + entry() + "(\n";
  std::vector<std::string> parameters;
  for (size_t i = 0; i < inputs.size(); ++i)
    parameters.push_back(fmt::format("in{}", i));
  for (size_t i = 0; i < outputs.size(); ++i)
    parameters.push_back(fmt::format("out{}", i));
  for (size_t i = 0; i < parameters.size(); ++i)
    text +=
        fmt::format("\t.param .u64 {}{}\n", parameters[i], i + 1 < parameters.size() ? "," : "");
  text += ")\n{\n\t.reg .pred %p<4>;\n\t.reg .b16 %h<4>;\n\t.reg .b32 %r<8>;\n\t.reg .b64 %d<8>;\n"
          "\t.reg .b32 %tid_x, %ctaid_x, %ntid_x, %thread;\n";
  for (const std::string &line : declarations)
    text += "\t" + line + "\n";

  struct Side {
    const std::vector<std::string> &kinds;
    std::string_view name, address;
  };
  const Side sides[] = {{inputs, "in", "ia"}, {outputs, "out", "oa"}};
  for (const Side &side : sides)
    for (size_t i = 0; i < side.kinds.size(); ++i) {
      if (side.kinds[i] != "b128")
        text += fmt::format("\t.reg .b{} %{}{};\n", 8 * widthOf(side.kinds[i]), side.name, i);
      text += fmt::format("\t.reg .b64 %{0}{1}, %{0}{1}_base, %{0}{1}_offset;\n", side.address, i);
    }
  text += "\tmov.u32 %tid_x, %tid.x;\n\tmov.u32 %ctaid_x, %ctaid.x;\n\tmov.u32 %ntid_x, %ntid.x;\n"
          "\tmad.lo.s32 %thread, %ctaid_x, %ntid_x, %tid_x;\n";
  for (const Side &side : sides)
    for (size_t i = 0; i < side.kinds.size(); ++i)
      text += fmt::format("\tld.param.b64 %{0}{1}_base, [{2}{1}];\n"
                          "\tmul.wide.u32 %{0}{1}_offset, %thread, {3};\n"
                          "\tadd.s64 %{0}{1}, %{0}{1}_base, %{0}{1}_offset;\n",
                          side.address, i, side.name, widthOf(side.kinds[i]));
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i] != "b128")
      text += fmt::format("\tld.global.b{} %in{}, [%ia{}];\n", 8 * widthOf(inputs[i]), i, i);
  for (const std::string &line : body)
    text += (line.ends_with(':') ? "" : "\t") + line + "\n";
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i] != "b128")
      text += fmt::format("\tst.global.b{} [%oa{}], %out{};\n", 8 * widthOf(outputs[i]), i, i);
  return text + "\tret;\n}\n";
}

std::string InstructionTest::module(std::string_view recordedTarget) const {
  return fmt::format(".version {}\n.target {}\n.address_size 64\n\n{}", table().ptxVersion,
                     target.empty() ? recordedTarget : target, kernel());
}

std::string fingerprint(std::string_view text) {
  uint64_t value = 0xCBF29CE484222325;
  for (char c : text)
    value = (value ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return fmt::format("{:016x}", value);
}

const Recording *recording() {
  static const std::unique_ptr<Recording> result = []() -> std::unique_ptr<Recording> {
    auto file = tensor::readSafetensors(H3_PTX_TESTS "/data/sm_90.safetensors");
    if (!file)
      return nullptr;
    auto recording = std::make_unique<Recording>();
    recording->file = std::move(*file);
    const auto &metadata = recording->file.metadata;
    auto object = [&](const char *key) {
      auto found = metadata.find(key);
      return found == metadata.end() ? Json() : Json::parse(found->second, nullptr, false);
    };
    recording->target = "sm_90";
    Json kernels = object("kernels"), absent = object("absent");
    if (!kernels.is_object() || !absent.is_object())
      return nullptr;
    recording->kernels = kernels.get<std::map<std::string, std::string>>();
    for (const auto &[name, why] : absent.items())
      recording->absent.insert(name);
    return recording;
  }();
  return result.get();
}

} // namespace h3::ptxtest
