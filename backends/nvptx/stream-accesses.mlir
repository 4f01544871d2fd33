// RUN: h3-opt %s -h3-nvptx-stream-accesses | FileCheck %s

// Registers of 32 bits where they fill the access, others where the element or all of it is wider or
// narrower.
// CHECK-LABEL: llvm.func @loads
llvm.func @loads(%p: !llvm.ptr<1>, %shared: !llvm.ptr<3>) {
  // CHECK: llvm.inline_asm "ld.global.nc.L1::no_allocate.v4.b32 {$0, $1, $2, $3}, [$4];", "=r,=r,=r,=r,l" %arg0 : (!llvm.ptr<1>) -> !llvm.struct<(i32, i32, i32, i32)>
  // CHECK-COUNT-4: llvm.bitcast %{{.*}} : i32 to vector<2xf16>
  // CHECK: llvm.shufflevector {{.*}} [0, 1, 2, 3, 4, 5, 6, 7] : vector<4xf16>
  %a = llvm.load %p invariant {alignment = 16 : i64, nontemporal} : !llvm.ptr<1> -> vector<8xf16>
  // CHECK: llvm.inline_asm "ld.global.nc.L1::no_allocate.v8.b32 {$0, $1, $2, $3, $4, $5, $6, $7}, [$8];"
  // CHECK-COUNT-8: llvm.bitcast %{{.*}} : i32 to f32
  %b = llvm.load %p invariant {alignment = 32 : i64, nontemporal} : !llvm.ptr<1> -> vector<8xf32>
  // CHECK: llvm.inline_asm "ld.global.nc.L1::no_allocate.v2.b64 {$0, $1}, [$2];", "=l,=l,l"
  %c = llvm.load %p invariant {alignment = 16 : i64, nontemporal} : !llvm.ptr<1> -> vector<2xf64>
  // CHECK: llvm.inline_asm "ld.global.nc.L1::no_allocate.b32 $0, [$1];", "=r,l"
  // CHECK: llvm.bitcast %{{.*}} : i32 to vector<4xi8>
  %d = llvm.load %p invariant {alignment = 4 : i64, nontemporal} : !llvm.ptr<1> -> vector<4xi8>
  // CHECK: llvm.inline_asm "ld.global.nc.L1::no_allocate.b16 $0, [$1];", "=h,l"
  %e = llvm.load %p invariant {alignment = 2 : i64, nontemporal} : !llvm.ptr<1> -> vector<2xi8>
  // What may be written meanwhile is read in order, and not by the other cache.
  // CHECK: llvm.inline_asm has_side_effects "ld.global.L1::no_allocate.v2.b32 {$0, $1}, [$2];", "=r,=r,l,~{memory}"
  %f = llvm.load %p {alignment = 8 : i64, nontemporal} : !llvm.ptr<1> -> vector<2xf32>
  // CHECK: llvm.load %arg0 {{.*}} : !llvm.ptr<1> -> vector<2xf32>
  %g = llvm.load %p {alignment = 8 : i64} : !llvm.ptr<1> -> vector<2xf32>
  // CHECK: llvm.load %arg1 {{.*}} : !llvm.ptr<3> -> f32
  %h = llvm.load %shared {alignment = 4 : i64, nontemporal} : !llvm.ptr<3> -> f32
  llvm.return
}

// CHECK-LABEL: llvm.func @stores
llvm.func @stores(%p: !llvm.ptr<1>, %v: vector<8xi16>, %w: vector<2xi8>) {
  // CHECK: %[[WORDS:.*]] = llvm.bitcast %arg1 : vector<8xi16> to vector<4xi32>
  // CHECK-COUNT-4: llvm.extractelement %[[WORDS]]
  // CHECK: llvm.inline_asm has_side_effects "st.global.cs.v4.b32 [$0], {$1, $2, $3, $4};", "l,r,r,r,r,~{memory}"
  llvm.store %v, %p {alignment = 16 : i64, nontemporal} : vector<8xi16>, !llvm.ptr<1>
  // CHECK: llvm.inline_asm has_side_effects "st.global.cs.b16 [$0], $1;", "l,h,~{memory}"
  llvm.store %w, %p {alignment = 2 : i64, nontemporal} : vector<2xi8>, !llvm.ptr<1>
  // CHECK: llvm.store %arg1, %arg0 {{.*}} : vector<8xi16>, !llvm.ptr<1>
  llvm.store %v, %p {alignment = 16 : i64} : vector<8xi16>, !llvm.ptr<1>
  llvm.return
}
