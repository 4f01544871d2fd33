//===-- codegen/kernel/Kernel.cpp - From operator to kernel ---------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A kernel's arguments are, in this order: the address of each tensor that is used, the strides of
// each that the contract leaves open, the free dims that are used, the parameters that are used,
// and for each job its number of teams and (but for the first) its first block.
//
//===----------------------------------------------------------------------===//

#include "codegen/kernel/Kernel.h"

#include "codegen/kernel/Elements.h"
#include "codegen/kernel/Reduction.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Support/MathExtras.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/IR/Matchers.h>

using namespace mlir;

namespace h3 {
namespace {

constexpr unsigned globalMemory = 1; ///< NVPTX and AMDGPU number it alike

class KernelEmitter {
public:
  KernelEmitter(ir::OperatorOp op, const std::vector<Job> &jobs, const KernelSchedule &schedule,
                gpu::GPUModuleOp module, plan::OperatorPlan &contract)
      : op(op), jobs(jobs), schedule(schedule), contract(contract), guards(contract, op),
        plan(guards.expressions()), builder(module.getContext()),
        indexType(builder.getIntegerType(schedule.indexBits)),
        elements(builder, guards, indexType, schedule.accessBytes), module(module) {}

  std::optional<plan::Variant> run(const std::string &entry);
  std::string error;

private:
  struct JobRange {
    plan::ExprId teams, firstBlock;
    Value teamCount, firstBlockValue;
    int64_t teamsPerBlock;
  };

  void addArgument(mlir::Type type, plan::ArgumentSpec::Kind kind, uint32_t index);
  plan::ExprId indexArgument(plan::ExprId expr);
  void planArguments();
  void bindArguments(Block &entry);
  void planJobs();
  void checkAliases();
  void emitJobs(Value block, Value thread, size_t job);
  void emitJob(const Job &job, const JobSchedule &how, const JobRange &range, Value block,
               Value thread);
  void emitEarly(const Job &job, const Team &team);
  void emitBody(const Job &job, const JobSchedule &how, const Team &team, Value isRow);
  void emitElements(const Job &job, ir::ForallOp loop, const Team &team, Value isRow);
  void bindRow(const Job &job, Value row, Value vectors, Value *vectorIndex);
  Value toIndex(Value value);
  template <typename Op> Value make(Value lhs, Value rhs) {
    return Op::create(builder, builder.getUnknownLoc(), lhs, rhs);
  }
  bool isUsed(Value value) { return !value.use_empty(); }

  ir::OperatorOp op;
  const std::vector<Job> &jobs;
  const KernelSchedule &schedule;
  plan::OperatorPlan &contract;
  Guards guards;
  plan::ExprBuilder &plan;
  OpBuilder builder;
  IntegerType indexType;
  Elements elements;
  gpu::GPUModuleOp module;

