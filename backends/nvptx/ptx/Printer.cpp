//===-- backends/nvptx/ptx/Printer.cpp - A module as text -----------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/ptx/Reader.h"

#include <fmt/format.h>

#include <iterator>

namespace h3::ptx {
namespace {

class Printer {
public:
  explicit Printer(const Module &module) : module(module) {}
  void printModule();
  void printInstruction(const Kernel &kernel, const Instruction &instruction);

  std::string out;

private:
  template <class... Args> void add(fmt::format_string<Args...> format, Args &&...args) {
    fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
  }
  void printVariable(const Variable &variable);
  void printKernel(const Kernel &kernel);
  void printStatement(const Kernel &kernel, const Statement &statement);
  void printOperand(const Kernel &kernel, const Operand &operand);
  void printOffset(uint64_t bits);

  const Module &module;
};

void Printer::printOffset(uint64_t bits) {
  if (bits != 0)
    add("+{}", static_cast<int64_t>(bits));
}

void Printer::printOperand(const Kernel &kernel, const Operand &operand) {
  switch (operand.kind) {
  case Operand::Kind::Register:
    add("{}{}", operand.negated ? "!" : "", kernel.registers[operand.index].name);
    return;
  case Operand::Kind::Integer:
    // What is beyond s64 reads back only as unsigned.
    if (operand.bits > static_cast<uint64_t>(INT64_MAX) && operand.bits < 0xFFFFFFFF00000000)
      add("0x{:X}", operand.bits);
    else
      add("{}", static_cast<int64_t>(operand.bits));
    return;
  case Operand::Kind::Single:
    add("0f{:08X}", operand.bits);
    return;
  case Operand::Kind::Double:
    add("0d{:016X}", operand.bits);
    return;
  case Operand::Kind::Special:
    add("{}", text(static_cast<Special>(operand.index)));
    return;
  case Operand::Kind::Parameter:
    add("{}", kernel.parameters[operand.index].name);
    printOffset(operand.bits);
    return;
  case Operand::Kind::KernelVariable:
    add("{}", kernel.variables[operand.index].name);
    printOffset(operand.bits);
    return;
  case Operand::Kind::ModuleVariable:
    add("{}", module.variables[operand.index].name);
    printOffset(operand.bits);
    return;
  case Operand::Kind::Label:
    add("{}", kernel.labels[operand.index].name);
    return;
  case Operand::Kind::Vector:
    for (size_t i = 0; i < operand.elements.size(); ++i) {
      add("{}", i == 0 ? "{" : ", ");
      printOperand(kernel, operand.elements[i]);
    }
    add("}}");
    return;
  case Operand::Kind::Pair:
    printOperand(kernel, operand.elements[0]);
    add("|");
    printOperand(kernel, operand.elements[1]);
    return;
  case Operand::Kind::Address:
    add("[");
    if (operand.elements.empty()) {
      add("{}", operand.bits);
    } else {
      printOperand(kernel, operand.elements[0]);
      printOffset(operand.bits);
    }
    add("]");
    return;
  case Operand::Kind::Sink:
    add("_");
    return;
  }
}

void Printer::printInstruction(const Kernel &kernel, const Instruction &instruction) {
  if (instruction.guard)
    add("@{}{} ", instruction.guard->negated ? "!" : "",
        kernel.registers[instruction.guard->reg].name);
  add("{}", text(instruction.opcode));
  for (Modifier modifier : instruction.modifiers)
    add(".{}", text(modifier));
  for (size_t i = 0; i < instruction.operands.size(); ++i) {
    add("{}", i == 0 ? " " : ", ");
    printOperand(kernel, instruction.operands[i]);
  }
}

void Printer::printVariable(const Variable &variable) {
  if (!variable.linkage.empty())
    add(".{} ", variable.linkage);
  add("{}", text(variable.space));
  if (variable.align != 0)
    add(" .align {}", variable.align);
  if (variable.vector != 1)
    add(" .v{}", variable.vector);
  add(" .{}", text(variable.type));
  if (variable.isPointer) {
    add(" .ptr{}{}", variable.pointee == Space::Generic ? "" : " ", text(variable.pointee));
    if (variable.pointeeAlign != 0)
      add(" .align {}", variable.pointeeAlign);
  }
  add(" {}", variable.name);
  for (uint64_t extent : variable.extents) {
    if (extent == 0)
      add("[]");
    else
      add("[{}]", extent);
  }
  for (size_t i = 0; i < variable.initializer.size(); ++i) {
    bool braces = variable.isArray || variable.vector != 1;
    add("{}", i != 0 ? ", " : braces ? " = {" : " = ");
    printOperand({}, variable.initializer[i]);
    if (braces && i + 1 == variable.initializer.size())
      add("}}");
  }
}

void Printer::printStatement(const Kernel &kernel, const Statement &statement) {
  switch (statement.kind) {
  case Statement::Kind::Instruction:
    add("\t");
    printInstruction(kernel, kernel.instructions[statement.index]);
    add(";\n");
    return;
  case Statement::Kind::Label:
    add("{}:\n", kernel.labels[statement.index].name);
    return;
  case Statement::Kind::Registers: {
    const RegisterDeclaration &declaration = kernel.declarations[statement.index];
    if (!declaration.prefix.empty())
      add("\t.reg .{} {}<{}>;\n", text(declaration.type), declaration.prefix, declaration.count);
    else
      add("\t.reg .{} {};\n", text(declaration.type), kernel.registers[declaration.first].name);
    return;
  }
  case Statement::Kind::Variable:
    add("\t");
    printVariable(kernel.variables[statement.index]);
    add(";\n");
    return;
  case Statement::Kind::Pragma:
    add("\t.pragma \"{}\";\n", kernel.pragmas[statement.index]);
    return;
  case Statement::Kind::ScopeBegin:
    add("\t{{\n");
    return;
  case Statement::Kind::ScopeEnd:
    add("\t}}\n");
    return;
  }
}

void Printer::printKernel(const Kernel &kernel) {
  if (!kernel.linkage.empty())
    add(".{} ", kernel.linkage);
  add(".entry {}(", kernel.name);
  for (size_t i = 0; i < kernel.parameters.size(); ++i) {
    add("{}\n\t", i == 0 ? "" : ",");
    printVariable(kernel.parameters[i]);
  }
  add("\n)\n");
  for (const PerformanceDirective &directive : kernel.directives) {
    add(".{}", directive.name);
    for (size_t i = 0; i < directive.values.size(); ++i)
      add("{}{}", i == 0 ? " " : ", ", directive.values[i]);
    add("\n");
  }
  add("{{\n");
  for (const Statement &statement : kernel.statements)
    printStatement(kernel, statement);
  add("}}\n");
}

void Printer::printModule() {
  add(".version {}.{}\n.target ", module.versionMajor, module.versionMinor);
  for (size_t i = 0; i < module.target.size(); ++i)
    add("{}{}", i == 0 ? "" : ", ", module.target[i]);
  add("\n.address_size {}\n\n", module.addressSize);
  for (const Variable &variable : module.variables) {
    printVariable(variable);
    add(";\n");
  }
  for (const Kernel &kernel : module.kernels) {
    add("\n");
    printKernel(kernel);
  }
}

} // namespace

std::string print(const Module &module) {
  Printer printer(module);
  printer.printModule();
  return std::move(printer.out);
}

std::string print(const Module &module, const Kernel &kernel, const Instruction &instruction) {
  Printer printer(module);
  printer.printInstruction(kernel, instruction);
  return std::move(printer.out);
}

} // namespace h3::ptx
