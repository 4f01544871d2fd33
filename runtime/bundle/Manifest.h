//===-- runtime/bundle/Manifest.h - What a bundle says of itself - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The manifest: canonical JSON with everything of `Contents` but the images' bytes.
//
//   {"assembler":"13.0.88","compiler":"0.1.0","format":2,
//    "images":[{"bytes":N,"digest":HEX,"kind":"cubin","name":"swiglu.sm_90.cubin","ptx_version":78}],
//    "name":"h3_vae","operators":[DEFINITION],"probes":[DEFINITION],
//    "sets":[{"backend":"nvptx","capability":[9,0],"enabled":true,"missing":[],
//             "operators":[OPERATOR],"probes":[OPERATOR],"target":"sm_90"}]}
//   DEFINITION  {"approximations":["ex2.approx.ftz"],
//                "instances":[{"checks":[CHECK],"digest":HEX,"type_arguments":["f16"]}],
//                "name":"swiglu"}
//   CHECK       as runtime/bundle/CheckJson.h has it
//   OPERATOR    {"audit":AUDIT,"cubin":true,
//                "instances":[{"checks":[[0,1],[2]],"plan":PLAN,"proof":PROOF}],"name":"swiglu",
//                "ptx":true}
//               `checks`: for each variant of the plan; PLAN as runtime/plan/Plan.h has it
//   PROOF       null: none was tried; else
//               {"all_rows":["rows"],"prover":1,"ptx":HEX,"rewrites":{"commuted":12},"spec":HEX,
//                "variants":[{"calls":31,"name":"f16_v16_i32","problem":""}]}
//   AUDIT       null, or {"assembler":"13.0.88","auditor":1,"cubin":HEX,"disassembler":"13.2.51",
//                "expansions":{"div.rn.f32":2},"fault":"","instructions":2310,"kernels":6,
//                "operations":{"add.f32":92},"ptx":HEX}
//
// The images of an operator are `NAME.TARGET.cubin` and `NAME.TARGET.ptx`.
//
//===----------------------------------------------------------------------===//

#ifndef H3_RUNTIME_BUNDLE_MANIFEST_H
#define H3_RUNTIME_BUNDLE_MANIFEST_H

#include "runtime/bundle/Container.h"

namespace h3::bundle {

std::string writeManifest(const Contents &contents);

/// Reads the manifest of \p container and checks everything that Bundle.h promises of `Contents`.
Result<Contents, Error> readManifest(const Container &container);

} // namespace h3::bundle

#endif // H3_RUNTIME_BUNDLE_MANIFEST_H
