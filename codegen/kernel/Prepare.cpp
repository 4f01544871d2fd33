//===-- codegen/kernel/Prepare.cpp - From typed program to jobs -----------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/kernel/Prepare.h"

#include "codegen/contract/Contract.h"
#include "codegen/import/Import.h"
#include "codegen/transforms/Passes.h"

#include <mlir/IR/Verifier.h>
#include <mlir/Pass/PassManager.h>
#include <mlir/Transforms/Passes.h>

using namespace mlir;

namespace h3 {

bool runPasses(Operation *op, llvm::function_ref<void(PassManager &)> add, bool print,
               std::string &error) {
  std::string messages;
  ScopedDiagnosticHandler handler(op->getContext(), [&](mlir::Diagnostic &diagnostic) {
    if (messages.empty())
      messages = diagnostic.str();
    return success();
  });
  PassManager passes(op->getContext(), op->getName().getStringRef());
  passes.enableVerifier(false); // once, behind the last pass: between passes it costs a third
  add(passes);
  if (print)
    passes.enableIRPrinting([](Pass *, Operation *) { return false; },
                            [](Pass *, Operation *) { return true; }, true, true, false,
                            llvm::errs());
  if (succeeded(passes.run(op)) && succeeded(verify(op)))
    return true;
  error = "internal error in code generation: " + messages;
  return false;
}

/// The passes that make rows what their elements use.
static bool inlineRows(ModuleOp module, bool remap, bool print, std::string &error) {
  return runPasses(
      module,
      [&](PassManager &passes) {
        passes.addPass(createInlineRowsPass(remap));
        passes.addPass(createSplitRowsPass());
        passes.addPass(createFlattenDigitsPass());
        passes.addPass(createCanonicalizerPass());
        passes.addPass(createCSEPass());
      },
      print, error);
}

/// The passes that make what is emitted of it, for one case of the sizes.
static std::vector<Job> finish(ModuleOp module, bool print, std::string &error) {
  bool isReady = runPasses(
      module,
      [](PassManager &passes) {
        passes.addPass(createHoistRemapsPass());
        passes.addPass(createHoistInvariantsPass());
        passes.addPass(createFuseLoopsPass());
        passes.addPass(createCSEPass());
        passes.addPass(createHoistLoadsPass());
        passes.addPass(createFlattenBranchesPass());
        passes.addPass(createCSEPass());
      },
      print, error);
  if (!isReady)
    return {};
  return jobsOf(*module.getOps<ir::OperatorOp>().begin(), error);
}

static bool contains(ModuleOp module, llvm::function_ref<bool(Operation *)> isWanted) {
  return module
      ->walk([&](Operation *op) {
        return isWanted(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// The form in which other elements of a row are fetched, for an operator whose sizes make no
/// cases; null for an operator that uses none.
static OwningOpRef<ModuleOp> remappedForm(ModuleOp module, bool print, std::string &error) {
  bool mayRemap = contains(module, [](Operation *op) {
    auto at = dyn_cast<ir::AtOp>(op);
    return at && at.getIndices().size() == 1 &&
           isa_and_nonnull<arith::AddIOp, arith::SubIOp>(at.getIndices().front().getDefiningOp());
  });
  if (!mayRemap)
    return {};
  OwningOpRef<ModuleOp> form(module.clone());
  if (!inlineRows(*form, /*remap=*/true, print, error) ||
      !contains(*form, [](Operation *op) { return isa<ir::RemapOp>(op); }))
    return {};
  return form;
}

std::optional<PreparedOperator> prepareOperator(MLIRContext &context, const Program &program,
                                                bool print, std::string &error) {
  PreparedOperator prepared;
  std::optional<plan::OperatorPlan> contract = contractOf(program, error);
  if (!contract)
    return {};
  prepared.contract = std::move(*contract);
  OwningOpRef<ModuleOp> module = importProgram(context, program, error);
  if (!module)
    return {};
  prepared.remapped = remappedForm(*module, print, error);
  if (!error.empty() || !inlineRows(*module, /*remap=*/false, print, error))
    return {};
  prepared.cases = specialCases(std::move(module), prepared.contract, error);
  if (prepared.cases.empty())
    return {};
  for (const SpecialCase &special : prepared.cases) {
    prepared.jobs.push_back(finish(special.module.get(), print, error));
    limitVectors(special, prepared.jobs.back(), prepared.contract);
    if (!error.empty())
      return {};
  }
  if (prepared.remapped && prepared.cases.size() == 1) {
    std::vector<Job> remapped = finish(*prepared.remapped, print, error);
    if (!error.empty())
      return {};
    for (auto [job, form] : llvm::zip(prepared.jobs.front(), remapped))
      job.remapped = std::make_shared<const Job>(form);
  }
  return prepared;
}

} // namespace h3
