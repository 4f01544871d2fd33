//===-- codegen/kernel/Kernel.cpp - From operator to kernel ---------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/kernel/Kernel.h"

#include "codegen/kernel/KernelEmitter.h"
#include "codegen/kernel/Walk.h"

#include <llvm/Support/MathExtras.h>

using namespace mlir;

namespace h3 {

Value KernelEmitter::both(Value a, Value b) {
  return a && b ? make<arith::AndIOp>(a, b) : a ? a : b;
}

std::optional<plan::Variant> KernelEmitter::run(const std::string &entry) {
  variant.name = schedule.name();
  variant.entry = entry;
  if (contract.each)
    argumentTypes.push_back(LLVM::LLVMPointerType::get(builder.getContext()));
  planArguments();
  planJobs();
  if (error.empty() && contract.each && !members.plan(contract, variant))
    error = "the arguments of one member take more than the " +
            std::to_string(plan::kMaxParameterBytes) + " bytes that a kernel's parameters have";
  if (!error.empty())
    return {};

  builder.setInsertionPointToEnd(module.getBody());
  Location loc = builder.getUnknownLoc();
  auto function =
      gpu::GPUFuncOp::create(builder, loc, entry, builder.getFunctionType(argumentTypes, {}));
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), builder.getUnitAttr());
  function.setKnownBlockSizeAttr(
      builder.getDenseI32ArrayAttr({static_cast<int32_t>(schedule.blockThreads), 1, 1}));
  builder.setInsertionPointToStart(&function.getBody().front());
  elements.begin(function.getBody().front());
  exchange.emplace(builder, elements, machine, module, entry);
  Value block = gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x);
  block = arith::IndexCastOp::create(builder, loc, builder.getI32Type(), block);
  nextInKernel = function.getBody().front().args_begin();
  if (contract.each) {
    function->setAttr(kTableBytesAttr,
                      builder.getI32IntegerAttr(static_cast<int32_t>(members.tableBytes())));
    function.setArgAttr(0, "llvm.align", builder.getI64IntegerAttr(8));
    function.setArgAttr(0, "llvm.readonly", builder.getUnitAttr());
    block = members.find(nextParameter(), block);
  }
  bindArguments();

  for (Operation &outside : op.getBody().front().without_terminator())
    if (!isa<ir::ForallOp>(outside))
      elements.emit(outside);
  Value thread = gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x);
  thread = arith::IndexCastOp::create(builder, loc, builder.getI32Type(), thread);
  emitJobs(block, thread, 0);
  gpu::ReturnOp::create(builder, loc);

  if (error.empty())
    error = elements.error();
  if (error.empty() && exchange->sharedBytes() > machine.sharedBytes)
    error = "the states of a block's warps take " + std::to_string(exchange->sharedBytes()) +
            " bytes of shared memory, more than " + std::to_string(machine.sharedBytes);
  if (!error.empty()) {
    function.erase();
    return {};
  }
  if (schedule.indexBits == 32) {
    SmallVector<unsigned> used;
    for (unsigned tensor = 0; tensor < contract.tensors.size(); ++tensor)
      if (isUsed(op.getArgument(tensor)))
        used.push_back(tensor);
    guards.narrowIndices(used);
    for (Operation &outside : op.getBody().front())
      for (Value result : outside.getResults())
        if (plan::ExprId size =
                result.getType().isIndex() ? guards.expression(result) : plan::kNoExpr;
            size != plan::kNoExpr)
          guards.below31Bits(size, "sizes fit in 31 bits");
  }
  variant.guards = guards.all();
  return variant;
}

/// Blocks before the next job's first belong to this one: one uniform branch a job.
void KernelEmitter::emitJobs(Value block, Value thread, size_t job) {
  Location loc = builder.getUnknownLoc();
  auto emitThis = [&](Value local) {
    emitJob(jobs[job], schedule.jobs[job], ranges[job], local, thread);
  };
  Value local = block;
  if (job)
    local = make<arith::SubIOp>(block, ranges[job].firstBlockValue);
  if (job + 1 == jobs.size())
    return emitThis(local);
  Value isThis = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, block,
                                       ranges[job + 1].firstBlockValue);
  auto branch = scf::IfOp::create(builder, loc, isThis, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  emitThis(local);
  builder.setInsertionPoint(branch.elseBlock()->getTerminator());
  emitJobs(block, thread, job + 1);
}

