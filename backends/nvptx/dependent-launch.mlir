// RUN: h3-opt %s -h3-nvptx-dependent-launch | FileCheck %s

// Numbers and addresses may come before the wait, memory and branches not; reads promise nothing.
// CHECK-LABEL: llvm.func @kernel
llvm.func @kernel(%p: !llvm.ptr<1>, %c: i1) attributes {nvvm.kernel} {
  // CHECK: nvvm.read.ptx.sreg.tid.x
  // CHECK: llvm.getelementptr
  %t = nvvm.read.ptx.sreg.tid.x : i32
  %q = llvm.getelementptr %p[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  // CHECK-NEXT: llvm.inline_asm has_side_effects "griddepcontrol.wait;", "~{memory}"
  // CHECK-NEXT: llvm.inline_asm has_side_effects "griddepcontrol.launch_dependents;", "~{memory}"
  // CHECK-NEXT: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> f32
  %a = llvm.load %q invariant {alignment = 4 : i64} : !llvm.ptr<1> -> f32
  llvm.store %a, %q {alignment = 4 : i64} : f32, !llvm.ptr<1>
  llvm.return
}

// CHECK-LABEL: llvm.func @branches
llvm.func @branches(%p: !llvm.ptr<1>, %c: i1) attributes {nvvm.kernel} {
  // CHECK-NEXT: llvm.inline_asm has_side_effects "griddepcontrol.wait;"
  // CHECK-NEXT: llvm.inline_asm
  // CHECK-NEXT: llvm.cond_br
  llvm.cond_br %c, ^read, ^end
^read:
  // CHECK: llvm.load %{{.*}} {alignment = 4 : i64, nontemporal} : !llvm.ptr<1> -> f32
  // CHECK-NOT: griddepcontrol
  %a = llvm.load %p invariant {alignment = 4 : i64, nontemporal} : !llvm.ptr<1> -> f32
  llvm.store %a, %p {alignment = 4 : i64} : f32, !llvm.ptr<1>
  llvm.br ^end
^end:
  llvm.return
}

// CHECK-LABEL: llvm.func @helper
llvm.func @helper(%p: !llvm.ptr<1>) -> f32 {
  // CHECK-NEXT: llvm.load %arg0 invariant
  %a = llvm.load %p invariant {alignment = 4 : i64} : !llvm.ptr<1> -> f32
  llvm.return %a : f32
}
