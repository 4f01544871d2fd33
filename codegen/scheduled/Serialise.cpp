//===-- codegen/scheduled/Serialise.cpp - Scheduled kernels as text -------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// README.md of this folder is the form's definition. One operation a line, in the order in which
// they stand; values are numbered in that order, so that the text follows from the kernels alone.
//
//===----------------------------------------------------------------------===//

#include "codegen/dialect/H3.h"
#include "codegen/scheduled/Scheduled.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/TypeSwitch.h>
#include <llvm/Support/raw_ostream.h>
#include <mlir/Dialect/LLVMIR/NVVMDialect.h>
#include <mlir/IR/Dominance.h>
#include <mlir/Transforms/CSE.h>

#include <set>

using namespace mlir;

namespace h3 {
namespace {

/// "f32x8". An index is an i64. Empty for a type that the form has not.
std::string typeName(mlir::Type type) {
  if (auto vector = dyn_cast<VectorType>(type)) {
    std::string element = typeName(vector.getElementType());
    return element.empty() || vector.getRank() != 1
               ? ""
               : element + "x" + std::to_string(vector.getNumElements());
  }
  return llvm::TypeSwitch<mlir::Type, std::string>(type)
      .Case([](IndexType) { return "i64"; })
      .Case([](IntegerType integer) { return "i" + std::to_string(integer.getWidth()); })
      .Case([](Float16Type) { return "f16"; })
      .Case([](BFloat16Type) { return "bf16"; })
      .Case([](Float32Type) { return "f32"; })
      .Case([](Float64Type) { return "f64"; })
      .Case([](Float8E4M3FNType) { return "e4m3"; })
      .Case([](Float8E5M2Type) { return "e5m2"; })
      .Case([](LLVM::LLVMPointerType) { return "ptr"; })
      .Default([](mlir::Type) { return ""; });
}

std::string hex(const APInt &bits) { return "\"0x" + llvm::utohexstr(bits.getZExtValue()) + "\""; }

/// The elements' bits; one for all of a vector whose elements agree.
std::string constantBits(Attribute value) {
  if (auto integer = dyn_cast<IntegerAttr>(value))
    return hex(integer.getValue());
  if (auto real = dyn_cast<FloatAttr>(value))
    return hex(real.getValue().bitcastToAPInt());
  auto dense = cast<DenseElementsAttr>(value);
  std::string text;
  auto add = [&](const APInt &bits) { text += (text.empty() ? "" : ",") + hex(bits); };
  bool isReal = isa<FloatType>(dense.getElementType());
  if (dense.isSplat())
    add(isReal ? dense.getSplatValue<APFloat>().bitcastToAPInt() : dense.getSplatValue<APInt>());
  else if (isReal)
    for (const APFloat &element : dense.getValues<APFloat>())
      add(element.bitcastToAPInt());
  else
    for (const APInt &element : dense.getValues<APInt>())
      add(element);
  return text;
}

class Serialiser {
public:
  explicit Serialiser(std::string &error) : stream(text), error(error) {}

  std::string run(gpu::GPUModuleOp kernels, std::span<const plan::OperatorPlan> plans,
                  std::string_view target);

private:
  void kernel(gpu::GPUFuncOp function, const plan::OperatorPlan *plan,
              const plan::Variant *variant);
  void block(Block &operations);
  void operation(Operation &op);
  /// The operation's own name and fields; empty if it is not on the list.
  std::string described(Operation &op);
  void fail(const std::string &what) {
    if (error.empty())
      error = "internal error: a scheduled kernel has " + what + ", which has no serialised form";
  }

  void line(std::string_view name, ValueRange operands, ValueRange results, std::string fields);
  unsigned number(Value value) {
    auto known = numbers.find(value);
    return known != numbers.end() ? known->second : define(value);
  }
  unsigned define(Value value) { return numbers[value] = next++; }
  std::string defined(Value value) {
    std::string type = typeName(value.getType());
    if (type.empty())
      fail("a value of a type");
    return "[" + std::to_string(define(value)) + ",\"" + type + "\"]";
  }
  void indent() { stream.indent(depth * 2); }

