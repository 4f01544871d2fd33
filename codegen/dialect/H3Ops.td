//===-- codegen/dialect/H3Ops.td - Operations of the h3 dialect -----------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_DIALECT_H3OPS_TD
#define H3_CODEGEN_DIALECT_H3OPS_TD

include "codegen/dialect/H3Dialect.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class H3_Op<string opMnemonic, list<Trait> traits = []> : Op<H3_Dialect, opMnemonic, traits>;

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

def H3_OperatorOp : H3_Op<"operator", [IsolatedFromAbove, Symbol, FunctionOpInterface]> {
  let summary = "One operator with its types chosen";
  let description = [{
    The arguments are, in this order, the tensors as declared, the parameters and the free dims (of
    type `index`). Argument attributes say what the contract promises of a tensor: `h3.name`,
    `h3.output`, `h3.aliased` (an output may share its memory), `h3.alias` (of an output: the number
    of the input whose memory it may share), and `h3.strides`, one for each axis,
    -1 where any stride is admitted; of a dim: `h3.dim`, its number in the contract.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<DictArrayAttr>:$arg_attrs,
                       OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    ::mlir::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::mlir::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
  }];
}

def H3_YieldOp : H3_Op<"yield", [Pure, Terminator]> {
  let summary = "Ends a region and gives its values";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
}

def H3_ForallOp : H3_Op<"forall", [SingleBlockImplicitTerminator<"::h3::ir::YieldOp">]> {
  let summary = "The body for every setting of the indices, in no order";
  let description = [{
    ```mlir
    h3.forall (%t, %h) in (%tokens, %heads) { ... }
    ```
  }];
  let arguments = (ins Variadic<Index>:$extents);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$extents)>];
  let extraClassDeclaration = [{
    ::mlir::Block::BlockArgListType getIndices() { return getBody().getArguments(); }
  }];
}

def H3_RowOp : H3_Op<"row", [Pure, SingleBlock]> {
  let summary = "A row as a function of its indices";
  let description = [{
    ```mlir
    %row = h3.row (%i) in (%n) : !h3.row<f32, 1> { ... h3.yield %value : f32 }
    ```
    How often an element is computed cannot be observed; a schedule decides.
  }];
  let arguments = (ins Variadic<Index>:$extents);
  let results = (outs H3_RowType:$result);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$extents, "::mlir::Type":$element)>];
}

def H3_AtOp : H3_Op<"at", [Pure, TypesMatchWith<"the result is the row's element", "row", "result",
    "::llvm::cast<::h3::ir::RowType>($_self).getElementType()">]> {
  let summary = "One element of a row";
  let arguments = (ins H3_RowType:$row, Variadic<Index>:$indices);
  let results = (outs H3_Scalar:$result);
  let assemblyFormat = "$row `[` $indices `]` attr-dict `:` qualified(type($row))";
  let hasVerifier = 1;
}

def H3_RemapOp : H3_Op<"remap", [Pure, AllTypesMatch<["own", "result"]>]> {
  let summary = "What a value of this element is for another element of the row";
  let description = [{
    In the body of a loop over the elements of a row, and in no branch of it: `own` as the element
    `index`, which exists, has it. A schedule fetches it from the thread that holds that element.
  }];
  let arguments = (ins H3_Scalar:$own, Index:$index);
  let results = (outs H3_Scalar:$result);
  let assemblyFormat = "$own `at` $index attr-dict `:` type($result)";
}

