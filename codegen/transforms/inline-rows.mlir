// RUN: h3-opt %s -h3-inline-rows | FileCheck %s

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
