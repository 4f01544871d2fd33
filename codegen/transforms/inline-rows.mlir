// RUN: h3-opt %s -h3-inline-rows | FileCheck %s
// RUN: h3-opt %s -h3-inline-rows=remap=true | FileCheck %s --check-prefix=REMAP

// A row that reads another row: both bodies end up where the element is used, and no row is left.
// CHECK-LABEL: h3.operator @chain
h3.operator @chain(%x: !h3.tensor<f32, 1>, %y: !h3.tensor<f32, 1>, %n: index) {
  %a = h3.row (%i) in (%n) : !h3.row<f32, 1> {
    %e = h3.load %x[%i] : !h3.tensor<f32, 1>
    %m = h3.mul %e, %e : f32
    h3.yield %m : f32
  }
  %b = h3.row (%i) in (%n) : !h3.row<f32, 1> {
    %e = h3.at %a[%i] : !h3.row<f32, 1>
    %m = h3.neg %e : f32
    h3.yield %m : f32
  }
  // CHECK-NOT: h3.row
  // CHECK: h3.forall (%[[I:.*]]) in
  h3.forall (%i) in (%n) {
    // CHECK-NEXT: %[[E:.*]] = h3.load %{{.*}}[%[[I]]]
    // CHECK-NEXT: %[[M:.*]] = h3.mul %[[E]], %[[E]]
    // CHECK-NEXT: %[[N:.*]] = h3.neg %[[M]]
    // CHECK-NEXT: h3.store %[[N]]
    // CHECK-NOT: h3.at
    %v = h3.at %b[%i] : !h3.row<f32, 1>
    h3.store %v, %y[%i] : !h3.tensor<f32, 1>
  }
  h3.yield
}

// Another element at a constant distance is computed again, or named; one that is loaded alone is
// loaded again.
// CHECK-LABEL: h3.operator @other
// REMAP-LABEL: h3.operator @other
h3.operator @other(%x: !h3.tensor<f32, 1>, %y: !h3.tensor<f32, 1>, %n: index) {
  %c4 = arith.constant 4 : index
  %plain = h3.row (%i) in (%n) : !h3.row<f32, 1> {
    %e = h3.load %x[%i] : !h3.tensor<f32, 1>
    h3.yield %e : f32
  }
  %squares = h3.row (%i) in (%n) : !h3.row<f32, 1> {
    %e = h3.at %plain[%i] : !h3.row<f32, 1>
    %m = h3.mul %e, %e : f32
    h3.yield %m : f32
  }
  // CHECK-NOT: h3.remap
  // REMAP: h3.forall (%[[I:.*]]) in
  h3.forall (%i) in (%n) {
    // REMAP-NEXT: %[[OWN:.*]] = h3.load %{{.*}}[%[[I]]]
    // REMAP-NEXT: %[[MINE:.*]] = h3.mul %[[OWN]], %[[OWN]]
    // REMAP-NEXT: %[[J:.*]] = arith.addi %[[I]]
    // REMAP-NEXT: %[[OTHER:.*]] = h3.remap %[[MINE]] at %[[J]] : f32
    // REMAP-NEXT: %[[LOADED:.*]] = h3.load %{{.*}}[%[[J]]]
    // REMAP-NEXT: h3.add %[[OTHER]], %[[LOADED]]
    %j = arith.addi %i, %c4 : index
    %s = h3.at %squares[%j] : !h3.row<f32, 1>
    %p = h3.at %plain[%j] : !h3.row<f32, 1>
    %v = h3.add %s, %p : f32
    h3.store %v, %y[%i] : !h3.tensor<f32, 1>
  }
  h3.yield
}