def H3_ReduceOp : H3_Op<"reduce", [Pure, AttrSizedOperandSegments]> {
  let summary = "A reduction with its order, language.md 4.3";
  let description = [{
    With seeds (`from`) every slot begins with them and `step` maps the digits of the index and the
    state to the new state. Without (`of`), `step` maps the digits to the element and a slot without
    one is absent. `join` maps the lower state and the upper state to their join. Without an order
    (`any`) all trees agree. A state that is a record is several values.
  }];
  let arguments = (ins Variadic<Index>:$extents, Variadic<H3_Scalar>:$seeds,
                       OptionalAttr<H3_OrderAttr>:$order);
  let results = (outs Variadic<H3_Scalar>:$results);
  let regions = (region SizedRegion<1>:$step, SizedRegion<1>:$join);
  let assemblyFormat = [{
    `over` `(` $extents `)` (`by` $order^)? (`from` `(` $seeds^ `:` type($seeds) `)`)?
    `->` type($results) `step` $step `join` $join attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{ bool hasSeeds() { return !getSeeds().empty(); } }];
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

def H3_LoadOp : H3_Op<"load", [Pure, TypesMatchWith<"the result is the tensor's element", "tensor",
    "result", "::llvm::cast<::h3::ir::TensorType>($_self).getElementType()">]> {
  let summary = "One element of an input, as it was before the call";
  let description = [{ Inside the extents, which the semantic analysis has shown. }];
  let arguments = (ins H3_TensorType:$tensor, Variadic<Index>:$indices);
  let results = (outs H3_Scalar:$result);
  let assemblyFormat = "$tensor `[` $indices `]` attr-dict `:` qualified(type($tensor))";
  let hasVerifier = 1;
}

def H3_StoreOp : H3_Op<"store", [TypesMatchWith<"the value is the tensor's element", "tensor",
    "value", "::llvm::cast<::h3::ir::TensorType>($_self).getElementType()">]> {
  let summary = "One element of an output; a NaN is stored as the type's one NaN";
  let arguments = (ins H3_Scalar:$value, H3_TensorType:$tensor, Variadic<Index>:$indices);
  let assemblyFormat = "$value `,` $tensor `[` $indices `]` attr-dict `:` qualified(type($tensor))";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Scalar arithmetic: one IEEE operation, one rounding
//===----------------------------------------------------------------------===//

class H3_RoundedOp<string opMnemonic, dag args> :
    H3_Op<opMnemonic, [Pure, SameOperandsAndResultType]> {
  let arguments = !con(args, (ins DefaultValuedAttr<H3_Rounding,
                                  "::h3::ir::Rounding::NearestEven">:$rounding));
  let results = (outs H3_Float:$result);
}
class H3_RoundedBinaryOp<string opMnemonic> :
    H3_RoundedOp<opMnemonic, (ins H3_Float:$lhs, H3_Float:$rhs)> {
  let summary = "lhs " # opMnemonic # " rhs, rounded once in the operands' type";
  let assemblyFormat = "$lhs `,` $rhs (`round` $rounding^)? attr-dict `:` type($result)";
}
def H3_AddOp : H3_RoundedBinaryOp<"add">;
def H3_SubOp : H3_RoundedBinaryOp<"sub">;
def H3_MulOp : H3_RoundedBinaryOp<"mul">;
def H3_DivOp : H3_RoundedBinaryOp<"div">;
def H3_FmaOp : H3_RoundedOp<"fma", (ins H3_Float:$a, H3_Float:$b, H3_Float:$c)> {
  let summary = "a * b + c, rounded once";
  let assemblyFormat = "$a `,` $b `,` $c (`round` $rounding^)? attr-dict `:` type($result)";
}
def H3_SqrtOp : H3_RoundedOp<"sqrt", (ins H3_Float:$operand)> {
  let summary = "The square root, rounded once";
  let assemblyFormat = "$operand (`round` $rounding^)? attr-dict `:` type($result)";
}

class H3_UnaryOp<string opMnemonic, Type type, string text> :
    H3_Op<opMnemonic, [Pure, SameOperandsAndResultType]> {
  let summary = text;
  let arguments = (ins type:$operand);
  let results = (outs type:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}
def H3_NegOp : H3_UnaryOp<"neg", H3_Float, "The operand with its sign flipped; never 0 - x">;
def H3_AbsOp : H3_UnaryOp<"abs", H3_Float, "The operand with sign 0">;

class H3_BinaryOp<string opMnemonic, Type type, string text> :
    H3_Op<opMnemonic, [Pure, SameOperandsAndResultType]> {
  let summary = text;
  let arguments = (ins type:$lhs, type:$rhs);
  let results = (outs type:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
}
def H3_CopysignOp : H3_BinaryOp<"copysign", H3_Float, "The magnitude of lhs with the sign of rhs">;
def H3_MaxOp : H3_BinaryOp<"max", H3_Float, "The larger; a NaN wins; -0 < +0">;
def H3_MinOp : H3_BinaryOp<"min", H3_Float, "The smaller; a NaN wins; -0 < +0">;
def H3_MaxNumOp : H3_BinaryOp<"max_num", H3_Float, "The larger; a NaN loses; -0 < +0">;
def H3_MinNumOp : H3_BinaryOp<"min_num", H3_Float, "The smaller; a NaN loses; -0 < +0">;
def H3_ShlOp : H3_BinaryOp<"shl", H3_Integer, "Shift left; a count outside the width gives 0">;
def H3_ShrOp : H3_BinaryOp<"shr", H3_Integer,
  "Shift right keeping the sign; a count outside the width gives the sign">;

def H3_ApproxOp : H3_Op<"approx", [Pure, SameOperandsAndResultType]> {
  let summary = "A named approximation: the bits that the special function unit gives";
  let arguments = (ins H3_Approximation:$function, H3_F32:$operand);
  let results = (outs H3_F32:$result);
  let assemblyFormat = "$function $operand attr-dict `:` type($result)";
}

def H3_ConvertOp : H3_Op<"convert", [Pure]> {
  let summary = "The value in another type, rounded once";
  let description = [{
    From any float or integer to a float type, from an integer to an integer type. `saturate` is for
    the 8-bit types: overflow becomes the largest number.
  }];
  let arguments = (ins H3_ConvertibleFrom:$operand, DefaultValuedAttr<H3_Rounding,
                       "::h3::ir::Rounding::NearestEven">:$rounding, UnitAttr:$saturate);
  let results = (outs H3_Convertible:$result);
  let assemblyFormat = [{
    $operand (`round` $rounding^)? (`saturate` $saturate^)? attr-dict
    `:` type($operand) `to` type($result)
  }];
  let hasVerifier = 1;
}

def H3_FromBitsOp : H3_Op<"from_bits", [Pure]> {
  let summary = "The float with this bit pattern; 16-bit types take the low half of an i32";
  let arguments = (ins H3_Integer:$operand);
  let results = (outs H3_Float:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `to` type($result)";
}

def H3_ToBitsOp : H3_Op<"to_bits", [Pure]> {
  let summary = "The bit pattern of a float, its NaN canonical, the upper bits 0: also what a store writes";
  let arguments = (ins H3_Float:$operand);
  let results = (outs H3_BitPattern:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `to` type($result)";
}

#endif // H3_CODEGEN_DIALECT_H3OPS_TD
