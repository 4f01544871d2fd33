//===-- codegen/driver/bundle/OperatorSetFile.h - Which operators, for which targets - -*- C++
//-*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// An operator-set file. One statement a line; `//` begins a comment.
//
//   set h3_vae                              the set's name, once, first
//   operator swiglu                         all type instances of op swiglu of swiglu.spec
//   operator relu from unary.spec           the same of another file
//   target sm_90 enabled                    it may serve devices of this capability
//   target sm_100 disabled                  compiled, and served only where a host enables it
//   shape swiglu rows=1797 d=8192           sizes that hosts call it with: evidence covers them
//
// Paths are relative to the file's folder.
//
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_DRIVER_BUNDLE_OPERATORSETFILE_H
#define H3_CODEGEN_DRIVER_BUNDLE_OPERATORSETFILE_H

#include "backends/Target.h"
#include "dsl/syntax/Diagnostic.h"

#include <string>
#include <utility>
#include <vector>

namespace h3 {

struct OperatorSetFile {
  std::string name;
  struct Operator {
    std::string name;
    std::string path; ///< of the spec, with the folder of the set's file in front
    SourceRange range;
  };
  std::vector<Operator> operators; ///< sorted by name
  struct Target {
    const h3::Target *target = nullptr;
    bool enabled = false;
  };
  std::vector<Target> targets; ///< sorted by name; no two have one capability
  struct Shape {
    std::string op; ///< one of the operators
    std::vector<std::pair<std::string, int64_t>> dims;
    SourceRange range;
  };
  std::vector<Shape> shapes; ///< in the file's order; dims are as they are written
};

/// Reads \p file, whose text is there. Nothing after an error.
std::optional<OperatorSetFile> readOperatorSet(const SourceFile &file, Diagnostics &diagnostics);

} // namespace h3

#endif // H3_CODEGEN_DRIVER_BUNDLE_OPERATORSETFILE_H
