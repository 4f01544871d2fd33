//===-- dsl/lint/Lint.cpp - Warnings about specs --------------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/lint/Findings.h"
#include "dsl/syntax/Lexer.h"

#include <fmt/format.h>

#include <algorithm>

namespace h3 {

static constexpr LintRule rules[] = {
    {"f32-chain", "several f32 operations on widened 16-bit values, rounded once"},
    {"square-sum",
     "a sum of squares that is fused where its order's kernel is not, or not where it is"},
    {"unknown-order", "a reduction whose tree is that of no known reference"},
    {"pointless-conversion", "a conversion that changes nothing"},
    {"double-rounding", "narrowing in two steps"},
    {"f64-arithmetic", "arithmetic in f64"},
    {"half-fma", "fma in f16 or bf16"},
    {"zero-minus", "0.0 - x where -x is meant"},
    {"division-by-literal", "division by a constant where eager multiplies by its reciprocal"},
    {"reciprocal-sqrt", "1.0 / sqrt(x) where eager has rsqrt"},
    {"nan-comparison", "a comparison with nan"},
    {"nan-loses", "max.num or min.num, which drop a NaN"},
    {"unused", "a name that nothing uses"},
    {"lint-comment", "a `lint: allow` comment that is malformed or accepts nothing"},
};

std::span<const LintRule> lintRules() { return rules; }

namespace {

/// One `// lint: allow RULE reason`.
struct Allow {
  SourceRange range;
  std::string rule, reason;
  uint32_t line; ///< that it is about
  bool isUsed = false;
};

std::string word(std::string_view &text) {
  size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  size_t end = std::min(text.find_first_of(" \t\r", begin), text.size());
  std::string made(text.substr(begin, end - begin));
  text.remove_prefix(end);
  return made;
}

std::vector<Allow> allows(const SourceFile &file) {
  Diagnostics ignored; // the file was read before
  std::optional<TokenList> tokens = lex(file, ignored);
  std::vector<Allow> made;
  if (!tokens)
    return made;
  const TokenList &list = *tokens;
  for (size_t i = 0; i < list.comments.size(); ++i) {
    const Comment &comment = list.comments[i];
    std::string_view text =
        std::string_view(file.text).substr(comment.begin + 2, comment.end - comment.begin - 2);
    if (word(text) != "lint:")
      continue;
    Allow allow{{&file, comment.begin, comment.end}, {}, {}, comment.line};
    if (word(text) == "allow") {
      allow.rule = word(text);
      allow.reason = word(text);
    }
    // Alone in its line it is about the next line that is not a comment.
    for (size_t k = i;
         k < list.comments.size() && list.comments[k].alone && list.comments[k].line == allow.line;
         ++k)
      ++allow.line;
    made.push_back(std::move(allow));
  }
  return made;
}

bool isRule(const std::string &name) {
  return std::any_of(std::begin(rules), std::end(rules),
                     [&](const LintRule &rule) { return rule.name == name; });
}

} // namespace

void lint(const ModuleSet &modules, std::span<const std::unique_ptr<Program>> programs,
          std::span<const Order> known, Diagnostics &warnings) {
  const SourceFile &file = *modules.root().file->source;
  Findings findings(&file);
  findUnusedNames(modules.root(), findings);
  for (const std::unique_ptr<Program> &program : programs)
    findInProgram(*program, known, findings);

  std::vector<Allow> accepted = allows(file);
  for (auto &[at, finding] : findings.all) {
    uint32_t line = lineColumn(file, finding.range.begin).line;
    auto allow = std::find_if(accepted.begin(), accepted.end(), [&, &rule = at.second](Allow &a) {
      return a.line == line && a.rule == rule && !a.reason.empty();
    });
    if (allow != accepted.end()) {
      allow->isUsed = true;
      continue;
    }
    warnings.warning(at.second, finding.range, finding.message, finding.hint);
  }
  for (const Allow &allow : accepted) {
    if (!isRule(allow.rule))
      warnings.warning("lint-comment", allow.range,
                       allow.rule.empty() ? std::string("this is not `lint: allow RULE reason`")
                                          : fmt::format("there is no rule `{}`", allow.rule),
                       "h3gen lint --rules lists the rules");
    else if (allow.reason.empty())
      warnings.warning("lint-comment", allow.range, "the reason is missing",
                       fmt::format("write `// lint: allow {} REASON`", allow.rule));
    else if (!allow.isUsed)
      warnings.warning("lint-comment", allow.range,
                       fmt::format("nothing here is against the rule `{}`", allow.rule),
                       "remove the comment");
  }
}

} // namespace h3
