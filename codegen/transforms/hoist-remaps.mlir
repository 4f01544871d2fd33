// RUN: h3-opt %s -h3-hoist-remaps | FileCheck %s

// Branches that exclude each other share one remap, at an index that their conditions choose; an
// element that uses no other fetches itself.
// CHECK-LABEL: h3.operator @rotate
h3.operator @rotate(%x: !h3.tensor<f16, 1>, %y: !h3.tensor<f16, 1>, %n: index) {
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  h3.forall (%i) in (%n) {
    // CHECK: %[[OWN:.*]] = h3.abs
    // CHECK: %[[LOW:.*]] = arith.cmpi slt, %[[I:.*]], %{{.*}}
    // CHECK-NEXT: %[[UP:.*]] = arith.addi %[[I]]
    // CHECK-NEXT: %[[DOWN:.*]] = arith.subi %[[I]]
    // CHECK-NEXT: %[[MID:.*]] = arith.cmpi slt
    // CHECK-NEXT: %[[ELSE:.*]] = arith.select %[[MID]], %[[DOWN]], %[[I]]
    // CHECK-NEXT: %[[J:.*]] = arith.select %[[LOW]], %[[UP]], %[[ELSE]]
    // CHECK-NEXT: %[[V:.*]] = h3.remap %[[OWN]] at %[[J]] : f16
    // CHECK-NEXT: scf.if %[[LOW]]
    // CHECK:        h3.neg %[[V]]
    // CHECK:        scf.yield %[[V]]
    // CHECK-NOT:  h3.remap
    %e = h3.load %x[%i] : !h3.tensor<f16, 1>
    %own = h3.abs %e : f16
    %low = arith.cmpi slt, %i, %c8 : index
    %r = scf.if %low -> (f16) {
      %j = arith.addi %i, %c8 : index
      %v = h3.remap %own at %j : f16
      %m = h3.neg %v : f16
      scf.yield %m : f16
    } else {
      %mid = arith.cmpi slt, %i, %c16 : index
      %s = scf.if %mid -> (f16) {
        %j = arith.subi %i, %c8 : index
        %v = h3.remap %own at %j : f16
        scf.yield %v : f16
      } else {
        scf.yield %own : f16
      }
      scf.yield %s : f16
    }
    h3.store %r, %y[%i] : !h3.tensor<f16, 1>
  }
  h3.yield
}
