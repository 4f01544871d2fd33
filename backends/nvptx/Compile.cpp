//===-- backends/nvptx/Compile.cpp - From typed programs to PTX -----------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/Compile.h"

#include "backends/nvptx/EmitPtx.h"
#include "backends/nvptx/Passes.h"
#include "backends/nvptx/PtxCheck.h"
#include "codegen/import/Import.h"
#include "codegen/kernel/Candidates.h"
#include "codegen/kernel/Kernel.h"
#include "codegen/kernel/Prepare.h"
#include "codegen/scheduled/Scheduled.h"
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

Machine machineOf(const h3::Target &target) {
  Machine machine;
  machine.widestAccess = target.has(Capability::Access32Bytes) ? 32 : 16;
  return machine;
}

namespace {

/// Loads what this backend needs of MLIR beside what every backend has.
void loadDialects(MLIRContext &context) {
  if (context.getLoadedDialect<NVVM::NVVMDialect>())
    return;
  DialectRegistry registry;
  registry.insert<NVVM::NVVMDialect>();
  arith::registerConvertArithToLLVMInterface(registry);
  cf::registerConvertControlFlowToLLVMInterface(registry);
  registerConvertNVVMToLLVMInterface(registry);
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
}

class Compilation {
public:
  Compilation(MLIRContext &context, const Target &target, const ImageOptions &options)
      : context(context), target(target), options(options) {
    loadDialects(context);
  }

  std::optional<Image> run(std::span<const Program *const> programs);
  std::optional<Image> runOne(const Program &program, const PreparedOperator &prepared,
                              size_t number, const KernelSchedule &schedule);
  std::string error;

private:
  bool addKernels(const Program &program, gpu::GPUModuleOp kernels);
  std::vector<KernelSchedule> schedulesOf(const Program &program, const std::vector<Job> &jobs);
  bool addCase(const Program &program, const PreparedOperator &prepared, size_t number,
               plan::OperatorPlan &contract, gpu::GPUModuleOp kernels);
  bool addVariant(const Program &program, const PreparedOperator &prepared, size_t number,
                  const KernelSchedule &schedule, plan::OperatorPlan &contract,
                  gpu::GPUModuleOp kernels);
  bool finish(plan::OperatorPlan contract);
  std::optional<Image> build(llvm::function_ref<bool(gpu::GPUModuleOp)> add);
  void noteApproximations(ModuleOp module);
  bool toPtx(gpu::GPUModuleOp kernels);

