//===-- tests/unit/format/RandomSpec.cpp - Specs that parse, at random ----===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "tests/unit/format/RandomSpec.h"

namespace h3::test {

namespace {

/// One method a production of the grammar.
class Generator {
public:
  explicit Generator(std::mt19937_64 &random) : random(random) {}

  std::vector<std::string> file() {
    for (size_t count = below(3); count > 0; --count)
      use();
    for (size_t count = 1 + below(4); count > 0; --count)
      item();
    return std::move(tokens);
  }

private:
  std::mt19937_64 &random;
  std::vector<std::string> tokens;
  unsigned depth = 0;

  size_t below(size_t n) { return random() % n; }
  /// Whether there is room for more: the grammar alone would go on for megabytes.
  bool mayNest(unsigned levels) const { return depth < levels && tokens.size() < 1500; }
  bool maybe(size_t oneIn = 2) { return below(oneIn) == 0; }
  void put(std::string token) { tokens.push_back(std::move(token)); }
  template <typename... Rest> void put(std::string token, Rest... rest) {
    put(std::move(token));
    put(rest...);
  }
  template <typename Element> void list(size_t most, Element element) {
    for (size_t count = 1 + below(most); count > 0; --count) {
      element();
      if (count > 1)
        put(",");
    }
  }

  void name() {
    static const char *names[] = {"x",    "y",      "eps", "scale", "T",   "residual_of_the_branch",
                                  "norm", "weight", "n",   "d",     "f32", "a_rather_long_name"};
    put(names[below(std::size(names))]);
  }
  void path() {
    name();
    while (maybe(4)) {
      put(".");
      name();
    }
  }
  void number() {
    static const char *numbers[] = {"0", "1", "64", "1.0", "1e-5", "0x3F800000", "2.5e+10"};
    put(numbers[below(std::size(numbers))]);
  }

  void use() {
    put("use");
    path();
  }

  void item() {
    switch (below(6)) {
    case 0:
      put("record");
      name();
      put("{");
      list(6, [&] {
        name();
        put(":");
        path();
      });
      return put("}");
    case 1:
      return order();
    case 2:
    case 3:
      return function();
    default:
      return op();
    }
  }

  void order() {
    put("order");
    name();
    put("=", "(");
    list(5, [&] {
      maybe() ? put("_") : name();
      if (maybe())
        put(":", "32");
    });
    put(")");
    for (size_t stages = below(4); stages > 0; --stages) {
      static const char *joins[] = {"serial", "halving", "adjacent"};
      put("then", joins[below(3)]);
      name();
    }
  }

  void generics() {
    if (maybe())
      return;
    put("<");
    list(2, [&] {
      name();
      if (maybe()) {
        put(":");
        path();
        while (maybe()) {
          put("|");
          path();
        }
      }
    });
    put(">");
  }

  void type() {
    if (maybe(8))
      return put("order");
    path();
    if (maybe()) {
      put("[");
      list(3, [&] { sum(); });
      put("]");
    }
  }

  void params() {
    put("(");
    list(5, [&] {
      name();
      put(":");
      type();
      if (maybe(4)) {
        put("=");
        expr();
      }
    });
    put(")");
  }

  void function() {
    put("fn");
    name();
    generics();
    params();
    put("->");
    type();
    if (maybe()) {
      put("=");
      return rhs();
    }
    put("{");
    for (size_t lets = below(4); lets > 0; --lets)
      let();
    put("return");
    rhs();
    put("}");
  }

  void op() {
    put("op");
    name();
    generics();
    if (maybe())
      params();
    if (maybe(4))
      put("each");
    put("{");
    for (size_t count = below(6); count > 0; --count)
      declaration();
    for (size_t count = below(5); count > 0; --count)
      statement(/*insideFor=*/false);
    put("}");
  }

  void declaration() {
    switch (below(4)) {
    case 0:
      put("dim");
      return list(5, [&] {
        name();
        if (maybe()) {
          put("=");
          sum();
        }
      });
    case 1:
      put("require");
      return expr();
    default:
      put(maybe() ? "in" : "out");
      list(3, [&] { name(); });
      put(":");
      type();
      size_t clauses = below(8);
      if (clauses & 1) {
        put("strides", "(");
        list(4, [&] { put(maybe() ? "_" : "1"); });
        put(")");
      }
      if (clauses & 2) {
        put("may", "alias");
        name();
      }
      if (clauses & 4)
        put("align", "(", "4", ")");
    }
  }

