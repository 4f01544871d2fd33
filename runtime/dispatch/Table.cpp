//===-- runtime/dispatch/Table.cpp - Which operators exist for which target -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/dispatch/Table.h"

#include <algorithm>
#include <cstring>

namespace h3::rt {

const bundle::Image *Row::cubin() const {
  return bundled && bundled->cubin ? &bundle->images[*bundled->cubin] : nullptr;
}

const bundle::Image *Row::ptx() const {
  return bundled && bundled->ptx ? &bundle->images[*bundled->ptx] : nullptr;
}

static std::string nameOf(std::string name, const std::vector<std::string> &types) {
  for (size_t i = 0; i < types.size(); ++i)
    name += (i ? "," : "<") + types[i];
  return types.empty() ? name : name + ">";
}

std::string nameOf(const plan::OperatorPlan &plan) { return nameOf(plan.name, plan.typeArguments); }

/// The name without the types.
static std::string_view baseOf(std::string_view name) { return name.substr(0, name.find('<')); }

static std::string joined(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::optional<Refusal> Table::check(const std::string &set, const std::string &target,
                                    const std::vector<std::string> &operators) const {
  const std::string where = "operator set '" + set + "' for " + target;
  for (size_t i = 1; i < operators.size(); ++i)
    if (operators[i] == operators[i - 1])
      return Refusal{H3RT_DUPLICATE, where + " has " + operators[i] + " twice"};
  for (const std::string &name : operators)
    for (const auto &row : all)
      if (row->target == target && row->op->name == name)
        return Refusal{H3RT_DUPLICATE, where + ": " + target + " has " + name +
                                           " already, from set '" + row->set + "'"};
  for (const Family &family : families) {
    if (family.name != set || family.operators == operators)
      continue;
    std::vector<std::string> missing, extra;
    std::set_difference(family.operators.begin(), family.operators.end(), operators.begin(),
                        operators.end(), std::back_inserter(missing));
    std::set_difference(operators.begin(), operators.end(), family.operators.begin(),
                        family.operators.end(), std::back_inserter(extra));
    std::string text = where + " is not complete:";
    if (!missing.empty())
      text += " it lacks " + joined(missing);
    if (!extra.empty())
      text += std::string(missing.empty() ? "" : ",") + " it has " + joined(extra) +
              ", which the set does not list";
    return Refusal{H3RT_INCOMPLETE, std::move(text)};
  }
  size_t fresh = 0;
  for (const std::string &name : operators)
    fresh += findOperator(name) == nullptr;
  if (named.size() + fresh > kMaxOperators)
    return Refusal{H3RT_INVALID_ARGUMENT, where + ": a runtime has at most " +
                                              std::to_string(kMaxOperators) + " operators"};
  return std::nullopt;
}

void Table::remember(const std::string &set, const std::vector<std::string> &operators) {
  for (const Family &family : families)
    if (family.name == set)
      return;
  families.push_back({set, operators});
}

std::optional<Refusal> Table::add(bundle::Bundle bundle, std::vector<std::string> &notes) {
  auto owned = std::make_unique<bundle::Bundle>(std::move(bundle));
  const bundle::Contents &contents = owned->contents();
  std::vector<std::string> names;
  for (const bundle::Definition &op : contents.operators)
    for (const bundle::DefinedInstance &instance : op.instances)
      names.push_back(nameOf(op.name, instance.typeArguments));
  std::sort(names.begin(), names.end());
  for (const bundle::OperatorSet &set : contents.sets) {
    if (!set.missing.empty()) {
      notes.push_back("operator set '" + contents.name + "' for " + set.target +
                      " is left out: it lacks " + joined(set.missing));
      continue;
    }
    if (auto refusal = check(contents.name, set.target, names))
      return refusal;
  }
  remember(contents.name, names);
  for (const bundle::OperatorSet &set : contents.sets) {
    if (!set.missing.empty())
      continue;
    for (const bundle::Operator &op : set.operators)
      for (size_t i = 0; i < op.instances.size(); ++i) {
        auto row = std::make_unique<Row>();
        row->set = contents.name;
        row->target = set.target;
        row->plan = &op.instances[i].plan;
        row->enabled = set.enabled;
        row->bundle = &contents;
        row->bundleSet = &set;
        row->bundled = &op;
        row->instance = &op.instances[i];
        row->definition = &contents.operators[op.definition].instances[i];
        push(std::move(row), nameOf(op.instances[i].plan));
      }
  }
  bundles.push_back(std::move(owned));
  return std::nullopt;
}

std::optional<Refusal> Table::add(const std::string &set, const std::string &target, bool enabled,
                                  std::vector<Function> functions) {
  std::vector<std::string> names;
  for (const Function &function : functions)
    names.push_back(function.name);
  std::sort(names.begin(), names.end());
  if (auto refusal = check(set, target, names))
    return refusal;
  std::vector<const plan::OperatorPlan *> contracts;
  for (const Function &function : functions) {
    const plan::OperatorPlan *contract = function.contract.get();
    for (const auto &row : all)
      if (!contract && row->op->name == function.name)
        contract = row->plan;
    if (!contract)
      return Refusal{H3RT_INCOMPLETE, "operator set '" + set + "' for " + target + ": " +
                                          function.name +
                                          " has no contract, and no set before has the operator"};
    contracts.push_back(contract);
  }
  remember(set, names);
  for (size_t i = 0; i < functions.size(); ++i) {
    auto row = std::make_unique<Row>();
    row->set = set;
    row->target = target;
    row->plan = contracts[i];
    row->enabled = enabled;
    row->function = functions[i].function;
    row->user = functions[i].user;
    row->ownPlan = std::move(functions[i].contract);
    push(std::move(row), functions[i].name);
  }
  return std::nullopt;
}

Operator &Table::operatorNamed(const std::string &name) {
  if (Operator *found = findOperator(name))
    return *found;
  auto op = std::make_unique<Operator>();
  op->runtime = &runtime;
  op->name = name;
  op->index = static_cast<uint32_t>(named.size());
  op->isOff = isOff(name) || isOff(baseOf(name));
  named.push_back(std::move(op));
  return *named.back();
}

void Table::push(std::unique_ptr<Row> row, const std::string &name) {
  row->op = &operatorNamed(name);
  if (!row->op->contract)
    row->op->contract = row->plan;
  applySwitches(*row);
  all.push_back(std::move(row));
}

bool Table::isOff(std::string_view name) const {
  return std::find(off.begin(), off.end(), name) != off.end();
}

void Table::applySwitches(Row &row) const { row.isOff = isOff("all") || isOff(row.target); }

void Table::setEnabled(std::string_view what, bool enabled) {
  off.erase(std::remove(off.begin(), off.end(), what), off.end());
  if (!enabled)
    off.emplace_back(what);
  for (const auto &row : all)
    applySwitches(*row);
  for (const auto &op : named)
    op->isOff = isOff(op->name) || isOff(baseOf(op->name));
}

void Table::addEvidence(const h3rt_evidence &record) {
  Evidence fresh{record.target, record.operator_name, {}, {}};
  std::memcpy(fresh.image.bytes.data(), record.image_digest, 32);
  std::memcpy(fresh.meaning.bytes.data(), record.operator_digest, 32);
  evidence.push_back(std::move(fresh));
}

h3rt_validation Table::validation(const Row &row) const {
  const bundle::Image *image = row.cubin() ? row.cubin() : row.ptx();
  h3rt_validation result = H3RT_NOT_VALIDATED;
  for (const Evidence &record : evidence) {
    if (!image || record.target != row.target || record.name != row.op->name)
      continue;
    // What the driver assembles itself is never what a record is about.
    if (row.cubin() && record.image == image->digest && record.meaning == row.definition->digest)
      return H3RT_VALIDATED;
    result = H3RT_EVIDENCE_STALE;
  }
  return result;
}

const Row *Table::find(const Operator &op, std::string_view target) const {
  for (const auto &row : all)
    if (row->op == &op && row->target == target)
      return row.get();
  return nullptr;
}

Operator *Table::findOperator(std::string_view name) const {
  for (const auto &op : named)
    if (op->name == name)
      return op.get();
  return nullptr;
}

} // namespace h3::rt
