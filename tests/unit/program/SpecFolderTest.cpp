//===-- tests/unit/program/SpecFolderTest.cpp - Every spec of the folder --===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The operators that h3gen ships: each file and each choice of types is accepted, documented, and
// listed, and together they use what the language has.
//
//===----------------------------------------------------------------------===//

#include "dsl/program/Analysis.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace h3 {
namespace {

using std::filesystem::path;

std::vector<path> specFiles(const path &folder) {
  std::vector<path> files;
  for (const auto &entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".spec")
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::string readText(const path &file) {
  std::ifstream stream(file);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// What one operator uses, over all its types.
struct Uses {
  bool reduction = false, recordState = false, indexTensor = false;
  std::set<ScalarType> types;
  unsigned instances = 0;
};

void addUses(const Program &program, Uses &uses) {
  ++uses.instances;
  for (const Tensor &tensor : program.tensors)
    uses.types.insert(tensor.type);
  for (const Expr &expr : program.expressions) {
    if (expr.kind == Expr::Kind::Reduce) {
      uses.reduction = true;
      uses.recordState |= expr.type.isRecord();
    }
    for (const Subscript &subscript : expr.subscripts)
      uses.indexTensor |= subscript.isData;
  }
}

/// By the operators' names.
std::map<std::string, Uses> operatorsOf(const path &file) {
  SpecSearch search;
  search.folders = {H3_SPEC_FOLDER};
  Diagnostics diagnostics;
  ModuleSet modules = loadModules(file, search, diagnostics);
  std::map<std::string, Uses> found;
  if (modules.complete() && checkModules(modules, diagnostics))
    for (const ast::Operator *op : operators(modules))
      for (const TypeArguments &types : typeChoices(*op))
        if (std::unique_ptr<Program> program = analyze(modules, *op, types, diagnostics))
          addUses(*program, found[op->name.text]);
  EXPECT_EQ(diagnostics.renderText(), "") << file;
  return found;
}

/// The comment lines at the head of a file, without their slashes, as one line.
std::string headComment(const path &file) {
  std::istringstream text(readText(file));
  std::string head;
  for (std::string line; std::getline(text, line) && line.rfind("//", 0) == 0;)
    head += line.substr(2);
  return head;
}

TEST(SpecFolder, HasTheOperators) {
  unsigned files = 0, reductions = 0, records = 0, indices = 0, instances = 0;
  std::set<ScalarType> types;
  std::set<std::string> names;
  for (const path &file : specFiles(H3_SPEC_FOLDER)) {
    ++files;
    bool reduction = false, record = false, index = false;
    for (const auto &[name, uses] : operatorsOf(file)) {
      EXPECT_TRUE(names.insert(name).second) << name << " is there twice";
      EXPECT_EQ(name.rfind(file.stem().string(), 0), 0u)
          << name << " of " << file << ": its name begins with the file's";
      reduction |= uses.reduction;
      record |= uses.recordState;
      index |= uses.indexTensor;
      instances += uses.instances;
      types.insert(uses.types.begin(), uses.types.end());
    }
    reductions += reduction;
    records += record;
    indices += index;
  }
  // Files that have at least one such operator.
  EXPECT_GE(files, 24u);
  EXPECT_GE(reductions, 12u);
  EXPECT_GE(records, 4u);
  EXPECT_GE(indices, 3u);
  EXPECT_GE(instances, 100u);
  for (ScalarType type : {ScalarType::F16, ScalarType::BF16, ScalarType::F32, ScalarType::E4M3,
                          ScalarType::I32, ScalarType::I64})
    EXPECT_TRUE(types.count(type)) << name(type);
}

TEST(SpecFolder, EveryFileSaysItsReference) {
  for (const path &file : specFiles(H3_SPEC_FOLDER))
    EXPECT_NE(headComment(file).find("Reference:"), std::string::npos) << file;
  for (const path &file : specFiles(path(H3_SPEC_FOLDER) / "eager")) {
    EXPECT_NE(headComment(file).find("PyTorch"), std::string::npos) << file;
    EXPECT_NE(headComment(file).find("H200"), std::string::npos) << file;
  }
}

TEST(SpecFolder, ReadmeListsEveryFile) {
  std::string readme = readText(path(H3_SPEC_FOLDER) / "README.md");
  for (const path &file : specFiles(H3_SPEC_FOLDER))
    EXPECT_NE(readme.find("`" + file.filename().string() + "`"), std::string::npos) << file;
  for (const path &file : specFiles(path(H3_SPEC_FOLDER) / "eager"))
    EXPECT_NE(readme.find("`eager/" + file.filename().string() + "`"), std::string::npos) << file;
}

} // namespace
} // namespace h3
