//===-- codegen/kernel/KernelEmitter.h - One kernel while it is made -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Emits the kernel of one variant. KernelArguments.cpp plans its arguments, guards and grid and
// binds them, Kernel.cpp leads from blocks to rows, KernelRow.cpp emits one row.
//
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_KERNEL_KERNELEMITTER_H
#define H3_CODEGEN_KERNEL_KERNELEMITTER_H

#include "codegen/kernel/Exchange.h"
#include "codegen/kernel/Members.h"
#include "codegen/kernel/Schedule.h"

#include <llvm/ADT/SmallPtrSet.h>

#include <map>

namespace h3 {

class KernelEmitter {
public:
  KernelEmitter(ir::OperatorOp op, const std::vector<Job> &jobs, const KernelSchedule &schedule,
                const Machine &machine, mlir::gpu::GPUModuleOp module, plan::OperatorPlan &contract)
      : op(op), jobs(jobs), schedule(schedule), machine(machine), contract(contract),
        guards(contract, op), plan(guards.expressions()), builder(module.getContext()),
        indexType(builder.getIntegerType(schedule.indexBits)),
        elements(builder, guards, machine, indexType, schedule.accessBytes), module(module),
        members(builder, elements) {}

  std::optional<plan::Variant> run(const std::string &entry);
  std::string error;

private:
  struct JobRange {
    plan::ExprId rows, firstBlock;
    mlir::Value rowCount, firstBlockValue;
    int64_t teamsPerBlock;
  };
  /// What emission of one row needs.
  struct Row {
    const Job &job;
    const JobSchedule &how;
    const Team &team;
    mlir::Value exists;       ///< null: it does
    mlir::Value isFirst;      ///< the thread that stores what a row has once
    std::vector<Leaf> leaves; ///< of a row that is held, or the vector of a spread job
    /// What was emitted for the row itself ahead of its phases.
    llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> bound;
  };

  void addArgument(mlir::Type type, plan::ArgumentSpec::Kind kind, uint32_t index);
  mlir::Value nextArgument();
  mlir::Value nextParameter() { return *nextInKernel++; }
  plan::ExprId indexArgument(plan::ExprId expr);
  void planArguments();
  void bindArguments();
  void planJobs();
  void planReciprocals();
  /// The extents along which the number of a row (of a vector, if it is spread) is divided.
  llvm::SmallVector<plan::ExprId> divisorsOf(const Job &job, const JobSchedule &how);
  mlir::Value quotient(mlir::Value number, mlir::Value divisor, plan::ExprId divisorExpr);
  void guardLayouts(const Job &job, const JobSchedule &how);
  void emitJobs(mlir::Value block, mlir::Value thread, size_t job);
  void emitJob(const Job &job, const JobSchedule &how, const JobRange &range, mlir::Value block,
               mlir::Value thread);
  void emitSpread(const Job &job, const JobSchedule &how, const Team &team, mlir::Value number);
  void emitTeam(const Job &job, const JobSchedule &how, const JobRange &range, const Team &team,
                mlir::Value number);
  void emitEarly(Row &row, const llvm::SmallPtrSet<mlir::Operation *, 16> &done);
  void emitRow(Row &row);
  void emitElements(Row &row, size_t phase, ir::ForallOp loop);
  void emitLeaf(Row &row, ir::ForallOp loop, Leaf &leaf, unsigned vector, mlir::Value isOwn);
  mlir::Value ownsElements(const Team &team, const Layout &layout);
  void emitRowStore(Row &row, ir::StoreOp store);
  bool overwrites(ir::StoreOp store);
  void beforeOverwriting(Row &row);
  mlir::Value ofHeldElements(const Row &row);
  void bindRow(const Job &job, const JobSchedule &how, mlir::Value row, mlir::Value vectors,
               mlir::Value *last);
  mlir::Value existing(Row &row, const JobRange &range, mlir::Value number, unsigned count);
  mlir::Value both(mlir::Value a, mlir::Value b);
  template <typename Op> mlir::Value make(mlir::Value lhs, mlir::Value rhs) {
    return Op::create(builder, builder.getUnknownLoc(), lhs, rhs);
  }
  bool isUsed(mlir::Value value) { return !value.use_empty(); }

  ir::OperatorOp op;
  const std::vector<Job> &jobs;
  const KernelSchedule &schedule;
  const Machine &machine;
  plan::OperatorPlan &contract;
  Guards guards;
  plan::ExprBuilder &plan;
  mlir::OpBuilder builder;
  mlir::IntegerType indexType;
  Elements elements;
  mlir::gpu::GPUModuleOp module;
  std::optional<Exchange> exchange;

  llvm::SmallVector<mlir::Type> argumentTypes; ///< of the kernel
  llvm::SmallVector<mlir::Type> memberTypes;   ///< of a member's arguments
  mlir::Block::args_iterator nextInKernel;
  size_t nextMember = 0;
  Members members;
  plan::Variant variant;
  std::vector<JobRange> ranges;
  std::map<plan::ExprId, mlir::Value> reciprocals; ///< by the divisor; values from bindArguments on
  llvm::SmallPtrSet<mlir::Operation *, 16> early;  ///< what belongs to a row and is emitted already
};

} // namespace h3

#endif // H3_CODEGEN_KERNEL_KERNELEMITTER_H
