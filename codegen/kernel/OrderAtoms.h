//===-- codegen/kernel/OrderAtoms.h - An order's digits in a layout - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_KERNEL_ORDERATOMS_H
#define H3_CODEGEN_KERNEL_ORDERATOMS_H

#include "codegen/dialect/H3.h"
#include "codegen/kernel/Layout.h"
#include "codegen/kernel/Machine.h"

#include <optional>
#include <string>
#include <vector>

namespace h3 {

/// An order and a layout both take the element's index apart. Their common refinement is a list of
/// atoms: each atom belongs to one digit of the order and lives in one place.
struct OrderAtoms {
  struct Atom {
    LayoutDigit::Place place;
    int64_t radix;      ///< 0: a loop over what is left
    unsigned threadBit; ///< Thread: the first bit of the thread's number; never in and out of waves
    int64_t weight;     ///< what one step of this atom adds to the element's index
  };
  struct Digit {
    bool isNamed;
    int64_t radix;               ///< 0: depends on an extent that is known at run time
    std::vector<unsigned> atoms; ///< most significant first
    /// The product of the atoms: positions from here on have no element. 0: any number of them.
    int64_t populated;
  };
  std::vector<Atom> atoms;   ///< most significant first
  std::vector<Digit> digits; ///< as in the order

  /// The refinement on \p machine for rows of \p extent elements (empty: known at run time). Empty
  /// with \p error set if the two do not align, if the order cannot hold the row, or if a chain
  /// would be spread over threads.
  static std::optional<OrderAtoms> of(ir::OrderAttr order, std::optional<int64_t> extent,
                                      const Layout &layout, const Machine &machine,
                                      std::string &error);
};

} // namespace h3

#endif // H3_CODEGEN_KERNEL_ORDERATOMS_H
