//===-- backends/cpu/Compile.cpp - From typed programs to object files ----===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/cpu/Compile.h"

#include "backends/cpu/EmitObject.h"
#include "backends/cpu/Passes.h"
#include "codegen/import/Import.h"
#include "codegen/kernel/Candidates.h"
#include "codegen/kernel/Kernel.h"
#include "codegen/kernel/Prepare.h"
#include "codegen/scheduled/Scheduled.h"
#include "codegen/transforms/Passes.h"

#include <llvm/Support/raw_ostream.h>
#include <mlir/Conversion/ArithToLLVM/ArithToLLVM.h>
#include <mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h>
#include <mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h>
#include <mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h>
#include <mlir/Dialect/ControlFlow/IR/ControlFlow.h>
#include <mlir/Pass/PassManager.h>
#include <mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h>
#include <mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h>
#include <mlir/Target/LLVMIR/Export.h>
#include <mlir/Transforms/Passes.h>

#include <chrono>

using namespace mlir;

namespace h3::cpu {

Machine machineOf(const Target &target) {
  Machine machine;
  machine.waveThreads = machine.mostThreads = machine.usualThreads = 1;
  machine.mostHeld = 4096;
  machine.usuallyHeld = 128;
  machine.sharedBytes = 0;
  machine.vectorElements = target.has(Capability::Vectors32Bytes) ? 16 : 8;
  machine.alignsAccesses = false;
  machine.joinsVectors = machine.masksVectors = true;
  machine.narrowsIndices = false;
  machine.globalMemory = 0;
  return machine;
}

std::vector<KernelSchedule> schedulesFor(const Target &target, const std::vector<Job> &jobs,
                                         std::string &error) {
  return chooseSchedules(jobs, machineOf(target), error);
}

namespace {

/// Loads what this backend needs of MLIR beside what every backend has.
void loadDialects(MLIRContext &context) {
  DialectRegistry registry;
  registry.insert<gpu::GPUDialect, cf::ControlFlowDialect, LLVM::LLVMDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
}

class Compilation {
public:
  Compilation(MLIRContext &context, const Target &target, const ImageOptions &options)
      : context(context), target(target), options(options), machine(machineOf(target)) {
    loadDialects(context);
  }

  std::optional<Image> run(std::span<const Program *const> programs);
  std::string error;

private:
  bool addKernels(const Program &program, gpu::GPUModuleOp kernels);
  std::vector<KernelSchedule> schedulesOf(const std::vector<Job> &jobs);
  bool addVariant(const Program &program, const PreparedOperator &prepared, size_t number,
                  const KernelSchedule &schedule, plan::OperatorPlan &contract,
                  gpu::GPUModuleOp kernels);
  bool toObject(gpu::GPUModuleOp kernels);

