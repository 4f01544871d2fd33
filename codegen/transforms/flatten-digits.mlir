// RUN: h3-opt %s -h3-flatten-digits | FileCheck %s

// Digits of one index are a quotient and a remainder of it; put together they are the index.
// CHECK-LABEL: h3.operator @digits
// CHECK-SAME: %[[P:[a-z0-9]+]]: index, %[[R:[a-z0-9]+]]: index)
h3.operator @digits(%x: !h3.tensor<f32, 2>, %y: !h3.tensor<f32, 2>, %p: index, %rows: index) {
  %two = arith.constant 2 : index
  // CHECK: %[[N:.*]] = arith.muli %[[P]], %[[C:.*]] : index
  // CHECK-NEXT: h3.forall (%[[ROW:.*]]) in (%[[R]])
  h3.forall (%r) in (%rows) {
    // CHECK-NEXT: h3.forall (%[[E:.*]]) in (%[[N]])
    h3.forall (%q, %c) in (%p, %two) {
      // CHECK-NEXT: arith.remui %[[E]], %[[C]]
      // CHECK-NEXT: %[[Q:.*]] = arith.divui %[[E]], %[[C]]
      // CHECK: %[[V:.*]] = h3.load %{{.*}}[%[[ROW]], %[[Q]]]
      %v = h3.load %x[%r, %q] : !h3.tensor<f32, 2>
      %s = arith.muli %q, %two : index
      %i = arith.addi %s, %c : index
      // CHECK: h3.store %[[V]], %{{.*}}[%[[ROW]], %[[E]]]
      h3.store %v, %y[%r, %i] : !h3.tensor<f32, 2>
    }
  }
  h3.yield
}
