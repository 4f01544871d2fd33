//===-- runtime/bundle/Bundle.h - Compiled operator sets in one file - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A bundle holds the images of the operators of one set for several targets, with everything that a
// host needs to launch them. It is a safetensors file of one form only (README.md beside this file
// has it): whoever writes the same bundle writes the same bytes, and every byte is covered by a
// digest, so that a flipped one anywhere and a file that ends early are noticed. A digest finds
// damage, not malice: open only bundles that you would run.
//
// Nothing here throws, needs a library but the standard one, or knows a driver.
//
//===----------------------------------------------------------------------===//

#ifndef H3_RUNTIME_BUNDLE_BUNDLE_H
#define H3_RUNTIME_BUNDLE_BUNDLE_H

#include "runtime/Result.h"
#include "runtime/bundle/SelfCheck.h"
#include "runtime/bundle/Sha256.h"
#include "runtime/plan/Plan.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace h3::bundle {

/// The manifest's `format` that this reader reads.
inline constexpr int64_t kFormat = 1;

/// A header that is longer is refused.
inline constexpr uint64_t kMaxHeaderBytes = uint64_t(16) << 20;

/// Where each tensor of the file begins, in bytes from the file's start, and so each image.
inline constexpr uint64_t kAlignment = 64;

/// One line: what is wrong and where, without the file's name unless the file cannot be read.
struct Error {
  std::string message;
};

enum class ImageKind : uint8_t { Cubin, Ptx };

/// One compiled module. `bytes` point into the file; PTX is followed there by a NUL that is not
/// counted, so that `bytes.data()` can be given to the driver as a string.
struct Image {
  std::string name; ///< as h3gen names the file: "swiglu.sm_90.cubin"
  ImageKind kind = ImageKind::Cubin;
  std::span<const std::byte> bytes;
  Digest digest;           ///< of `bytes`: what `sha256sum` says of that file
  unsigned ptxVersion = 0; ///< of PTX and of the PTX that a cubin was made of, times 10
};

/// An operator with its types chosen, on one target.
struct Instance {
  /// Verified. Has the contract and the variants, whose entries are symbols of the operator's
  /// images.
  plan::OperatorPlan plan;

  /// Of what the operator computes with these types: its typed program. Two bundles with the same
  /// digest compute the same bits, whatever their images.
  Digest digest;

  /// For each variant of the plan the calls, in `checks`, that it must pass before it serves; at
  /// least one. All guards of the variant hold for such a call when every buffer's address is a
  /// multiple of 256, but it may not be the first for which they do: launch the variant by a plan
  /// that has it alone.
  std::vector<std::vector<uint32_t>> checksOfVariant;
  std::span<const SelfCheck> checks;
};

/// An operator, or a probe of an approximation, on one target.
struct Operator {
  std::string name;
  std::vector<Instance> instances; ///< one for each choice of types, in the spec's order
  std::optional<uint32_t> cubin;   ///< in `Bundle::images`; all instances and variants are in it
  std::optional<uint32_t> ptx;

  /// In `OperatorSet::probes`: those of the approximations that the operator uses. Each must have
  /// passed its own checks on a device before the operator serves there. Empty for a probe.
  std::vector<uint32_t> probes;
};

/// All operators for one exact target.
struct OperatorSet {
  std::string target;              ///< "sm_90"
  std::string backend;             ///< "nvptx"
  int major = 0, minor = 0;        ///< compute capability that a device must have, exactly
  bool enabled = false;            ///< whether the set may serve
  std::vector<Operator> operators; ///< sorted by name

  /// An operator y[i] = APPROXIMATION(x[i]) for each approximation that the set's operators use. It
  /// serves no calls; its check runs 2^16 inputs through the device's special function unit.
  std::vector<Operator> probes;

  /// Names of operators that the bundle's set lists and this target lacks: the bundle was written
  /// with `--allow-missing`. Such a set is incomplete.
  std::vector<std::string> missing;
};

/// An opened bundle. Moving it leaves every view into it valid.
class Bundle {
public:
  /// Maps the file at \p path for as long as the bundle lives. A file that is cut short by another
  /// process meanwhile is that process's fault: replace files, do not rewrite them.
  static Result<Bundle, Error> openFile(const std::string &path);

  /// Reads a bundle from memory of the caller, which must outlive it and stay as it is.
  static Result<Bundle, Error> open(std::span<const std::byte> bytes);

  Bundle(Bundle &&) noexcept;
  Bundle &operator=(Bundle &&) noexcept;
  ~Bundle();

  const std::string &name() const;           ///< of the operator set: "h3_vae"
  std::span<const OperatorSet> sets() const; ///< sorted by target; no two have one capability
  std::span<const Image> images() const;     ///< sorted by name
  const Digest &digest() const;              ///< of the whole file but its last 32 bytes
  std::string_view manifest() const;         ///< the manifest's canonical JSON

  /// What the bundle was made with: "0.1.0"; ptxas' version, empty if it holds no cubin.
  const std::string &compilerVersion() const;
  const std::string &assemblerVersion() const;

  struct Contents; ///< of the implementation

private:
  explicit Bundle(std::unique_ptr<Contents> contents);
  std::unique_ptr<Contents> contents;
};

} // namespace h3::bundle

#endif // H3_RUNTIME_BUNDLE_BUNDLE_H
