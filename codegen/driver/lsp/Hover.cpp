//===-- codegen/driver/lsp/Hover.cpp - What is known of an expression -----===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/driver/lsp/Hover.h"

#include "codegen/driver/lsp/Symbols.h"
#include "dsl/program/Builtins.h"

#include <fmt/format.h>

#include <algorithm>

namespace h3::lsp {

namespace {

std::string_view direction(Rounding rounding) {
  switch (rounding) {
  case Rounding::NearestEven:
    return "to nearest even";
  case Rounding::Down:
    return "down";
  case Rounding::Up:
    return "up";
  case Rounding::TowardZero:
    return "toward zero";
  }
  return "";
}

/// Whether each value of \p from is one of \p to.
bool isExact(ScalarType from, ScalarType to) {
  auto rank = [](ScalarType type) {
    switch (type) {
    case ScalarType::E4M3:
    case ScalarType::E5M2:
      return 0;
    case ScalarType::F16:
    case ScalarType::BF16:
      return 1;
    case ScalarType::F32:
      return 2;
    case ScalarType::F64:
      return 3;
    default:
      return -1;
    }
  };
  if (from == ScalarType::I32 && (to == ScalarType::F64 || to == ScalarType::I64))
    return true;
  // Every 8-bit float is an f16 and a bf16.
  return rank(from) >= 0 && rank(to) > rank(from);
}

/// The program's types, by an offset of the text.
class TypeFinder {
public:
  TypeFinder(const Document &document, uint32_t offset)
      : source(document.module()->file->source), offset(offset) {}

  /// Of the smallest expression around the offset, or of what is defined there.
  struct Found {
    SourceRange range;
    std::string text;
  };
  std::optional<Found> find(const Program &program) const {
    const Expr *smallest = nullptr;
    for (const Expr &expr : program.expressions)
      if (contains(expr.range) &&
          (!smallest || size(expr.range) < size(smallest->range) ||
           (size(expr.range) == size(smallest->range) && expr.kind != Expr::Kind::Literal)))
        smallest = &expr;
    std::optional<Found> found;
    if (smallest) {
      std::string text = "`" + toString(smallest->type, program) + "`";
      if (std::string rounding = roundingOf(*smallest); !rounding.empty())
        text += ": " + rounding;
      found = Found{smallest->range, text};
    }
    auto define = [&](const SourceRange &range, std::string text) {
      if (contains(range) && (!found || size(range) <= size(found->range)))
        found = Found{range, std::move(text)};
    };
    for (const Program::Variable &local : program.locals)
      define(local.range, "`" + toString(local.type, program) + "`");
    for (const Program::Variable &index : program.indexVariables)
      if (index.extent)
        define(index.range,
               fmt::format("index from 0, below `{}`", toString(*index.extent, program)));
    for (const Tensor &tensor : program.tensors)
      define(tensor.range,
             fmt::format("`{}`", toString(Type{tensor.type, nullptr, tensor.extents}, program)));
    for (const Parameter &parameter : program.parameters)
      define(parameter.range, fmt::format("`{}`", name(parameter.type)));
    for (const Dim &dim : program.dims)
      define(dim.range, dim.fixed ? fmt::format("size, always {}", *dim.fixed)
                        : dim.definition
                            ? fmt::format("size, `{}`", toString(*dim.definition, program))
                            : "size, bound by the call");
    return found;
  }

private:
  const SourceFile *source;
  uint32_t offset;

