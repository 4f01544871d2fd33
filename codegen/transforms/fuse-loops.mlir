// RUN: h3-opt %s -h3-fuse-loops | FileCheck %s

// One loop that computes both and then stores both: %h may be the memory of %x.
// CHECK-LABEL: h3.operator @two
h3.operator @two(%x: !h3.tensor<f32, 2>, %h: !h3.tensor<f32, 2>, %y: !h3.tensor<f32, 2>,
                 %rows: index, %n: index, %m: index) {
  h3.forall (%r) in (%rows) {
    // CHECK: h3.forall
    // CHECK-NEXT: h3.forall (%[[I:.*]]) in
    // CHECK-NEXT: %[[A:.*]] = h3.load %{{.*}}[%{{.*}}, %[[I]]]
    // CHECK-NEXT: %[[B:.*]] = h3.load %{{.*}}[%{{.*}}, %[[I]]]
    // CHECK-NEXT: %[[N:.*]] = h3.neg %[[B]]
    // CHECK-NEXT: h3.store %[[A]]
    // CHECK-NEXT: h3.store %[[N]]
    // CHECK-NOT: h3.store
    h3.forall (%i) in (%n) {
      %v = h3.load %x[%r, %i] : !h3.tensor<f32, 2>
      h3.store %v, %h[%r, %i] : !h3.tensor<f32, 2>
    }
    h3.forall (%i) in (%n) {
      %v = h3.load %x[%r, %i] : !h3.tensor<f32, 2>
      %w = h3.neg %v : f32
      h3.store %w, %y[%r, %i] : !h3.tensor<f32, 2>
    }
  }
  h3.yield
}

// Rows of another length stay by themselves.
// CHECK-LABEL: h3.operator @lengths
// CHECK-COUNT-3: h3.forall
h3.operator @lengths(%x: !h3.tensor<f32, 2>, %h: !h3.tensor<f32, 2>, %y: !h3.tensor<f32, 2>,
                     %rows: index, %n: index, %m: index) {
  h3.forall (%r) in (%rows) {
    h3.forall (%i) in (%n) {
      %v = h3.load %x[%r, %i] : !h3.tensor<f32, 2>
      h3.store %v, %h[%r, %i] : !h3.tensor<f32, 2>
    }
    h3.forall (%i) in (%m) {
      %v = h3.load %x[%r, %i] : !h3.tensor<f32, 2>
      h3.store %v, %y[%r, %i] : !h3.tensor<f32, 2>
    }
  }
  h3.yield
}
