//===-- runtime/bundle/CheckJson.h - Self-checks as JSON ------ -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The form of a check in documents: bundles' manifests, and lists of cases for evidence.
//
//   CHECK   {"outputs":HEX,"parameters":[null,["f32","3727c5ac"]],"seed":"1f",
//            "tensors":[{"below":4,"elements":N,"extents":[2,64],"in_place_of":0,"offset":0,
//                        "strides":[64,1],"values":"index"}]}
//           `below` with "index" only, `values` unless it is "finite", `in_place_of` of outputs
//           that have no buffer of their own
//
//===----------------------------------------------------------------------===//

#ifndef H3_RUNTIME_BUNDLE_CHECKJSON_H
#define H3_RUNTIME_BUNDLE_CHECKJSON_H

#include "runtime/bundle/SelfCheck.h"
#include "runtime/json/Fields.h"
#include "runtime/json/Writer.h"

namespace h3::bundle {

void writeCheck(json::Writer &w, const SelfCheck &check);

/// Reads what `writeCheck` writes; \p where is the check in words. Whether it fits an operator say
/// `checkViews` and `checkFor`.
SelfCheck readCheck(const json::Value &value, const std::string &where, json::Problem &problem);

/// 64 hexadecimal digits.
Digest readDigest(json::Fields &fields, std::string_view key);

/// An array of strings.
std::vector<std::string> readStrings(json::Fields &fields, std::string_view key);

/// An array of numbers of 0 or more.
std::vector<int64_t> readIntegers(json::Fields &fields, std::string_view key);

} // namespace h3::bundle

#endif // H3_RUNTIME_BUNDLE_CHECKJSON_H
