// RUN: h3-opt %s -h3-lower-narrow-floats | FileCheck %s

// The values themselves are compared with the interpreter's by the conversion suite; here only that
// nothing but integer arithmetic is left, and that other conversions are not touched.

// CHECK-LABEL: h3.operator @narrow
h3.operator @narrow(%x: f32, %y: !h3.tensor<f8E4M3FN, 1>, %i: index) {
  // CHECK-NOT: h3.convert
  // CHECK-NOT: arith.truncf
  // CHECK: arith.bitcast %{{.*}} : i8 to f8E4M3FN
  %v = h3.convert %x : f32 to f8E4M3FN
  h3.store %v, %y[%i] : !h3.tensor<f8E4M3FN, 1>
  h3.yield
}

// CHECK-LABEL: h3.operator @widen
h3.operator @widen(%x: f8E5M2, %y: !h3.tensor<f32, 1>, %i: index) {
  // CHECK: arith.shli
  // CHECK: arith.extf %{{.*}} : f16 to f32
  %v = h3.convert %x : f8E5M2 to f32
  h3.store %v, %y[%i] : !h3.tensor<f32, 1>
  h3.yield
}

// CHECK-LABEL: h3.operator @toward_zero
h3.operator @toward_zero(%x: f32, %y: !h3.tensor<f16, 1>, %i: index) {
  // CHECK-NOT: h3.convert
  // CHECK: arith.trunci %{{.*}} : i32 to i16
  %v = h3.convert %x round rz : f32 to f16
  h3.store %v, %y[%i] : !h3.tensor<f16, 1>
  h3.yield
}

// CHECK-LABEL: h3.operator @nearest
h3.operator @nearest(%x: f32, %y: !h3.tensor<f16, 1>, %i: index) {
  // CHECK-NEXT: h3.convert
  %v = h3.convert %x : f32 to f16
  h3.store %v, %y[%i] : !h3.tensor<f16, 1>
  h3.yield
}
