//===-- tests/fuzz/Promises.h - What every text may expect ---- -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What the front end promises for any text at all, as functions that the fuzzers and the replay of
// their corpus share. Each returns an empty string, or which promise was broken. A crash, a hang or
// an overflow of the stack is for whoever calls to notice.
//
//===----------------------------------------------------------------------===//

#ifndef H3_TESTS_FUZZ_PROMISES_H
#define H3_TESTS_FUZZ_PROMISES_H

#include <string>

namespace h3 {

/// `parse` gives a tree or a reason; a reason lies inside the text and can be shown, as text and as
/// JSON.
std::string brokenByParser(const std::string &text);

/// `format` changes only whitespace of a text that parses: tokens, comments and where these stand
/// are the same, and so is the documentation of each item. Formatting again changes nothing.
std::string brokenByFormatter(const std::string &text);

/// Modules, checks and the analysis of all operators give programs or reasons, in the same way.
std::string brokenByFrontEnd(const std::string &text);

} // namespace h3

#endif // H3_TESTS_FUZZ_PROMISES_H
