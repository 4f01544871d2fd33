//===-- backends/nvptx/Compile.cpp - From typed programs to PTX -----------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/Compile.h"

#include "backends/nvptx/EmitPtx.h"
#include "backends/nvptx/Passes.h"
#include "backends/nvptx/PtxCheck.h"
#include "codegen/contract/Contract.h"
#include "codegen/import/Import.h"
#include "codegen/kernel/Candidates.h"
#include "codegen/kernel/Kernel.h"
#include "codegen/kernel/Specialise.h"
#include "codegen/transforms/Passes.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/raw_ostream.h>
#include <mlir/Conversion/ArithToLLVM/ArithToLLVM.h>
#include <mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h>
#include <mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h>
#include <mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h>
#include <mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h>
#include <mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h>
#include <mlir/Dialect/ControlFlow/IR/ControlFlow.h>
#include <mlir/Dialect/LLVMIR/NVVMDialect.h>
#include <mlir/IR/Verifier.h>
#include <mlir/Pass/PassManager.h>
#include <mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h>
#include <mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h>
#include <mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h>
#include <mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h>
#include <mlir/Target/LLVMIR/Export.h>
#include <mlir/Transforms/Passes.h>

#include <chrono>

using namespace mlir;

namespace h3::nvptx {

std::unique_ptr<MLIRContext> makeContext() {
  DialectRegistry registry;
  registry.insert<ir::H3Dialect, arith::ArithDialect, scf::SCFDialect, gpu::GPUDialect,
                  cf::ControlFlowDialect, LLVM::LLVMDialect, NVVM::NVVMDialect>();
  arith::registerConvertArithToLLVMInterface(registry);
  cf::registerConvertControlFlowToLLVMInterface(registry);
  registerConvertNVVMToLLVMInterface(registry);
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  auto context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  return context;
}

namespace {

class Compilation {
public:
  Compilation(MLIRContext &context, const Target &target, const Options &options)
      : context(context), target(target), options(options) {}

  std::optional<Image> run(std::span<const Program *const> programs);
  std::string error;

private:
  bool addKernels(const Program &program, gpu::GPUModuleOp kernels);
  bool addCase(const SpecialCase &special, const std::string &prefix, const std::string &types,
               const std::string &suffix, plan::OperatorPlan &contract, gpu::GPUModuleOp kernels);
  bool runPasses(Operation *op, llvm::function_ref<void(PassManager &)> add);
  void noteApproximations(ModuleOp module);
  bool toPtx(gpu::GPUModuleOp kernels);

  MLIRContext &context;
  const Target &target;
  const Options &options;
  Image image;
  PtxRules rules;
};

std::string print(Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  op->print(stream);
  stream << "\n";
  return text;
}

bool Compilation::runPasses(Operation *op, llvm::function_ref<void(PassManager &)> add) {
  std::string messages;
  ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    if (messages.empty())
      messages = diagnostic.str();
    return success();
  });
  PassManager passes(&context, op->getName().getStringRef());
  passes.enableVerifier(false); // once, behind the last pass: between passes it costs a third
  add(passes);
  if (options.printAfterPasses)
    passes.enableIRPrinting([](Pass *, Operation *) { return false; },
                            [](Pass *, Operation *) { return true; }, true, true, false,
                            llvm::errs());
  if (succeeded(passes.run(op)) && succeeded(verify(op)))
    return true;
  error = "internal error in code generation: " + messages;
  return false;
}

void Compilation::noteApproximations(ModuleOp module) {
  module.walk([&](ir::ApproxOp op) {
    rules.approximations.insert(ir::stringifyApproximation(op.getFunction()).str() + ".f32");
  });
}

/// Adds all variants of one type instance.
bool Compilation::addKernels(const Program &program, gpu::GPUModuleOp kernels) {
  std::optional<plan::OperatorPlan> contract = contractOf(program, error);
  if (!contract)
    return false;
  OwningOpRef<ModuleOp> module = importProgram(context, program, error);
  if (!module)
    return false;
  if (options.stage == Stage::H3) {
    image.text += print(*module);
    return true;
  }
  bool inlined = runPasses(*module, [](PassManager &passes) {
    passes.addPass(createInlineRowsPass());
    passes.addPass(createFlattenDigitsPass());
    passes.addPass(createCanonicalizerPass());
    passes.addPass(createCSEPass());
  });
  if (!inlined)
    return false;
  std::vector<SpecialCase> cases = specialCases(std::move(module), *contract, error);
  if (cases.empty())
    return false;
  std::string types;
  for (const auto &[name, type] : program.typeArguments)
    types += std::string(h3::name(type)) + "_";
  for (auto [number, special] : llvm::enumerate(cases)) {
    std::string suffix = cases.size() > 1 ? "_c" + std::to_string(number) : "";
    std::string prefix = "h3_" + program.name + "__" + std::string(target.name) + "__";
    if (!addCase(special, prefix, types, suffix, *contract, kernels))
      return false;
  }
  if (std::string wrong = plan::verify(*contract); !wrong.empty()) {
    error = "internal error: launch plan: " + wrong;
    return false;
  }
  image.plans.push_back(std::move(*contract));
  return true;
}

