//===-- tests/fuzz/bundle/BundlePromises.h - What any bundle may expect - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What the reader of bundles, its manifest and its plans promise for any bytes at all, as functions
// that the fuzzers and the replay of their corpus share. Each returns an empty string, or which
// promise was broken.
//
//===----------------------------------------------------------------------===//

#ifndef H3_TESTS_FUZZ_BUNDLE_BUNDLEPROMISES_H
#define H3_TESTS_FUZZ_BUNDLE_BUNDLEPROMISES_H

#include <string>
#include <string_view>

namespace h3 {

/// \p bytes as a file, and with a digest put behind them: it is refused with a line of text, or it
/// is what writing its contents gives.
std::string brokenByBundle(std::string_view bytes);

/// The same for a file around the manifest \p text and the images of the corpus' bundle.
std::string brokenByManifest(std::string_view text);

/// \p text is a plan's JSON, and behind a line break the bytes of a call. The plan is refused with
/// a line of text or writes itself again; then the call is declined with a line of text, or its
/// launches are within a driver's limits and the same the second time.
std::string brokenByPlan(std::string_view text);

/// The images that `brokenByManifest` puts into the file.
struct CorpusImage {
  std::string_view name, bytes;
};
inline constexpr CorpusImage kCorpusImages[] = {
    {"probe_rcp.sm_100.ptx", "ptx of a probe"},
    {"probe_rcp.sm_90.cubin", "cubin of a probe"},
    {"scales.sm_90.cubin", {"\0cubin\0", 7}},
    {"scales.sm_90.ptx", "ptx"},
    {"swiglu.sm_100.ptx", "sixty-three bytes and a NUL fill one line of 64 bytes, as here."},
    {"swiglu.sm_90.cubin", "sixty-four bytes without a NUL fill one line of 64 bytes, as so."},
    {"swiglu.sm_90.ptx", "another ptx"}};

} // namespace h3

#endif // H3_TESTS_FUZZ_BUNDLE_BUNDLEPROMISES_H
