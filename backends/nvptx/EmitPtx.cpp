//===-- backends/nvptx/EmitPtx.cpp - LLVM IR to PTX -----------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/EmitPtx.h"

#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/DCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <mutex>

extern "C" void LLVMInitializeNVPTXTargetInfo();
extern "C" void LLVMInitializeNVPTXTarget();
extern "C" void LLVMInitializeNVPTXTargetMC();
extern "C" void LLVMInitializeNVPTXAsmPrinter();

using namespace llvm;

namespace h3::nvptx {

/// LLVM's NVPTX backend, once a process. `--nvptx-no-f32x2` keeps packed f32 arithmetic out.
static void initialize() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    const char *arguments[] = {"h3gen", "--nvptx-no-f32x2"};
    cl::ParseCommandLineOptions(std::size(arguments), arguments);
  });
}

static std::unique_ptr<TargetMachine> makeTargetMachine(const h3::Target &target) {
  initialize();
  Triple triple("nvptx64-nvidia-cuda");
  std::string message;
  const llvm::Target *backend = TargetRegistry::lookupTarget(triple, message);
  if (!backend)
    return nullptr;
  TargetOptions options;
  options.AllowFPOpFusion = FPOpFusion::Strict;
  std::string features = "+ptx" + std::to_string(target.ptxVersion);
  return std::unique_ptr<TargetMachine>(
      backend->createTargetMachine(triple, std::string(target.name), features, options,
                                   Reloc::Static, std::nullopt, CodeGenOptLevel::Aggressive));
}

void optimize(Module &module, const h3::Target &target) {
  std::unique_ptr<TargetMachine> machine = makeTargetMachine(target);
  module.setTargetTriple(machine->getTargetTriple());
  module.setDataLayout(machine->createDataLayout());
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
  FunctionPassManager passes;
  passes.addPass(EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(InstCombinePass());
  passes.addPass(SimplifyCFGPass());
  passes.addPass(EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(DCEPass());
  for (Function &function : module)
    if (!function.isDeclaration())
      passes.run(function, functions);
}

std::optional<std::string> emitPtx(Module &module, const h3::Target &target, std::string &error) {
  std::unique_ptr<TargetMachine> machine = makeTargetMachine(target);
  if (!machine) {
    error = "this LLVM has no NVPTX backend";
    return {};
  }
  SmallString<0> text;
  raw_svector_ostream stream(text);
  legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, CodeGenFileType::AssemblyFile)) {
    error = "LLVM cannot print assembly for " + std::string(target.name);
    return {};
  }
  passes.run(module);
  return std::string(text);
}

unsigned fusedMultiplyAdds(const Module &module, const h3::Target &target) {
  unsigned count = 0;
  for (const Function &function : module)
    for (const BasicBlock &block : function)
      for (const Instruction &instruction : block) {
        bool isFused = false;
        if (auto *call = dyn_cast<CallBase>(&instruction)) {
          StringRef name = call->getCalledFunction() ? call->getCalledFunction()->getName() : "";
          isFused = name.starts_with("llvm.fma.") || name.starts_with("llvm.nvvm.fma.");
        }
        unsigned opcode = instruction.getOpcode();
        bool isArithmetic = opcode == Instruction::FAdd || opcode == Instruction::FSub ||
                            opcode == Instruction::FMul;
        isFused |= isArithmetic && instruction.getType()->getScalarType()->isBFloatTy() &&
                   !target.has(Capability::Bf16Arithmetic);
        auto *vector = dyn_cast<FixedVectorType>(instruction.getType());
        count += isFused ? (vector ? vector->getNumElements() : 1) : 0;
      }
  return count;
}

} // namespace h3::nvptx