/// The variants of one case of the sizes.
bool Compilation::addCase(const SpecialCase &special, const std::string &prefix,
                          const std::string &types, const std::string &suffix,
                          plan::OperatorPlan &contract, gpu::GPUModuleOp kernels) {
  bool prepared = runPasses(special.module.get(), [](PassManager &passes) {
    passes.addPass(createHoistInvariantsPass());
    passes.addPass(createFuseLoopsPass());
    passes.addPass(createCSEPass());
    passes.addPass(createHoistLoadsPass());
    passes.addPass(createFlattenBranchesPass());
    passes.addPass(createCSEPass());
  });
  if (!prepared)
    return false;
  noteApproximations(special.module.get());
  std::vector<Job> jobs = jobsOf(special.op(), error);
  if (!error.empty())
    return false;
  std::vector<KernelSchedule> schedules = chooseSchedules(jobs, error);
  if (schedules.empty())
    return false;
  bool any = false;
  for (const KernelSchedule &schedule : schedules) {
    if (contradicts(special, jobs, schedule, contract))
      continue;
    std::string name = types + schedule.name() + suffix;
    std::optional<plan::Variant> variant =
        emitKernel(special.op(), jobs, schedule, prefix + name, kernels, contract, error);
    if (!variant)
      return false;
    variant->name = name;
    variant->guards.insert(variant->guards.begin(), special.guards.begin(), special.guards.end());
    contract.variants.push_back(std::move(*variant));
    any = true;
  }
  if (!any)
    error = "no schedule fits the sizes of a case";
  return any;
}

bool Compilation::toPtx(gpu::GPUModuleOp kernels) {
  bool lowered = runPasses(kernels, [&](PassManager &passes) {
    passes.addPass(createCanonicalNaNPass(target));
    passes.addPass(createLowerScalarsPass(target));
    passes.addPass(createLowerNarrowFloatsPass());
    passes.addPass(h3::createLowerScalarsPass());
    passes.addPass(createCSEPass());
    passes.addPass(createVerifyNoFastMathPass());
    passes.addPass(createSCFToControlFlowPass());
    passes.addPass(createConvertGpuOpsToNVVMOps());
    passes.addPass(createReconcileUnrealizedCastsPass());
    passes.addPass(createVerifyNoFastMathPass());
  });
  if (!lowered)
    return false;
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> module = translateModuleToLLVMIR(kernels, llvmContext, "h3gen");
  if (!module) {
    error = "internal error: the kernels have no translation to LLVM IR";
    return false;
  }
  optimize(*module, target);
  if (options.stage == Stage::Llvm) {
    llvm::raw_string_ostream stream(image.text);
    module->print(stream, nullptr);
    return true;
  }
  rules.fusedMultiplyAdds = fusedMultiplyAdds(*module, target);
  std::optional<std::string> ptx = emitPtx(*module, target, error);
  if (!ptx)
    return false;
  error = checkPtx(*ptx, rules);
  image.text = std::move(*ptx);
  return error.empty();
}

std::optional<Image> Compilation::run(std::span<const Program *const> programs) {
  auto start = std::chrono::steady_clock::now();
  image.ptxVersion = target.ptxVersion;
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  OpBuilder builder(module->getBodyRegion());
  auto kernels = gpu::GPUModuleOp::create(builder, builder.getUnknownLoc(), "kernels");
  for (const Program *program : programs)
    if (!addKernels(*program, kernels))
      return {};
  if (options.stage == Stage::Mlir)
    image.text = print(kernels);
  else if (options.stage != Stage::H3 && !toPtx(kernels))
    return {};
  std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
  image.milliseconds = elapsed.count();
  return std::move(image);
}

} // namespace

std::optional<Image> compile(MLIRContext &context, std::span<const Program *const> programs,
                             const Target &target, const Options &options, std::string &error) {
  Compilation compilation(context, target, options);
  std::optional<Image> image = compilation.run(programs);
  error = compilation.error;
  return image;
}

} // namespace h3::nvptx