void KernelEmitter::emitJob(const Job &job, const JobSchedule &how, const JobRange &range,
                            Value block, Value thread) {
  if (!error.empty())
    return;
  elements.forbidAliasedLoads(false);
  Location loc = builder.getUnknownLoc();
  Team team{how.threads(), schedule.blockThreads, thread, thread};
  if (team.threads < schedule.blockThreads)
    team.member =
        make<arith::AndIOp>(thread, elements.constant(builder.getI32IntegerAttr(team.threads - 1)));
  Value withinBlock = thread;
  if (team.threads > 1)
    withinBlock = make<arith::ShRUIOp>(
        thread, elements.constant(builder.getI32IntegerAttr(llvm::Log2_32(team.threads))));
  if (schedule.indexBits == 64) {
    block = arith::ExtUIOp::create(builder, loc, indexType, block);
    withinBlock = arith::ExtUIOp::create(builder, loc, indexType, withinBlock);
    team.member = arith::ExtUIOp::create(builder, loc, indexType, team.member);
  }
  exchange->setTeam(&team);
  elements.setFetch([&](Value own, Value first) {
    int64_t held = how.layouts.front().registers();
    return exchange->fromMember(own, make<arith::DivUIOp>(first, elements.constant(held)));
  });
  int64_t beside = schedule.blockThreads;
  if (how.kind != JobSchedule::Kind::Spread)
    for (const Layout &layout : how.layouts)
      beside = std::min(beside, layout.threadsBesideVector());
  elements.setThreadsBeside(beside);

  Value number = make<arith::MulIOp>(block, elements.constant(range.teamsPerBlock * how.rows));
  if (range.teamsPerBlock > 1) {
    if (how.rows > 1)
      withinBlock = make<arith::MulIOp>(withinBlock, elements.constant(how.rows));
    number = make<arith::AddIOp>(number, withinBlock);
  }
  if (team.threads > 1 || how.rows > 1)
    return emitTeam(job, how, range, team, number);

  // A thread alone waits for no other.
  Value exists =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, number, range.rowCount);
  auto branch = scf::IfOp::create(builder, loc, exists, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  if (how.kind == JobSchedule::Kind::Spread)
    emitSpread(job, how, team, number);
  else
    emitTeam(job, how, range, team, number);
}

void KernelEmitter::emitSpread(const Job &job, const JobSchedule &how, const Team &team,
                               Value number) {
  Row row{job, how, team, {}, {}, {}, {}};
  early.clear();
  if (job.phases.empty()) {
    bindRow(job, how, number, {}, nullptr);
    return emitRow(row);
  }
  unsigned vector = how.layouts.front().vector();
  Value vectors = elements.emitted(job.commonExtent());
  if (vector > 1)
    vectors = make<arith::ShRUIOp>(vectors, elements.constant(llvm::Log2_32(vector)));
  Value vectorIndex;
  bindRow(job, how, number, vectors, &vectorIndex);
  Leaf leaf;
  leaf.base = make<arith::MulIOp>(vectorIndex, elements.constant(vector));
  row.leaves.push_back(std::move(leaf));
  if (!job.stores.empty())
    row.isFirst = arith::CmpIOp::create(builder, builder.getUnknownLoc(), arith::CmpIPredicate::eq,
                                        vectorIndex, elements.constant(0));
  emitEarly(row, {});
  emitRow(row);
}

