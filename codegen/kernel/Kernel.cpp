//===-- codegen/kernel/Kernel.cpp - From operator to kernel ---------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A kernel's arguments are, in this order: the address of each tensor that is used, the strides of
// each that the contract leaves open, the free dims that are used, the parameters that are used,
// and for each job its number of rows (of vectors, if it is spread) and, but for the first, its
// first block; then, with 32-bit indices, the reciprocal of each run-time extent that the number of
// a spread vector is divided by. A kernel of an `each` operator has the table of the members
// (runtime/plan/List.h) in front, which holds all of these but the parameters, and divides; a block
// finds its member by its number.
//
//===----------------------------------------------------------------------===//

#include "codegen/kernel/Kernel.h"

#include "codegen/kernel/Members.h"
#include "codegen/kernel/Reduction.h"
#include "codegen/kernel/Streams.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Support/MathExtras.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/IR/Matchers.h>

#include <map>

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
        elements(builder, guards, indexType, schedule.accessBytes), module(module),
        members(builder, elements) {}

  std::optional<plan::Variant> run(const std::string &entry);
  std::string error;

private:
  struct JobRange {
    plan::ExprId rows, firstBlock;
    Value rowCount, firstBlockValue;
    int64_t teamsPerBlock;
  };
  /// What emission of one row needs.
  struct Row {
    const Job &job;
    const JobSchedule &how;
    const Team &team;
    Value exists;             ///< null: it does
    Value isFirst;            ///< the thread that stores what a row has once
    std::vector<Leaf> leaves; ///< of a row that is held, or the vector of a spread job
    /// What was emitted for the row itself ahead of its phases.
    SmallVector<std::pair<Value, Value>> bound;
  };

  void addArgument(mlir::Type type, plan::ArgumentSpec::Kind kind, uint32_t index);
  Value nextArgument();
  Value nextParameter() { return *nextInKernel++; }
  plan::ExprId indexArgument(plan::ExprId expr);
  void planArguments();
  void bindArguments();
  void planJobs();
  void planReciprocals();
  Value quotient(Value number, Value divisor, plan::ExprId divisorExpr);
  void guardLayouts(const Job &job, const JobSchedule &how);
  void emitJobs(Value block, Value thread, size_t job);
  void emitJob(const Job &job, const JobSchedule &how, const JobRange &range, Value block,
               Value thread);
  void emitSpread(const Job &job, const JobSchedule &how, const Team &team, Value number);
  void emitTeam(const Job &job, const JobSchedule &how, const JobRange &range, const Team &team,
                Value number);
  void emitEarly(Row &row, const llvm::SmallPtrSet<Operation *, 16> &done);
  void emitRow(Row &row);
  void emitElements(Row &row, size_t phase, ir::ForallOp loop);
  void emitLeaf(Row &row, ir::ForallOp loop, Leaf &leaf, unsigned vector, Value isOwn);
  Value ownsElements(const Team &team, const Layout &layout);
  void emitRowStore(Row &row, ir::StoreOp store);
  bool overwrites(ir::StoreOp store);
  void beforeOverwriting(Row &row);
  Value ofHeldElements(const Row &row);
  void bindRow(const Job &job, const JobSchedule &how, Value row, Value vectors, Value *last);
  Value existing(Row &row, const JobRange &range, Value number, unsigned count);
  Value both(Value a, Value b);
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
  std::optional<Exchange> exchange;

  SmallVector<mlir::Type> argumentTypes; ///< of the kernel
  SmallVector<mlir::Type> memberTypes;   ///< of a member's arguments
  Block::args_iterator nextInKernel;
  size_t nextMember = 0;
  Members members;
  plan::Variant variant;
  std::vector<JobRange> ranges;
  std::map<plan::ExprId, Value> reciprocals; ///< by the divisor; values from bindArguments on
  llvm::SmallPtrSet<Operation *, 16> early;  ///< what belongs to a row and is emitted already
};

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