  MLIRContext &context;
  const Target &target;
  const ImageOptions &options;
  Image image;
  PtxRules rules;
  std::string refused; ///< why the given schedule is not legal in one of the cases
};

std::string print(Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  op->print(stream);
  stream << "\n";
  return text;
}

void Compilation::noteApproximations(ModuleOp module) {
  module.walk([&](ir::ApproxOp op) {
    rules.approximations.insert(ir::stringifyApproximation(op.getFunction()).str() + ".f32");
  });
}

/// `f16_f32`
std::string typesOf(const Program &program) {
  std::string types;
  for (const auto &[name, type] : program.typeArguments)
    types += (types.empty() ? "" : "_") + std::string(h3::name(type));
  return types;
}

/// Why \p target cannot run \p jobs by \p schedule; empty if it can.
std::string refusal(const std::vector<Job> &jobs, const KernelSchedule &schedule,
                    const h3::Target &target) {
  if (schedule.accessBytes > machineOf(target).widestAccess)
    return std::string(target.name) + " has no accesses of " +
           std::to_string(schedule.accessBytes) + " bytes";
  return h3::refusal(jobs, schedule, machineOf(target));
}

/// The first PTX version, times 10, in which `L1::no_allocate` exists, and accesses of 32 bytes.
constexpr unsigned hintsVersion = 74, access32Version = 88;

/// The lowest that what the schedule asks for needs.
unsigned ptxVersionOf(const KernelSchedule &schedule) {
  return schedule.accessBytes == 32 ? access32Version : schedule.streamsLoads ? hintsVersion : 0;
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
  for (size_t number = 0; number < prepared->cases.size(); ++number)
    if (!addCase(program, *prepared, number, contract, kernels))
      return false;
  if (contract.variants.empty() && !refused.empty()) {
    error = "the schedule is not legal: " + refused;
    return false;
  }
  return finish(std::move(contract));
}

bool Compilation::finish(plan::OperatorPlan contract) {
  if (std::string wrong = plan::verify(contract); !wrong.empty()) {
    error = "internal error: launch plan: " + wrong;
    return false;
  }
  image.plans.push_back(std::move(contract));
  return true;
}

/// The schedules of one case: the one that was asked for, if it is legal there, or those that are
/// chosen.
std::vector<KernelSchedule> Compilation::schedulesOf(const Program &program,
                                                     const std::vector<Job> &jobs) {
  if (options.schedule.empty())
    return schedulesFor(program, target, jobs, error);
  std::optional<KernelSchedule> schedule = KernelSchedule::parse(options.schedule, error);
  if (!schedule)
    return {};
  if (std::string wrong = refusal(jobs, *schedule, target); !wrong.empty()) {
    refused = wrong;
    return {};
  }
  return {*schedule};
}

/// The variants of one case of the sizes.
bool Compilation::addCase(const Program &program, const PreparedOperator &prepared, size_t number,
                          plan::OperatorPlan &contract, gpu::GPUModuleOp kernels) {
  const std::vector<Job> &jobs = prepared.jobs[number];
  std::vector<KernelSchedule> schedules = schedulesOf(program, jobs);
  if (!error.empty())
    return false;
  for (const KernelSchedule &schedule : schedules)
    if (!addVariant(program, prepared, number, schedule, contract, kernels))
      return false;
  return true;
}

bool Compilation::addVariant(const Program &program, const PreparedOperator &prepared,
                             size_t number, const KernelSchedule &schedule,
                             plan::OperatorPlan &contract, gpu::GPUModuleOp kernels) {
  const SpecialCase &special = prepared.cases[number];
  noteApproximations(special.module.get());
  std::string types = typesOf(program);
  if (!types.empty())
    types += "_";
  std::string suffix = prepared.cases.size() > 1 ? "_c" + std::to_string(number) : "";
  std::string name = types + schedule.name() + suffix;
  std::string entry = "h3_" + program.name + "__" + std::string(target.name) + "__" + name;
  std::optional<plan::Variant> variant =
      emitKernel(special.op(), prepared.jobs[number], schedule, machineOf(target), entry, kernels,
                 contract, error);
  if (!variant)
    return false;
  variant->name = name;
  variant->waits = options.dependentLaunch;
  image.schedules.emplace(variant->entry, schedule);
  image.ptxVersion = std::max(image.ptxVersion, ptxVersionOf(schedule));
  variant->guards.insert(variant->guards.begin(), special.guards.begin(), special.guards.end());
  contract.variants.push_back(std::move(*variant));
  return true;
}

/// The tables of `each` kernels become parameters of their own size. They are read where they are:
/// a constant of the grid needs no copy in local memory.
void passTablesByValue(gpu::GPUModuleOp kernels) {
  kernels.walk([](LLVM::LLVMFuncOp function) {
    auto bytes = dyn_cast_or_null<IntegerAttr>(function->removeAttr(kTableBytesAttr));
    if (!bytes)
      return;
    OpBuilder builder(function.getContext());
    auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), bytes.getInt());
    function.setArgAttr(0, LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(type));
    function.setArgAttr(0, NVVM::NVVMDialect::getGridConstantAttrName(), builder.getUnitAttr());
  });
}

bool Compilation::toPtx(gpu::GPUModuleOp kernels) {
  auto lower = [&](PassManager &passes) {
    passes.addPass(createCanonicalNaNPass(target));
    passes.addPass(createLowerScalarsPass(target));
    passes.addPass(createLowerNarrowFloatsPass());
    passes.addPass(h3::createLowerScalarsPass());
    passes.addPass(createCSEPass());
    passes.addPass(createVerifyNoFastMathPass());
    passes.addPass(createSCFToControlFlowPass());
    passes.addPass(createConvertGpuOpsToNVVMOps());
    passes.addPass(createReconcileUnrealizedCastsPass());
    if (options.dependentLaunch)
      passes.addPass(createDependentLaunchPass());
    passes.addPass(createStreamAccessesPass());
    passes.addPass(createVerifyNoFastMathPass());
  };
  if (!runPasses(kernels, lower, options.printAfterPasses, error))
    return false;
  passTablesByValue(kernels);
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> module = translateModuleToLLVMIR(kernels, llvmContext, "h3gen");
  if (!module) {
    error = "internal error: the kernels have no translation to LLVM IR";
    return false;
  }
  h3::Target written = target;
  written.ptxVersion = image.ptxVersion;
  optimize(*module, written);
  if (options.stage == Stage::Llvm) {
    llvm::raw_string_ostream stream(image.text);
    module->print(stream, nullptr);
    return true;
  }
  rules.fusedMultiplyAdds = fusedMultiplyAdds(*module, target);
  rules.waits = options.dependentLaunch;
  std::optional<std::string> ptx = emitPtx(*module, written, error);
  if (!ptx)
    return false;
  error = checkPtx(*ptx, rules);
  image.text = options.header + std::move(*ptx);
  return error.empty();
}