  bool contains(const SourceRange &range) const {
    return range.file == source && range.begin <= offset && offset <= range.end;
  }
  static uint32_t size(const SourceRange &range) { return range.end - range.begin; }
};

/// The answers of all programs; each different one once, with the types that lead to it. If a name
/// stands there, only what that name means or heads.
std::optional<HoverText> typesAt(const Document &document, uint32_t offset,
                                 const std::optional<Path> &path) {
  TypeFinder finder(document, offset);
  std::optional<HoverText> text;
  std::vector<std::pair<std::string, std::string>> answers; ///< answer, whose
  /// By operator: its choices of types, and for how many there is an answer.
  std::map<std::string, std::pair<size_t, size_t>> choices;
  for (const std::unique_ptr<Program> &program : document.programs) {
    std::optional<TypeFinder::Found> found = finder.find(*program);
    ++choices[program->name].first;
    if (!found ||
        (path && found->range.begin != path->range.begin && found->range.end != path->range.end))
      continue;
    ++choices[program->name].second;
    if (!text)
      text = HoverText{found->range, ""};
    std::string whose;
    for (const auto &[parameter, type] : program->typeArguments)
      whose += fmt::format("{}{} = {}", whose.empty() ? "" : ", ", parameter, name(type));
    auto same = std::find_if(answers.begin(), answers.end(),
                             [&](const auto &answer) { return answer.first == found->text; });
    if (same == answers.end())
      answers.emplace_back(found->text, whose);
    else if (!whose.empty() && same->second.find(whose) == std::string::npos)
      same->second += (same->second.empty() ? "" : "; ") + whose;
  }
  bool isSame = answers.size() == 1;
  for (const auto &[op, count] : choices)
    isSame &= count.second == 0 || count.second == count.first;
  for (const auto &[answer, whose] : answers)
    text->markdown +=
        isSame || whose.empty() ? answer + "\n" : fmt::format("- {}: {}\n", whose, answer);
  return text;
}

/// The first line of an item: everything up to its body.
std::string headOf(const Item &item) {
  const std::string &text = item.range.file->text;
  std::string word = item.record ? "record " : item.order ? "order " : item.op ? "op " : "fn ";
  SourceRange range = item.range;
  if (item.order)
    range.end = item.order->range.end;
  else if (item.record)
    range.end = static_cast<uint32_t>(std::min(text.find('}', range.end), text.size() - 1) + 1);
  else if (item.function)
    range.end = item.function->result.range.end;
  else
    range.end = static_cast<uint32_t>(std::min(text.find('{', range.end), text.size()));
  std::string head = word + sourceText(range);
  return head.substr(0, head.find_last_not_of(' ') + 1);
}

std::string describe(const Definition &definition, const std::string &shown) {
  if (definition.module) {
    const ast::File &file = *definition.module->file;
    return fmt::format("module `{}`: `{}`\n{}{}", definition.module->name, file.source->path,
                       file.documentation.empty() ? "" : "\n", file.documentation);
  }
  if (!definition.item)
    return fmt::format("{} `{}`\n", definition.kind, shown);
  const Item &item = *definition.item;
  const std::string &documentation = item.record     ? item.record->documentation
                                     : item.order    ? item.order->documentation
                                     : item.function ? item.function->documentation
                                                     : item.op->documentation;
  return fmt::format("```\n{}\n```\n{}{}", headOf(item), documentation,
                     documentation.empty() ? "" : "\n");
}

} // namespace

std::string roundingOf(const Expr &expr) {
  std::string type(expr.type.isScalar() ? name(expr.type.scalar) : "");
  bool isFloatType = expr.type.isScalar() && isFloat(expr.type.scalar);
  if (expr.kind == Expr::Kind::Convert) {
    ScalarType from = expr.operands[0]->type.scalar;
    if (isExact(from, expr.type.scalar))
      return fmt::format("exact conversion from {}", name(from));
    if (!isFloatType)
      return fmt::format("conversion from {}, keeps the low bits", name(from));
    return fmt::format("conversion from {}, rounds to {}, {}{}", name(from), type,
                       direction(expr.rounding),
                       expr.saturate ? ", overflow gives the largest number" : "");
  }
  if (expr.kind != Expr::Kind::Builtin)
    return "";
  switch (expr.op) {
  case Builtin::Fma:
    return fmt::format("product and sum round together, once in {}, {}", type,
                       direction(expr.rounding));
  case Builtin::Add:
  case Builtin::Sub:
  case Builtin::Mul:
    if (!isFloatType)
      return expr.type.isScalar() ? "integer, wraps" : "";
    [[fallthrough]];
  case Builtin::Div:
  case Builtin::Sqrt:
    return fmt::format("rounds once in {}, {}", type, direction(expr.rounding));
  case Builtin::Neg:
  case Builtin::Abs:
  case Builtin::Copysign:
  case Builtin::Max:
  case Builtin::Min:
  case Builtin::MaxNum:
  case Builtin::MinNum:
    return isFloatType ? "exact" : "";
  case Builtin::FromBits:
  case Builtin::ToBits:
    return "the same bits";
  case Builtin::RsqrtApprox:
  case Builtin::Ex2ApproxFtz:
  case Builtin::RcpApproxFtz:
  case Builtin::SqrtApprox:
    return "approximation: the bits of NVIDIA's special function unit";
  default:
    return "";
  }
}

std::optional<HoverText> hover(const Document &document, uint32_t offset) {
  if (!document.module())
    return std::nullopt;
  const SourceFile &source = *document.module()->file->source;
  std::optional<Path> path = pathAt(source, offset);
  std::optional<HoverText> result = typesAt(document, offset, path);
  if (!path)
    return result;
  std::optional<Definition> definition = Symbols(document).find(*path, offset);
  std::string above;
  if (definition)
    above = describe(*definition, path->components.back());
  else if (isBuiltinName(path->whole))
    above = fmt::format("builtin `{}`\n", path->whole);
  if (above.empty())
    return result;
  if (!result)
    return HoverText{path->range, above};
  result->markdown = above + "\n" + result->markdown;
  return result;
}

} // namespace h3::lsp
