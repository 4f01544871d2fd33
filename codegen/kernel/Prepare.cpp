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
  bool isInlined = runPasses(
      *module,
      [](PassManager &passes) {
        passes.addPass(createInlineRowsPass());
        passes.addPass(createSplitRowsPass());
        passes.addPass(createFlattenDigitsPass());
        passes.addPass(createCanonicalizerPass());
        passes.addPass(createCSEPass());
      },
      print, error);
  if (!isInlined)
    return {};
  prepared.cases = specialCases(std::move(module), prepared.contract, error);
  if (prepared.cases.empty())
    return {};
  for (const SpecialCase &special : prepared.cases) {
    bool isReady = runPasses(
        special.module.get(),
        [](PassManager &passes) {
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
    prepared.jobs.push_back(jobsOf(special.op(), error));
    limitVectors(special, prepared.jobs.back(), prepared.contract);
    if (!error.empty())
      return {};
  }
  return prepared;
}

} // namespace h3
