// RUN: h3-opt %s -h3-flatten-branches -cse | FileCheck %s

// Both levels become selects, and the product that the branches share is computed once.
// CHECK-LABEL: h3.operator @arithmetic
// CHECK-SAME: (%[[A:[a-z0-9]+]]: f32, %[[B:[a-z0-9]+]]: f32, %[[P:[a-z0-9]+]]: i1, %[[Q:[a-z0-9]+]]: i1
h3.operator @arithmetic(%a: f32, %b: f32, %p: i1, %q: i1, %y: !h3.tensor<f32, 1>, %i: index) {
  // CHECK-NEXT: %[[M:.*]] = h3.mul %[[A]], %[[B]]
  // CHECK-NEXT: %[[S:.*]] = h3.sub %[[A]], %[[M]]
  // CHECK-NEXT: %[[D:.*]] = h3.add %[[A]], %[[M]]
  // CHECK-NEXT: %[[I:.*]] = arith.select %[[Q]], %[[D]], %[[A]] : f32
  // CHECK-NEXT: %[[R:.*]] = arith.select %[[P]], %[[S]], %[[I]] : f32
  // CHECK-NEXT: h3.store %[[R]]
  %r = scf.if %p -> (f32) {
    %m = h3.mul %a, %b : f32
    %s = h3.sub %a, %m : f32
    scf.yield %s : f32
  } else {
    %t = scf.if %q -> (f32) {
      %m = h3.mul %a, %b : f32
      %s = h3.add %a, %m : f32
      scf.yield %s : f32
    } else {
      scf.yield %a : f32
    }
    scf.yield %t : f32
  }
  h3.store %r, %y[%i] : !h3.tensor<f32, 1>
  h3.yield
}

// A load stays behind its condition: it may be in range only there.
// CHECK-LABEL: h3.operator @load
h3.operator @load(%p: i1, %x: !h3.tensor<f32, 1>, %y: !h3.tensor<f32, 1>, %i: index) {
  // CHECK: scf.if
  // CHECK-NEXT: h3.load
  %r = scf.if %p -> (f32) {
    %v = h3.load %x[%i] : !h3.tensor<f32, 1>
    scf.yield %v : f32
  } else {
    %z = arith.constant 0.0 : f32
    scf.yield %z : f32
  }
  h3.store %r, %y[%i] : !h3.tensor<f32, 1>
  h3.yield
}