  SmallVector<mlir::Type> argumentTypes;
  plan::Variant variant;
  std::vector<JobRange> ranges;
  llvm::SmallPtrSet<Operation *, 16> early; ///< emitted before the reductions
};

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

void KernelEmitter::addArgument(mlir::Type type, plan::ArgumentSpec::Kind kind, uint32_t index) {
  argumentTypes.push_back(type);
  variant.arguments.push_back({kind, index});
}

plan::ExprId KernelEmitter::indexArgument(plan::ExprId expr) {
  bool narrow = schedule.indexBits == 32;
  addArgument(indexType, narrow ? plan::ArgumentSpec::Kind::I32 : plan::ArgumentSpec::Kind::I64,
              expr);
  return expr;
}

void KernelEmitter::planArguments() {
  unsigned tensors = contract.tensors.size(), parameters = contract.parameters.size();
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext(), globalMemory);
  for (unsigned tensor = 0; tensor < tensors; ++tensor)
    if (isUsed(op.getArgument(tensor)))
      addArgument(pointer, plan::ArgumentSpec::Kind::Address, tensor);
  for (unsigned tensor = 0; tensor < tensors; ++tensor) {
    auto clauses = op.getArgAttrOfType<DenseI64ArrayAttr>(tensor, "h3.strides").asArrayRef();
    for (auto [axis, clause] : llvm::enumerate(clauses))
      if (isUsed(op.getArgument(tensor)) && clause < 0)
        indexArgument(plan.stride(tensor, axis));
  }
  for (unsigned i = tensors + parameters; i < op.getNumArguments(); ++i)
    if (isUsed(op.getArgument(i)))
      indexArgument(guards.expression(op.getArgument(i)));
  for (unsigned parameter = 0; parameter < parameters; ++parameter)
    if (isUsed(op.getArgument(tensors + parameter)))
      addArgument(op.getArgument(tensors + parameter).getType(),
                  plan::ArgumentSpec::Kind::Parameter, parameter);
}

/// In the order of planArguments.
void KernelEmitter::bindArguments(Block &entry) {
  unsigned tensors = contract.tensors.size(), parameters = contract.parameters.size();
  auto next = entry.args_begin();
  std::vector<KernelTensor> accesses(tensors);
  for (unsigned tensor = 0; tensor < tensors; ++tensor)
    if (isUsed(op.getArgument(tensor)))
      accesses[tensor].pointer = *next++;
  for (unsigned tensor = 0; tensor < tensors; ++tensor) {
    Value argument = op.getArgument(tensor);
    if (!isUsed(argument))
      continue;
    accesses[tensor].number = tensor;
    accesses[tensor].isInvariant =
        !op.getArgAttr(tensor, "h3.output") && !op.getArgAttr(tensor, "h3.aliased");
    auto clauses = op.getArgAttrOfType<DenseI64ArrayAttr>(tensor, "h3.strides").asArrayRef();
    for (int64_t clause : clauses)
      accesses[tensor].strides.push_back(clause < 0 ? Value(*next++) : elements.constant(clause));
    elements.bindTensor(argument, accesses[tensor]);
  }
  for (unsigned i = tensors + parameters; i < op.getNumArguments(); ++i)
    if (isUsed(op.getArgument(i)))
      elements.bind(op.getArgument(i), *next++);
  for (unsigned parameter = 0; parameter < parameters; ++parameter)
    if (isUsed(op.getArgument(tensors + parameter)))
      elements.bind(op.getArgument(tensors + parameter), *next++);
  for (size_t job = 0; job < jobs.size(); ++job) {
    ranges[job].teamCount = *next++;
    if (job)
      ranges[job].firstBlockValue = *next++;
  }
}

//===----------------------------------------------------------------------===//
// Jobs
//===----------------------------------------------------------------------===//

void KernelEmitter::planJobs() {
  plan::ExprId blocks = plan.constant(0);
  for (auto [job, how] : llvm::zip(jobs, schedule.jobs)) {
    plan::ExprId teams = plan.constant(1);
    auto times = [&](plan::ExprId factor) {
      if (factor == plan::kNoExpr)
        error = "an extent that does not follow from the dims has no code generation";
      else
        teams = plan.mul(teams, factor);
    };
    for (Value extent : ir::ForallOp(job.rows).getExtents())
      times(guards.expression(extent));
    if (how.kind == JobSchedule::Kind::Spread && job.extent) {
      plan::ExprId extent = guards.expression(job.extent);
      times(extent == plan::kNoExpr ? extent
                                    : plan.floorDiv(extent, plan.constant(how.layout.vector)));
      if (how.layout.vector > 1 && extent != plan::kNoExpr)
        guards.add(plan.alignedTo(extent, how.layout.vector),
                   "a row has a multiple of " + std::to_string(how.layout.vector) + " elements");
    }
    if (!error.empty())
      return;
    int64_t teamsPerBlock = schedule.blockThreads / how.layout.lanes;
    ranges.push_back({teams, blocks, {}, {}, teamsPerBlock});
    indexArgument(teams);
    if (ranges.size() > 1)
      addArgument(builder.getI32Type(), plan::ArgumentSpec::Kind::I32, blocks);
    // Thread numbers run to the end of the last block.
    if (schedule.indexBits == 32)
      guards.add(plan.le(teams, plan.constant(INT32_MAX - schedule.blockThreads)),
                 "the rows fit in 31 bits");
    blocks = plan.add(blocks, plan.ceilDiv(teams, plan.constant(teamsPerBlock)));
  }
  variant.grid[0] = blocks;
  variant.block[0] = plan.constant(schedule.blockThreads);
}

/// An input that an output may share memory with is read only at the element that the same thread
/// then writes; anything else needs the row to be held, which no schedule does yet.
void KernelEmitter::checkAliases() {
  for (unsigned tensor = 0; tensor < contract.tensors.size(); ++tensor) {
    if (contract.tensors[tensor].mayAlias < 0)
      continue;
    Value input = op.getArgument(contract.tensors[tensor].mayAlias),
          output = op.getArgument(tensor);
    ir::StoreOp store;
    for (Operation *user : output.getUsers())
      store = cast<ir::StoreOp>(user);
    for (Operation *user : input.getUsers()) {
      auto load = dyn_cast<ir::LoadOp>(user);
      bool same = load && store && load.getIndices() == store.getIndices() &&
                  load->getParentOfType<ir::ForallOp>() == store->getParentOfType<ir::ForallOp>();
      if (!same)
        error = "'" + contract.tensors[contract.tensors[tensor].mayAlias].name +
                "' may be overwritten by '" + contract.tensors[tensor].name +
                "' and is read elsewhere than where that is written: no code generation yet";
    }
  }
}

Value KernelEmitter::toIndex(Value value) {
  Location loc = value.getLoc();
  return arith::IndexCastOp::create(builder, loc, indexType, value);
}

std::optional<plan::Variant> KernelEmitter::run(const std::string &entry) {
  variant.name = schedule.name();
  variant.entry = entry;
  checkAliases();
  if (!error.empty())
    return {};
  planArguments();
  planJobs();
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
  bindArguments(function.getBody().front());

  for (Operation &outside : op.getBody().front().without_terminator())
    if (!isa<ir::ForallOp>(outside))
      elements.emit(outside);
  Value thread = toIndex(gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x));
  Value block = gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x);
  block = arith::IndexCastOp::create(builder, loc, builder.getI32Type(), block);
  emitJobs(block, thread, 0);
  gpu::ReturnOp::create(builder, loc);

  if (error.empty())
    error = elements.error();
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
  Location loc = builder.getUnknownLoc();
  auto constant = [&](int64_t value) { return elements.constant(value); };
  unsigned lanes = how.layout.lanes;
  if (schedule.indexBits == 64)
    block = arith::ExtUIOp::create(builder, loc, indexType, block);

  Value number = make<arith::MulIOp>(block, constant(range.teamsPerBlock));
  Team team{how.layout, constant(0), {}};
  Value withinBlock = thread;
  if (lanes > 1) {
    team.lane = make<arith::AndIOp>(thread, constant(lanes - 1));
    withinBlock = make<arith::ShRUIOp>(thread, constant(llvm::Log2_32(lanes)));
  }
  number = make<arith::AddIOp>(number, withinBlock);
  Value exists =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, number, range.teamCount);

  OpBuilder::InsertionGuard guard(builder);
  Value isRow;
  if (lanes > 1) {
    // Shuffles need every lane: the lanes behind the last row repeat it and store nothing.
    Value last = make<arith::SubIOp>(range.teamCount, constant(1));
    number = arith::SelectOp::create(builder, loc, exists, number, last);
    isRow = exists;
  } else {
    auto branch = scf::IfOp::create(builder, loc, exists, /*withElseRegion=*/false);
    builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  }

  if (how.kind == JobSchedule::Kind::Spread && job.extent) {
    Value vectors = elements.emitted(job.extent);
    if (how.layout.vector > 1)
      vectors = make<arith::ShRUIOp>(vectors, constant(llvm::Log2_32(how.layout.vector)));
    Value vectorIndex;
    bindRow(job, number, vectors, &vectorIndex);
    team.bases.push_back(make<arith::MulIOp>(vectorIndex, constant(how.layout.vector)));
  } else {
    bindRow(job, number, {}, nullptr);
    for (unsigned chunk = 0; chunk < how.layout.chunks; ++chunk) {
      Value index = make<arith::AddIOp>(team.lane, constant(chunk * lanes));
      team.bases.push_back(make<arith::MulIOp>(index, constant(how.layout.vector)));
    }
  }
  emitBody(job, how, team, isRow);
}

