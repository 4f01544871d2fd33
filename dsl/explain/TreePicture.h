//===-- dsl/explain/TreePicture.h - A reduction tree as a drawing - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Internal to dsl/explain.
//
//===----------------------------------------------------------------------===//

#ifndef H3_DSL_EXPLAIN_TREEPICTURE_H
#define H3_DSL_EXPLAIN_TREEPICTURE_H

#include "dsl/explain/Explanation.h"

namespace h3 {

/// Part of an SVG image: what is drawn, from (0, 0) to (width, height).
struct Picture {
  std::string svg;
  double width = 0, height = 0;
};

/// The tree of \p tree, drawn by running the reduction rules on nodes. A tree of more than 16 slots
/// is drawn with smaller radices, which the caption says: its shape is the same, stage by stage.
Picture drawTree(const ExplainedTree &tree, const Program &program);

/// A text element; \p anchor is start, middle or end.
std::string svgText(double x, double y, std::string_view text, std::string_view anchor = "start",
                    std::string_view style = "");
/// A rectangle with round corners, filled.
std::string svgBox(double x, double y, double width, double height, std::string_view fill);

} // namespace h3

#endif // H3_DSL_EXPLAIN_TREEPICTURE_H
