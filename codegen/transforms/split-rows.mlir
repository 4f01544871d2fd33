// RUN: h3-opt %s -h3-split-rows | FileCheck %s

// Rows within rows are rows of both indices; a value of the outer loop is computed there too.
// CHECK-LABEL: h3.operator @nested
h3.operator @nested(%x: !h3.tensor<f32, 3>, %s: !h3.tensor<f32, 1>, %y: !h3.tensor<f32, 3>,
                    %tokens: index, %heads: index, %n: index) {
  // CHECK-NEXT: h3.forall (%[[T:.*]], %[[H:.*]]) in
  // CHECK-NEXT: %[[G:.*]] = h3.load %{{.*}}[%[[T]]]
  // CHECK-NEXT: h3.forall (%[[I:.*]]) in
  // CHECK-NEXT: %[[V:.*]] = h3.load %{{.*}}[%[[T]], %[[H]], %[[I]]]
  // CHECK-NEXT: %[[W:.*]] = h3.mul %[[V]], %[[G]]
  // CHECK-NEXT: h3.store %[[W]], %{{.*}}[%[[T]], %[[H]], %[[I]]]
  // CHECK-NOT: h3.forall
  h3.forall (%t) in (%tokens) {
    %g = h3.load %s[%t] : !h3.tensor<f32, 1>
    h3.forall (%h) in (%heads) {
      h3.forall (%i) in (%n) {
        %v = h3.load %x[%t, %h, %i] : !h3.tensor<f32, 3>
        %w = h3.mul %v, %g : f32
        h3.store %w, %y[%t, %h, %i] : !h3.tensor<f32, 3>
      }
    }
  }
  h3.yield
}