/// The row's indices, the last running fastest; behind them, for a spread job, the vector's.
void KernelEmitter::bindRow(const Job &job, Value number, Value vectors, Value *vectorIndex) {
  ir::ForallOp rows = job.rows;
  SmallVector<Value> extents;
  for (Value extent : rows.getExtents())
    extents.push_back(elements.emitted(extent));
  if (vectors)
    extents.push_back(vectors);
  SmallVector<Value> indices(extents.size());
  for (size_t axis = extents.size(); axis-- > 1;) {
    indices[axis] = make<arith::RemUIOp>(number, extents[axis]);
    number = make<arith::DivUIOp>(number, extents[axis]);
  }
  if (!indices.empty())
    indices[0] = number;
  if (vectors)
    *vectorIndex = indices.pop_back_val();
  for (auto [index, value] : llvm::zip(rows.getIndices(), indices))
    elements.bind(index, value);
}

/// Loads of the element loops that do not wait for the reductions are issued before these, so that
/// memory works while they shuffle: where a thread holds one vector, and for every row (the lanes
/// behind the last row repeat it, so that they may load too).
void KernelEmitter::emitEarly(const Job &job, const Team &team) {
  if (job.reductions.empty() || team.layout.chunks > 1 ||
      static_cast<int64_t>(team.layout.lanes) * team.layout.vector != *job.constantExtent())
    return;
  for (ir::ForallOp loop : job.elements) {
    elements.bindElement(loop.getIndices().front(), team.bases.front(), team.layout.vector);
    for (Operation &op : loop.getBody().front().without_terminator()) {
      bool isReady = true, isStore = isa<ir::StoreOp>(op);
      op.walk([&](Operation *nested) {
        for (Value operand : nested->getOperands())
          isReady &=
              op.isAncestor(operand.getParentRegion()->getParentOp()) || elements.isBound(operand);
      });
      if (isReady && !isStore) {
        elements.emit(op);
        early.insert(&op);
      }
    }
  }
}

