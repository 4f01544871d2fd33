// RUN: h3-opt %s -h3-nvptx-lower-scalars | FileCheck %s

// CHECK-LABEL: h3.operator @approximations
h3.operator @approximations(%a: f32) {
  // CHECK-NEXT: llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.f"
  %0 = h3.approx rsqrt.approx %a : f32
  // CHECK-NEXT: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"
  %1 = h3.approx ex2.approx.ftz %a : f32
  // CHECK-NEXT: llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"
  %2 = h3.approx rcp.approx.ftz %a : f32
  // CHECK-NEXT: llvm.call_intrinsic "llvm.nvvm.sqrt.approx.f"
  %3 = h3.approx sqrt.approx %a : f32
  h3.yield
}

// CHECK-LABEL: h3.operator @directed
h3.operator @directed(%a: f32, %d: f64) {
  // CHECK-NEXT: llvm.call_intrinsic "llvm.nvvm.fma.rm.f"
  %0 = h3.fma %a, %a, %a round rm : f32
  // CHECK-NEXT: llvm.call_intrinsic "llvm.nvvm.add.rz.d"
  %1 = h3.add %d, %d round rz : f64
  // CHECK-NEXT: h3.mul %{{.*}}, %{{.*}} : f32
  %2 = h3.mul %a, %a : f32
  h3.yield
}
