// RUN: h3-opt %s -split-input-file -h3-verify-no-fastmath -verify-diagnostics

h3.operator @clean(%a: f32, %b: f32) {
  %0 = arith.mulf %a, %b : f32
  %1 = llvm.fadd %0, %b : f32
  h3.yield
}

// -----

h3.operator @arith_flag(%a: f32, %b: f32) {
  // expected-error@+1 {{carries a fast-math flag, which would let the compiler change its bits}}
  %0 = arith.mulf %a, %b fastmath<contract> : f32
  h3.yield
}

// -----

h3.operator @llvm_flag(%a: f32, %b: f32) {
  // expected-error@+1 {{carries a fast-math flag, which would let the compiler change its bits}}
  %0 = llvm.fadd %a, %b {fastmathFlags = #llvm.fastmath<nsz>} : f32
  h3.yield
}

// -----

h3.operator @nested(%a: f32, %b: f32, %c: i1) {
  scf.if %c {
    // expected-error@+1 {{carries a fast-math flag}}
    %0 = arith.divf %a, %b fastmath<fast> : f32
  }
  h3.yield
}