  MLIRContext &context;
  const Target &target;
  const ImageOptions &options;
  const Machine machine;
  Image image;
  std::string refused; ///< why the given schedule is not legal in one of the cases
};

std::string print(Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  op->print(stream);
  stream << "\n";
  return text;
}

/// `f16_f32`
std::string typesOf(const Program &program) {
  std::string types;
  for (const auto &[name, type] : program.typeArguments)
    types += (types.empty() ? "" : "_") + std::string(h3::name(type));
  return types;
}

/// A name for a symbol: `x86_64_v3`.
std::string symbolOf(const Target &target) {
  std::string name(target.name);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

/// Adds all variants of one type instance.
bool Compilation::addKernels(const Program &program, gpu::GPUModuleOp kernels) {
  if (options.stage == Stage::H3) {
    OwningOpRef<ModuleOp> module = importProgram(context, program, error);
    if (module)
      image.text += print(*module);
    return static_cast<bool>(module);
  }
  std::optional<PreparedOperator> prepared =
      prepareOperator(context, program, options.printAfterPasses, error);
  if (!prepared)
    return false;
  plan::OperatorPlan contract = prepared->contract;
  refused.clear();
  for (size_t number = 0; number < prepared->cases.size(); ++number) {
    std::vector<KernelSchedule> schedules = schedulesOf(prepared->jobs[number]);
    if (!error.empty())
      return false;
    for (const KernelSchedule &schedule : schedules)
      if (!addVariant(program, *prepared, number, schedule, contract, kernels))
        return false;
  }
  if (contract.variants.empty() && !refused.empty()) {
    error = "the schedule is not legal: " + refused;
    return false;
  }
  if (std::string wrong = plan::verify(contract); !wrong.empty()) {
    error = "internal error: launch plan: " + wrong;
    return false;
  }
  image.plans.push_back(std::move(contract));
  return true;
}

/// The schedules of one case: the one that was asked for, if it is legal there, or those that are
/// chosen.
std::vector<KernelSchedule> Compilation::schedulesOf(const std::vector<Job> &jobs) {
  if (options.schedule.empty())
    return schedulesFor(target, jobs, error);
  std::optional<KernelSchedule> schedule = KernelSchedule::parse(options.schedule, error);
  if (!schedule)
    return {};
  refused = refusal(jobs, *schedule, machine);
  if (!refused.empty())
    return {};
  return {*schedule};
}

bool Compilation::addVariant(const Program &program, const PreparedOperator &prepared,
                             size_t number, const KernelSchedule &schedule,
                             plan::OperatorPlan &contract, gpu::GPUModuleOp kernels) {
  const SpecialCase &special = prepared.cases[number];
  std::string types = typesOf(program);
  if (!types.empty())
    types += "_";
  std::string suffix = prepared.cases.size() > 1 ? "_c" + std::to_string(number) : "";
  std::string name = types + schedule.name() + suffix;
  std::string entry = "h3_" + program.name + "__" + symbolOf(target) + "__" + name;
  std::optional<plan::Variant> variant = emitKernel(special.op(), prepared.jobs[number], schedule,
                                                    machine, entry, kernels, contract, error);
  if (!variant)
    return false;
  variant->name = name;
  image.schedules.emplace(variant->entry, schedule);
  variant->guards.insert(variant->guards.begin(), special.guards.begin(), special.guards.end());
  contract.variants.push_back(std::move(*variant));
  return true;
}

bool Compilation::toObject(gpu::GPUModuleOp kernels) {
  auto lower = [&](PassManager &passes) {
    passes.addPass(createLowerScalarsPass(target));
    passes.addPass(createLowerNarrowFloatsPass());
    passes.addPass(h3::createLowerScalarsPass());
    passes.addPass(createLowerHalvesPass(target));
    passes.addPass(createCSEPass());
    passes.addPass(createVerifyNoFastMathPass());
  };
  if (!runPasses(kernels, lower, options.printAfterPasses, error))
    return false;
  OwningOpRef<ModuleOp> functions = makeEntryPoints(kernels, target);
  auto finish = [&](PassManager &passes) {
    passes.addPass(createSCFToControlFlowPass());
    passes.addPass(createArithToLLVMConversionPass());
    passes.addPass(createConvertControlFlowToLLVMPass());
    passes.addPass(createReconcileUnrealizedCastsPass());
    passes.addPass(createCSEPass());
    passes.addPass(createVerifyNoFastMathPass());
  };
  if (!runPasses(*functions, finish, options.printAfterPasses, error))
    return false;
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> module = translateModuleToLLVMIR(*functions, llvmContext, "h3gen");
  if (!module) {
    error = "internal error: the kernels have no translation to LLVM IR";
    return false;
  }
  error = optimize(*module, target);
  if (!error.empty())
    return false;
  if (options.stage == Stage::Llvm) {
    llvm::raw_string_ostream stream(image.text);
    module->print(stream, nullptr);
    return true;
  }
  std::optional<std::string> object = emitObject(*module, target, error);
  if (object)
    image.text = std::move(*object);
  return object.has_value();
}

std::optional<Image> Compilation::run(std::span<const Program *const> programs) {
  auto start = std::chrono::steady_clock::now();
  if (options.dependentLaunch) {
    error = std::string(target.name) + " has no programmatic dependent launch";
    return {};
  }
  image.ending = ".o";
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  OpBuilder builder(module->getBodyRegion());
  auto kernels = gpu::GPUModuleOp::create(builder, builder.getUnknownLoc(), "kernels");
  for (const Program *program : programs)
    if (!addKernels(*program, kernels))
      return {};
  if (options.stage == Stage::Mlir)
    image.text = print(kernels);
  else if (options.stage == Stage::Scheduled) {
    std::optional<std::string> text = serialise(kernels, image.plans, target.name, error);
    if (!text)
      return {};
    image.text = std::move(*text);
  } else if (options.stage != Stage::H3 && !toObject(kernels))
    return {};
  std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
  image.milliseconds = elapsed.count();
  return std::move(image);
}

} // namespace

std::optional<Image> compile(MLIRContext &context, std::span<const Program *const> programs,
                             const Target &target, const ImageOptions &options,
                             std::string &error) {
  Compilation compilation(context, target, options);
  std::optional<Image> image = compilation.run(programs);
  error = compilation.error;
  return image;
}

} // namespace h3::cpu
