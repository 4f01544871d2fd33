//===-- tests/fuzz/Promises.cpp - What every text may expect --------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "tests/fuzz/Promises.h"

#include "dsl/format/Format.h"
#include "dsl/program/Analysis.h"
#include "dsl/syntax/Lexer.h"
#include "dsl/syntax/Parser.h"
#include "h3_specs.h"

#include <nlohmann/json.hpp>

namespace h3 {

namespace {

/// Of one operator: the others differ in types alone.
constexpr size_t maxChoices = 4;

std::string brokenByDiagnostics(const Diagnostics &diagnostics) {
  for (const Diagnostic &diagnostic : diagnostics.all()) {
    auto outside = [](const SourceRange &range) {
      return range.file && (range.begin > range.end || range.end > range.file->text.size());
    };
    if (diagnostic.message.empty())
      return "an error says nothing";
    if (diagnostic.message.size() > 2000)
      return "an error goes on for too long: " + diagnostic.message;
    if ((diagnostic.message + diagnostic.hint).find('\n') != std::string::npos)
      return "an error has more than a line: " + diagnostic.message;
    if (outside(diagnostic.range))
      return "an error lies outside the text: " + diagnostic.message;
    for (const Note &note : diagnostic.notes)
      if (outside(note.range))
        return "a note lies outside the text: " + note.message;
  }
  if (diagnostics.renderText().empty() != diagnostics.empty())
    return "errors and their text disagree";
  if (!nlohmann::json::accept(diagnostics.renderJson()))
    return "the errors are no JSON";
  return "";
}

std::span<const EmbeddedSpec> library() {
  static const std::vector<EmbeddedSpec> specs = [] {
    std::vector<EmbeddedSpec> list;
    for (const EmbeddedText &file : embeddedSpecs())
      list.push_back({file.path, file.text});
    return list;
  }();
  return specs;
}

/// Everything of a text that formatting must keep, a line each.
std::string kept(const SourceFile &source) {
  Diagnostics diagnostics;
  std::optional<TokenList> list = lex(source, diagnostics);
  std::unique_ptr<ast::File> file = parse(source, diagnostics);
  if (!list || !file)
    return "does not parse: " + diagnostics.renderText();
  auto trimmed = [](std::string_view text) {
    return std::string(text.substr(0, text.find_last_not_of(" \t\r") + 1));
  };
  std::string out;
  size_t next = 0;
  for (const Token &token : list->tokens) {
    for (; next < list->comments.size() && list->comments[next].begin < token.begin; ++next) {
      const Comment &comment = list->comments[next];
      out += comment.alone ? "line " : "behind ";
      out += trimmed(source.text.substr(comment.begin, comment.end - comment.begin)) + "\n";
    }
    (out += list->text(token)) += '\n';
  }
  auto document = [&](std::string_view text) {
    out += "documentation\n";
    for (size_t begin = 0; begin <= text.size();) {
      size_t end = std::min(text.find('\n', begin), text.size());
      out += trimmed(text.substr(begin, end - begin)) + "\n";
      begin = end + 1;
    }
  };
  document(file->documentation);
  for (const ast::Record &record : file->records)
    document(record.documentation);
  for (const ast::Order &order : file->orders)
    document(order.documentation);
  for (const ast::Function &function : file->functions)
    document(function.documentation);
  for (const ast::Operator &op : file->operators)
    document(op.documentation);
  return out;
}

} // namespace

std::string brokenByFormatter(const std::string &text) {
  SourceFile source{"fuzz.spec", text};
  Diagnostics diagnostics;
  std::optional<std::string> once = format(source, diagnostics);
  if (once.has_value() != diagnostics.empty())
    return once ? "formatted with errors" : "not formatted, and no reason";
  if (!once)
    return "";
  SourceFile formatted{"fuzz.spec", *once};
  std::string before = kept(source), after = kept(formatted);
  if (before != after) {
    size_t at = static_cast<size_t>(
        std::mismatch(before.begin(), before.end(), after.begin(), after.end()).first -
        before.begin());
    return "formatting changed what it must keep, '" + before.substr(at, 40) + "' to '" +
           after.substr(std::min(at, after.size()), 40) + "':\n" + *once;
  }
  std::optional<std::string> twice = format(formatted, diagnostics);
  if (twice != once)
    return "formatting twice is not formatting once:\n" + *once + "then:\n" +
           twice.value_or("nothing\n");
  for (size_t end = once->find('\n'); end != std::string::npos; end = once->find('\n', end + 1))
    if (end > 0 && ((*once)[end - 1] == ' ' || once->compare(end, 3, "\n\n\n") == 0))
      return "formatting left blanks:\n" + *once;
  if (!once->empty() && (once->back() != '\n' || once->front() == '\n'))
    return "the formatted text begins or ends with a blank line or with none:\n" + *once;
  return "";
}

std::string brokenByParser(const std::string &text) {
  SourceFile source{"fuzz.spec", text};
  Diagnostics diagnostics;
  std::unique_ptr<ast::File> file = parse(source, diagnostics);
  if ((file == nullptr) == diagnostics.empty())
    return file ? "a tree with errors" : "no tree and no reason";
  return brokenByDiagnostics(diagnostics);
}

std::string brokenByFrontEnd(const std::string &text) {
  Diagnostics diagnostics;
  ModuleSet modules = loadModulesOfText("fuzz.spec", text, {{}, library()}, diagnostics);
  if (modules.complete() != diagnostics.empty())
    return modules.complete() ? "modules with errors" : "no modules and no reason";
  if (modules.complete() && checkModules(modules, diagnostics))
    for (const ast::Operator *op : operators(modules)) {
      std::vector<TypeArguments> choices = typeChoices(*op);
      choices.resize(std::min(choices.size(), maxChoices));
      for (const TypeArguments &types : choices) {
        // What is wrong with an earlier choice is not said again.
        size_t before = diagnostics.size();
        std::unique_ptr<Program> program = analyze(modules, *op, types, diagnostics);
        if (program ? diagnostics.size() != before : diagnostics.empty())
          return program ? "a program with errors" : "no program and no reason";
      }
    }
  return brokenByDiagnostics(diagnostics);
}

} // namespace h3
