//===-- codegen/driver/ImageJob.h - One operator on one target - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_DRIVER_IMAGEJOB_H
#define H3_CODEGEN_DRIVER_IMAGEJOB_H

#include "backends/Backend.h"
#include "codegen/driver/Specs.h"

#include <llvm/ADT/STLFunctionalExtras.h>

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace h3 {

class ImageCache;

/// What all images of one command have in common.
struct ImageSettings {
  std::string emit; ///< of `--emit`: the one stage to write; empty: all of the image's files
  ImageOptions compile;
  /// How images of a backend are assembled. One that is not here, or cannot, is not asked to.
  std::map<std::string_view, Ability> assemblers; ///< by the backend's name
  std::optional<Tool> nvdisasm;                   ///< for `--emit sass`

  /// Null: images of \p target are not assembled.
  const Ability *assemblerFor(const Target &target) const;
  ImageCache *cache = nullptr; ///< null: neither asked nor filled
};

struct ImageJob {
  const std::string *path = nullptr; ///< of the spec, as given
  const LoadedSpec *spec = nullptr;
  const OperatorInstances *entry = nullptr;
  const Target *target = nullptr;
  const ImageSettings *settings = nullptr;

  /// Of its files: `swiglu.sm_90`.
  std::string stem() const;
};

struct ImageFile {
  std::string ending; ///< behind the stem: ".ptx"
  std::string contents;

  bool operator==(const ImageFile &) const = default;
};

/// For the line that is printed for an image.
struct ImageSummary {
  unsigned ptxVersion = 0; ///< times 10; 0 where there is no PTX
  uint64_t kernels = 0, imageBytes = 0;
  uint64_t assembledBytes = 0;            ///< 0 if it was not, and so are the next two
  uint64_t registers = 0, spillBytes = 0; ///< most of a kernel; of all kernels

  bool operator==(const ImageSummary &) const = default;
};

/// What became of a job. Holds what is to be written and printed; nothing was yet.
struct CompiledImage {
  enum class Fault {
    None,
    NotCompiled,  ///< code generation refused the operator for this target
    NotAssembled, ///< a tool could not do its part; what needs no tool is in `files`
  };
  Fault fault = Fault::None;
  std::string error; ///< why not None, one line or rendered diagnostics
  std::vector<ImageFile> files;
  std::string plans;                   ///< of the image: a JSON array, one for each type instance
  std::optional<ImageSummary> summary; ///< of the image and what is made of it
  bool fromCache = false;
  double compileMilliseconds = 0, assembleMilliseconds = 0; ///< 0 from the cache
};

/// Does a job; the same bytes whatever was done before, and in whichever thread. \p context is made
/// when it is first needed and serves one thread.
CompiledImage compileImage(const ImageJob &job, std::unique_ptr<mlir::MLIRContext> &context);

/// Does all of \p jobs on \p threads threads (0: as many as the machine runs) and hands each result
/// to \p finish on the caller's thread, in the order of the jobs.
void compileImages(std::span<const ImageJob> jobs, size_t threads,
                   llvm::function_ref<void(size_t job, CompiledImage image)> finish);

/// "swiglu sm_90: PTX 7.8, 10 kernels, ...".
std::string describe(const ImageJob &job, const CompiledImage &image);

} // namespace h3

#endif // H3_CODEGEN_DRIVER_IMAGEJOB_H
