//===-- tests/unit/runtime/bundle/SmallBundle.h - A bundle made by hand - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_TESTS_UNIT_RUNTIME_BUNDLE_SMALLBUNDLE_H
#define H3_TESTS_UNIT_RUNTIME_BUNDLE_SMALLBUNDLE_H

#include "runtime/bundle/Bundle.h"

namespace h3::bundle::test {

/// The operators scales (a list) and swiglu<f16> for sm_90 and sm_100, and a probe. Its images are
/// no code: nothing that reads a bundle looks into them. sm_100 has PTX alone and is not enabled.
Contents smallContents();

/// The bytes of its bundle.
std::string smallBundle();

/// \p file with its last 32 bytes made to fit the others.
std::string sealed(std::string file);

/// \p file with the first \p from in its header replaced, padded and sealed. Fails the test if
/// there is none.
std::string withHeader(const std::string &file, std::string_view from, std::string_view to);

/// "good", or why the bundle is refused.
std::string errorOf(std::string_view file);

} // namespace h3::bundle::test

#endif // H3_TESTS_UNIT_RUNTIME_BUNDLE_SMALLBUNDLE_H