std::optional<Image> Compilation::build(llvm::function_ref<bool(gpu::GPUModuleOp)> add) {
  auto start = std::chrono::steady_clock::now();
  image.ending = ".ptx";
  image.ptxVersion = target.ptxVersion;
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  OpBuilder builder(module->getBodyRegion());
  auto kernels = gpu::GPUModuleOp::create(builder, builder.getUnknownLoc(), "kernels");
  if (!add(kernels))
    return {};
  if (options.stage == Stage::Mlir)
    image.text = print(kernels);
  else if (options.stage == Stage::Scheduled) {
    std::optional<std::string> text = serialise(kernels, image.plans, target.name, error);
    if (!text)
      return {};
    image.text = std::move(*text);
  } else if (options.stage != Stage::H3 && !toPtx(kernels))
    return {};
  std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
  image.milliseconds = elapsed.count();
  return std::move(image);
}

std::optional<Image> Compilation::run(std::span<const Program *const> programs) {
  if (options.dependentLaunch && !target.has(Capability::DependentLaunch)) {
    error = std::string(target.name) + " has no programmatic dependent launch, which needs sm_90";
    return {};
  }
  return build([&](gpu::GPUModuleOp kernels) {
    return llvm::all_of(programs,
                        [&](const Program *program) { return addKernels(*program, kernels); });
  });
}

std::optional<Image> Compilation::runOne(const Program &program, const PreparedOperator &prepared,
                                         size_t number, const KernelSchedule &schedule) {
  return build([&](gpu::GPUModuleOp kernels) {
    plan::OperatorPlan contract = prepared.contract;
    return addVariant(program, prepared, number, schedule, contract, kernels) &&
           finish(std::move(contract));
  });
}

struct Tuned {
  std::string_view op, types;
  int capability;
  std::string_view schedule;
};
constexpr Tuned tuned[] = {
#define H3_TUNED(op, types, sm, schedule) {op, types, sm, schedule},
#include "backends/nvptx/tuned.def"
    {} // an array of nothing is none
};

} // namespace

std::vector<KernelSchedule> schedulesFor(const Program &program, const Target &target,
                                         const std::vector<Job> &jobs, std::string &error) {
  std::vector<KernelSchedule> schedules = chooseSchedules(jobs, machineOf(target), error);
  // A hint is no reason for an image that older drivers refuse.
  for (KernelSchedule &schedule : schedules)
    schedule.streamsLoads = schedule.streamsStores = target.ptxVersion >= hintsVersion;
  std::string types = typesOf(program);
  for (const Tuned &row : tuned) {
    if (row.op != program.name || row.types != types ||
        row.capability != target.major * 10 + target.minor)
      continue;
    std::optional<KernelSchedule> measured = KernelSchedule::parse(row.schedule, error);
    if (measured)
      error = refusal(jobs, *measured, target);
    if (!error.empty()) {
      error = "tuned.def: " + std::string(row.schedule) + ": " + error;
      return {};
    }
    for (KernelSchedule &schedule : schedules)
      if (schedule.name() == measured->name())
        schedule = *measured;
  }
  return schedules;
}

std::optional<Image> compile(MLIRContext &context, std::span<const Program *const> programs,
                             const Target &target, const ImageOptions &options,
                             std::string &error) {
  Compilation compilation(context, target, options);
  std::optional<Image> image = compilation.run(programs);
  error = compilation.error;
  return image;
}

std::optional<Image> compileVariant(MLIRContext &context, const Program &program,
                                    const PreparedOperator &prepared, size_t number,
                                    const KernelSchedule &schedule, const Target &target,
                                    std::string &error) {
  const ImageOptions options;
  Compilation compilation(context, target, options);
  std::optional<Image> image = compilation.runOne(program, prepared, number, schedule);
  error = compilation.error;
  return image;
}

} // namespace h3::nvptx
