//===-- runtime/dispatch/Table.h - Which operators exist for which target - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The dispatch table: a flat list of rows, one for each operator of each operator set, with the
// target it is for. A device's target is matched exactly; nothing is ordered, nothing contains
// anything else. Sets are added whole or not at all.
//
// Names: an operator is called by its name and types, `swiglu<f16>`, or `qk_norm_rope` where there
// are none.
//
//===----------------------------------------------------------------------===//

#ifndef H3_RUNTIME_DISPATCH_TABLE_H
#define H3_RUNTIME_DISPATCH_TABLE_H

#include "runtime/bundle/Bundle.h"
#include "runtime/include/h3rt.h"
#include "runtime/plan/Plan.h"

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace h3::rt {

class Runtime;

/// The most operators of one runtime: each context has a place for each of them.
inline constexpr unsigned kMaxOperators = 1024;

/// What became of an operator's calls.
struct Counters {
  std::atomic<uint64_t> served{0}, failed{0};
  std::array<std::atomic<uint64_t>, plan::kDeclineReasonCount> declined{};
};

/// An operator with its types chosen, on whatever target. Never removed, so that a host may keep
/// it.
struct Operator {
  Runtime *runtime = nullptr;
  std::string name;
  uint32_t index = 0;
  std::atomic<const plan::OperatorPlan *> contract{nullptr}; ///< of the first row with it
  std::atomic<bool> isOff{false};                            ///< switched off by name
  Counters counters;
};

/// An operator on one target. Never removed; all but `isOff` stays as it is.
struct Row {
  std::string set;
  std::string target;
  Operator *op = nullptr;
  const plan::OperatorPlan *plan = nullptr; ///< of functions only the contract matters
  bool enabled = false;                     ///< by the set
  std::atomic<bool> isOff{false};           ///< its target is switched off

  // From a bundle:
  const bundle::Contents *bundle = nullptr;
  const bundle::OperatorSet *bundleSet = nullptr;
  const bundle::Operator *bundled = nullptr;
  const bundle::Instance *instance = nullptr;
  const bundle::DefinedInstance *definition = nullptr;

  // Of the host's own:
  h3rt_operator_function function = nullptr;
  void *user = nullptr;
  std::unique_ptr<const plan::OperatorPlan> ownPlan;

  /// Null if there is none.
  const bundle::Image *cubin() const;
  const bundle::Image *ptx() const;
};

/// `swiglu<f16>`, of a plan.
std::string nameOf(const plan::OperatorPlan &plan);

/// Why something was not added.
struct Refusal {
  h3rt_status status = H3RT_OK;
  std::string text;
};

/// Not safe for threads by itself.
class Table {
public:
  explicit Table(Runtime &runtime) : runtime(runtime) {}

  /// Adds the complete sets of a bundle. The names of those left out, with the reason, are appended
  /// to `notes`.
  std::optional<Refusal> add(bundle::Bundle bundle, std::vector<std::string> &notes);

  /// One set of functions. Rows need `op` no more than a name: it is given here.
  struct Function {
    std::string name;
    std::unique_ptr<const plan::OperatorPlan> contract; ///< null: of a row that is there
    h3rt_operator_function function = nullptr;
    void *user = nullptr;
  };
  std::optional<Refusal> add(const std::string &set, const std::string &target, bool enabled,
                             std::vector<Function> functions);

  void addEvidence(const h3rt_evidence &evidence);
  h3rt_validation validation(const Row &row) const;

  /// "all", a target, an operator with or without types. Holds for what is added later too.
  void setEnabled(std::string_view what, bool enabled);

  const Row *find(const Operator &op, std::string_view target) const;
  Operator *findOperator(std::string_view name) const;

  const std::vector<std::unique_ptr<Row>> &rows() const { return all; }
  const std::vector<std::unique_ptr<Operator>> &operators() const { return named; }

private:
  struct Family {
    std::string name;
    std::vector<std::string> operators; ///< sorted
  };
  struct Evidence {
    std::string target, name;
    bundle::Digest image, meaning;
  };

  /// Whether a set of these operators (sorted) may be added.
  std::optional<Refusal> check(const std::string &set, const std::string &target,
                               const std::vector<std::string> &operators) const;
  void remember(const std::string &set, const std::vector<std::string> &operators);
  Operator &operatorNamed(const std::string &name);
  void push(std::unique_ptr<Row> row, const std::string &name);
  bool isOff(std::string_view name) const;
  void applySwitches(Row &row) const;

  Runtime &runtime;
  std::vector<std::unique_ptr<bundle::Bundle>> bundles;
  std::vector<std::unique_ptr<Operator>> named;
  std::vector<std::unique_ptr<Row>> all;
  std::vector<Family> families;
  std::vector<Evidence> evidence;
  std::vector<std::string> off; ///< names switched off
};

} // namespace h3::rt

#endif // H3_RUNTIME_DISPATCH_TABLE_H
