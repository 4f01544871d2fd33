// RUN: h3-opt %s -h3-hoist-loads | FileCheck %s

// Both levels of a piecewise row get a twin that only loads, with the same conditions.
// CHECK-LABEL: h3.operator @piecewise
// CHECK-SAME: (%[[X:[a-z0-9]+]]: !h3.tensor<f16, 1>
h3.operator @piecewise(%x: !h3.tensor<f16, 1>, %c: !h3.tensor<f16, 1>, %y: !h3.tensor<f16, 1>, %n: index) {
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  h3.forall (%i) in (%n) {
    // CHECK: %[[LOW:.*]] = arith.cmpi slt, %[[I:.*]], %{{.*}}
    %low = arith.cmpi slt, %i, %c8 : index
    // CHECK-NEXT: %[[P:.*]]:2 = scf.if %[[LOW]] -> (f16, f16) {
    // CHECK-NEXT:   %[[C:.*]] = h3.load
    // CHECK-NEXT:   %[[AT:.*]] = arith.addi %[[I]]
    // CHECK-NEXT:   %[[L:.*]] = h3.load %[[X]][%[[AT]]]
    // CHECK-NEXT:   scf.yield %[[C]], %[[L]]
    // CHECK-NEXT: } else {
    // CHECK-NEXT:   arith.cmpi slt
    // CHECK-NEXT:   %[[Q:.*]] = scf.if %{{.*}} -> (f16) {
    // CHECK-NEXT:     h3.load %[[X]][%[[I]]]
    // CHECK:        } else {
    // CHECK-NEXT:     arith.constant 0.000000e+00
    // The load of the same tensor shares its result.
    // CHECK:        scf.yield %{{.*}}, %[[Q]]
    // CHECK:      %[[R:.*]] = scf.if %[[LOW]] -> (f16) {
    // CHECK:        h3.mul %[[P]]#0, %[[P]]#1
    // CHECK-NOT: h3.load
    %r = scf.if %low -> (f16) {
      %k = h3.load %c[%i] : !h3.tensor<f16, 1>
      %j = arith.addi %i, %c8 : index
      %v = h3.load %x[%j] : !h3.tensor<f16, 1>
      %m = h3.mul %k, %v : f16
      scf.yield %m : f16
    } else {
      %mid = arith.cmpi slt, %i, %c16 : index
      %s = scf.if %mid -> (f16) {
        %v = h3.load %x[%i] : !h3.tensor<f16, 1>
        scf.yield %v : f16
      } else {
        %z = arith.constant 0.0 : f16
        scf.yield %z : f16
      }
      scf.yield %s : f16
    }
    h3.store %r, %y[%i] : !h3.tensor<f16, 1>
  }
  h3.yield
}

// What both branches load is loaded once, without a condition.
// CHECK-LABEL: h3.operator @common
h3.operator @common(%x: !h3.tensor<f16, 1>, %y: !h3.tensor<f16, 1>, %n: index) {
  %c8 = arith.constant 8 : index
  h3.forall (%i) in (%n) {
    %low = arith.cmpi slt, %i, %c8 : index
    // CHECK: %[[E:.*]] = h3.load
    // CHECK: scf.if
    // CHECK: h3.neg %[[E]]
    // CHECK: h3.abs %[[E]]
    // CHECK-NOT: h3.load
    %r = scf.if %low -> (f16) {
      %v = h3.load %x[%i] : !h3.tensor<f16, 1>
      %m = h3.neg %v : f16
      scf.yield %m : f16
    } else {
      %v = h3.load %x[%i] : !h3.tensor<f16, 1>
      %m = h3.abs %v : f16
      scf.yield %m : f16
    }
    h3.store %r, %y[%i] : !h3.tensor<f16, 1>
  }
  h3.yield
}

// Branches that make the same load, where others make none: one condition.
// CHECK-LABEL: h3.operator @alike
// CHECK-SAME: (%[[X:[a-z0-9]+]]: !h3.tensor<f16, 1>
h3.operator @alike(%x: !h3.tensor<f16, 1>, %y: !h3.tensor<f16, 1>, %n: index) {
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %z = arith.constant 0.0 : f16
  h3.forall (%i) in (%n) {
    // CHECK: %[[LOW:.*]] = arith.cmpi slt, %[[I:.*]], %{{.*}}
    // CHECK-NEXT: %[[MID:.*]] = arith.cmpi slt
    // CHECK-NEXT: %[[ANY:.*]] = arith.ori %[[LOW]], %[[MID]]
    // CHECK-NEXT: %[[V:.*]] = scf.if %[[ANY]] -> (f16) {
    // CHECK-NEXT:   h3.load %[[X]][%[[I]]]
    // CHECK:      scf.if %[[LOW]]
    // CHECK:        h3.neg %[[V]]
    // CHECK:        h3.abs %[[V]]
    // CHECK-NOT:  h3.load
    %low = arith.cmpi slt, %i, %c8 : index
    %r = scf.if %low -> (f16) {
      %v = h3.load %x[%i] : !h3.tensor<f16, 1>
      %m = h3.neg %v : f16
      scf.yield %m : f16
    } else {
      %mid = arith.cmpi slt, %i, %c16 : index
      %s = scf.if %mid -> (f16) {
        %v = h3.load %x[%i] : !h3.tensor<f16, 1>
        %m = h3.abs %v : f16
        scf.yield %m : f16
      } else {
        scf.yield %z : f16
      }
      scf.yield %s : f16
    }
    h3.store %r, %y[%i] : !h3.tensor<f16, 1>
  }
  h3.yield
}
