// RUN: h3-opt %s -h3-nvptx-canonical-nan | FileCheck %s

// What sm_90 makes canonical itself is moved; the rest keeps its select.
// CHECK-LABEL: h3.operator @stored
h3.operator @stored(%a: f16, %b: f16, %f: f32, %c: i1) {
  %sum = h3.add %a, %b : f16
  %half = h3.convert %f : f32 to f16
  %either = arith.select %c, %sum, %half : f16
  // CHECK: arith.bitcast %{{.*}} : f16 to i16
  %0 = h3.to_bits %either : f16 to i16
  // A sign operation gives whatever NaN it was given.
  %neg = h3.neg %sum : f16
  // CHECK: h3.to_bits
  %1 = h3.to_bits %neg : f16 to i16
  // So does a value from memory.
  %mixed = arith.select %c, %sum, %a : f16
  // CHECK: h3.to_bits
  %2 = h3.to_bits %mixed : f16 to i16
  // CHECK: arith.bitcast %{{.*}} : vector<2xf16> to vector<2xi16>
  %v = scf.if %c -> (vector<2xf16>) {
    %x = arith.constant dense<1.0> : vector<2xf16>
    %m = h3.mul %x, %x : vector<2xf16>
    scf.yield %m : vector<2xf16>
  } else {
    %x = arith.constant dense<2.0> : vector<2xf16>
    %m = h3.sub %x, %x : vector<2xf16>
    scf.yield %m : vector<2xf16>
  }
  %3 = h3.to_bits %v : vector<2xf16> to vector<2xi16>
  h3.yield
}
