// RUN: h3-opt %s | h3-opt | FileCheck %s

// CHECK-LABEL: h3.operator @rms(
// CHECK-SAME: !h3.tensor<f32, 2> {h3.name = "x"
h3.operator @rms(%x: !h3.tensor<f32, 2> {h3.name = "x", h3.strides = array<i64: -1, 1>},
                 %y: !h3.tensor<f16, 2> {h3.name = "y", h3.output, h3.strides = array<i64: -1, -1>},
                 %eps: f32 {h3.name = "eps"}, %rows: index {h3.dim = 0, h3.name = "rows"}) {
  %n = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  // CHECK: h3.forall (%[[T:.*]]) in (%{{.*}}) {
  h3.forall (%t) in (%rows) {
    // CHECK: h3.reduce over(%{{.*}}) by <(_, warp: 4, lane: 32, _: 4) then halving lane then halving warp>
    // CHECK-SAME: from(%{{.*}} : f32) -> f32
    %ss = h3.reduce over (%n)
        by <(_, warp: 4, lane: 32, _: 4) then halving lane then halving warp>
        from (%zero : f32) -> f32 step {
    ^bb0(%i: index, %s: f32):
      // CHECK: h3.load %{{.*}}[%[[T]], %{{.*}}] : !h3.tensor<f32, 2>
      %e = h3.load %x[%t, %i] : !h3.tensor<f32, 2>
      // CHECK: h3.fma %{{.*}}, %{{.*}}, %{{.*}} : f32
      %f = h3.fma %e, %e, %s : f32
      h3.yield %f : f32
    } join {
    ^bb0(%a: f32, %b: f32):
      %c = h3.add %a, %b : f32
      h3.yield %c : f32
    }
    // CHECK: h3.approx rsqrt.approx %{{.*}} : f32
    %r = h3.approx rsqrt.approx %ss : f32
    // CHECK: h3.row (%{{.*}}) in (%{{.*}}) : !h3.row<f16, 1> {
    %row = h3.row (%i) in (%n) : !h3.row<f16, 1> {
      %e = h3.load %x[%t, %i] : !h3.tensor<f32, 2>
      // CHECK: h3.mul %{{.*}}, %{{.*}} round rz : f32
      %m = h3.mul %e, %r round rz : f32
      // CHECK: h3.convert %{{.*}} : f32 to f16
      %h = h3.convert %m : f32 to f16
      h3.yield %h : f16
    }
    h3.forall (%i) in (%n) {
      // CHECK: h3.at %{{.*}}[%{{.*}}] : !h3.row<f16, 1>
      %v = h3.at %row[%i] : !h3.row<f16, 1>
      // CHECK: h3.store %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] : !h3.tensor<f16, 2>
      h3.store %v, %y[%t, %i] : !h3.tensor<f16, 2>
    }
  }
  h3.yield
}
