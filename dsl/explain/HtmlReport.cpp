//===-- dsl/explain/HtmlReport.cpp - Explanations as a page ---------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/explain/Report.h"

#include <fmt/format.h>

namespace h3 {

std::string explainHtml(std::span<const Explanation> instances) {
  std::string out = fmt::format("<h1>{}</h1>\n", escapeXml(instances.front().program->name));
  for (size_t i = 0; i < instances.size(); ++i) {
    // One picture an instance: types change which steps there are.
    std::string types = typeArgumentsText(*instances[i].program);
    out += fmt::format("<details{}><summary>Picture{}</summary>\n<div class=\"picture\">\n{}</div>"
                       "\n</details>\n",
                       i == 0 ? " open=\"open\"" : "", types.empty() ? "" : ": " + escapeXml(types),
                       explainSvg(instances.subspan(i, 1)));
  }
  return out + "<pre>" + escapeXml(explainText(instances)) + "</pre>\n";
}

std::string htmlPage(const std::string &title, const std::string &body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<title>{}</title>\n<style>\nbody {{ font-family: sans-serif; margin: 2em; }}\n"
      "pre {{ background: #f6f6f6; padding: 1em; overflow-x: auto; }}\n"
      ".picture {{ overflow-x: auto; }}\n</style>\n</head>\n<body>\n{}</body>\n"
      "</html>\n",
      escapeXml(title), body);
}

} // namespace h3
