//===-- backends/cpu/EmitObject.cpp - LLVM IR to an object file -----------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/cpu/EmitObject.h"

#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Scalar/DCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/GVN.h>
#include <llvm/Transforms/Scalar/InstSimplifyPass.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopRotation.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

#include <mutex>

extern "C" {
void LLVMInitializeX86TargetInfo();
void LLVMInitializeX86Target();
void LLVMInitializeX86TargetMC();
void LLVMInitializeX86AsmPrinter();
void LLVMInitializeX86AsmParser();
void LLVMInitializeAArch64TargetInfo();
void LLVMInitializeAArch64Target();
void LLVMInitializeAArch64TargetMC();
void LLVMInitializeAArch64AsmPrinter();
void LLVMInitializeAArch64AsmParser();
}

using namespace llvm;

namespace h3::cpu {

static void initialize() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser(); // of directed roundings
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    LLVMInitializeAArch64AsmParser();
  });
}

static std::unique_ptr<TargetMachine> makeTargetMachine(const h3::Target &target) {
  initialize();
  bool isArm = target.has(Capability::Aarch64);
  Triple triple(isArm ? "aarch64-unknown-linux-gnu" : "x86_64-unknown-linux-gnu");
  std::string message;
  const llvm::Target *backend = TargetRegistry::lookupTarget(triple, message);
  if (!backend)
    return nullptr;
  TargetOptions options;
  options.AllowFPOpFusion = FPOpFusion::Strict;
  options.NoTrappingFPMath = true;
  std::string processor = isArm ? "generic" : std::string(target.name);
  return std::unique_ptr<TargetMachine>(backend->createTargetMachine(
      triple, processor, "", options, Reloc::PIC_, CodeModel::Small, CodeGenOptLevel::Default));
}

namespace {

/// bf16 as the integer that it is moved as.
class Bf16AsInteger : public ValueMapTypeRemapper {
public:
  Type *remapType(Type *type) override {
    if (auto *vector = dyn_cast<FixedVectorType>(type))
      return FixedVectorType::get(remapType(vector->getElementType()), vector->getNumElements());
    return type->isBFloatTy() ? Type::getInt16Ty(type->getContext()) : type;
  }
};

/// Constants of bf16 by their bits.
class Bf16Constants : public ValueMaterializer {
public:
  Value *materialize(Value *value) override {
    auto *constant = dyn_cast<Constant>(value);
    if (!constant || !constant->getType()->getScalarType()->isBFloatTy())
      return nullptr;
    if (auto *number = dyn_cast<ConstantFP>(constant)) {
      Type *type = number->getType();
      return ConstantInt::get(Bf16AsInteger().remapType(type),
                              number->getValueAPF().bitcastToAPInt());
    }
    if (auto *numbers = dyn_cast<ConstantDataVector>(constant)) {
      SmallVector<uint16_t> bits;
      for (unsigned k = 0; k < numbers->getNumElements(); ++k)
        bits.push_back(numbers->getElementAsAPFloat(k).bitcastToAPInt().getZExtValue());
      return ConstantDataVector::get(constant->getContext(), bits);
    }
    return nullptr;
  }
};

} // namespace

/// No arithmetic of bf16 is left (LowerHalves.cpp), but a processor without the type would take
/// elements out of vectors and put them back by way of f32, with a library's function.
static void moveBf16AsIntegers(Module &module) {
  Bf16AsInteger types;
  Bf16Constants constants;
  for (Function &function : module) {
    if (function.isDeclaration())
      continue;
    ValueToValueMapTy values;
    RemapFunction(function, values, RF_IgnoreMissingLocals | RF_NoModuleLevelChanges, &types,
                  &constants);
    for (Instruction &instruction : make_early_inc_range(instructions(function)))
      if (auto *cast = dyn_cast<BitCastInst>(&instruction);
          cast && cast->getSrcTy() == cast->getDestTy()) {
        cast->replaceAllUsesWith(cast->getOperand(0));
        cast->eraseFromParent();
      }
  }
}

std::string optimize(Module &module, const h3::Target &target) {
  std::unique_ptr<TargetMachine> machine = makeTargetMachine(target);
  if (!machine)
    return "this LLVM has no code generator for " + std::string(target.name);
  module.setTargetTriple(machine->getTargetTriple());
  module.setDataLayout(machine->createDataLayout());
  for (Function &function : module) {
    if (function.isDeclaration())
      continue;
    // A table of addresses would be one of relocations, and a loop of stores no library's.
    function.addFnAttr("no-jump-tables", "true");
    function.addFnAttr("no-builtins");
    function.setDSOLocal(true);
  }
  PassBuilder builder(machine.get());
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager components;
  ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  // No InstCombine: it narrows an f32 operation between conversions to an f16 one.
  FunctionPassManager passes;
  passes.addPass(SimplifyCFGPass());
  passes.addPass(EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(InstSimplifyPass());
  LoopPassManager inLoops;
  inLoops.addPass(LoopRotatePass());
  inLoops.addPass(LICMPass(LICMOptions()));
  passes.addPass(createFunctionToLoopPassAdaptor(std::move(inLoops), /*UseMemorySSA=*/true));
  passes.addPass(GVNPass());
  passes.addPass(SimplifyCFGPass());
  passes.addPass(DCEPass());
  moveBf16AsIntegers(module);
  for (Function &function : module)
    if (!function.isDeclaration())
      passes.run(function, functions);
  return {};
}

std::optional<std::string> emitObject(Module &module, const h3::Target &target,
                                      std::string &error) {
  std::unique_ptr<TargetMachine> machine = makeTargetMachine(target);
  SmallString<0> bytes;
  raw_svector_ostream stream(bytes);
  legacy::PassManager passes;
  if (!machine ||
      machine->addPassesToEmitFile(passes, stream, nullptr, CodeGenFileType::ObjectFile)) {
    error = "this LLVM writes no object files for " + std::string(target.name);
    return {};
  }
  passes.run(module);
  return std::string(bytes);
}

} // namespace h3::cpu
