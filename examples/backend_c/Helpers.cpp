//===-- examples/backend_c/Helpers.cpp - Functions that are written where they are needed -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Helpers.h"

#include "c11_parts.h"

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>

std::string cType(const Type &type) {
  if (type.is("i1"))
    return "bool";
  if (type.is("f32"))
    return "float";
  if (type.is("f64"))
    return "double";
  if (type.is("ptr"))
    return "unsigned char *";
  return "uint" + std::to_string(type.bits()) + "_t";
}

/// A float of 32 or 64 bits as C writes it.
static std::string floatLiteral(const Type &type, uint64_t bits) {
  char text[64];
  const bool isSingle = type.is("f32");
  double value;
  if (isSingle) {
    auto low = static_cast<uint32_t>(bits);
    float single;
    std::memcpy(&single, &low, sizeof single);
    value = single;
  } else {
    std::memcpy(&value, &bits, sizeof value);
  }
  const uint64_t infinity = isSingle ? 0x7F800000 : 0x7FF0000000000000;
  if ((bits & (isSingle ? 0x7FFFFFFF : 0x7FFFFFFFFFFFFFFF)) >= infinity) {
    std::snprintf(text, sizeof text,
                  isSingle ? "h3_f32_of_bits(0x%llXu)" : "h3_f64_of_bits(0x%llXu)",
                  static_cast<unsigned long long>(bits));
    return text;
  }
  // Whole numbers are easier read in decimal.
  const char *form = value == static_cast<double>(static_cast<int32_t>(
                                  value < 1e9 && value > -1e9 ? value : 0.5)) &&
                             value != 0
                         ? "%.1f"
                         : "%a";
  std::snprintf(text, sizeof text, form, value);
  return std::string(text) + (isSingle ? "f" : "");
}

std::string literal(const Type &type, const std::string &hex) {
  const uint64_t bits = std::stoull(hex, nullptr, 16);
  if (type.is("i1"))
    return bits ? "true" : "false";
  if (type.is("f32") || type.is("f64"))
    return floatLiteral(type, bits);
  char text[32];
  const char *form = type.isFloat() || bits > 65535 ? "0x%llX" : "%llu";
  std::snprintf(text, sizeof text, form, static_cast<unsigned long long>(bits));
  return std::string(text) + (type.isFloat() ? "" : type.is("i64") ? "ull" : "u");
}

static bool isHalf(const std::string &type) { return type == "f16" || type == "bf16"; }

static std::string declared(const std::string &type) { return cType({type, 1}); }

/// The bits of a value, and a value of bits.
static std::string bitsOf(const std::string &type, const std::string &value) {
  return type == "f32" || type == "f64" ? "h3_bits_of_" + type + "(" + value + ")" : value;
}
static std::string valueOf(const std::string &type, const std::string &bits) {
  return type == "f32" || type == "f64"
             ? "h3_" + type + "_of_bits((" + (type == "f32" ? "uint32_t" : "uint64_t") + ")" +
                   bits + ")"
             : "(" + declared(type) + ")" + bits;
}

static unsigned operandsOf(const std::string &operation) {
  return operation == "fma"                                                ? 3
         : operation == "sqrt" || operation == "abs" || operation == "neg" ? 1
                                                                           : 2;
}

/// `static inline TYPE NAME(TYPE a, TYPE b)`
static std::string heading(const std::string &type, const std::string &name, unsigned operands) {
  std::string text = "static inline " + declared(type) + " " + name + "(";
  for (unsigned k = 0; k < operands; ++k)
    text += std::string(k ? ", " : "") + declared(type) + " " + char('a' + k);
  return text + ")";
}

