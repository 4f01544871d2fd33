//===-- codegen/driver/bundle/LoadSet.cpp - An operator set with its specs -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/driver/bundle/LoadSet.h"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace h3 {

std::optional<OperatorSetFile> loadSetFile(const std::string &path, const SpecOptions &options,
                                           SourceFile &file) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream) {
    printError("cannot read '" + path + "'");
    return std::nullopt;
  }
  file = {path, text.str(), true};
  Diagnostics diagnostics;
  std::optional<OperatorSetFile> set = readOperatorSet(file, diagnostics);
  if (!diagnostics.empty())
    printDiagnostics(diagnostics, options.json);
  return set;
}

bool loadSetOperator(const OperatorSetFile::Operator &row, const SpecOptions &options,
                     LoadedSpec &spec, OperatorInstances &entry) {
  Diagnostics diagnostics;
  std::vector<OperatorInstances> found;
  std::string problem;
  if (loadSpec(row.path, options.path, spec, diagnostics)) {
    const bool isThere = std::ranges::any_of(
        spec.operators, [&](const auto *op) { return op->name.text == row.name; });
    if (isThere)
      found = instances(spec, {row.name, {}}, diagnostics, problem);
    else
      diagnostics.error(row.range, "'" + row.path + "' defines no operator '" + row.name + "'",
                        "name the file: operator " + row.name + " from FILE");
  }
  if (!diagnostics.empty()) {
    printDiagnostics(diagnostics, options.json);
    return false;
  }
  entry = std::move(found.at(0));
  return true;
}

} // namespace h3
