//===-- tests/unit/syntax/DiagnosticTest.cpp - How errors look ------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/syntax/Diagnostic.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace h3 {
namespace {

std::string rendered(const std::string &text, uint32_t begin, uint32_t end) {
  SourceFile source{"t.spec", text};
  Diagnostics diagnostics;
  diagnostics.error({&source, begin, end}, "m");
  return diagnostics.renderText();
}

TEST(Diagnostic, LineAndColumn) {
  SourceFile source{"t.spec", "a\nb\xC3\xA9"
                              "c\n\nd"};
  auto at = [&](uint32_t offset) {
    LineColumn place = lineColumn(source, offset);
    return std::to_string(place.line) + ":" + std::to_string(place.column);
  };
  EXPECT_EQ(at(0), "1:1");
  EXPECT_EQ(at(1), "1:2");
  EXPECT_EQ(at(2), "2:1");
  EXPECT_EQ(at(3), "2:2");
  EXPECT_EQ(at(5), "2:3");
  EXPECT_EQ(at(7), "3:1");
  EXPECT_EQ(at(8), "4:1");
  EXPECT_EQ(at(9), "4:2");
  EXPECT_EQ(at(1000), "4:2");
}

TEST(Diagnostic, ErrorWithHintAndNotes) {
  SourceFile source{"specs/x.spec", "fn f(x: f32) -> f32 {\n  let a = b\n}\n"};
  Diagnostics diagnostics;
  EXPECT_TRUE(diagnostics.empty());
  Diagnostic &made = diagnostics.error({&source, 32, 33}, "unknown name 'b'", "declare it");
  made.notes.push_back({{&source, 3, 4}, "in 'f'"});
  made.notes.push_back({{}, "without a place"});
  diagnostics.error({}, "cannot read 'y.spec'");
  EXPECT_FALSE(diagnostics.empty());
  EXPECT_EQ(diagnostics.size(), 2u);
  EXPECT_EQ(diagnostics.renderText(), "specs/x.spec:2:11: error: unknown name 'b'\n"
                                      "  let a = b\n"
                                      "          ^\n"
                                      "  hint: declare it\n"
                                      "specs/x.spec:1:4: note: in 'f'\n"
                                      "fn f(x: f32) -> f32 {\n"
                                      "   ^\n"
                                      "note: without a place\n"
                                      "error: cannot read 'y.spec'\n");
}

TEST(Diagnostic, CaretCoversTheRange) {
  EXPECT_EQ(rendered("abc def", 4, 7), "t.spec:1:5: error: m\nabc def\n    ^~~\n");
  EXPECT_EQ(rendered("abc def", 7, 7), "t.spec:1:8: error: m\nabc def\n       ^\n");
  EXPECT_EQ(rendered("abc\ndef", 1, 6), "t.spec:1:2: error: m\nabc\n ^~\n");
  EXPECT_EQ(rendered("", 0, 0), "t.spec:1:1: error: m\n\n^\n");
  EXPECT_EQ(rendered("a\r\nb", 3, 4), "t.spec:2:1: error: m\nb\n^\n");
  EXPECT_EQ(rendered("ab\r\nb", 0, 2), "t.spec:1:1: error: m\nab\n^~\n");
}

TEST(Diagnostic, TabsAndCharactersLineUp) {
  EXPECT_EQ(rendered("\ta\tb", 3, 4), "t.spec:1:4: error: m\n\ta\tb\n\t \t^\n");
  EXPECT_EQ(rendered("// \xC3\xA9\xE2\x89\xA4 b", 9, 10),
            "t.spec:1:7: error: m\n// \xC3\xA9\xE2\x89\xA4 b\n      ^\n");
}

TEST(Diagnostic, LongLinesAreCut) {
  std::string line(1000, 'a');
  EXPECT_EQ(rendered(line, 0, 1000), "t.spec:1:1: error: m\n" + std::string(100, 'a') + "...\n^" +
                                         std::string(99, '~') + "\n");
  EXPECT_EQ(rendered(line, 500, 503), "t.spec:1:501: error: m\n..." + std::string(100, 'a') +
                                          "...\n" + std::string(63, ' ') + "^~~\n");
  EXPECT_EQ(rendered(line, 999, 1000), "t.spec:1:1000: error: m\n..." + std::string(61, 'a') +
                                           "\n" + std::string(63, ' ') + "^\n");
  // A window never begins inside a character.
  std::string wide;
  for (int i = 0; i < 300; ++i)
    wide += "\xE2\x89\xA4";
  std::string out = rendered(wide, 450, 453);
  EXPECT_EQ(out.find("\xEF\xBF\xBD"), std::string::npos) << out;
}

TEST(Diagnostic, NothingUnprintableReachesTheTerminal) {
  EXPECT_EQ(rendered("a\x1B[2Jb\xFF", 0, 1),
            "t.spec:1:1: error: m\na\xEF\xBF\xBD[2Jb\xEF\xBF\xBD\n^\n");
}

TEST(Diagnostic, RecordsTwentyAndCountsAll) {
  Diagnostics diagnostics;
  for (int i = 0; i < 21; ++i)
    diagnostics.error({}, "m" + std::to_string(i)).notes.push_back({{}, "n"});
  EXPECT_EQ(diagnostics.size(), 21u);
  EXPECT_EQ(diagnostics.all().size(), 20u);
  std::string text = diagnostics.renderText();
  EXPECT_EQ(text.substr(text.rfind("error: m19")),
            "error: m19\nnote: n\n1 more error is not shown\n");
  diagnostics.error({}, "m");
  text = diagnostics.renderText();
  EXPECT_EQ(text.substr(text.rfind("note: n\n") + 8), "2 more errors are not shown\n");
}

TEST(Diagnostic, Json) {
  EXPECT_EQ(Diagnostics().renderJson(), "[]\n");
  SourceFile source{"a\"b.spec", "x\ny z\n"};
  Diagnostics diagnostics;
  diagnostics.error({&source, 4, 5}, "say \"no\"\\", "tab\there\x01")
      .notes.push_back({{&source, 0, 3}, "line\nbreak \xFF\xED\xA0\x80."});
  diagnostics.error({}, "\xE2\x89\xA4");
  nlohmann::json json = nlohmann::json::parse(diagnostics.renderJson());
  EXPECT_EQ(json, nlohmann::json::parse(R"([
    {"file": "a\"b.spec", "line": 2, "column": 3, "end_line": 2, "end_column": 4,
     "message": "say \"no\"\\", "hint": "tab\there\u0001",
     "notes": [{"file": "a\"b.spec", "line": 1, "column": 1, "end_line": 2, "end_column": 2,
                "message": "line\nbreak \ufffd\ufffd."}]},
    {"file": null, "line": null, "column": null, "end_line": null, "end_column": null,
     "message": "\u2264", "hint": "", "notes": []}])"));
}

} // namespace
} // namespace h3
