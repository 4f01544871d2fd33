//===-- tests/unit/runtime/json/CanonicalTest.cpp - Canonical JSON --------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/json/Fields.h"
#include "runtime/json/Value.h"
#include "runtime/json/Writer.h"

#include <gtest/gtest.h>

using namespace h3::json;

namespace {

std::string errorOf(std::string_view text) {
  const auto document = Document::parse(text);
  return document ? "good" : document.error().message;
}

void write(const Value &value, Writer &w) {
  switch (value.kind()) {
  case Kind::Null:
    return w.null();
  case Kind::Boolean:
    return w.boolean(*value.boolean());
  case Kind::Integer:
    return w.integer(*value.integer());
  case Kind::String:
    return w.string(*value.string());
  case Kind::Array:
    return w.array(value, [&](const Value &element) { write(element, w); });
  case Kind::Object:
    w.open('{');
    for (Value::Iterator i = value.begin(); i != value.end(); ++i) {
      w.key(i.key());
      write(*i, w);
    }
    return w.close('}');
  }
}

TEST(CanonicalJson, WhatIsReadIsWrittenAgain) {
  for (std::string_view text :
       {R"({})", R"([])", R"(0)", R"(-9223372036854775808)", R"(9223372036854775807)", R"("")",
        R"({"a":[1,2,{"b":null,"c":[]}],"aa":{},"b":true,"é":"ü€𝄞"})",
        R"(["\"\\\u0000\u001f",false,[[],[[]]]])", R"([{"x":"a\\b\"c"},"plain","esc\\"])"}) {
    const auto document = Document::parse(text);
    ASSERT_TRUE(document) << text << ": " << document.error().message;
    Writer w;
    write(document->root(), w);
    EXPECT_EQ(w.take(), text);
  }
}

TEST(CanonicalJson, Access) {
  const std::string text = R"({"a":[1,"x\\y"],"b":{"c":true}})";
  const auto document = Document::parse(text);
  ASSERT_TRUE(document);
  const Value root = document->root();
  EXPECT_EQ(root.size(), 2u);
  EXPECT_EQ(root.find("a")->size(), 2u);
  EXPECT_EQ((*++root.find("a")->begin()).string(), "x\\y");
  EXPECT_EQ(root.find("b")->find("c")->boolean(), true);
  EXPECT_FALSE(root.find("c"));
  EXPECT_FALSE(root.find("a")->find("c"));
  EXPECT_FALSE(root.integer());
}

TEST(CanonicalJson, AnythingElseIsRefusedWithItsPlace) {
  EXPECT_EQ(errorOf(""), "the text ends, expected a value at byte 0");
  EXPECT_EQ(errorOf(" 1"), "expected a value at byte 0");
  EXPECT_EQ(errorOf("1 "), "there is more behind the value at byte 1");
  EXPECT_EQ(errorOf("[1, 2]"), "expected a value at byte 3");
  EXPECT_EQ(errorOf("[1,]"), "expected a value at byte 3");
  EXPECT_EQ(errorOf("[,1]"), "expected a value at byte 1");
  EXPECT_EQ(errorOf("[1"), "the text ends, expected ',' or ']' at byte 2");
  EXPECT_EQ(errorOf("[1}"), "expected ',' or ']' at byte 2");
  EXPECT_EQ(errorOf(R"({"a" :1})"), "expected ':' at byte 4");
  EXPECT_EQ(errorOf(R"({"a":1,})"), "expected a key at byte 7");
  EXPECT_EQ(errorOf(R"({1:2})"), "expected a key at byte 1");
  EXPECT_EQ(errorOf(R"({"b":1,"a":2})"), "the key 'a' behind 'b', keys are sorted at byte 7");
  EXPECT_EQ(errorOf(R"({"a":1,"a":2})"), "the key 'a' a second time at byte 7");
  EXPECT_EQ(errorOf(R"({"\\":1})"), "a key with an escape at byte 1");
  for (const char *number : {"-0", "01", "1.0", "1e3", "+1", "-", "0x1", "1.", "--1"})
    EXPECT_NE(errorOf(number), "good") << number;
  EXPECT_EQ(errorOf("9223372036854775808"), "a number beyond 64 bits at byte 0");
  EXPECT_EQ(errorOf("\"a\nb\""), "a control character in a string at byte 2");
  EXPECT_EQ(errorOf(R"("a)"), "the text ends, expected '\"' at byte 2");
  for (const char *escape :
       {R"("\n")", R"("\/")", R"("\u0041")", R"("\u000A")", R"("\u00")", R"("\)"})
    EXPECT_TRUE(errorOf(escape).starts_with("an escape other than")) << escape;
  for (const char *word : {"nul", "True", "falsey", "NaN"})
    EXPECT_NE(errorOf(word), "good") << word;
  EXPECT_NE(errorOf(std::string_view("1\0", 2)), "good");
}

TEST(CanonicalJson, StringsAreUtf8) {
  for (const char *text : {"\x80", "\xC0\x80", "\xC1\xBF", "\xC3", "\xE0\x9F\xBF", "\xED\xA0\x80",
                           "\xE2\x82", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80"})
    EXPECT_EQ(errorOf('"' + std::string(text) + '"'), "a string that is not UTF-8 at byte 1");
  for (const char *text : {"\xC2\x80", "\xED\x9F\xBF", "\xEE\x80\x80", "\xF4\x8F\xBF\xBF"})
    EXPECT_EQ(errorOf('"' + std::string(text) + '"'), "good");
}

TEST(CanonicalJson, Depth) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(errorOf(nested(32)), "good");
  EXPECT_EQ(errorOf(nested(33)), "more than 32 arrays and objects in each other at byte 32");
  EXPECT_EQ(errorOf(std::string(1 << 20, '[')),
            "more than 32 arrays and objects in each other at byte 32");
}

TEST(CanonicalJson, NumberOfValues) {
  std::string text = "[0";
  for (size_t i = 2; i < kMaxValues; ++i)
    text += ",0";
  EXPECT_EQ(errorOf(text + "]"), "good");
  EXPECT_TRUE(errorOf(text + ",0]").starts_with("more than 4194304 values"));
}

TEST(CanonicalJson, FieldsSayWhatIsWrong) {
  const auto errorOf = [](std::string_view text) {
    const auto document = Document::parse(text);
    Problem problem;
    Fields fields(document->root(), "thing", problem);
    fields.integer("a", 1, 9);
    fields.takeOptional("b");
    fields.string("c");
    fields.finish();
    return problem.message();
  };
  EXPECT_EQ(errorOf(R"({"a":1,"c":""})"), "");
  EXPECT_EQ(errorOf(R"({"a":1,"b":0,"c":""})"), "");
  EXPECT_EQ(errorOf(R"({"a":0,"c":""})"), "thing: 'a' is 0, expected 1 to 9");
  EXPECT_EQ(errorOf(R"({"a":"","c":""})"), "thing: 'a' is a string, expected a number");
  EXPECT_EQ(errorOf(R"({"c":""})"), "thing: expected the field 'a', found 'c'");
  EXPECT_EQ(errorOf(R"({"a":1})"), "thing: expected the field 'c', found nothing");
  EXPECT_EQ(errorOf(R"({"a":1,"c":"","d":1})"), "thing: unknown field 'd'");
  EXPECT_EQ(errorOf(R"([])"), "thing: expected an object, found an array");
}

} // namespace
