//===-- codegen/kernel/KernelArguments.cpp - What a kernel is given -----===//
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

#include "codegen/kernel/KernelEmitter.h"
#include "codegen/kernel/Streams.h"

#include <mlir/Dialect/LLVMIR/LLVMDialect.h>

using namespace mlir;

namespace h3 {

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
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext(), machine.globalMemory);
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
    // Of empty rows that a thread walks nothing is launched, as of spread ones (guardLayouts).
    if (how.kind == JobSchedule::Kind::Loop && how.threads() == 1 && job.phases.size() == 1 &&
        !job.phases.front().reduce())
      if (plan::ExprId extent = guards.expression(job.phases.front().extent);
          extent != plan::kNoExpr)
        times(plan.min(extent, plan.constant(1)));
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

SmallVector<plan::ExprId> KernelEmitter::divisorsOf(const Job &job, const JobSchedule &how) {
  SmallVector<plan::ExprId> divisors;
  for (Value extent : ir::ForallOp(job.rows).getExtents())
    divisors.push_back(guards.expression(extent));
  if (how.kind == JobSchedule::Kind::Spread && !job.phases.empty()) {
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
    for (plan::ExprId divisor : llvm::drop_begin(divisorsOf(job, how)))
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
    if (layout.vector() > 1 && !elements.hasPartialVectors())
      guards.add(plan.alignedTo(extent, layout.vector()),
                 "a row has a multiple of " + std::to_string(layout.vector()) + " elements");
    if (how.kind == JobSchedule::Kind::Spread)
      continue;
    std::optional<int64_t> capacity = layout.capacity();
    if (capacity)
      guards.add(plan.le(extent, plan.constant(*capacity)),
                 "a row has at most " + std::to_string(*capacity) + " elements");
    // An element that does not exist is read at 0, and not used. A thread alone that walks a row in
    // a loop has no round for an empty one.
    const bool mayBeEmpty =
        how.kind == JobSchedule::Kind::Loop && how.threads() == 1 && !phase.reduce() && !capacity;
    if (!mayBeEmpty)
      guards.add(plan.ge(extent, plan.constant(1)), "a row has an element");
    int64_t round = 1;
    for (const LayoutDigit &digit : layout.digits)
      round *= std::max<int64_t>(1, digit.radix);
    if (schedule.indexBits == 32)
      guards.add(plan.le(extent, plan.constant(INT32_MAX - round)), "a row fits in 31 bits");
  }
}

} // namespace h3
