//===-- codegen/driver/bundle/OperatorSetFile.cpp - Which operators, for which targets -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/driver/bundle/OperatorSetFile.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

namespace h3 {

namespace {

struct Word {
  std::string_view text;
  SourceRange range;
};

class Reader {
public:
  Reader(const SourceFile &file, Diagnostics &diagnostics) : file(file), diagnostics(diagnostics) {}

  std::optional<OperatorSetFile> run() {
    const std::string_view text = file.text;
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      if (std::vector<Word> words = wordsOf(at, end); !words.empty())
        readStatement(words);
      at = end + 1;
    }
    checkShapes();
    const uint32_t last = static_cast<uint32_t>(text.size());
    if (diagnostics.empty() && set.operators.empty())
      error({&file, last, last}, "the set has no operator", "add a line 'operator NAME'");
    if (diagnostics.empty() && set.targets.empty())
      error({&file, last, last}, "the set has no target", "add a line 'target sm_90 enabled'");
    if (!diagnostics.empty())
      return std::nullopt;
    std::ranges::sort(set.operators, {}, &OperatorSetFile::Operator::name);
    std::ranges::sort(set.targets, {}, [](const auto &row) { return row.target->name; });
    return std::move(set);
  }

private:
  std::vector<Word> wordsOf(size_t at, size_t end) const {
    std::string_view line = std::string_view(file.text).substr(0, end);
    if (const size_t comment = line.find("//", at); comment != std::string_view::npos)
      line = line.substr(0, comment);
    std::vector<Word> words;
    constexpr std::string_view space = " \t\r";
    for (size_t begin; (begin = line.find_first_not_of(space, at)) != std::string_view::npos;) {
      at = std::min(line.find_first_of(space, begin), line.size());
      words.push_back({line.substr(begin, at - begin),
                       {&file, static_cast<uint32_t>(begin), static_cast<uint32_t>(at)}});
    }
    return words;
  }

  void error(SourceRange range, std::string message, std::string hint = {}) {
    diagnostics.error(range, std::move(message), std::move(hint));
  }

  /// Whether the statement has one of these numbers of words.
  bool hasForm(const std::vector<Word> &words, std::initializer_list<size_t> sizes,
               const char *form) {
    if (std::ranges::find(sizes, words.size()) != sizes.end())
      return true;
    error({&file, words.front().range.begin, words.back().range.end},
          "expected '" + std::string(form) + "'");
    return false;
  }

  bool isName(const Word &word) {
    const auto isLetter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    const bool isGood = isLetter(word.text.front()) && std::ranges::all_of(word.text, [&](char c) {
                          return isLetter(c) || (c >= '0' && c <= '9') || c == '_';
                        });
    if (!isGood)
      error(word.range, "'" + std::string(word.text) + "' is not a name");
    return isGood;
  }

  void readStatement(const std::vector<Word> &words) {
    const Word &first = words.front();
    if (set.name.empty() && diagnostics.empty() && first.text != "set")
      return error(first.range,
                   "expected the set's name first, found '" + std::string(first.text) + "'",
                   "begin with a line 'set NAME'");
    if (first.text == "set")
      readName(words);
    else if (first.text == "operator")
      readOperator(words);
    else if (first.text == "target")
      readTarget(words);
    else if (first.text == "shape")
      readShape(words);
    else
      error(first.range, "expected 'set', 'operator', 'target' or 'shape', found '" +
                             std::string(first.text) + "'");
  }

  void readName(const std::vector<Word> &words) {
    if (!hasForm(words, {2}, "set NAME") || !isName(words[1]))
      return;
    if (!set.name.empty())
      return error(words[0].range, "the set has a name already: '" + set.name + "'");
    set.name = words[1].text;
  }

  void readOperator(const std::vector<Word> &words) {
    if (!hasForm(words, {2, 4}, "operator NAME [from FILE]") || !isName(words[1]))
      return;
    if (words.size() == 4 && words[2].text != "from")
      return error(words[2].range, "expected 'from', found '" + std::string(words[2].text) + "'");
    const std::string name(words[1].text);
    if (std::ranges::find(set.operators, name, &OperatorSetFile::Operator::name) !=
        set.operators.end())
      return error(words[1].range, "operator '" + name + "' is in the set twice");
    std::string path = words.size() == 4 ? std::string(words[3].text) : name + ".spec";
    if (!path.starts_with('/'))
      path = file.path.substr(0, file.path.rfind('/') + 1) + path;
    set.operators.push_back({name, std::move(path), words[1].range});
  }

  void readTarget(const std::vector<Word> &words) {
    if (!hasForm(words, {3}, "target NAME enabled|disabled"))
      return;
    const h3::Target *target = findTarget(words[1].text);
    if (!target)
      return error(words[1].range, "unknown target '" + std::string(words[1].text) + "'",
                   "there are: " + targetNames());
    if (words[2].text != "enabled" && words[2].text != "disabled")
      return error(words[2].range,
                   "expected 'enabled' or 'disabled', found '" + std::string(words[2].text) + "'");
    for (const OperatorSetFile::Target &earlier : set.targets)
      if (earlier.target->backend == target->backend && earlier.target->major == target->major &&
          earlier.target->minor == target->minor)
        return error(words[1].range,
                     "'" + std::string(target->name) + "' serves the devices that '" +
                         std::string(earlier.target->name) + "' serves",
                     "a set has one target for a compute capability");
    set.targets.push_back({target, words[2].text == "enabled"});
  }

  void readShape(const std::vector<Word> &words) {
    if (words.size() < 3)
      return error({&file, words.front().range.begin, words.back().range.end},
                   "expected 'shape OPERATOR DIM=SIZE ...'");
    OperatorSetFile::Shape shape{
        std::string(words[1].text), {}, {&file, words[1].range.begin, words.back().range.end}};
    for (size_t i = 2; i < words.size(); ++i) {
      const std::string_view text = words[i].text;
      const size_t equals = std::min(text.find('='), text.size());
      const char *begin = text.data() + std::min(equals + 1, text.size());
      const char *end = text.data() + text.size();
      int64_t size = 0;
      const auto [stop, code] = std::from_chars(begin, end, size);
      if (equals == 0 || begin == end || code != std::errc() || stop != end || size < 1)
        return error(words[i].range, "expected DIM=SIZE, found '" + std::string(text) + "'");
      shape.dims.emplace_back(text.substr(0, equals), size);
    }
    set.shapes.push_back(std::move(shape));
  }

  /// Shapes may stand in front of their operators.
  void checkShapes() {
    for (const OperatorSetFile::Shape &shape : set.shapes)
      if (std::ranges::find(set.operators, shape.op, &OperatorSetFile::Operator::name) ==
          set.operators.end())
        error(shape.range, "the set has no operator '" + shape.op + "'");
  }

  const SourceFile &file;
  Diagnostics &diagnostics;
  OperatorSetFile set;
};

} // namespace

std::optional<OperatorSetFile> readOperatorSet(const SourceFile &file, Diagnostics &diagnostics) {
  return Reader(file, diagnostics).run();
}

} // namespace h3
