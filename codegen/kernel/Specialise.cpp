//===-- codegen/kernel/Specialise.cpp - One operator for each case of its sizes -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/kernel/Specialise.h"

#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Pass/PassManager.h>
#include <mlir/Transforms/Passes.h>

using namespace mlir;

namespace h3 {
namespace {

/// The first condition that chooses between reductions.
scf::IfOp firstChoice(ir::OperatorOp op) {
  scf::IfOp found;
  op.walk<WalkOrder::PreOrder>([&](scf::IfOp branch) {
    bool hasReduction = false;
    branch.walk([&](ir::ReduceOp) { hasReduction = true; });
    if (!hasReduction)
      return WalkResult::advance();
    found = branch;
    return WalkResult::interrupt();
  });
  return found;
}

/// Everything that computes the condition \p expr becomes \p outcome.
void decide(ir::OperatorOp op, plan::OperatorPlan &contract, plan::ExprId expr, bool outcome) {
  Guards guards(contract, op);
  SmallVector<Value> same;
  op.walk([&](Operation *inner) {
    for (Value result : inner->getResults())
      if (result.getType().isInteger(1) && !isa<arith::ConstantOp>(inner) &&
          inner->getNumRegions() == 0 && guards.expression(result) == expr)
        same.push_back(result);
  });
  for (Value condition : same) {
    OpBuilder builder(condition.getDefiningOp());
    condition.replaceAllUsesWith(
        arith::ConstantOp::create(builder, condition.getLoc(), builder.getBoolAttr(outcome)));
  }
}

bool simplify(ModuleOp module) {
  PassManager passes(module.getContext(), ModuleOp::getOperationName());
  passes.enableVerifier(false);
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  return succeeded(passes.run(module));
}

} // namespace

std::vector<SpecialCase> specialCases(OwningOpRef<ModuleOp> module, plan::OperatorPlan &contract,
                                      std::string &error) {
  constexpr size_t most = 16;
  std::vector<SpecialCase> open, done;
  open.push_back({std::move(module), {}});
  while (!open.empty()) {
    SpecialCase current = std::move(open.back());
    open.pop_back();
    scf::IfOp choice = firstChoice(current.op());
    if (!choice) {
      done.push_back(std::move(current));
      continue;
    }
    Guards guards(contract, current.op());
    plan::ExprId expr = guards.expression(choice.getCondition());
    if (expr == plan::kNoExpr || open.size() + done.size() >= most) {
      error = expr == plan::kNoExpr
                  ? "a condition that is not made of sizes chooses between reductions: no code "
                    "generation; compute both and choose between their results"
                  : "conditions on sizes that choose between reductions make more than " +
                        std::to_string(most) + " cases";
      return {};
    }
    std::string text = plan::toText(contract, expr);
    // The last that is pushed comes first.
    for (bool outcome : {false, true}) {
      SpecialCase next;
      next.module = outcome ? std::move(current.module)
                            : OwningOpRef<ModuleOp>(ModuleOp(current.module.get()).clone());
      next.guards = current.guards;
      decide(next.op(), contract, expr, outcome);
      plan::ExprId guard = outcome ? expr : guards.expressions().logicalNot(expr);
      next.guards.push_back({guard, outcome ? text : "not " + text});
      if (!simplify(*next.module)) {
        error = "internal error: an operator could not be simplified";
        return {};
      }
      open.push_back(std::move(next));
    }
  }
  return done;
}

void limitVectors(const SpecialCase &special, std::vector<Job> &jobs,
                  plan::OperatorPlan &contract) {
  constexpr unsigned widest = 256; // a thread holds no more
  Guards guards(contract, special.op());
  plan::ExprBuilder &builder = guards.expressions();
  for (Job &job : jobs)
    for (Phase &phase : job.phases) {
      plan::ExprId extent = guards.expression(phase.extent);
      for (unsigned width = 2; extent != plan::kNoExpr && width <= widest; width *= 2) {
        plan::ExprId excluded = builder.logicalNot(builder.alignedTo(extent, width));
        if (llvm::any_of(special.guards,
                         [&](const plan::Condition &guard) { return guard.expr == excluded; })) {
          phase.widestVector = width / 2;
          break;
        }
      }
    }
}

} // namespace h3