  std::string text;
  llvm::raw_string_ostream stream;
  std::string &error;
  llvm::DenseMap<Value, unsigned> numbers;
  unsigned next = 0, depth = 0;
  bool isFirst = true; ///< of its list
};

/// A name that a reader of generated code shall see for each parameter: the tensor's, the dim's.
std::vector<std::string> parameterNames(const plan::OperatorPlan &plan,
                                        const plan::Variant &variant) {
  std::vector<std::string> names;
  if (plan.each)
    names.emplace_back("members");
  for (const plan::ArgumentSpec &argument : variant.arguments) {
    using Kind = plan::ArgumentSpec::Kind;
    switch (argument.kind) {
    case Kind::Address:
      names.push_back(plan.tensors[argument.index].name);
      break;
    case Kind::Parameter:
      names.push_back(plan.parameters[argument.index].name);
      break;
    case Kind::I32:
    case Kind::I64: {
      const plan::ExprNode &node = plan.nodes[argument.index];
      if (node.op == plan::ExprOp::Dim)
        names.push_back(plan.dims[node.lhs].name);
      else if (node.op == plan::ExprOp::Stride)
        names.push_back(plan.tensors[node.lhs].name + "_stride" + std::to_string(node.rhs));
      else
        names.push_back("size");
      break;
    }
    }
  }
  std::set<std::string> used;
  for (std::string &name : names) {
    std::string unique = name;
    for (unsigned k = 2; !used.insert(unique).second; ++k)
      unique = name + "_" + std::to_string(k);
    name = unique;
  }
  return names;
}

std::string Serialiser::run(gpu::GPUModuleOp kernels, std::span<const plan::OperatorPlan> plans,
                            std::string_view target) {
  stream << "{\"h3_scheduled\":" << kScheduledForm << ",\"target\":\"" << target
         << "\",\"kernels\":[";
  bool first = true;
  for (auto function : kernels.getOps<gpu::GPUFuncOp>()) {
    const plan::OperatorPlan *owner = nullptr;
    const plan::Variant *own = nullptr;
    for (const plan::OperatorPlan &plan : plans)
      for (const plan::Variant &variant : plan.variants)
        if (variant.entry == function.getName()) {
          owner = &plan;
          own = &variant;
        }
    if (!own) {
      fail("a kernel that no launch plan names");
      return {};
    }
    stream << (first ? "\n" : ",\n");
    first = false;
    kernel(function, owner, own);
  }
  stream << "\n]}\n";
  return std::move(text);
}

void Serialiser::kernel(gpu::GPUFuncOp function, const plan::OperatorPlan *plan,
                        const plan::Variant *variant) {
  numbers.clear();
  next = 0;
  stream << "{\"entry\":\"" << function.getName() << "\",\"operator\":\"" << plan->name
         << "\",\"variant\":\"" << variant->name
         << "\",\"threads\":" << function.getKnownBlockSizeAttr().asArrayRef().front();
  if (auto bytes = function->getAttrOfType<IntegerAttr>(kTableBytesAttr))
    stream << ",\"table_bytes\":" << bytes.getInt();
  stream << ",\n \"parameters\":[";
  std::vector<std::string> names = parameterNames(*plan, *variant);
  for (auto [index, argument] : llvm::enumerate(function.getArguments()))
    stream << (index ? "," : "") << "{\"name\":\"" << names[index]
           << "\",\"out\":" << defined(argument) << "}";
  stream << "],\n \"body\":";
  depth = 0;
  block(function.getBody().front());
  stream << "}";
}

void Serialiser::block(Block &operations) {
  stream << "[";
  ++depth;
  bool outer = isFirst;
  isFirst = true;
  for (Operation &op : operations)
    operation(op);
  isFirst = outer;
  --depth;
  stream << "]";
}

void Serialiser::line(std::string_view name, ValueRange operands, ValueRange results,
                      std::string fields) {
  stream << (isFirst ? "\n" : ",\n");
  isFirst = false;
  indent();
  stream << "{\"op\":\"" << name << "\"";
  if (!operands.empty()) {
    stream << ",\"in\":[";
    llvm::interleave(operands, stream, [&](Value value) { stream << number(value); }, ",");
    stream << "]";
  }
  if (!results.empty()) {
    stream << ",\"out\":[";
    llvm::interleave(results, stream, [&](Value value) { stream << defined(value); }, ",");
    stream << "]";
  }
  stream << fields;
}

std::string roundingField(ir::Rounding rounding) {
  return (",\"round\":\"" + ir::stringifyRounding(rounding) + "\"").str();
}

std::string textField(StringRef name, StringRef value) {
  return (",\"" + name + "\":\"" + value + "\"").str();
}

std::string accessFields(std::optional<uint64_t> alignment, bool isStreamed) {
  return ",\"align\":" + std::to_string(alignment.value_or(0)) +
         (isStreamed ? ",\"streamed\":true" : "");
}

/// `NAME,"field":...`: what stands in front of the operands is cut off by `operation`.
std::string Serialiser::described(Operation &op) {
  using Text = std::string;
  auto rounded = [](StringRef name) {
    return [name](auto arithmetic) -> Text {
      return name.str() + roundingField(arithmetic.getRounding());
    };
  };
  auto plain = [](StringRef name) { return [name](auto) -> Text { return name.str(); }; };
  return llvm::TypeSwitch<Operation *, Text>(&op)
      .Case([](arith::ConstantOp constant) -> Text {
        return "constant,\"bits\":[" + constantBits(constant.getValue()) + "]";
      })
      .Case([](LLVM::ConstantOp constant) -> Text {
        return "constant,\"bits\":[" + constantBits(constant.getValue()) + "]";
      })
      .Case<LLVM::PoisonOp, LLVM::UndefOp>(plain("undefined"))
      // Floats.
      .Case<ir::AddOp>(rounded("add"))
      .Case<ir::SubOp>(rounded("sub"))
      .Case<ir::MulOp>(rounded("mul"))
      .Case<ir::DivOp>(rounded("div"))
      .Case<ir::FmaOp>(rounded("fma"))
      .Case<ir::SqrtOp>(rounded("sqrt"))
      .Case<ir::NegOp>(plain("neg"))
      .Case<ir::AbsOp>(plain("abs"))
      .Case<ir::CopysignOp>(plain("copysign"))
      .Case<ir::MaxOp>(plain("max"))
      .Case<ir::MinOp>(plain("min"))
      .Case<ir::MaxNumOp>(plain("max_num"))
      .Case<ir::MinNumOp>(plain("min_num"))
      .Case([](ir::ApproxOp approx) -> Text {
        return "approx" + textField("function", ir::stringifyApproximation(approx.getFunction()));
      })
      .Case([](ir::ConvertOp convert) -> Text {
        return "convert" + roundingField(convert.getRounding()) +
               (convert.getSaturate() ? ",\"saturate\":true" : "");
      })
      .Case<ir::FromBitsOp>(plain("from_bits"))
      .Case<ir::ToBitsOp>(plain("to_bits"))
      .Case([](arith::CmpFOp compare) -> Text {
        return "fcmp" + textField("how", arith::stringifyCmpFPredicate(compare.getPredicate()));
      })
      // Integers.
      .Case<ir::ShlOp>(plain("shl"))
      .Case<ir::ShrOp>(plain("shr"))
      .Case<arith::AddIOp>(plain("iadd"))
      .Case<arith::SubIOp>(plain("isub"))
      .Case<arith::MulIOp>(plain("imul"))
      .Case<arith::DivUIOp>(plain("udiv"))
      .Case<arith::RemUIOp>(plain("urem"))
      .Case<arith::DivSIOp>(plain("sdiv"))
      .Case<arith::RemSIOp>(plain("srem"))
      .Case<arith::FloorDivSIOp>(plain("floordiv"))
      .Case<arith::CeilDivSIOp>(plain("ceildiv"))
      .Case<arith::AndIOp>(plain("and"))
      .Case<arith::OrIOp>(plain("or"))
      .Case<arith::XOrIOp>(plain("xor"))
      .Case<arith::ShLIOp>(plain("ishl"))
      .Case<arith::ShRUIOp>(plain("ushr"))
      .Case<arith::ShRSIOp>(plain("sshr"))
      .Case<arith::MaxSIOp>(plain("smax"))
      .Case<arith::MinSIOp>(plain("smin"))
      .Case([](arith::CmpIOp compare) -> Text {
        return "icmp" + textField("how", arith::stringifyCmpIPredicate(compare.getPredicate()));
      })
      .Case<arith::ExtUIOp>(plain("uext"))
      .Case<arith::ExtSIOp>(plain("sext"))
      .Case<arith::TruncIOp>(plain("trunc"))
      .Case<arith::BitcastOp, LLVM::BitcastOp>(plain("bitcast"))
      .Case<arith::SelectOp>(plain("select"))
      // Vectors.
      .Case<LLVM::ExtractElementOp>(plain("extract"))
      .Case<LLVM::InsertElementOp>(plain("insert"))
      .Case([](LLVM::ShuffleVectorOp shuffle) -> Text {
        Text mask;
        for (int32_t place : shuffle.getMask())
          mask += (mask.empty() ? "" : ",") + std::to_string(place);
        return "shuffle,\"mask\":[" + mask + "]";
      })
      // Memory.
      .Case([](LLVM::GEPOp address) -> Text {
        unsigned bytes = address.getElemType().getIntOrFloatBitWidth() / 8;
        auto indices = address.getRawConstantIndices();
        if (indices.size() != 1)
          return {};
        if (!address.getDynamicIndices().empty())
          return "address,\"bytes\":" + std::to_string(bytes);
        return "address,\"bytes\":" + std::to_string(bytes) +
               ",\"index\":" + std::to_string(indices.front());
      })
      .Case([](LLVM::LoadOp load) -> Text {
        return "load" + accessFields(load.getAlignment(), load.getNontemporal()) +
               (load.getInvariant() ? ",\"invariant\":true" : "");
      })
      .Case([](LLVM::StoreOp store) -> Text {
        return "store" + accessFields(store.getAlignment(), store.getNontemporal());
      })
      // Threads.
      .Case([](gpu::BlockIdOp id) -> Text {
        return id.getDimension() == gpu::Dimension::x ? "block" : "";
      })
      .Case([](gpu::ThreadIdOp id) -> Text {
        return id.getDimension() == gpu::Dimension::x ? "thread" : "";
      })
      .Case<gpu::BarrierOp>(plain("barrier"))
      .Case<NVVM::SyncWarpOp>(plain("wave_barrier"))
      .Case([](gpu::ShuffleOp shuffle) -> Text {
        return "exchange" + textField("how", gpu::stringifyShuffleMode(shuffle.getMode()));
      })
      .Case([&](LLVM::AddressOfOp address) -> Text {
        auto global = SymbolTable::lookupNearestSymbolFrom<LLVM::GlobalOp>(
            address, address.getGlobalNameAttr());
        auto array = dyn_cast<LLVM::LLVMArrayType>(global.getGlobalType());
        if (!array)
          return {};
        uint64_t bytes =
            array.getElementType().getIntOrFloatBitWidth() / 8 * uint64_t(array.getNumElements());
        return "shared" + textField("name", address.getGlobalName()) +
               ",\"size\":" + std::to_string(bytes);
      })
      .Case<scf::YieldOp>(plain("yield"))
      .Default([](Operation *) -> Text { return {}; });
}

void Serialiser::operation(Operation &op) {
  if (isa<gpu::ReturnOp>(op))
    return;
  if (auto cast = dyn_cast<arith::IndexCastOp>(op)) {
    // An index is an i64, and so are a block's and a thread's number.
    Value from = cast.getIn();
    std::string source = typeName(from.getType()), result = typeName(cast.getType());
    if (source == result) {
      unsigned same = number(from);
      numbers[cast.getResult()] = same;
      return;
    }
    line(source == "i64" ? "trunc" : "sext", op.getOperands(), op.getResults(), "}");
    return;
  }
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    // Results are numbered in front of what is inside.
    line("if", branch.getCondition(), op.getResults(), ",\"then\":");
    block(*branch.thenBlock());
    if (branch.elseBlock()) {
      stream << ",\"else\":";
      block(*branch.elseBlock());
    }
    stream << "}";
    return;
  }
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    line("for", op.getOperands(), op.getResults(), ",\"index\":");
    stream << defined(loop.getInductionVar()) << ",\"carried\":[";
    llvm::interleave(
        loop.getRegionIterArgs(), stream, [&](Value value) { stream << defined(value); }, ",");
    stream << "],\"body\":";
    block(*loop.getBody());
    stream << "}";
    return;
  }
  std::string text = described(op);
  if (text.empty())
    return fail("the operation " + op.getName().getStringRef().str());
  size_t end = std::min(text.find(','), text.size());
  std::string name = text.substr(0, end);
  if (name == "yield" && op.getNumOperands() == 0)
    return;
  ValueRange operands = op.getOperands();
  if (name == "wave_barrier")
    operands = {}; // all threads of the wave
  if (name == "exchange")
    operands = operands.take_front(2); // the width is the wave's
  ValueRange results = op.getResults();
  if (name == "exchange")
    results = results.take_front(1);
  line(name, operands, results, text.substr(end) + "}");
}

} // namespace

std::optional<std::string> serialise(gpu::GPUModuleOp kernels,
                                     std::span<const plan::OperatorPlan> plans,
                                     std::string_view target, std::string &error) {
  IRRewriter rewriter(kernels.getContext());
  DominanceInfo dominance(kernels);
  eliminateCommonSubExpressions(rewriter, dominance, kernels);
  std::string text = Serialiser(error).run(kernels, plans, target);
  if (!error.empty())
    return {};
  return text;
}

} // namespace h3
