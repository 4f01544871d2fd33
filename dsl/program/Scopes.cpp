//===-- dsl/program/Scopes.cpp - Diagnostics, scopes and nodes ------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dsl/program/Analyzer.h"

#include <fmt/format.h>

namespace h3 {

namespace {
/// Of what a program may expand to.
constexpr size_t maxNodes = 500'000, maxCalls = 200'000;
/// Of the calls that are listed with an error.
constexpr unsigned maxChain = 10;
} // namespace

Analyzer::Analyzer(const ModuleIndex &index, Program &program, Diagnostics &diagnostics)
    : index(index), program(program), diagnostics(diagnostics), sizes(program) {}

void Analyzer::error(SourceRange range, const std::string &message, const std::string &hint,
                     std::vector<Note> notes) {
  ++errors;
  for (const Diagnostic &earlier : diagnostics.all())
    if (earlier.range.file == range.file && earlier.range.begin == range.begin &&
        earlier.range.end == range.end && earlier.message == message)
      return;
  Diagnostic &made = diagnostics.error(range, message, hint);
  made.notes = std::move(notes);
  unsigned listed = 0;
  for (int at = call; at >= 0; at = program.calls[at].outer) {
    if (++listed > maxChain) {
      made.notes.push_back({{}, "more calls lead here"});
      break;
    }
    made.notes.push_back(
        {program.calls[at].range, fmt::format("in this call of `{}`", program.calls[at].function)});
  }
}

bool Analyzer::declare(const ast::Name &name, Entity entity) {
  const std::string &text = name.text;
  entity.range = name.range;
  if (isBuiltinName(text)) {
    error(name.range,
          fmt::format("`{}` is {}, which cannot be redefined", text,
                      scalarTypeNamed(text) ? "a type" : "a builtin"),
          "choose another name");
    return false;
  }
  if (auto earlier = frame->names.find(text); earlier != frame->names.end()) {
    error(name.range, fmt::format("`{}` has a meaning here already", text),
          "a name has one meaning in a scope; choose another",
          {{earlier->second.range, fmt::format("`{}` is defined here", text)}});
    return false;
  }
  auto keepPoison = [&] {
    frame->names.emplace(text, Entity{});
    frame->order.push_back(text);
    return false;
  };
  if (const Item *item = index.find(*frame->module, text)) {
    error(name.range, fmt::format("`{}` is {} of this module already", text, item->what()),
          "a name has one meaning in a scope; choose another",
          {{item->range, fmt::format("`{}` is defined here", text)}});
    return keepPoison();
  }
  if (frame->module->uses.contains(text)) {
    error(name.range, fmt::format("`{}` is a module that this file uses", text),
          "a name has one meaning in a scope; choose another");
    return keepPoison();
  }
  frame->names.emplace(text, std::move(entity));
  frame->order.push_back(text);
  return true;
}

const Entity *Analyzer::lookup(const std::string &name) const {
  auto found = frame->names.find(name);
  return found == frame->names.end() ? nullptr : &found->second;
}

void Analyzer::leaveScope(size_t mark) {
  while (frame->order.size() > mark) {
    frame->names.erase(frame->order.back());
    frame->order.pop_back();
  }
}

void Analyzer::unknownName(SourceRange range, const std::string &name, std::string_view kind,
                           bool (*wanted)(const Item &), bool values) {
  std::vector<std::string> others;
  if (values)
    others = frame->order;
  else
    for (const std::string &builtin : builtinNames())
      others.push_back(builtin);
  std::string hint = index.suggest(*frame->module, name, wanted, others);
  if (name.ends_with(".rn") && !values) {
    std::string base = name.substr(0, name.size() - 3);
    if (builtinNamed(base + ".rz"))
      hint = fmt::format("rounding to nearest even is not written: `{}`", base == "add"   ? "a + b"
                                                                          : base == "sub" ? "a - b"
                                                                          : base == "mul" ? "a * b"
                                                                          : base == "div"
                                                                              ? "a / b"
                                                                              : base + "(...)");
  }
  error(range, fmt::format("unknown {} `{}`", kind, name), hint);
}

Expr *Analyzer::make(Expr::Kind kind, Type type, SourceRange range) {
  Expr &expr = program.expressions.emplace_back();
  expr.kind = kind;
  expr.type = std::move(type);
  expr.range = range;
  expr.call = call;
  if (!tooLarge && (program.expressions.size() > maxNodes || program.calls.size() > maxCalls)) {
    tooLarge = true;
    error(
        range,
        fmt::format("the operator is too large: it expands to more than {} operations or {} calls",
                    maxNodes, maxCalls),
        "each call is expanded where it stands; name a value that is used often with `let`");
  }
  return &expr;
}

const Expr *Analyzer::makeLiteral(ScalarType type, Bits bits, SourceRange range) {
  Expr *expr = make(Expr::Kind::Literal, Type{type, nullptr, {}}, range);
  expr->bits = bits;
  return expr;
}

const Expr *Analyzer::makeSize(const Size *size, SourceRange range) {
  Expr *expr = make(Expr::Kind::SizeValue, Type{ScalarType::I64, nullptr, {}}, range);
  expr->size = size;
  return expr;
}

const Expr *Analyzer::makeIndex(unsigned variable, SourceRange range) {
  Expr *expr = make(Expr::Kind::Index, Type{ScalarType::I64, nullptr, {}}, range);
  expr->id = variable;
  return expr;
}

const Expr *Analyzer::makeLocal(unsigned local, SourceRange range) {
  Expr *expr = make(Expr::Kind::Local, program.locals[local].type, range);
  expr->id = local;
  return expr;
}

const Expr *Analyzer::makeBuiltin(Builtin op, Type type, std::vector<const Expr *> operands,
                                  SourceRange range) {
  Expr *expr = make(Expr::Kind::Builtin, std::move(type), range);
  expr->op = op;
  expr->operands = std::move(operands);
  return expr;
}

const Expr *Analyzer::copyLeaf(const Expr *leaf, SourceRange range) {
  if (!isLeaf(*leaf))
    return leaf;
  Expr *copy = make(leaf->kind, leaf->type, range);
  copy->bits = leaf->bits;
  copy->id = leaf->id;
  copy->size = leaf->size;
  return copy;
}

unsigned Analyzer::addLocal(const std::string &name, Type type, const Expr *value,
                            SourceRange range) {
  localValues.push_back(value);
  localForms.push_back(value ? affine(*value) : std::nullopt);
  program.locals.push_back({name, range, nullptr, std::move(type)});
  return static_cast<unsigned>(program.locals.size() - 1);
}

unsigned Analyzer::addIndexVariable(const std::string &name, const Size *extent,
                                    SourceRange range) {
  program.indexVariables.push_back({name, range, extent, {}});
  return static_cast<unsigned>(program.indexVariables.size() - 1);
}

Entity Analyzer::valueEntity(const Expr *value, SourceRange range) const {
  Entity entity;
  entity.range = range;
  if (value) {
    entity.kind = Entity::Kind::Value;
    entity.value = value;
  }
  return entity;
}

bool isLeaf(const Expr &value) {
  switch (value.kind) {
  case Expr::Kind::Literal:
  case Expr::Kind::Parameter:
  case Expr::Kind::SizeValue:
  case Expr::Kind::Index:
  case Expr::Kind::Local:
  case Expr::Kind::Tensor:
    return true;
  default:
    return false;
  }
}

bool isSize(const Expr &value) {
  return value.kind == Expr::Kind::SizeValue ||
         (value.kind == Expr::Kind::Literal && value.type.scalar == ScalarType::I64);
}

} // namespace h3