/// Threads behind the last row repeat it and store nothing: shuffles and barriers need every
/// thread.
void KernelEmitter::emitTeam(const Job &job, const JobSchedule &how, const JobRange &range,
                             const Team &team, Value number) {
  Location loc = builder.getUnknownLoc();
  Row row{job, how, team, {}, {}, {}, {}};
  if (!job.stores.empty() && team.threads > 1)
    row.isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, team.member,
                                        elements.constant(0));
  early.clear();
  if (how.kind == JobSchedule::Kind::Loop) {
    if (team.threads > 1 && range.teamsPerBlock > 1)
      number = existing(row, range, number, 1);
    bindRow(job, how, number, {}, nullptr);
    return emitRow(row);
  }
  if (!job.phases.empty())
    row.leaves = Walk(builder, elements, team, how.layouts.front(), job.phases.front()).group();

  // Rows that a team takes are neighbours: all their indices but the last agree, where there are
  // several. What does not depend on the last one is read once, then all that the rows read by
  // themselves is asked for, then they are computed.
  unsigned count = how.rows;
  bool sharesOuter = count > 1 && ir::ForallOp(job.rows).getIndices().size() > 1;
  bool mayMiss = (team.threads > 1 || count > 1) && range.teamsPerBlock > 1;
  emitEarly(row, {});
  Value last;
  if (sharesOuter) {
    if (mayMiss)
      number = existing(row, range, number, count);
    bindRow(job, how, number, {}, &last);
    emitEarly(row, {});
  }
  llvm::SmallPtrSet<Operation *, 16> shared = early;
  std::vector<Row> rows(count, row);
  for (unsigned k = 0; k < count; ++k) {
    if (sharesOuter) {
      Value index = k ? make<arith::AddIOp>(last, elements.constant(k)) : last;
      elements.bind(ir::ForallOp(job.rows).getIndices().back(), index);
    } else {
      Value own = k ? make<arith::AddIOp>(number, elements.constant(k)) : number;
      if (mayMiss || count > 1)
        own = existing(rows[k], range, own, 1);
      bindRow(job, how, own, {}, nullptr);
    }
    emitEarly(rows[k], shared);
    for (Value index : ir::ForallOp(job.rows).getIndices())
      rows[k].bound.push_back({index, elements.emitted(index)});
  }
  for (Row &one : rows) {
    elements.forbidAliasedLoads(false);
    for (auto [value, emitted] : one.bound)
      elements.bind(value, emitted);
    emitRow(one);
  }
}

/// Notes in \p row whether the \p count rows from \p number on exist; the number, or that of the
/// last that do.
Value KernelEmitter::existing(Row &row, const JobRange &range, Value number, unsigned count) {
  Location loc = builder.getUnknownLoc();
  row.exists =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, number, range.rowCount);
  Value last = make<arith::SubIOp>(range.rowCount, elements.constant(count));
  return arith::SelectOp::create(builder, loc, row.exists, number, last);
}

/// The row's indices, the last running fastest; behind them, for a spread job, the vector's. With
/// \p last, the last of them is not bound but given there.
void KernelEmitter::bindRow(const Job &job, const JobSchedule &how, Value number, Value vectors,
                            Value *last) {
  ir::ForallOp rows = job.rows;
  SmallVector<Value> extents;
  for (Value extent : rows.getExtents())
    extents.push_back(elements.emitted(extent));
  if (vectors)
    extents.push_back(vectors);
  SmallVector<plan::ExprId> divisors = divisorsOf(job, how);
  SmallVector<Value> indices(extents.size());
  for (size_t axis = extents.size(); axis-- > 1;) {
    Value whole = quotient(number, extents[axis], divisors[axis]);
    indices[axis] = make<arith::SubIOp>(number, make<arith::MulIOp>(whole, extents[axis]));
    number = whole;
  }
  if (!indices.empty())
    indices[0] = number;
  if (last)
    *last = indices.pop_back_val();
  for (auto [index, value] : llvm::zip(rows.getIndices(), indices))
    elements.bind(index, value);
}

std::optional<plan::Variant> emitKernel(ir::OperatorOp op, const std::vector<Job> &jobs,
                                        const KernelSchedule &schedule, const Machine &machine,
                                        const std::string &entry, gpu::GPUModuleOp module,
                                        plan::OperatorPlan &contract, std::string &error) {
  error = refusal(jobs, schedule, machine);
  if (!error.empty())
    return {};
  std::vector<Job> remapped;
  if (schedule.remapsByShuffle) {
    for (const Job &job : jobs)
      remapped.push_back(*job.remapped);
    op = remapped.front().rows->getParentOfType<ir::OperatorOp>();
  }
  KernelEmitter emitter(op, remapped.empty() ? jobs : remapped, schedule, machine, module,
                        contract);
  std::optional<plan::Variant> variant = emitter.run(entry);
  error = emitter.error;
  return variant;
}

} // namespace h3
