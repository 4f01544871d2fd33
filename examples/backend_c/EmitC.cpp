//===-- examples/backend_c/EmitC.cpp - Scheduled kernels as C11 -----------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A scalar becomes a constant, a vector an array. Operations on the elements of vectors that stand
// beside each other share one loop over the elements; a value that is used inside that loop alone
// becomes a scalar there.
//
//===----------------------------------------------------------------------===//

#include "EmitC.h"

#include "Helpers.h"

#include <set>
#include <stdexcept>
#include <utility>

namespace {

std::string text(uint64_t number) { return std::to_string(number); }

/// Whether each element of the result follows from the same elements of the operands.
bool isElementwise(const std::string &name) {
  static const std::set<std::string> others = {
      "constant", "undefined", "extract", "insert",   "shuffle",     "load",
      "store",    "if",        "for",     "yield",    "address",     "block",
      "thread",   "barrier",   "shared",  "exchange", "wave_barrier"};
  return !others.contains(name);
}

/// Whether the value is written where it is used.
bool standsWhereUsed(const Operation &op) {
  return op.name == "undefined" || (op.name == "constant" && op.fields.at("bits").size() == 1);
}

class Emitter {
public:
  Emitter(const Kernel &kernel, Helpers &helpers)
      : kernel(kernel), helpers(helpers), names(kernel.types.size()), splats(kernel.types.size()),
        isScalarInLoop(kernel.types.size()) {}

  std::string run();

private:
  const Type &typeOf(unsigned value) const { return kernel.types.at(value); }
  std::string fresh(unsigned value) { return names[value] = "v" + text(value); }

  void line(const std::string &content) { code += std::string(depth * 2, ' ') + content + "\n"; }
  void block(const Block &block);
  /// How many operations from `first` on share one loop.
  size_t groupLength(const Block &block, size_t first) const;
  void group(const Block &block, size_t first, size_t count);
  void statement(const Operation &op);
  void constant(const Operation &op);
  void load(const Operation &op);
  void store(const Operation &op);
  void insert(const Operation &op);
  void shuffle(const Operation &op);
  void branch(const Operation &op);
  void loop(const Operation &op);
  void region(const Block &block, const std::vector<unsigned> &into);

  /// `const float v7`, `float v7[8]`
  std::string declaration(unsigned value, bool isConstant) {
    const Type &type = typeOf(value);
    std::string name = fresh(value);
    if (type.isVector())
      return cType(type) + " " + name + "[" + text(type.count) + "]";
    std::string base = cType(type);
    return (isConstant && !type.is("ptr") ? "const " : "") + base +
           (base.back() == '*' ? "" : " ") + name;
  }
  void assign(const std::string &to, unsigned from);

  /// A scalar, or the element `i` of a vector inside a loop.
  std::string ref(unsigned value) const {
    if (typeOf(value).isVector() && splats[value].empty() && !isScalarInLoop[value])
      return names[value] + "[i]";
    return splats[value].empty() ? names[value] : splats[value];
  }
  /// Element \p index of a vector.
  std::string element(unsigned value, const std::string &index) const {
    return splats[value].empty() ? names[value] + "[" + index + "]" : splats[value];
  }
  /// An index into an array.
  std::string place(unsigned value) const {
    std::string index = ref(value);
    while (!splats[value].empty() && (index.back() == 'u' || index.back() == 'l'))
      index.pop_back();
    return index;
  }
  std::string expression(const Operation &op);
  std::string floatExpression(const Operation &op, const Type &type);
  std::string integerExpression(const Operation &op, const Type &type);
  std::string conversion(const Operation &op);
  std::string comparison(const Operation &op);
  std::string signedOf(unsigned value) const {
    const Type &type = typeOf(value);
    if (type.is("i32") || type.is("i64"))
      return "h3_signed_" + type.element + "(" + ref(value) + ")";
    return "(int" + text(type.bits()) + "_t)" + ref(value);
  }
  /// The value as a float or double, to compare.
  std::string comparable(unsigned value) const {
    const Type &type = typeOf(value);
    return type.is("f16") || type.is("bf16") ? "h3_f32_of_" + type.element + "(" + ref(value) + ")"
                                             : ref(value);
  }

