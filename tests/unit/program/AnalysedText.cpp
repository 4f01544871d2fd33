//===-- tests/unit/program/AnalysedText.cpp - Programs from text in tests -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "tests/unit/program/AnalysedText.h"

#include "dsl/program/Dump.h"

namespace h3::test {

AnalysedText::AnalysedText(std::string text, const TypeArguments &types) {
  SpecSearch search;
  search.folders = {H3_SPEC_FOLDER};
  modules = loadModulesOfText("test.spec", std::move(text), search, diagnostics);
  if (!modules.complete() || !checkModules(modules, diagnostics))
    return;
  std::vector<const ast::Operator *> all = operators(modules);
  if (!all.empty())
    program = analyze(modules, *all.front(), types, diagnostics);
}

std::string elementwise(const std::string &body, const std::string &type, const std::string &result,
                        const std::string &items) {
  return items + "\nop f {\n  dim rows, n\n  in  x : " + type + "[rows, n]\n  out y : " + result +
         "[rows, n]\n  " + body + "\n}\n";
}

std::string firstValue(const AnalysedText &text) {
  if (!text.program)
    return "no program: " + text.errors();
  std::vector<const std::vector<Statement> *> bodies{&text.program->body};
  while (!bodies.empty()) {
    const std::vector<Statement> &body = *bodies.back();
    bodies.pop_back();
    for (const Statement &statement : body) {
      if (statement.kind == Statement::Kind::Equation)
        return dump(*statement.equation.value, *text.program);
      bodies.push_back(&statement.body);
    }
  }
  return "no equation";
}

} // namespace h3::test
