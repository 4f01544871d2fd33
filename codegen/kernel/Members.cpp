//===-- codegen/kernel/Members.cpp - Which member a block is for ----------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/kernel/Members.h"

using namespace mlir;

namespace h3 {

bool Members::plan(const plan::OperatorPlan &contract, plan::Variant &variant) {
  capacity = variant.memberCapacity = plan::memberCapacity(contract, variant);
  layout = plan::memberTable(variant);
  return capacity > 0;
}

static Value addressOf(OpBuilder &builder, Value base, LLVM::GEPArg index, mlir::Type element) {
  return LLVM::GEPOp::create(builder, builder.getUnknownLoc(), base.getType(), element, base,
                             ArrayRef<LLVM::GEPArg>{index}, LLVM::GEPNoWrapFlags::inbounds);
}

Value Members::load(mlir::Type type, Value base, LLVM::GEPArg index, mlir::Type elementType) {
  return LLVM::LoadOp::create(builder, builder.getUnknownLoc(), type,
                              addressOf(builder, base, index, elementType));
}

Value Members::find(Value table, Value block) {
  Location loc = builder.getUnknownLoc();
  mlir::Type i32 = builder.getI32Type();
  auto constant = [&](uint32_t value) {
    return elements.constant(builder.getI32IntegerAttr(static_cast<int32_t>(value)));
  };
  // The member is one of the `left` from `member` on.
  Value member = constant(0);
  for (uint32_t left = capacity, half; left > 1; left -= half) {
    half = left / 2;
    Value tried = arith::AddIOp::create(builder, loc, member, constant(half));
    Value first = load(i32, table, tried, i32);
    Value isThere = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ule, first, block);
    member = arith::SelectOp::create(builder, loc, isThere, tried, member);
  }
  Value offset = arith::MulIOp::create(builder, loc, member, constant(layout.recordBytes));
  offset = arith::AddIOp::create(builder, loc, offset, constant(layout.records));
  record = addressOf(builder, table, offset, builder.getI8Type());
  number = 0;
  return arith::SubIOp::create(builder, loc, block, load(i32, table, member, i32));
}

Value Members::next(mlir::Type type) {
  return load(type, record, static_cast<int32_t>(layout.offsets[number++]), builder.getI8Type());
}

} // namespace h3
