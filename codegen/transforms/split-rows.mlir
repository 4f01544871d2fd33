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

// What a reduction depends on makes the rows, with what a loop around them computes; the store of
// one value a row stays with them.
// CHECK-LABEL: h3.operator @value_of_a_row
h3.operator @value_of_a_row(%x: !h3.tensor<f32, 2>, %y: !h3.tensor<f32, 1>, %rows: index, %n: index) {
  // CHECK-NEXT: h3.forall (%[[T:.*]]) in
  // CHECK: %[[V:.*]] = h3.reduce
  // CHECK: h3.store %[[V]], %{{.*}}[%[[T]]]
  // CHECK-NOT: h3.forall
  h3.forall () in () {
    h3.forall (%t) in (%rows) {
      %v = h3.reduce over(%n) -> f32 step {
      ^bb0(%i: index):
        %e = h3.load %x[%t, %i] : !h3.tensor<f32, 2>
        h3.yield %e : f32
      } join {
      ^bb0(%a: f32, %b: f32):
        %m = h3.max %a, %b : f32
        h3.yield %m : f32
      }
      h3.store %v, %y[%t] : !h3.tensor<f32, 1>
    }
  }
  h3.yield
}

// Indices behind those that the reduction depends on stay a loop over elements.
// CHECK-LABEL: h3.operator @beside_an_element
h3.operator @beside_an_element(%x: !h3.tensor<f32, 2>, %y: !h3.tensor<f32, 2>, %rows: index, %n: index) {
  // CHECK-NEXT: h3.forall (%[[T:.*]]) in
  // CHECK-NEXT: h3.forall (%[[I:.*]]) in
  // CHECK: h3.reduce
  // CHECK: h3.store %{{.*}}, %{{.*}}[%[[T]], %[[I]]]
  h3.forall () in () {
    h3.forall (%t, %i) in (%rows, %n) {
      %v = h3.reduce over(%n) -> f32 step {
      ^bb0(%k: index):
        %e = h3.load %x[%t, %k] : !h3.tensor<f32, 2>
        h3.yield %e : f32
      } join {
      ^bb0(%a: f32, %b: f32):
        %m = h3.max %a, %b : f32
        h3.yield %m : f32
      }
      h3.store %v, %y[%t, %i] : !h3.tensor<f32, 2>
    }
  }
  h3.yield
}

// Of two loops over the same rows one overwrites what the other reads: they stay one.
// CHECK-LABEL: h3.operator @in_place
h3.operator @in_place(%x: !h3.tensor<f32, 3>, %h: !h3.tensor<f32, 3> {h3.output, h3.alias = 0 : i64},
                      %y: !h3.tensor<f32, 3> {h3.output}, %tokens: index, %heads: index, %n: index) {
  // CHECK-NEXT: h3.forall (%[[T:.*]], %[[H:.*]]) in
  // CHECK-NEXT: h3.forall
  // CHECK: h3.forall
  // CHECK-NOT: h3.forall
  // CHECK: h3.yield
  h3.forall (%t) in (%tokens) {
    h3.forall (%a) in (%heads) {
      h3.forall (%i) in (%n) {
        %v = h3.load %x[%t, %a, %i] : !h3.tensor<f32, 3>
        %w = h3.neg %v : f32
        h3.store %w, %h[%t, %a, %i] : !h3.tensor<f32, 3>
      }
    }
    h3.forall (%b) in (%heads) {
      h3.forall (%i) in (%n) {
        %v = h3.load %x[%t, %b, %i] : !h3.tensor<f32, 3>
        h3.store %v, %y[%t, %b, %i] : !h3.tensor<f32, 3>
      }
    }
  }
  h3.yield
}
