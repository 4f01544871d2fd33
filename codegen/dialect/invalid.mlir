// RUN: h3-opt %s -split-input-file -verify-diagnostics -allow-unregistered-dialect

"test.order"() {
  // expected-error@+1 {{digit 'lane' is joined by 0 stages, expected one}}
  order = #h3.order<(_, lane: 32)>
} : () -> ()

// -----

"test.order"() {
  // expected-error@+1 {{digit 'a' is joined by 2 stages, expected one}}
  order = #h3.order<(a: 2) then halving a then halving a>
} : () -> ()

// -----

"test.order"() {
  // expected-error@+1 {{an order has at most one digit without a radix}}
  order = #h3.order<(_, _)>
} : () -> ()

// -----

"test.order"() {
  // expected-error@+1 {{halving needs a radix that is a power of two, digit 'a' has 3}}
  order = #h3.order<(a: 3) then halving a>
} : () -> ()

// -----

"test.order"() {
  // expected-error@+1 {{expected serial, halving or adjacent and the name of a digit, found 'folding a'}}
  order = #h3.order<(a: 4) then folding a>
} : () -> ()

// -----

h3.operator @rank(%x: !h3.tensor<f32, 2>, %i: index) {
  // expected-error@+1 {{'h3.load' op has 1 indices for rank 2}}
  %0 = h3.load %x[%i] : !h3.tensor<f32, 2>
  h3.yield
}

// -----

h3.operator @forall(%n: index) {
  // expected-error@+1 {{expected as many extents as indices}}
  h3.forall (%i, %j) in (%n) {}
  h3.yield
}

// -----

h3.operator @row(%n: index, %v: f32) {
  // expected-error@+1 {{'h3.row' op must yield one value of type 'f16'}}
  %0 = h3.row (%i) in (%n) : !h3.row<f16, 1> {
    h3.yield %v : f32
  }
  h3.yield
}

// -----

h3.operator @join(%n: index, %z: f32) {
  // expected-error@+1 {{'h3.reduce' op has a join whose arguments do not fit}}
  %0 = h3.reduce over (%n) by <(_, lane: 2) then halving lane> from (%z : f32) -> f32 step {
  ^bb0(%i: index, %s: f32):
    h3.yield %s : f32
  } join {
  ^bb0(%a: f32):
    h3.yield %a : f32
  }
  h3.yield
}

// -----

h3.operator @convert(%x: f32) {
  // expected-error@+1 {{'h3.convert' op converts 'f32' to 'i32', but a float has no conversion to an integer}}
  %0 = h3.convert %x : f32 to i32
  h3.yield
}

// -----

h3.operator @convert(%x: f32) {
  // expected-error@+1 {{'h3.convert' op saturates to 'f16', which is not an 8-bit type}}
  %0 = h3.convert %x saturate : f32 to f16
  h3.yield
}

// -----

// expected-note@+1 {{prior use here}}
h3.operator @mixed(%x: f32, %y: f16) {
  // expected-error@+1 {{expects different type than prior uses}}
  %0 = h3.add %x, %y : f32
  h3.yield
}