  void statement(bool insideFor) {
    if (!insideFor && maybe(4)) {
      put("for");
      list(2, [&] { binderDigit(); });
      put("{");
      for (size_t count = below(4); count > 0; --count)
        statement(/*insideFor=*/true);
      return put("}");
    }
    if (maybe())
      return let();
    name();
    if (maybe()) {
      put("[");
      list(3, [&] {
        if (maybe(3)) {
          put("(");
          list(3, [&] { name(); });
          put(")");
        } else {
          name();
        }
      });
      put("]");
    }
    put("=");
    rhs();
  }

  void let() {
    put("let");
    name();
    if (maybe(4)) {
      binders();
    } else if (maybe(4)) {
      put(":");
      type();
    }
    put("=");
    rhs();
  }

  void binderDigit() {
    name();
    put(":");
    sum();
  }
  void binder() {
    if (maybe(3)) {
      put("(");
      list(3, [&] { binderDigit(); });
      put(")");
    } else {
      binderDigit();
    }
  }
  void binders() {
    put("[");
    list(2, [&] { binder(); });
    put("]");
  }

  void rhs() {
    if (!maybe(4))
      return expr();
    put("reduce");
    binder();
    put("by");
    maybe() ? put("any") : path();
    if (maybe()) {
      put("from");
      name();
      if (maybe()) {
        put(":");
        path();
      }
      put("=");
      expr();
      put("step");
      name();
      put("=");
      expr();
    } else {
      put("of");
      expr();
    }
    put("join", "(");
    name();
    put(",");
    name();
    put(")", "=");
    expr();
  }

  void expr() {
    ++depth;
    if (mayNest(7) && maybe(5)) {
      put("if");
      expr();
      put("then");
      expr();
      put("else");
      expr();
    } else if (mayNest(7) && maybe(8)) {
      binders();
      expr();
    } else {
      binary({"or"}, [&] { binary({"and"}, [&] { negation(); }); });
    }
    --depth;
  }
  template <typename Operand>
  void binary(std::initializer_list<const char *> operators, Operand operand, size_t oneIn = 6) {
    operand();
    for (size_t count = 0; count < 6 && mayNest(9) && maybe(oneIn); ++count) {
      put(operators.begin()[below(operators.size())]);
      operand();
    }
  }
  void negation() {
    if (maybe(10))
      put("not");
    sum();
    if (maybe(5)) {
      static const char *comparisons[] = {"<", "<=", ">", ">=", "==", "!="};
      put(comparisons[below(6)]);
      sum();
    }
  }
  void sum() {
    binary({"+", "-"}, [&] { binary({"*", "/", "%"}, [&] { unary(); }, 3); }, 3);
  }
  void unary() {
    while (maybe(8))
      put("-");
    postfix();
  }

  void postfix() {
    ++depth;
    if (mayNest(9) && maybe(5)) {
      put("(");
      expr();
      put(")");
    } else if (maybe(4)) {
      number();
    } else if (maybe(10)) {
      static const char *words[] = {"inf", "nan", "true", "false"};
      put(words[below(4)]);
    } else {
      path();
      if (mayNest(9) && maybe(3))
        arguments();
    }
    while (mayNest(9) && maybe(5)) {
      if (maybe()) {
        put(".");
        name();
        continue;
      }
      put("[");
      list(3, [&] { subscript(); });
      put("]");
    }
    --depth;
  }
  void subscript() {
    if (!maybe(4))
      return expr();
    put("(");
    expr();
    put(",");
    list(2, [&] { expr(); });
    put(")");
  }
  void arguments() {
    bool isNamed = maybe(3);
    put("(");
    list(4, [&] {
      if (isNamed) {
        name();
        put("=");
      }
      expr();
    });
    put(")");
  }
};

} // namespace

std::vector<std::string> randomSpec(std::mt19937_64 &random) { return Generator(random).file(); }

std::string scattered(const std::vector<std::string> &tokens, std::mt19937_64 &random) {
  auto oneIn = [&](unsigned n) { return random() % n == 0; };
  static const char *comments[] = {"// a comment\n", "//\n", "// ---- Part  \n",
                                   "//with \xC3\xA9 and \t tab\r\n"};
  // Some texts have comments everywhere, some have none.
  unsigned rarity = 1u << (random() % 10);
  std::string text;
  for (const std::string &token : tokens) {
    text += token;
    if (oneIn(3 * rarity)) // `/` and `//` are a comment too many
      text += std::string(oneIn(2) ? "  " : " ") + comments[random() % 4];
    while (oneIn(4 * rarity))
      text += std::string(oneIn(2) ? "\n    " : "\n\n\n") + comments[random() % 4];
    text += oneIn(6) ? (oneIn(4) ? "\n\n \n" : "\n") : " ";
  }
  return text;
}

} // namespace h3::test
