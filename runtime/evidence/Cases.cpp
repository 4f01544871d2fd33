//===-- runtime/evidence/Cases.cpp - Calls with known results, for evidence -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/evidence/Cases.h"

#include "runtime/bundle/CheckJson.h"

namespace h3::evidence {

std::string writeCases(const CaseList &list) {
  json::Writer w;
  w.open('{');
  w.key("format");
  w.integer(kCasesFormat);
  w.key("operators");
  w.array(list.operators, [&](const OperatorCases &op) {
    w.open('{');
    w.key("cases");
    w.array(op.cases, [&](const Case &one) {
      w.open('{');
      w.key("call");
      bundle::writeCheck(w, one.call);
      w.key("timed");
      w.boolean(one.isTimed);
      w.key("what");
      w.string(one.what);
      w.close('}');
    });
    w.key("name");
    w.string(op.name);
    w.key("operator");
    w.string(toHex(op.meaning));
    w.key("reference");
    w.string(op.reference);
    w.close('}');
  });
  w.key("set");
  w.string(list.set);
  w.close('}');
  return w.take();
}

static Case readCase(const json::Value &value, const std::string &where, json::Problem &problem) {
  json::Fields fields(value, where, problem);
  Case one;
  if (const std::optional<json::Value> call = fields.object("call"))
    one.call = bundle::readCheck(*call, where, problem);
  one.isTimed = fields.boolean("timed");
  one.what = fields.string("what");
  fields.finish();
  return one;
}

Result<CaseList, bundle::Error> readCases(std::string_view text) {
  if (text.ends_with('\n'))
    text.remove_suffix(1);
  const Result<json::Document, json::SyntaxError> document = json::Document::parse(text);
  if (!document)
    return bundle::Error{"it is not canonical JSON: " + document.error().message};
  json::Problem problem;
  json::Fields fields(document->root(), "", problem);
  CaseList list;
  fields.integer("format", kCasesFormat, kCasesFormat);
  if (const std::optional<json::Value> operators = fields.array("operators"))
    for (const json::Value &value : *operators) {
      const std::string where = "operator " + std::to_string(list.operators.size());
      json::Fields of(value, where, problem);
      OperatorCases &op = list.operators.emplace_back();
      if (const std::optional<json::Value> cases = of.array("cases"))
        for (const json::Value &one : *cases)
          op.cases.push_back(
              readCase(one, where + ", case " + std::to_string(op.cases.size()), problem));
      op.name = of.string("name");
      op.meaning = bundle::readDigest(of, "operator");
      op.reference = of.string("reference");
      of.finish();
    }
  list.set = fields.string("set");
  fields.finish();
  if (!problem.isEmpty())
    return bundle::Error{problem.message()};
  return list;
}

} // namespace h3::evidence
