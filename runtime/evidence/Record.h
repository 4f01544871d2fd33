//===-- runtime/evidence/Record.h - What a run on hardware has shown - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A record of `h3gen evidence run`: which images computed what, on which machine, compared with
// digests that the reference had computed beforehand. One line of canonical JSON:
//
//   {"cases":HEX,"date":"2026-11-30","format":1,"machine":MACHINE,"operators":[OPERATOR],
//    "set":"h3_vae","target":"sm_90","tool":"0.1.0"}
//   MACHINE   {"capability":[9,0],"cuda":"13.0","driver":"580.159.04","product":"NVIDIA H200",
//              "torch":null,"triton":null}
//             texts are null where the machine did not say
//   OPERATOR  {"cases":[HEX],"declines":[["an address off by a byte","alignment"]],
//              "failures":["..."],"figures":[FIGURE],"image":{"digest":HEX,"name":"..."},
//              "name":"swiglu<f16>","operator":HEX,"reference":"interpreter","unreached":["..."],
//              "variants":[["f16_v16_i32",97]]}
//   FIGURE    {"method":"...","nanoseconds":N,"variant":"f16_v16_i32","what":"rows=1797 d=8192"}
//
// A record cites images and operators by their digests, never a bundle: it lies beside it, and
// stays true of an image whatever else a bundle holds.
//
//===----------------------------------------------------------------------===//

#ifndef H3_RUNTIME_EVIDENCE_RECORD_H
#define H3_RUNTIME_EVIDENCE_RECORD_H

#include "runtime/bundle/Bundle.h"

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace h3::evidence {

inline constexpr int64_t kRecordFormat = 1;

/// Fewer compared calls of an operator than this validate nothing.
inline constexpr size_t kLeastCases = 256;

/// Where a run took place. Texts are empty where the machine did not say.
struct Machine {
  std::string product; ///< "NVIDIA H200"
  int major = 0, minor = 0;
  std::string driver; ///< "580.159.04"
  std::string cuda;   ///< what the driver supports: "13.0"
  std::string torch, triton;

  bool operator==(const Machine &) const = default;
};

/// How long a call took.
struct Figure {
  std::string what;    ///< the call: "rows=1797 d=8192"
  std::string variant; ///< that served it
  std::string method;  ///< how it was timed
  int64_t nanoseconds = 0;

  bool operator==(const Figure &) const = default;
};

/// One operator with its types chosen.
struct OperatorRecord {
  std::string name; ///< "swiglu<f16>"
  std::string imageName;
  bundle::Digest image;
  bundle::Digest meaning;            ///< of the operator: `DefinedInstance::digest`
  std::string reference;             ///< what computed the digests beforehand
  std::vector<bundle::Digest> cases; ///< of what the device gave for each call, in their order
  std::vector<std::string> failures; ///< one line each; empty: everything was as it must be
  /// Calls out of contract that were declined, as they must be: what was wrong, and the reason.
  std::vector<std::pair<std::string, std::string>> declines;
  std::vector<std::pair<std::string, int64_t>> variants; ///< calls that each has served
  std::vector<std::string> unreached; ///< variants that no case reached: their self-checks alone
  std::vector<Figure> figures;

  /// Whether it validates the image: enough calls, none of them wrong.
  bool isGood(size_t leastCases = kLeastCases) const {
    return failures.empty() && cases.size() >= leastCases && !declines.empty();
  }
  bool operator==(const OperatorRecord &) const = default;
};

struct Record {
  std::string tool; ///< h3gen's version
  std::string date; ///< "2026-11-30", UTC
  std::string set;
  std::string target;
  bundle::Digest cases; ///< of the file with the cases
  Machine machine;
  std::vector<OperatorRecord> operators;

  bool operator==(const Record &) const = default;
};

std::string writeRecord(const Record &record);

/// One line on an error.
Result<Record, bundle::Error> readRecord(std::string_view text);
Result<Record, bundle::Error> readRecordFile(const std::string &path);

/// What evidence there is for something that a bundle holds.
enum class Standing {
  NotValidated, ///< none, or none that is good
  Stale,        ///< for other images of the operator on the target
  Failed,       ///< a record for this very image that is not good
  Validated,
};

/// "validated", "not validated", "evidence is for other images", "not validated, calls failed".
std::string_view text(Standing standing);

/// "enabled, not validated"; "enabled; evidence is for other images"; "validated".
std::string text(Standing standing, bool isEnabled);

/// Of one instance of an operator of \p set.
Standing standingOf(const bundle::Contents &contents, const bundle::OperatorSet &set,
                    const bundle::Operator &op, size_t instance, std::span<const Record> records,
                    size_t leastCases = kLeastCases);

/// Of a set: validated if it is complete and every instance is, else the worst that there is.
Standing standingOf(const bundle::Contents &contents, const bundle::OperatorSet &set,
                    std::span<const Record> records, size_t leastCases = kLeastCases);

/// "swiglu<f16>", of a plan.
std::string nameOf(const plan::OperatorPlan &plan);

/// A file's bytes. Empty if it cannot be read.
std::optional<std::string> readFile(const std::string &path);

} // namespace h3::evidence

#endif // H3_RUNTIME_EVIDENCE_RECORD_H
