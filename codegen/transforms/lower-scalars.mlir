// RUN: h3-opt %s -h3-lower-scalars | FileCheck %s

// CHECK-LABEL: h3.operator @arithmetic
// CHECK-SAME: (%[[A:.*]]: f32, %[[B:.*]]: f32
h3.operator @arithmetic(%a: f32, %b: f32) {
  // CHECK-NEXT: arith.addf %[[A]], %[[B]] : f32
  %add = h3.add %a, %b : f32
  // CHECK-NEXT: arith.subf
  %sub = h3.sub %a, %b : f32
  // CHECK-NEXT: arith.mulf
  %mul = h3.mul %a, %b : f32
  // CHECK-NEXT: arith.divf
  %div = h3.div %a, %b : f32
  // CHECK-NEXT: llvm.intr.fma(%[[A]], %[[B]], %[[A]])
  %fma = h3.fma %a, %b, %a : f32
  // CHECK-NEXT: llvm.call_intrinsic "llvm.sqrt"
  %sqrt = h3.sqrt %a : f32
  // CHECK-NEXT: arith.negf
  %neg = h3.neg %a : f32
  // CHECK-NEXT: llvm.call_intrinsic "llvm.fabs"
  %abs = h3.abs %a : f32
  // CHECK-NEXT: llvm.call_intrinsic "llvm.copysign"
  %cps = h3.copysign %a, %b : f32
  // CHECK-NEXT: arith.maximumf
  %max = h3.max %a, %b : f32
  // CHECK-NEXT: llvm.call_intrinsic "llvm.maximumnum"
  %mxn = h3.max_num %a, %b : f32
  // CHECK-NEXT: llvm.call_intrinsic "llvm.minimumnum"
  %mnn = h3.min_num %a, %b : f32
  // A directed rounding is the backend's.
  // CHECK-NEXT: h3.add %[[A]], %[[B]] round rz
  %adz = h3.add %a, %b round rz : f32
  h3.yield
}

// CHECK-LABEL: h3.operator @conversions
h3.operator @conversions(%h: f16, %b: bf16, %f: f32, %d: f64, %i: i64) {
  // CHECK-NEXT: arith.extf %{{.*}} : f16 to f32
  %0 = h3.convert %h : f16 to f32
  // One rounding, not two.
  // CHECK-NEXT: arith.truncf %{{.*}} : f64 to f16
  %1 = h3.convert %d : f64 to f16
  // f32 holds both 16-bit types.
  // CHECK-NEXT: %[[W:.*]] = arith.extf %{{.*}} : bf16 to f32
  // CHECK-NEXT: arith.truncf %[[W]] : f32 to f16
  %2 = h3.convert %b : bf16 to f16
  // CHECK-NEXT: arith.sitofp %{{.*}} : i64 to f32
  %3 = h3.convert %i : i64 to f32
  // CHECK-NEXT: arith.trunci %{{.*}} : i64 to i32
  %4 = h3.convert %i : i64 to i32
  h3.yield
}

// CHECK-LABEL: h3.operator @bits
h3.operator @bits(%f: f32, %h: f16, %i: i32) {
  // The NaN is made canonical by integers: no float rewrite sees through it.
  // CHECK: %[[BITS:.*]] = arith.bitcast %{{.*}} : f32 to i32
  // CHECK: %[[MASK:.*]] = arith.constant 2147483647 : i32
  // CHECK: %[[MAG:.*]] = arith.andi %[[BITS]], %[[MASK]] : i32
  // CHECK: %[[INF:.*]] = arith.constant 2139095040 : i32
  // CHECK: %[[ISNAN:.*]] = arith.cmpi ugt, %[[MAG]], %[[INF]] : i32
  // CHECK: %[[NAN:.*]] = arith.constant 2147483647 : i32
  // CHECK: arith.select %[[ISNAN]], %[[NAN]], %[[BITS]] : i32
  %0 = h3.to_bits %f : f32 to i32
  // CHECK: %[[LOW:.*]] = arith.trunci %{{.*}} : i32 to i16
  // CHECK: arith.bitcast %[[LOW]] : i16 to f16
  %1 = h3.from_bits %i : i32 to f16
  h3.yield
}