void KernelEmitter::addArgument(mlir::Type type, plan::ArgumentSpec::Kind kind, uint32_t index) {
  bool isShared = !contract.each || kind == plan::ArgumentSpec::Kind::Parameter;
  (isShared ? argumentTypes : memberTypes).push_back(type);
  (isShared ? variant.arguments : variant.memberArguments).push_back({kind, index});
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

/// The next argument that is no parameter, in the order of planArguments.
Value KernelEmitter::nextArgument() {
  return contract.each ? members.next(memberTypes[nextMember++]) : nextParameter();
}

void KernelEmitter::bindArguments() {
  unsigned tensors = contract.tensors.size(), parameters = contract.parameters.size();
  std::vector<KernelTensor> accesses(tensors);
  for (unsigned tensor = 0; tensor < tensors; ++tensor)
    if (isUsed(op.getArgument(tensor)))
      accesses[tensor].pointer = nextArgument();
  for (unsigned tensor = 0; tensor < tensors; ++tensor) {
    Value argument = op.getArgument(tensor);
    if (!isUsed(argument))
      continue;
    accesses[tensor].number = tensor;
    accesses[tensor].isAliased = op.getArgAttr(tensor, "h3.aliased") != nullptr;
    bool isOutput = op.getArgAttr(tensor, "h3.output") != nullptr;
    accesses[tensor].isInvariant = !isOutput && !accesses[tensor].isAliased;
    accesses[tensor].isStreamed = isOutput
                                      ? schedule.streamsStores
                                      : schedule.streamsLoads && accesses[tensor].isInvariant &&
                                            isReadOnce(argument, jobs, schedule);
    auto clauses = op.getArgAttrOfType<DenseI64ArrayAttr>(tensor, "h3.strides").asArrayRef();
    for (int64_t clause : clauses)
      accesses[tensor].strides.push_back(clause < 0 ? nextArgument() : elements.constant(clause));
    elements.bindTensor(argument, accesses[tensor]);
  }
  for (unsigned i = tensors + parameters; i < op.getNumArguments(); ++i)
    if (isUsed(op.getArgument(i)))
      elements.bind(op.getArgument(i), nextArgument());
  for (unsigned parameter = 0; parameter < parameters; ++parameter)
    if (isUsed(op.getArgument(tensors + parameter)))
      elements.bind(op.getArgument(tensors + parameter), nextParameter());
  for (size_t job = 0; job < jobs.size(); ++job) {
    ranges[job].rowCount = nextArgument();
    if (job)
      ranges[job].firstBlockValue = nextArgument();
  }
  for (auto &[divisor, value] : reciprocals)
    value = nextArgument();
}

//===----------------------------------------------------------------------===//
// Jobs
//===----------------------------------------------------------------------===//

void KernelEmitter::planJobs() {
  plan::ExprId blocks = plan.constant(0);
  for (auto [job, how] : llvm::zip(jobs, schedule.jobs)) {
    plan::ExprId rows = plan.constant(1);
    auto times = [&](plan::ExprId factor) {
      if (factor == plan::kNoExpr)
        error = "an extent that does not follow from the dims has no code generation";
      else
        rows = plan.mul(rows, factor);
    };
    for (Value extent : ir::ForallOp(job.rows).getExtents())
      times(guards.expression(extent));
    if (how.kind == JobSchedule::Kind::Spread && !job.phases.empty()) {
      plan::ExprId extent = guards.expression(job.commonExtent());
      times(extent == plan::kNoExpr
                ? extent
                : plan.floorDiv(extent, plan.constant(how.layouts.front().vector())));
    }
    if (!error.empty())
      return;
    guardLayouts(job, how);
    if (how.rows > 1 && ir::ForallOp(job.rows).getExtents().size() > 1)
      guards.add(
          plan.alignedTo(guards.expression(ir::ForallOp(job.rows).getExtents().back()), how.rows),
          "a team has rows that differ in the last index only");
    int64_t teamsPerBlock = schedule.blockThreads / how.threads();
    ranges.push_back({rows, blocks, {}, {}, teamsPerBlock});
    indexArgument(rows);
    if (ranges.size() > 1)
      addArgument(builder.getI32Type(), plan::ArgumentSpec::Kind::I32, blocks);
    // Row numbers run to the end of the last block.
    if (schedule.indexBits == 32)
      guards.add(
          plan.le(rows, plan.constant(INT32_MAX - int64_t(schedule.blockThreads) * how.rows)),
          "the rows fit in 31 bits");
    blocks = plan.add(blocks, plan.ceilDiv(rows, plan.constant(teamsPerBlock * how.rows)));
  }
  planReciprocals();
  variant.grid[0] = blocks;
  variant.block[0] = plan.constant(schedule.blockThreads);
}

/// The extents along which the number of a row (of a vector, if it is spread) is divided.
static SmallVector<plan::ExprId> divisorsOf(const Job &job, const JobSchedule &how,
                                            Guards &guards) {
  SmallVector<plan::ExprId> divisors;
  for (Value extent : ir::ForallOp(job.rows).getExtents())
    divisors.push_back(guards.expression(extent));
  if (how.kind == JobSchedule::Kind::Spread && !job.phases.empty()) {
    plan::ExprBuilder &plan = guards.expressions();
    divisors.push_back(plan.floorDiv(guards.expression(job.commonExtent()),
                                     plan.constant(how.layouts.front().vector())));
  }
  return divisors;
}

/// floor(2^62 / d) + 1 for each divisor d that is known at run time only. For a number n below
/// 2^31, n times that, shifted right by 62, is floor(n / d): it is n / d plus less than n / 2^62 <
/// 1 / d (Granlund and Montgomery, Division by Invariant Integers using Multiplication, 1994).
void KernelEmitter::planReciprocals() {
  if (schedule.indexBits != 32 || contract.each)
    return;
  // A team divides once for a row, while memory is what it waits for: two arguments more cost as
  // much as they save.
  for (auto [job, how] : llvm::zip(jobs, schedule.jobs)) {
    if (how.kind != JobSchedule::Kind::Spread)
      continue;
    for (plan::ExprId divisor : llvm::drop_begin(divisorsOf(job, how, guards)))
      if (contract.nodes[divisor].op != plan::ExprOp::Constant)
        reciprocals[divisor];
  }
  for (auto &[divisor, value] : reciprocals) {
    plan::ExprId positive = plan.max(divisor, plan.constant(1)); // of nothing nothing is launched
    plan::ExprId reciprocal =
        plan.add(plan.floorDiv(plan.constant(int64_t(1) << 62), positive), plan.constant(1));
    addArgument(builder.getI64Type(), plan::ArgumentSpec::Kind::I64, reciprocal);
  }
}

/// \p number over \p divisor, rounded down.
Value KernelEmitter::quotient(Value number, Value divisor, plan::ExprId divisorExpr) {
  auto known = reciprocals.find(divisorExpr);
  if (known == reciprocals.end())
    return make<arith::DivUIOp>(number, divisor);
  Location loc = builder.getUnknownLoc();
  auto i32 = builder.getI32Type(), i64 = builder.getI64Type();
  auto constant = [&](int64_t value) {
    return elements.constant(builder.getI64IntegerAttr(value));
  };
  auto wide = [&](Value value) { return arith::ExtUIOp::create(builder, loc, i64, value); };
  auto narrow = [&](Value value) { return arith::TruncIOp::create(builder, loc, i32, value); };
  Value low = wide(narrow(known->second));
  Value high = wide(narrow(make<arith::ShRUIOp>(known->second, constant(32))));
  Value carry = make<arith::ShRUIOp>(make<arith::MulIOp>(wide(number), low), constant(32));
  Value sum = make<arith::AddIOp>(make<arith::MulIOp>(wide(number), high), carry);
  return narrow(make<arith::ShRUIOp>(sum, constant(30)));
}

/// What a layout assumes of an extent that is known at run time only.
void KernelEmitter::guardLayouts(const Job &job, const JobSchedule &how) {
  for (auto [index, phase] : llvm::enumerate(job.phases)) {
    const Layout &layout = how.layout(index);
    plan::ExprId extent = guards.expression(phase.extent);
    if (extent == plan::kNoExpr) {
      error = "an extent that does not follow from the dims has no code generation";
      return;
    }
    if (layout.vector() > 1)
      guards.add(plan.alignedTo(extent, layout.vector()),
                 "a row has a multiple of " + std::to_string(layout.vector()) + " elements");
    if (how.kind == JobSchedule::Kind::Spread)
      continue;
    std::optional<int64_t> capacity = layout.capacity();
    if (capacity)
      guards.add(plan.le(extent, plan.constant(*capacity)),
                 "a row has at most " + std::to_string(*capacity) + " elements");
    // An element that does not exist is read at 0, and not used.
    guards.add(plan.ge(extent, plan.constant(1)), "a row has an element");
    int64_t round = 1;
    for (const LayoutDigit &digit : layout.digits)
      round *= std::max<int64_t>(1, digit.radix);
    if (schedule.indexBits == 32)
      guards.add(plan.le(extent, plan.constant(INT32_MAX - round)), "a row fits in 31 bits");
  }
}

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
  exchange.emplace(builder, elements, module, entry);
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
  constexpr int64_t staticShared = 48 * 1024; // the most that a kernel has without asking
  if (error.empty() && exchange->sharedBytes() > staticShared)
    error = "the states of a block's warps take " + std::to_string(exchange->sharedBytes()) +
            " bytes of shared memory, more than " + std::to_string(staticShared);
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
  SmallVector<plan::ExprId> divisors = divisorsOf(job, how, guards);
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

/// Everything that a row reads and that waits for no reduction is asked for first, so that memory
/// works while these shuffle (the threads behind the last row repeat it, so that they may read
/// too).
void KernelEmitter::emitEarly(Row &row, const llvm::SmallPtrSet<Operation *, 16> &done) {
  ir::ForallOp rows = row.job.rows;
  elements.leave();
  elements.readAliasesWhere(row.exists);
  for (Operation &inner : rows.getBody().front().without_terminator()) {
    if (isa<ir::ReduceOp, ir::ForallOp, ir::StoreOp>(inner) || done.contains(&inner) ||
        !elements.isReady(inner))
      continue;
    elements.emit(inner);
    early.insert(&inner);
    if (elements.error().empty())
      for (Value result : inner.getResults())
        row.bound.push_back({result, elements.emitted(result)});
  }
  elements.readAliasesWhere(ofHeldElements(row));
  for (bool onlyLoads : {true, false})
    for (Leaf &leaf : row.leaves)
      for (const Phase &phase : row.job.phases) {
        elements.enter(phase.element(), leaf, row.how.layouts.front().vector());
        elements.emitReady(phase.body(), onlyLoads);
      }
}

/// Of threads that hold the same elements, one alone may read what it will overwrite.
Value KernelEmitter::ofHeldElements(const Row &row) {
  return row.leaves.empty() ? row.exists
                            : both(row.exists, ownsElements(row.team, row.how.layouts.front()));
}

void KernelEmitter::emitRow(Row &row) {
  ir::ForallOp rows = row.job.rows;
  size_t number = 0;
  for (Operation &inner : rows.getBody().front().without_terminator()) {
    if (!error.empty() || !elements.error().empty())
      return;
    bool isHeld = row.how.kind == JobSchedule::Kind::Hold;
    elements.leave();
    elements.readAliasesWhere(isHeld ? ofHeldElements(row) : row.exists);
    if (isa<ir::ReduceOp>(inner)) {
      const Phase &phase = row.job.phases[number];
      Walk walk(builder, elements, row.team, row.how.layout(number), phase);
      error = emitReduction(builder, elements, *exchange, row.team, phase, walk,
                            isHeld ? &row.leaves : nullptr);
      ++number;
    } else if (auto loop = dyn_cast<ir::ForallOp>(inner)) {
      emitElements(row, number++, loop);
    } else if (auto store = dyn_cast<ir::StoreOp>(inner)) {
      emitRowStore(row, store);
    } else if (!early.contains(&inner)) {
      elements.emit(inner);
    }
  }
}

void KernelEmitter::emitRowStore(Row &row, ir::StoreOp store) {
  if (overwrites(store))
    beforeOverwriting(row);
  Value condition = both(row.exists, row.isFirst);
  if (!condition)
    return elements.emitStore(store);
  auto branch = scf::IfOp::create(builder, store.getLoc(), condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  elements.emitStore(store);
}

/// Whether the store may overwrite an input.
bool KernelEmitter::overwrites(ir::StoreOp store) {
  unsigned output = cast<BlockArgument>(store.getTensor()).getArgNumber();
  return op.getArgAttr(output, "h3.alias") != nullptr;
}

/// What other threads of the team read of such inputs, they have read behind this.
void KernelEmitter::beforeOverwriting(Row &row) {
  if (row.job.aliasReads == AliasReads::None)
    return;
  if (row.team.threads > 1)
    exchange->barrier();
  elements.forbidAliasedLoads(row.how.kind == JobSchedule::Kind::Hold);
}

void KernelEmitter::emitElements(Row &row, size_t number, ir::ForallOp loop) {
  bool hasOverwriting = false;
  loop.walk([&](ir::StoreOp store) { hasOverwriting |= overwrites(store); });
  if (hasOverwriting)
    beforeOverwriting(row);
  const Layout &layout = row.how.layout(number);
  Value isOwn = ownsElements(row.team, layout);
  if (row.how.kind != JobSchedule::Kind::Loop) {
    for (Leaf &leaf : row.leaves) {
      // Every thread takes part in a shuffle, whether it stores or not.
      if (!loop.getBody().front().getOps<ir::RemapOp>().empty()) {
        elements.enter(loop.getIndices().front(), leaf, layout.vector());
        elements.emitReady(loop.getBody().front());
      }
      emitLeaf(row, loop, leaf, layout.vector(), isOwn);
    }
    return;
  }
  const Phase &phase = row.job.phases[number];
  OpBuilder::InsertionGuard guard(builder);
  if (isOwn) {
    auto branch = scf::IfOp::create(builder, loop.getLoc(), isOwn, /*withElseRegion=*/false);
    builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  }
  Walk walk(builder, elements, row.team, layout, phase);
  SmallVector<Value> nothing;
  walk.forEachGroup(nothing, /*uniform=*/false, [&](MutableArrayRef<Leaf> leaves) {
    // All reads of the group come before its first store: they may be under way together.
    for (bool onlyLoads : {true, false})
      for (Leaf &leaf : leaves) {
        elements.enter(phase.element(), leaf, layout.vector());
        elements.emitReady(phase.body(), onlyLoads);
      }
    for (Leaf &leaf : leaves)
      emitLeaf(row, loop, leaf, layout.vector(), {});
  });
}

/// Whether this thread stores the elements that it has by \p layout; null: it does. Threads whose
/// numbers differ in bits that no digit of the layout takes have the same elements: of these, one
/// stores them.
Value KernelEmitter::ownsElements(const Team &team, const Layout &layout) {
  int64_t others = team.threads - 1;
  for (const LayoutDigit &digit : layout.digits)
    if (digit.place == LayoutDigit::Place::Thread)
      others &= ~((digit.radix - 1) << digit.threadBit);
  if (!others)
    return {};
  Value bits = make<arith::AndIOp>(team.member, elements.constant(others));
  return arith::CmpIOp::create(builder, builder.getUnknownLoc(), arith::CmpIPredicate::eq, bits,
                               elements.constant(0));
}

void KernelEmitter::emitLeaf(Row &row, ir::ForallOp loop, Leaf &leaf, unsigned vector,
                             Value isOwn) {
  Value condition = both(both(row.exists, isOwn), leaf.exists);
  OpBuilder::InsertionGuard guard(builder);
  elements.enter(loop.getIndices().front(), leaf, vector);
  if (condition) {
    auto branch = scf::IfOp::create(builder, loop.getLoc(), condition, /*withElseRegion=*/false);
    builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  }
  elements.assumeExistence(true);
  for (Operation &inner : loop.getBody().front().without_terminator())
    if (!leaf.ready.contains(&inner))
      elements.emit(inner);
  elements.assumeExistence(false);
}

} // namespace

std::optional<plan::Variant> emitKernel(ir::OperatorOp op, const std::vector<Job> &jobs,
                                        const KernelSchedule &schedule, const std::string &entry,
                                        gpu::GPUModuleOp module, plan::OperatorPlan &contract,
                                        std::string &error) {
  error = refusal(jobs, schedule);
  if (!error.empty())
    return {};
  std::vector<Job> remapped;
  if (schedule.remapsByShuffle) {
    for (const Job &job : jobs)
      remapped.push_back(*job.remapped);
    op = remapped.front().rows->getParentOfType<ir::OperatorOp>();
  }
  KernelEmitter emitter(op, remapped.empty() ? jobs : remapped, schedule, module, contract);
  std::optional<plan::Variant> variant = emitter.run(entry);
  error = emitter.error;
  return variant;
}

} // namespace h3
