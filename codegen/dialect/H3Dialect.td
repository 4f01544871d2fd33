//===-- codegen/dialect/H3Dialect.td - Dialect, types, attributes ---------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_DIALECT_H3DIALECT_TD
#define H3_CODEGEN_DIALECT_H3DIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def H3_Dialect : Dialect {
  let name = "h3";
  let cppNamespace = "::h3::ir";
  let summary = "What an operator computes, with nothing said about where and when";
  let description = [{
    An `h3.operator` is a pure function of tensors. Its scalar operations are the language's own:
    each is one IEEE operation with one rounding, none carries fast-math flags, and none has a
    folder, so that no generic rewrite can touch a rounding before the backend accounts for it.
    Sizes and indices are of type `index` and use `arith`; comparisons and selects are `arith` too.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

class H3_Type<string cppName, string typeMnemonic> : TypeDef<H3_Dialect, cppName> {
  let mnemonic = typeMnemonic;
}

def H3_TensorType : H3_Type<"Tensor", "tensor"> {
  let summary = "A tensor of a call: its elements' type and its rank";
  let parameters = (ins "::mlir::Type":$elementType, "unsigned":$rank);
  let assemblyFormat = "`<` $elementType `,` $rank `>`";
}

def H3_RowType : H3_Type<"Row", "row"> {
  let summary = "A function of `rank` indices with scalar values: a row of the language";
  let parameters = (ins "::mlir::Type":$elementType, "unsigned":$rank);
  let assemblyFormat = "`<` $elementType `,` $rank `>`";
}

// A scheduled kernel applies the scalar operations to several elements at once: one operation on a
// vector is that operation on each of its elements.
class H3_Elements<list<Type> types, string text> :
    AnyTypeOf<!listconcat(types, [VectorOfRankAndType<[1], types>]), text>;

def H3_Float : H3_Elements<[F16, BF16, F32, F64], "a float type with arithmetic">;
def H3_F32 : H3_Elements<[F32], "f32">;
def H3_Integer : H3_Elements<[I32, I64], "i32 or i64">;
def H3_BitPattern : H3_Elements<[I16, I32, I64], "an integer that holds a bit pattern">;
def H3_Scalar : AnyTypeOf<[I1, I32, I64, Index, F16, BF16, F32, F64, F8E4M3FN, F8E5M2], "a scalar">;
def H3_Convertible : H3_Elements<[I32, I64, F16, BF16, F32, F64, F8E4M3FN, F8E5M2],
                                 "a number">;
def H3_ConvertibleFrom : AnyTypeOf<[H3_Convertible, Index], "a number or an index">;

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

class H3_Enum<string name, string text, list<I32EnumAttrCase> cases> : I32EnumAttr<name, text, cases> {
  let cppNamespace = "::h3::ir";
  let genSpecializedAttr = 0;
}
class H3_EnumAttr<EnumAttrInfo info, string attrMnemonic> : EnumAttr<H3_Dialect, info, attrMnemonic>;

def H3_RoundingEnum : H3_Enum<"Rounding", "How one operation rounds", [
  I32EnumAttrCase<"NearestEven", 0, "rn">, I32EnumAttrCase<"TowardZero", 1, "rz">,
  I32EnumAttrCase<"Down", 2, "rm">, I32EnumAttrCase<"Up", 3, "rp">]>;
def H3_Rounding : H3_EnumAttr<H3_RoundingEnum, "rounding">;

def H3_ApproximationEnum : H3_Enum<"Approximation", "The bits of a special function unit", [
  I32EnumAttrCase<"RsqrtApprox", 0, "rsqrt.approx">,
  I32EnumAttrCase<"Ex2ApproxFtz", 1, "ex2.approx.ftz">,
  I32EnumAttrCase<"RcpApproxFtz", 2, "rcp.approx.ftz">,
  I32EnumAttrCase<"SqrtApprox", 3, "sqrt.approx">]>;
def H3_Approximation : H3_EnumAttr<H3_ApproximationEnum, "approximation">;

def H3_OrderAttr : AttrDef<H3_Dialect, "Order"> {
  let mnemonic = "order";
  let summary = "The evaluation tree of a reduction: digits, most significant first, and joins";
  let description = [{
    Written as in the language: `#h3.order<(_, warp: 4, lane: 32, _: 4) then halving lane then
    halving warp>`. Digits named `_` are walked inside a slot, the others make slots; at most one
    digit has no radix; every named digit is joined by exactly one stage.
  }];
  let parameters = (ins ArrayRefParameter<"::h3::ir::OrderDigit">:$digits,
                        ArrayRefParameter<"::h3::ir::OrderStage">:$stages);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

#endif // H3_CODEGEN_DIALECT_H3DIALECT_TD
