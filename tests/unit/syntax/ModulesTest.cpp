//===-- tests/unit/syntax/ModulesTest.cpp - Finding and loading modules ---===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/syntax/Modules.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include <unistd.h>

namespace h3 {
namespace {

namespace fs = std::filesystem;

/// A folder that is gone after the test.
class Modules : public testing::Test {
protected:
  void SetUp() override {
    std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    folder = fs::path(testing::TempDir()) / ("h3_modules_" + name + std::to_string(::getpid()));
    fs::create_directories(folder);
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string write(const std::string &path, const std::string &text) {
    fs::create_directories((folder / path).parent_path());
    std::ofstream(folder / path, std::ios::binary) << text;
    return (folder / path).string();
  }

  /// The names of the modules in order with what they use, or what went wrong, with the folder
  /// written as `$`.
  std::string load(const std::string &path, SpecSearch search = {}) {
    Diagnostics diagnostics;
    return describe(loadModules(path, search, diagnostics), diagnostics);
  }
  std::string loadText(const std::string &text, SpecSearch search = {}) {
    Diagnostics diagnostics;
    return describe(loadModulesOfText("root.spec", text, search, diagnostics), diagnostics);
  }

  std::string describe(const ModuleSet &set, const Diagnostics &diagnostics) {
    EXPECT_EQ(set.complete(), diagnostics.empty());
    std::string out = diagnostics.renderText();
    for (const Module &module : set.modules) {
      out += module.name + " = " + module.file->source->path;
      for (const auto &[name, index] : module.uses)
        out += " " + name + ":" + std::to_string(index);
      out += "\n";
    }
    for (size_t at; (at = out.find(folder.string())) != std::string::npos;)
      out.replace(at, folder.string().size(), "$");
    return out;
  }

  fs::path folder;
};

TEST_F(Modules, OneFile) { EXPECT_EQ(load(write("a.spec", "op f { }")), " = $/a.spec\n"); }

TEST_F(Modules, DependenciesComeFirstAndOnce) {
  std::string root = write("root.spec", "use lib.a use lib.b");
  write("lib/a.spec", "use lib.c");
  write("lib/b.spec", "use lib.c");
  write("lib/c.spec", "");
  EXPECT_EQ(load(root), "lib.c = $/lib/c.spec\n"
                        "lib.a = $/lib/a.spec c:0\n"
                        "lib.b = $/lib/b.spec c:0\n"
                        " = $/root.spec a:1 b:2\n");
}

TEST_F(Modules, SearchOrder) {
  const EmbeddedSpec embedded[] = {{"eager/norm.spec", "record FromProgram { a: f32 }"}};
  std::string root = write("specs/root.spec", "use eager.norm");
  SpecSearch search{{(folder / "one").string(), (folder / "two").string()}, embedded};
  EXPECT_EQ(load(root, search),
            "eager.norm = <embedded>/eager/norm.spec\n = $/specs/root.spec norm:0\n");
  write("two/eager/norm.spec", "");
  EXPECT_EQ(load(root, search),
            "eager.norm = $/two/eager/norm.spec\n = $/specs/root.spec norm:0\n");
  write("one/eager/norm.spec", "");
  EXPECT_EQ(load(root, search),
            "eager.norm = $/one/eager/norm.spec\n = $/specs/root.spec norm:0\n");
  write("specs/eager/norm.spec", "");
  EXPECT_EQ(load(root, search),
            "eager.norm = $/specs/eager/norm.spec\n = $/specs/root.spec norm:0\n");
}

TEST_F(Modules, AModuleSearchesWhereItWasFound) {
  // In the folder `one`, `a` needs `b`; another `b` in `zero` comes earlier in the path.
  std::string root = write("specs/root.spec", "use m.a");
  write("one/m/a.spec", "use m.b");
  write("one/m/b.spec", "");
  write("zero/m/b.spec", "");
  SpecSearch search{{(folder / "zero").string(), (folder / "one").string()}, {}};
  EXPECT_EQ(load(root, search), "m.b = $/one/m/b.spec\n"
                                "m.a = $/one/m/a.spec b:0\n"
                                " = $/specs/root.spec a:1\n");
  // What stands beside the root replaces both.
  write("specs/m/b.spec", "");
  EXPECT_EQ(load(root, search), "m.b = $/specs/m/b.spec\n"
                                "m.a = $/one/m/a.spec b:0\n"
                                " = $/specs/root.spec a:1\n");
}

TEST_F(Modules, EmbeddedModulesUseEachOther) {
  const EmbeddedSpec embedded[] = {{"lib/a.spec", "use lib.b"}, {"lib/b.spec", ""}};
  EXPECT_EQ(loadText("use lib.a", {{}, embedded}), "lib.b = <embedded>/lib/b.spec\n"
                                                   "lib.a = <embedded>/lib/a.spec b:0\n"
                                                   " = root.spec a:1\n");
}

TEST_F(Modules, SourcesStayWhereTheyAreWhenTheSetMoves) {
  Diagnostics diagnostics;
  const EmbeddedSpec embedded[] = {{"a.spec", "fn f(x: f32) -> f32 = x"}};
  ModuleSet set = loadModulesOfText("root.spec", "use a", {{}, embedded}, diagnostics);
  const SourceFile *source = set.modules[0].file->source;
  ModuleSet moved = std::move(set);
  EXPECT_EQ(moved.modules[0].file->source, source);
  EXPECT_EQ(source->text, "fn f(x: f32) -> f32 = x");
  EXPECT_EQ(&moved.root(), &moved.modules[1]);
}

TEST_F(Modules, UnreadableRoots) {
  EXPECT_EQ(load((folder / "no.spec").string()),
            "error: cannot read '$/no.spec': there is no such file\n");
  EXPECT_EQ(load(folder.string()), "error: cannot read '$': it is a directory\n");
  EXPECT_EQ(load(write("big.spec", std::string((4 << 20) + 1, ' '))),
            "error: cannot read '$/big.spec': the spec has 4194305 bytes; at most 4194304 (4 MiB) "
            "are read\n");
  EXPECT_EQ(load(write("a.spec", "") + "/b.spec"),
            "error: cannot read '$/a.spec/b.spec': there is no such file\n");
  if (::geteuid() != 0) {
    std::string path = write("locked.spec", "");
    fs::permissions(path, fs::perms::none);
    EXPECT_EQ(load(path), "error: cannot read '$/locked.spec': Permission denied\n");
  }
}

TEST_F(Modules, EndlessFilesAreCutOff) {
  EXPECT_EQ(load("/dev/zero"),
            "error: cannot read '/dev/zero': the spec has more than 4194304 bytes (4 MiB)\n");
}

TEST_F(Modules, MissingModule) {
  const EmbeddedSpec embedded[] = {{"eager/math.spec", ""}, {"eager/norm.spec", ""}};
  std::string root = write("a.spec", "use eager.nrm");
  EXPECT_EQ(load(root, {{"lib"}, embedded}),
            "$/a.spec:1:5: error: there is no module 'eager.nrm'\n"
            "use eager.nrm\n"
            "    ^~~~~~~~~\n"
            "  hint: 'eager/nrm.spec' was searched in '$', 'lib' and among the built-in modules "
            "(eager.math, eager.norm); --spec-path adds a folder\n");
  EXPECT_EQ(loadText("use x", {{}, embedded}),
            "root.spec:1:5: error: there is no module 'x'\n"
            "use x\n"
            "    ^\n"
            "  hint: 'x.spec' was searched among the built-in modules (eager.math, eager.norm); "
            "--spec-path adds a folder\n");
  EXPECT_EQ(loadText("use x"),
            "root.spec:1:5: error: there is no module 'x'\n"
            "use x\n"
            "    ^\n"
            "  hint: 'x.spec' was searched nowhere; --spec-path adds a folder\n");
}

TEST_F(Modules, AFolderInPlaceOfAModule) {
  std::string root = write("a.spec", "use b");
  fs::create_directories(folder / "b.spec");
  EXPECT_EQ(load(root), "$/a.spec:1:5: error: cannot read '$/b.spec': it is a directory\n"
                        "use b\n"
                        "    ^\n");
}

TEST_F(Modules, Circles) {
  std::string a = write("a.spec", "use b");
  write("b.spec", "use c");
  write("c.spec", "use b");
  EXPECT_EQ(load(a), "$/c.spec:1:5: error: modules use each other in a circle: 'b' -> 'c' -> 'b'\n"
                     "use b\n"
                     "    ^\n"
                     "  hint: move what both need into a third module\n");
  std::string d = write("d.spec", "use e");
  write("e.spec", "use d");
  EXPECT_EQ(load(d), "$/e.spec:1:5: error: modules use each other in a circle: '$/d.spec' -> 'e' "
                     "-> '$/d.spec'\n"
                     "use d\n"
                     "    ^\n"
                     "  hint: move what both need into a third module\n");
  EXPECT_EQ(load(write("self.spec", "use self")),
            "$/self.spec:1:5: error: a module uses itself\n"
            "use self\n"
            "    ^~~~\n"
            "  hint: leave out this 'use': its names are known here\n");
}

TEST_F(Modules, Clashes) {
  const EmbeddedSpec embedded[] = {{"a/norm.spec", ""}, {"b/norm.spec", ""}};
  EXPECT_EQ(loadText("use a.norm\nuse b.norm", {{}, embedded}),
            "root.spec:2:5: error: two modules are called 'norm' here\n"
            "use b.norm\n"
            "    ^~~~~~\n"
            "  hint: a file can use only one of them\n"
            "root.spec:1:5: note: the other 'use' is here\n"
            "use a.norm\n"
            "    ^~~~~~\n");
  EXPECT_EQ(loadText("use a.norm\nuse a.norm", {{}, embedded}),
            "root.spec:2:5: error: 'a.norm' is used twice\n"
            "use a.norm\n"
            "    ^~~~~~\n"
            "  hint: leave out one of the two\n"
            "root.spec:1:5: note: the other 'use' is here\n"
            "use a.norm\n"
            "    ^~~~~~\n");
}

TEST_F(Modules, AModuleWithErrorsIsReportedOnce) {
  const EmbeddedSpec embedded[] = {
      {"bad.spec", "fn"}, {"a.spec", "use bad"}, {"b.spec", "use bad"}};
  EXPECT_EQ(loadText("use a use b", {{}, embedded}),
            "<embedded>/bad.spec:1:3: error: expected the name of a function, found the end of the "
            "text\n"
            "fn\n"
            "  ^\n");
}

TEST_F(Modules, ChainsAreBounded) {
  for (int i = 0; i < 150; ++i)
    write("m" + std::to_string(i) + ".spec", "use m" + std::to_string(i + 1));
  EXPECT_EQ(load((folder / "m0.spec").string()),
            "$/m99.spec:1:5: error: more than 100 modules use each other in a row\n"
            "use m100\n"
            "    ^~~~\n");
}

TEST_F(Modules, TheSpecsOfThisProject) {
  const std::string specs = H3_SPECS_DIR;
  Diagnostics diagnostics;
  ModuleSet set = loadModules(specs + "/qk_norm_rope.spec", {}, diagnostics);
  ASSERT_TRUE(set.complete()) << diagnostics.renderText();
  ASSERT_EQ(set.modules.size(), 3u);
  EXPECT_EQ(set.modules[0].name, "eager.norm");
  EXPECT_EQ(set.modules[1].name, "eager.rope");
  EXPECT_EQ(set.root().file->operators[0].name.text, "qk_norm_rope");
  EXPECT_TRUE(loadModules(specs + "/swiglu.spec", {}, diagnostics).complete());
  EXPECT_TRUE(loadModules(specs + "/scaled_residual.spec", {}, diagnostics).complete());
}

} // namespace
} // namespace h3
