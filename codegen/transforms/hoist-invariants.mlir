// RUN: h3-opt %s -h3-hoist-invariants | FileCheck %s

// What is the same for the whole row leaves the loop over its elements; a branch around a load
// leaves as a whole.
// CHECK-LABEL: h3.operator @invariant
h3.operator @invariant(%x: !h3.tensor<f32, 2>, %s: !h3.tensor<f32, 1>, %y: !h3.tensor<f32, 2>,
                       %rows: index, %n: index, %p: i1) {
  h3.forall (%r) in (%rows) {
    // CHECK: h3.forall
    // CHECK-NEXT: scf.if
    // CHECK-NEXT: h3.load %{{.*}}[%[[R:.*]]]
    // CHECK: h3.neg
    // CHECK: h3.forall (%[[I:.*]]) in
    // CHECK-NEXT: h3.load %{{.*}}[%{{.*}}, %[[I]]]
    // CHECK-NEXT: h3.mul
    // CHECK-NEXT: h3.store
    h3.forall (%i) in (%n) {
      %g = scf.if %p -> (f32) {
        %l = h3.load %s[%r] : !h3.tensor<f32, 1>
        scf.yield %l : f32
      } else {
        %z = arith.constant 0.0 : f32
        scf.yield %z : f32
      }
      %m = h3.neg %g : f32
      %v = h3.load %x[%r, %i] : !h3.tensor<f32, 2>
      %w = h3.mul %v, %m : f32
      h3.store %w, %y[%r, %i] : !h3.tensor<f32, 2>
    }
  }
  h3.yield
}
