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

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace h3::bundle {

/// The manifest's `format` that this reader reads.
inline constexpr int64_t kFormat = 2;

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
  unsigned ptxVersion = 0; ///< times 10; of a cubin, of the PTX that it was made of, 0: of none
};

/// An operator with its types chosen: what it computes, whatever the target.
struct DefinedInstance {
  std::vector<std::string> typeArguments;

  /// Of its typed program. Two bundles with the same digest compute the same bits, whatever their
  /// images.
  Digest digest;
  std::vector<SelfCheck> checks;

  bool operator==(const DefinedInstance &) const = default;
};

/// An operator, or a probe: y[i] = APPROXIMATION(x[i]).
struct Definition {
  std::string name;
  /// Sorted names of the language: "ex2.approx.ftz". Empty: IEEE operations only. A probe has one.
  std::vector<std::string> approximations;
  std::vector<DefinedInstance> instances; ///< in the order of the spec's types

  bool operator==(const Definition &) const = default;
};

/// What a proof has shown of one variant.
struct ProvedVariant {
  std::string name;    ///< as in the plan
  uint64_t calls = 0;  ///< sizes and layouts that it was compared for
  std::string problem; ///< why it is not proved; empty: it is
  bool operator==(const ProvedVariant &) const = default;
};

/// That the PTX computes exactly the spec's terms, as far as that was shown (`h3gen prove`).
struct Proof {
  int64_t prover = 0; ///< version of the prover's records
  Digest spec;        ///< of the texts of the spec and of what it uses
  Digest ptx;         ///< of what was proved: the operator's PTX image, where it is there
  std::vector<std::string>
      allRows; ///< dims for all of whose numbers each variant is proved, sorted
  std::vector<ProvedVariant> variants; ///< one for each of the plan
  /// The exact rewrites that were needed, and how often; sorted by name.
  std::vector<std::pair<std::string, uint64_t>> rewrites;

  bool isProved() const {
    return std::ranges::all_of(variants, [](const auto &v) { return v.problem.empty(); });
  }
  bool operator==(const Proof &) const = default;
};

/// What the assembler made of the PTX: every float instruction accounted for, as far as that was
/// possible (`h3gen audit`).
struct Audit {
  int64_t auditor = 0; ///< version of the audit's records
  Digest cubin, ptx;
  std::string assembler, disassembler; ///< versions
  uint64_t kernels = 0, instructions = 0;
  /// How many instructions and known expansions there are of each kind; sorted by name.
  std::vector<std::pair<std::string, uint64_t>> operations, expansions;
  std::string fault; ///< what is not accounted for; empty: everything is

  bool operator==(const Audit &) const = default;
};

/// An operator with its types chosen, on one target.
struct Instance {
  /// Verified. Has the contract and the variants, whose entries are symbols of the operator's
  /// images.
  plan::OperatorPlan plan;

  /// For each variant of the plan which of `DefinedInstance::checks` it must pass before it serves;
  /// at least one. `checkFor` holds for each.
  std::vector<std::vector<uint32_t>> checksOfVariant;

  std::optional<Proof> proof{}; ///< none was tried

  bool operator==(const Instance &) const = default;
};

/// An operator, or a probe of an approximation, on one target.
struct Operator {
  uint32_t definition = 0;         ///< in `Contents::operators`, of a probe in `Contents::probes`
  std::vector<Instance> instances; ///< one for each of the definition's
  std::optional<uint32_t> cubin;   ///< in `Contents::images`; all instances and variants are in it
  std::optional<uint32_t> ptx;     ///< one of the two is there

  /// In `OperatorSet::probes`: those of the approximations that the operator uses. Each must have
  /// passed its own checks on a device before the operator serves there. Empty for a probe.
  std::vector<uint32_t> probes;

  std::optional<Audit> audit{}; ///< of the cubin

  bool operator==(const Operator &) const = default;
};

/// All operators for one exact target.
struct OperatorSet {
  std::string target;              ///< "sm_90"
  std::string backend;             ///< "nvptx"
  int major = 0, minor = 0;        ///< compute capability that a device must have, exactly
  bool enabled = false;            ///< whether the set may serve
  std::vector<Operator> operators; ///< sorted by name

  /// One for each approximation that the set's operators use. They serve no calls; their checks
  /// send 2^16 inputs through the device's special function unit.
  std::vector<Operator> probes;

  /// Operators of the bundle that this target lacks, sorted by name; the bundle was written with
  /// `--allow-missing`. Such a set is incomplete and must not serve.
  std::vector<std::string> missing;

  bool operator==(const OperatorSet &) const = default;
};

/// What a bundle holds.
struct Contents {
  std::string name;                  ///< of the operator set: "h3_vae"
  std::string compiler;              ///< h3gen's version
  std::string assembler;             ///< ptxas' version; empty if there are no cubins
  std::vector<Definition> operators; ///< sorted by name
  std::vector<Definition> probes;    ///< sorted by name
  std::vector<OperatorSet> sets;     ///< sorted by target; no two have one capability
  std::vector<Image> images;         ///< sorted by name; each belongs to one operator of one set
};

/// An opened bundle. Moving it leaves every view and reference into it valid.
class Bundle {
public:
  /// Maps the file at \p path for as long as the bundle lives. A file that another process cuts
  /// short meanwhile takes this one down: replace files, do not rewrite them.
  static Result<Bundle, Error> openFile(const std::string &path);

  /// Reads a bundle from memory of the caller, which must outlive it and stay as it is.
  static Result<Bundle, Error> open(std::span<const std::byte> bytes);

  Bundle(Bundle &&) noexcept;
  Bundle &operator=(Bundle &&) noexcept;
  ~Bundle();

  const Contents &contents() const;
  const Digest &digest() const;      ///< of the file but for its last 32 bytes
  std::string_view manifest() const; ///< canonical JSON

private:
  struct Opened;
  explicit Bundle(std::unique_ptr<Opened> opened);
  std::unique_ptr<Opened> opened;
};

/// The bytes of the bundle that holds \p contents; the images' digests are computed. An error if it
/// is none that `open` would take.
Result<std::string, Error> write(const Contents &contents);

} // namespace h3::bundle

#endif // H3_RUNTIME_BUNDLE_BUNDLE_H
