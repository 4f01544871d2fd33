//===-- backends/nvptx/CanonicalNaN.cpp - NaNs that are canonical already -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A stored NaN is made canonical by a select on its bits, unless the value comes straight from an
// instruction whose NaN is recorded as canonical on the target (nan.def, with the evidence).
// Straight: through selects, branches and moves between vectors, but no operation on the sign.
//
//===----------------------------------------------------------------------===//

#include "backends/nvptx/NanFacts.h"
#include "backends/nvptx/Passes.h"
#include "codegen/dialect/H3.h"

#include <llvm/ADT/TypeSwitch.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>

using namespace mlir;

namespace h3::nvptx {

bool givesCanonicalNaN(std::string_view instruction, const Target &target) {
  struct Row {
    std::string_view instruction;
    int capability;
    bool canonical;
  };
  static constexpr Row rows[] = {
#define H3_NAN(instruction, sm, canonical) {instruction, sm, canonical},
#include "backends/nvptx/nan.def"
  };
  for (const Row &row : rows)
    if (row.capability == target.major * 10 + target.minor && row.instruction == instruction)
      return row.canonical;
  return false;
}

namespace {

struct CanonicalNaN : PassWrapper<CanonicalNaN, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CanonicalNaN)
  explicit CanonicalNaN(const Target &target) : target(target) {}
  StringRef getArgument() const override { return "h3-nvptx-canonical-nan"; }
  StringRef getDescription() const override {
    return "Drops the select of a NaN that the target makes canonical itself";
  }

  void runOnOperation() override {
    SmallVector<ir::ToBitsOp> all;
    getOperation()->walk([&](ir::ToBitsOp op) { all.push_back(op); });
    for (ir::ToBitsOp op : all) {
      unsigned from = getElementTypeOrSelf(op.getOperand()).getIntOrFloatBitWidth();
      unsigned to = getElementTypeOrSelf(op.getType()).getIntOrFloatBitWidth();
      if (from != to || !isCanonical(op.getOperand()))
        continue;
      OpBuilder builder(op);
      op.replaceAllUsesWith(
          arith::BitcastOp::create(builder, op.getLoc(), op.getType(), op.getOperand())
              .getResult());
      op.erase();
    }
  }

  /// \p operation in the type of \p value, alone and packed: LLVM may print either.
  bool recorded(StringRef operation, Value value, StringRef suffix = "") {
    std::string type;
    llvm::raw_string_ostream(type) << getElementTypeOrSelf(value);
    auto known = [&](StringRef form) {
      return givesCanonicalNaN((operation + form + suffix).str(), target);
    };
    bool packs = type == "f16" || type == "bf16";
    return known(type) && (!packs || known(type + "x2"));
  }

  bool isCanonical(Value value) {
    if (auto result = dyn_cast<OpResult>(value))
      if (auto branch = dyn_cast<scf::IfOp>(result.getOwner())) {
        unsigned number = result.getResultNumber();
        return isCanonical(branch.thenYield().getOperand(number)) &&
               isCanonical(branch.elseYield().getOperand(number));
      }
    Operation *op = value.getDefiningOp();
    if (!op)
      return false;
    auto rounded = [&](auto arithmetic, std::initializer_list<StringRef> forms) {
      return arithmetic.getRounding() == ir::Rounding::NearestEven &&
             llvm::all_of(forms, [&](StringRef form) { return recorded(form, value); });
    };
    return llvm::TypeSwitch<Operation *, bool>(op)
        // LLVM turns an addition of a negated value into a subtraction.
        .Case<ir::AddOp, ir::SubOp>([&](auto sum) { return rounded(sum, {"add.rn.", "sub.rn."}); })
        .Case<ir::MulOp>([&](auto product) { return rounded(product, {"mul.rn."}); })
        .Case<ir::FmaOp>([&](auto fma) { return rounded(fma, {"fma.rn."}); })
        .Case<ir::ConvertOp>([&](ir::ConvertOp convert) {
          return convert.getRounding() == ir::Rounding::NearestEven &&
                 getElementTypeOrSelf(convert.getOperand()).isF32() &&
                 recorded("cvt.rn.", value, ".f32");
        })
        .Case<arith::SelectOp>([&](arith::SelectOp select) {
          return isCanonical(select.getTrueValue()) && isCanonical(select.getFalseValue());
        })
        .Case<LLVM::ExtractElementOp>(
            [&](LLVM::ExtractElementOp extract) { return isCanonical(extract.getVector()); })
        .Default(false);
  }

  const Target &target;
};

} // namespace

std::unique_ptr<Pass> createCanonicalNaNPass(const Target &target) {
  return std::make_unique<CanonicalNaN>(target);
}

} // namespace h3::nvptx