  const Kernel &kernel;
  Helpers &helpers;
  std::string code;
  unsigned depth = 1;
  std::vector<std::string> names;
  std::vector<std::string> splats; ///< of a constant that stands where it is used
  std::vector<bool> isScalarInLoop;
  std::set<unsigned> inserted; ///< vectors that insertions of this block made
};

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

std::string Emitter::expression(const Operation &op) {
  const Type &type = typeOf(op.out.at(0));
  if (op.name == "select")
    return ref(op.in[0]) + " ? " + ref(op.in[1]) + " : " + ref(op.in[2]);
  if (op.name == "fcmp" || op.name == "icmp")
    return comparison(op);
  if (op.name == "convert")
    return conversion(op);
  if (op.name == "approx")
    return helpers.approximation(op.text("function")) + "(" + ref(op.in[0]) + ")";
  if (op.name == "from_bits")
    return type.is("f32") || type.is("f64")
               ? "h3_" + type.element + "_of_bits(" + ref(op.in[0]) + ")"
               : "(" + cType(type) + ")" + ref(op.in[0]);
  if (op.name == "to_bits")
    return "h3_canonical_" + typeOf(op.in[0]).element + "(" + ref(op.in[0]) + ")";
  if (op.name == "bitcast") {
    const Type &from = typeOf(op.in[0]);
    if (type.is("f32") || type.is("f64"))
      return "h3_" + type.element + "_of_bits(" + ref(op.in[0]) + ")";
    if (from.is("f32") || from.is("f64"))
      return "h3_bits_of_" + from.element + "(" + ref(op.in[0]) + ")";
    return ref(op.in[0]);
  }
  return type.isFloat() ? floatExpression(op, type) : integerExpression(op, type);
}

std::string Emitter::floatExpression(const Operation &op, const Type &type) {
  const std::string a = ref(op.in[0]), b = op.in.size() > 1 ? ref(op.in[1]) : "";
  const bool isNative = type.is("f32") || type.is("f64");
  const std::string suffix = type.is("f32") ? "f" : "", rounding = op.text("round");
  static const std::map<std::string, std::string> signs = {
      {"add", " + "}, {"sub", " - "}, {"mul", " * "}, {"div", " / "}};
  if (op.name == "neg")
    return isNative ? (a[0] == '-' ? "-(" + a + ")" : "-" + a) : "(uint16_t)(" + a + " ^ 0x8000)";
  if (op.name == "abs")
    return isNative ? "fabs" + suffix + "(" + a + ")" : "(uint16_t)(" + a + " & 0x7FFF)";
  if (rounding.empty())
    return helpers.exact(op.name, type.element) + "(" + a + ", " + b + ")";
  if (isNative && rounding == "rn") {
    if (auto sign = signs.find(op.name); sign != signs.end())
      return a + sign->second + b;
    if (op.name == "fma")
      return "fma" + suffix + "(" + a + ", " + b + ", " + ref(op.in[2]) + ")";
    if (op.name == "sqrt")
      return "sqrt" + suffix + "(" + a + ")";
  }
  std::string call = helpers.arithmetic(op.name, type.element, rounding) + "(";
  for (size_t k = 0; k < op.in.size(); ++k)
    call += (k ? ", " : "") + ref(op.in[k]);
  return call + ")";
}

std::string Emitter::integerExpression(const Operation &op, const Type &type) {
  const std::string own = cType(type), a = ref(op.in[0]), b = op.in.size() > 1 ? ref(op.in[1]) : "";
  const bool isNarrow = type.bits() < 32; // C computes it as int
  static const std::map<std::string, std::string> signs = {
      {"iadd", " + "}, {"isub", " - "}, {"imul", " * "}, {"udiv", " / "},  {"urem", " % "},
      {"and", " & "},  {"or", " | "},   {"xor", " ^ "},  {"ishl", " << "}, {"ushr", " >> "}};
  if (auto sign = signs.find(op.name); sign != signs.end()) {
    if (type.is("i1"))
      return a + (op.name == "and" ? " && " : op.name == "or" ? " || " : " != ") + b;
    return isNarrow ? "(" + own + ")((uint32_t)" + a + sign->second + b + ")"
                    : a + sign->second + b;
  }
  if (op.name == "uext")
    return "(" + own + ")" + a;
  if (op.name == "trunc")
    return type.is("i1") ? "(" + a + " & 1) != 0" : "(" + own + ")" + a;
  if (op.name == "sext")
    return typeOf(op.in[0]).is("i1") ? a + " ? (" + own + ")-1 : 0"
                                     : "(" + own + ")" + signedOf(op.in[0]);
  if (op.name == "sshr" || op.name == "shl" || op.name == "shr")
    return "h3_" + op.name + "_" + type.element + "(" + a + ", " + b + ")";
  const std::string x = signedOf(op.in[0]), y = op.in.size() > 1 ? signedOf(op.in[1]) : "";
  if (op.name == "sdiv")
    return "(" + own + ")(" + x + " / " + y + ")";
  if (op.name == "srem")
    return "(" + own + ")(" + x + " % " + y + ")";
  if (op.name == "floordiv" || op.name == "ceildiv")
    return "(" + own + ")h3_" + op.name + "(" + x + ", " + y + ")";
  if (op.name == "smax")
    return x + " > " + y + " ? " + a + " : " + b;
  if (op.name == "smin")
    return x + " < " + y + " ? " + a + " : " + b;
  throw std::runtime_error("the operation '" + op.name + "' is not known here");
}

std::string Emitter::conversion(const Operation &op) {
  const Type &from = typeOf(op.in[0]), &to = typeOf(op.out[0]);
  const std::string a = ref(op.in[0]), rounding = op.text("round");
  const bool saturate = op.fields.value("saturate", false), isNearest = rounding == "rn";
  if (from.element == to.element)
    return a;
  if (!to.isFloat())
    return to.bits() < from.bits() ? "(" + cType(to) + ")" + a
                                   : "(" + cType(to) + ")" + signedOf(op.in[0]);
  const bool toNative = to.is("f32") || to.is("f64");
  if (!from.isFloat() && toNative && isNearest)
    return "(" + cType(to) + ")" + signedOf(op.in[0]);
  if ((from.is("f32") && to.is("f64")) || (from.is("f64") && to.is("f32") && isNearest))
    return "(" + cType(to) + ")" + a;
  return helpers.conversion(from.element, to.element, rounding, saturate) + "(" + a + ")";
}

std::string Emitter::comparison(const Operation &op) {
  static const std::map<std::string, std::string> signs = {
      {"eq", "=="}, {"ne", "!="}, {"lt", "<"}, {"le", "<="}, {"gt", ">"}, {"ge", ">="}};
  std::string how = op.text("how");
  if (op.name == "icmp") {
    const bool isSigned = how[0] == 's', isOrder = how != "eq" && how != "ne";
    const std::string &sign = signs.at(isOrder ? how.substr(1) : how);
    return isSigned ? signedOf(op.in[0]) + " " + sign + " " + signedOf(op.in[1])
                    : ref(op.in[0]) + " " + sign + " " + ref(op.in[1]);
  }
  const std::string a = comparable(op.in[0]), b = comparable(op.in[1]);
  const std::string isUnordered = "isnan(" + a + ") || isnan(" + b + ")";
  if (how == "uno")
    return isUnordered;
  if (how == "ord")
    return "!(" + isUnordered + ")";
  if (how == "one")
    return a + " < " + b + " || " + a + " > " + b;
  if (how == "une")
    return a + " != " + b;
  const std::string compared = a + " " + signs.at(how.substr(1)) + " " + b;
  return how[0] == 'o' ? compared : isUnordered + " || " + compared;
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

size_t Emitter::groupLength(const Block &block, size_t first) const {
  const Type &type = typeOf(block.operations[first].out[0]);
  size_t last = first;
  while (last < block.operations.size()) {
    const Operation &op = block.operations[last];
    if (standsWhereUsed(op)) {
      ++last;
      continue;
    }
    if (!isElementwise(op.name) || op.out.size() != 1 || typeOf(op.out[0]).count != type.count)
      break;
    if (op.name == "bitcast" && typeOf(op.in[0]).count != type.count)
      break; // the same bits in vectors of another length
    ++last;
  }
  return last - first;
}

void Emitter::group(const Block &block, size_t first, size_t count) {
  std::map<unsigned, unsigned> usesInside;
  for (size_t k = first; k < first + count; ++k) {
    if (standsWhereUsed(block.operations[k]))
      statement(block.operations[k]);
    for (unsigned value : block.operations[k].in)
      ++usesInside[value];
  }
  for (size_t k = first; k < first + count; ++k) {
    if (standsWhereUsed(block.operations[k]))
      continue;
    unsigned value = block.operations[k].out[0];
    isScalarInLoop[value] = usesInside[value] == kernel.useCount[value];
    if (!isScalarInLoop[value])
      line(declaration(value, false) + ";");
  }
  line("for (int i = 0; i < " + text(typeOf(block.operations[first].out[0]).count) + "; ++i) {");
  ++depth;
  for (size_t k = first; k < first + count; ++k) {
    const Operation &op = block.operations[k];
    if (standsWhereUsed(op))
      continue;
    unsigned value = op.out[0];
    std::string what = expression(op);
    if (isScalarInLoop[value])
      line("const " + cType(typeOf(value)) + " " + fresh(value) + " = " + what + ";");
    else
      line(names[value] + "[i] = " + what + ";");
  }
  --depth;
  line("}");
}

void Emitter::constant(const Operation &op) {
  unsigned value = op.out[0];
  const Type &type = typeOf(value);
  const auto bits = op.fields.at("bits").get<std::vector<std::string>>();
  if (bits.size() == 1) {
    splats[value] = literal(type, bits[0]);
    return;
  }
  std::string list;
  for (const std::string &one : bits)
    list += (list.empty() ? "" : ", ") + literal(type, one);
  line("static const " + declaration(value, false) + " = {" + list + "};");
}

void Emitter::load(const Operation &op) {
  const Type &type = typeOf(op.out[0]);
  if (type.isVector()) {
    line(declaration(op.out[0], false) + ";");
    line("memcpy(" + names[op.out[0]] + ", " + ref(op.in[0]) + ", sizeof " + names[op.out[0]] +
         ");");
    return;
  }
  std::string call = type.is("ptr")                     ? "h3_load_address"
                     : type.is("f32") || type.is("f64") ? "h3_load_" + type.element
                                                        : "h3_load_" + text(type.bits());
  line(declaration(op.out[0], true) + " = " + call + "(" + ref(op.in[0]) + ");");
}

void Emitter::store(const Operation &op) {
  const Type &type = typeOf(op.in[0]);
  const std::string at = ref(op.in[1]);
  if (type.isVector() && splats[op.in[0]].empty()) {
    line("memcpy(" + at + ", " + names[op.in[0]] + ", sizeof " + names[op.in[0]] + ");");
    return;
  }
  std::string value = ref(op.in[0]);
  if (type.is("f32") || type.is("f64"))
    value = "h3_bits_of_" + type.element + "(" + value + ")";
  std::string call = "h3_store_" + text(type.bits()) + "(" + at;
  if (!type.isVector())
    return line(call + ", " + value + ");");
  line("for (int i = 0; i < " + text(type.count) + "; ++i)");
  line("  " + call + " + " + text(type.bits() / 8) + " * i, " + value + ");");
}

/// A vector that was made by another insertion in this block, and that nothing else uses, is
/// changed where it is.
void Emitter::insert(const Operation &op) {
  unsigned whole = op.in[0];
  if (kernel.useCount[whole] == 1 && inserted.contains(whole)) {
    names[op.out[0]] = names[whole];
  } else if (splats[whole] == "0") {
    line(declaration(op.out[0], false) + " = {0};");
  } else {
    line(declaration(op.out[0], false) + ";");
    assign(names[op.out[0]], whole);
  }
  inserted.insert(op.out[0]);
  line(names[op.out[0]] + "[" + place(op.in[2]) + "] = " + ref(op.in[1]) + ";");
}

void Emitter::shuffle(const Operation &op) {
  std::string list;
  for (int place : op.fields.at("mask").get<std::vector<int>>()) {
    const int count = static_cast<int>(typeOf(op.in[0]).count);
    list += list.empty() ? "" : ", ";
    list += place < 0       ? "0"
            : place < count ? element(op.in[0], text(place))
                            : element(op.in[1], text(place - count));
  }
  line(declaration(op.out[0], false) + " = {" + list + "};");
}

void Emitter::assign(const std::string &to, unsigned from) {
  const Type &type = typeOf(from);
  if (!type.isVector())
    return line(to + " = " + ref(from) + ";");
  if (splats[from].empty())
    return line("memcpy(" + to + ", " + names[from] + ", sizeof " + to + ");");
  line("for (int i = 0; i < " + text(type.count) + "; ++i)");
  line("  " + to + "[i] = " + splats[from] + ";");
}

/// A region whose last operation gives the values \p into.
void Emitter::region(const Block &inner, const std::vector<unsigned> &into) {
  ++depth;
  block(inner);
  if (!into.empty()) {
    const std::vector<unsigned> &given = inner.operations.back().in;
    // What one assignment overwrites another may read: that is kept first.
    std::map<unsigned, std::string> kept;
    for (size_t k = 0; k < given.size(); ++k)
      for (size_t j = 0; j < k; ++j)
        if (splats[given[k]].empty() && names[given[k]] == names[into[j]] && !kept[k].size()) {
          const Type &type = typeOf(given[k]);
          kept[k] = names[given[k]] + "_kept" + text(k);
          line(cType(type) + " " + kept[k] +
               (type.isVector() ? "[" + text(type.count) + "];" : ";"));
          assign(kept[k], given[k]);
        }
    for (size_t k = 0; k < given.size(); ++k) {
      std::string own = names[given[k]];
      if (splats[given[k]].empty() && own == names[into[k]])
        continue;
      if (!kept[k].empty())
        names[given[k]] = kept[k];
      assign(names[into[k]], given[k]);
      names[given[k]] = own;
    }
  }
  --depth;
}

void Emitter::branch(const Operation &op) {
  for (unsigned value : op.out)
    line(declaration(value, false) + ";");
  line("if (" + ref(op.in[0]) + ") {");
  region(op.regions[0], op.out);
  if (op.regions.size() > 1 && !op.regions[1].operations.empty()) {
    line("} else {");
    region(op.regions[1], op.out);
  }
  line("}");
}

/// The carried values are variables; after the last round they are the results.
void Emitter::loop(const Operation &op) {
  for (size_t k = 0; k < op.carried.size(); ++k) {
    line(declaration(op.carried[k], false) + ";");
    assign(names[op.carried[k]], op.in[3 + k]);
    names[op.out[k]] = names[op.carried[k]];
  }
  const unsigned index = op.index[0];
  const std::string name = fresh(index), type = cType(typeOf(index));
  // Bounds are signed, and no round goes beyond the upper one.
  const std::string isIn =
      "h3_signed_" + typeOf(index).element + "(" + name + ") < " + signedOf(op.in[1]);
  line("for (" + type + " " + name + " = " + ref(op.in[0]) + "; " + isIn + "; " + name +
       " += " + ref(op.in[2]) + ") {");
  region(op.regions[0], op.carried);
  line("}");
}

void Emitter::statement(const Operation &op) {
  if (op.name == "constant")
    return constant(op);
  if (op.name == "undefined") {
    splats[op.out[0]] = "0";
    return;
  }
  if (op.name == "load")
    return load(op);
  if (op.name == "store")
    return store(op);
  if (op.name == "insert")
    return insert(op);
  if (op.name == "shuffle")
    return shuffle(op);
  if (op.name == "if")
    return branch(op);
  if (op.name == "for")
    return loop(op);
  if (op.name == "yield")
    return; // the region does it
  if (op.name == "block" || op.name == "thread")
    return line(declaration(op.out[0], true) + " = " + (op.name == "block" ? "block" : "0") + ";");
  if (op.name == "extract")
    return line(declaration(op.out[0], true) + " = " + element(op.in[0], place(op.in[1])) + ";");
  if (op.name == "address") {
    std::string bytes = text(op.fields.at("bytes").get<uint64_t>());
    std::string offset = op.in.size() > 1 ? bytes + " * (ptrdiff_t)" + signedOf(op.in[1])
                                          : std::to_string(op.fields.at("index").get<int64_t>() *
                                                           op.fields.at("bytes").get<int64_t>());
    return line(declaration(op.out[0], true) + " = " + ref(op.in[0]) + " + " + offset + ";");
  }
  if (op.name == "bitcast" && typeOf(op.out[0]).count != typeOf(op.in[0]).count) {
    line(declaration(op.out[0], false) + ";");
    std::string to = names[op.out[0]], from = names[op.in[0]];
    return line("memcpy(&" + to + ", &" + from + ", sizeof " + to + ");");
  }
  if (!isElementwise(op.name))
    throw std::runtime_error("the operation '" + op.name + "' needs several threads");
  line(declaration(op.out[0], true) + " = " + expression(op) + ";");
}

void Emitter::block(const Block &block) {
  std::set<unsigned> outer = std::exchange(inserted, {});
  for (size_t k = 0; k < block.operations.size();) {
    const Operation &op = block.operations[k];
    const bool begins =
        isElementwise(op.name) && op.out.size() == 1 && typeOf(op.out[0]).isVector();
    const size_t count = begins ? groupLength(block, k) : 0;
    if (count == 0) {
      statement(op);
      ++k;
      continue;
    }
    group(block, k, count);
    k += count;
  }
  inserted = std::move(outer);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// A parameter's name that is no word of C and no name of this file's own.
std::string parameterName(const std::string &name) {
  static const std::set<std::string> taken = {
      "auto",   "bool",     "break",  "case",   "char",     "const",    "continue", "default",
      "do",     "double",   "else",   "enum",   "extern",   "float",    "for",      "goto",
      "if",     "inline",   "int",    "long",   "register", "restrict", "return",   "short",
      "signed", "sizeof",   "static", "struct", "switch",   "typedef",  "union",    "unsigned",
      "void",   "volatile", "while",  "true",   "false",    "block",    "i",        "memcpy",
      "fma",    "fmaf",     "sqrt",   "sqrtf",  "fabs",     "fabsf",    "isnan",    "arguments"};
  const bool isOwn =
      name.starts_with("h3_") || (name.size() > 1 && name[0] == 'v' &&
                                  name.find_first_not_of("0123456789", 1) == std::string::npos);
  return taken.contains(name) || isOwn ? name + "_" : name;
}

std::string Emitter::run() {
  if (kernel.threads != 1)
    throw std::runtime_error("the kernel " + kernel.entry + " has blocks of several threads");
  std::string own = kernel.op + "_" + kernel.variant;
  std::string declared, loads, call;
  for (size_t k = 0; k < kernel.parameters.size(); ++k) {
    const Parameter &parameter = kernel.parameters[k];
    const std::string type = cType(typeOf(parameter.value));
    const std::string name = names[parameter.value] = parameterName(parameter.name);
    const std::string space = type.back() == '*' ? "" : " ";
    declared += (k ? ", " : "") + type + space + name;
    call += (k ? ", " : "") + name;
    if (k == 0 && kernel.tableBytes) { // the table itself
      loads += "  unsigned char *" + name + " = arguments[0];\n";
      continue;
    }
    loads += "  " + type + space + name + ";\n  memcpy(&" + name + ", arguments[" + text(k) +
             "], sizeof " + name + ");\n";
  }
  block(kernel.body);
  std::string result = "/* " + kernel.op + ", variant " + kernel.variant + ": one block. */\n";
  result += "static void " + own + "(" + declared + (declared.empty() ? "" : ", ") +
            "uint64_t block) {\n" + code + "}\n\n";
  const std::string heading = "void " + kernel.entry +
                              "(void *const *arguments, uint64_t first_block, uint64_t last_block)";
  result += heading + ";\n" + heading + " {\n" + loads +
            "  for (uint64_t block = first_block; block < last_block; ++block)\n    " + own + "(" +
            call + (call.empty() ? "" : ", ") + "block);\n}\n";
  return result;
}

} // namespace

std::string emitC(const std::vector<Kernel> &kernels, const std::string &header) {
  Helpers helpers;
  std::string functions;
  for (const Kernel &kernel : kernels)
    functions += "\n" + Emitter(kernel, helpers).run();
  return header + "\n" + helpers.text() +
         "\n/* ---- Kernels "
         "---------------------------------------------------------------------------------- */\n" +
         functions;
}