std::string Helpers::arithmetic(const std::string &operation, const std::string &type,
                                const std::string &rounding) {
  const bool isNearest = rounding == "rn";
  const unsigned operands = operandsOf(operation);
  std::string name = "h3_" + operation + "_" + type + (isNearest ? "" : "_" + rounding);
  std::string body;
  // Rounded to f32's 24 bits first, a sum, product, quotient or root of f16 or bf16 rounds to the
  // same (Figueroa, When is double rounding innocuous, 1995); a fused multiply-add does not.
  if (isNearest && isHalf(type) && operation != "fma") {
    static const std::map<std::string, std::string> signs = {
        {"add", " + "}, {"sub", " - "}, {"mul", " * "}, {"div", " / "}};
    auto wide = [&](const char *operand) { return "h3_f32_of_" + type + "(" + operand + ")"; };
    body = "h3_" + type + "_of_f32(" +
           (operation == "sqrt" ? "sqrtf(" + wide("a") + ")"
                                : wide("a") + signs.at(operation) + wide("b")) +
           ")";
  } else {
    isExact = true;
    std::string call = "h3_" + operation + "(h3_" + type;
    for (unsigned k = 0; k < operands; ++k)
      call += ", " + bitsOf(type, std::string(1, char('a' + k)));
    body = valueOf(type, call + ", h3_" + rounding + ")");
  }
  defined[name] = heading(type, name, operands) + " { return " + body + "; }\n";
  return name;
}

std::string Helpers::exact(const std::string &operation, const std::string &type) {
  std::string name = "h3_" + operation + "_" + type;
  if (!isHalf(type))
    return name; // of c11/base.h
  std::string body;
  if (operation == "copysign") {
    std::string infinity = type == "f16" ? "0x7C00" : "0x7F80";
    body = "(uint16_t)((a & 0x7FFF) | ((b & 0x7FFF) > " + infinity + " ? 0 : b & 0x8000))";
  } else {
    body = "h3_" + type + "_of_f32(h3_" + operation + "_f32(h3_f32_of_" + type + "(a), h3_f32_of_" +
           type + "(b)))";
  }
  defined[name] = heading(type, name, 2) + " { return " + body + "; }\n";
  return name;
}

std::string Helpers::conversion(const std::string &from, const std::string &to,
                                const std::string &rounding, bool saturate) {
  const bool isNearest = rounding == "rn";
  std::string name =
      "h3_" + to + "_of_" + from + (isNearest ? "" : "_" + rounding) + (saturate ? "_sat" : "");
  if (isNearest && ((isHalf(from) && to == "f32") || (from == "f32" && isHalf(to))))
    return name; // of c11/base.h
  isExact = true;
  std::string call, end = ", h3_" + rounding + (saturate ? ", true)" : ", false)");
  if (from == "i32" || from == "i64")
    call = "h3_convert_integer(h3_" + to + ", h3_signed_" + from + "(a)" + end;
  else
    call = "h3_convert(h3_" + from + ", h3_" + to + ", " + bitsOf(from, "a") + end;
  defined[name] = "static inline " + declared(to) + " " + name + "(" + declared(from) +
                  " a) { return " + valueOf(to, call) + "; }\n";
  return name;
}

std::string Helpers::approximation(const std::string &function) {
  std::string name = "h3_" + function;
  for (char &c : name)
    if (c == '.')
      c = '_';
  std::string table = function.substr(0, function.find('.'));
  if (!c11Parts().contains("approx_" + table + ".h"))
    throw std::runtime_error("there is no model of the approximation '" + function + "'");
  tables.insert(table);
  return name;
}

std::string Helpers::text() const {
  std::string text = c11Parts().at("base.h");
  if (isExact)
    text += "\n" + c11Parts().at("exact.h");
  if (!tables.empty())
    text += "\n" + c11Parts().at("approx.h");
  for (const std::string &table : tables)
    text += "\n" + c11Parts().at("approx_" + table + ".h");
  if (!defined.empty())
    text += "\n/* ---- Operations of these kernels "
            "---------------------------------------------------------------- */\n\n";
  for (const auto &[name, definition] : defined)
    text += definition;
  return text;
}