void KernelEmitter::emitBody(const Job &job, const JobSchedule &how, const Team &team,
                             Value isRow) {
  ir::ForallOp rows = job.rows;
  emitEarly(job, team);
  for (Operation &inner : rows.getBody().front().without_terminator()) {
    if (!error.empty() || !elements.error().empty())
      return;
    if (auto reduce = dyn_cast<ir::ReduceOp>(inner)) {
      error = emitReduction(builder, elements, reduce, *job.constantExtent(), team);
    } else if (auto loop = dyn_cast<ir::ForallOp>(inner)) {
      emitElements(job, loop, team, isRow);
    } else if (auto store = dyn_cast<ir::StoreOp>(inner)) {
      // One value a row, stored by the first lane of its team (in a spread job: of its first
      // vector).
      Location loc = store.getLoc();
      Value first =
          how.kind == JobSchedule::Kind::Spread && job.extent ? team.bases.front() : team.lane;
      Value condition = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, first,
                                              elements.constant(0));
      if (isRow)
        condition = arith::AndIOp::create(builder, loc, condition, isRow);
      auto branch = scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/false);
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPoint(branch.thenBlock()->getTerminator());
      elements.emitStore(store);
    } else {
      elements.emit(inner);
    }
  }
}

void KernelEmitter::emitElements(const Job &job, ir::ForallOp loop, const Team &team, Value isRow) {
  Location loc = loop.getLoc();
  const Layout &layout = team.layout;
  std::optional<int64_t> extent = job.constantExtent();
  for (auto [chunk, base] : llvm::enumerate(team.bases)) {
    Value condition = isRow;
    bool isTeam = layout.lanes > 1 || layout.chunks > 1;
    if (isTeam && static_cast<int64_t>(chunk + 1) * layout.lanes * layout.vector > *extent) {
      Value exists = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, base,
                                           elements.constant(*extent));
      condition = condition ? arith::AndIOp::create(builder, loc, condition, exists) : exists;
    }
    OpBuilder::InsertionGuard guard(builder);
    if (condition) {
      auto branch = scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/false);
      builder.setInsertionPoint(branch.thenBlock()->getTerminator());
    }
    elements.bindElement(loop.getIndices().front(), base, layout.vector);
    for (Operation &op : loop.getBody().front().without_terminator())
      if (!early.contains(&op))
        elements.emit(op);
  }
}

} // namespace

std::optional<plan::Variant> emitKernel(ir::OperatorOp op, const std::vector<Job> &jobs,
                                        const KernelSchedule &schedule, const std::string &entry,
                                        gpu::GPUModuleOp module, plan::OperatorPlan &contract,
                                        std::string &error) {
  KernelEmitter emitter(op, jobs, schedule, module, contract);
  std::optional<plan::Variant> variant = emitter.run(entry);
  error = emitter.error;
  return variant;
}

} // namespace h3
