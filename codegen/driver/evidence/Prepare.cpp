//===-- codegen/driver/evidence/Prepare.cpp - The stress matrix of an operator -===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/driver/evidence/Prepare.h"

#include "codegen/driver/bundle/CheckDrawer.h"

#include <fmt/format.h>

#include <array>

namespace h3 {

namespace {

using bundle::Values;
using Choice = CheckDrawer::Choice;

/// How the floats of a call are drawn, with its name.
struct Distribution {
  Choice choice;
  Values values;
  const char *name;
};

/// Over all layouts and sizes; numbers that leave numbers more often than others.
constexpr std::array<Distribution, 10> kDrawn = {{
    {Choice::All, Values::Normal, "normal"},
    {Choice::Finite, Values::Finite, "with zeros and subnormals"},
    {Choice::Specials, Values::Mixed, "with infinities and NaNs"},
    {Choice::All, Values::AnyBits, "any bits"},
    {Choice::All, Values::Wide, "every exponent"},
    {Choice::All, Values::Normal, "normal"},
    {Choice::All, Values::Mixed, "infinities and NaNs everywhere"},
    {Choice::All, Values::Subnormal, "subnormal"},
    {Choice::All, Values::Finite, "with zeros and subnormals"},
    {Choice::All, Values::Huge, "huge"},
}};

class CaseDrawer {
public:
  CaseDrawer(const Program &program, const plan::OperatorPlan &contract, size_t count)
      : program(program), contract(contract), drawer(program, contract), count(count) {}

  bool addShape(const ProductionShape &shape, std::string &error);
  void addEdges();
  void addDrawn();

  std::vector<evidence::Case> cases;

private:
  void add(const CheckDrawer::Wish &wish, const std::string &what, bool isTimed = false) {
    if (std::optional<bundle::SelfCheck> call = drawer.draw(wish); call && cases.size() < count)
      cases.push_back({what + ", " + sizesOf(*call), isTimed, std::move(*call)});
  }
  std::string sizesOf(const bundle::SelfCheck &call) const;
  bool canBeInPlace() const {
    return std::ranges::any_of(contract.tensors, [](const auto &t) { return t.mayAlias >= 0; });
  }

  const Program &program;
  const plan::OperatorPlan &contract;
  CheckDrawer drawer;
  const size_t count;
  uint64_t seed = 1000000; ///< apart from those of self-checks
};

/// "x [1797, 16384]", of the first tensor.
std::string CaseDrawer::sizesOf(const bundle::SelfCheck &call) const {
  return fmt::format("{} [{}]", contract.tensors[0].name, fmt::join(call.tensors[0].extents, ", "));
}

bool CaseDrawer::addShape(const ProductionShape &shape, std::string &error) {
  CheckDrawer::Wish wish;
  for (const auto &[name, size] : shape) {
    const auto dim = std::ranges::find(program.dims, name, &Dim::name);
    if (dim == program.dims.end() || dim->fixed || dim->definition) {
      error =
          fmt::format("a shape of {} names '{}', which is no free dim of it", program.name, name);
      return false;
    }
    wish.sizes[static_cast<unsigned>(dim - program.dims.begin())] = size;
  }
  const size_t before = cases.size();
  wish.isPacked = true;
  wish.choice = Choice::All;
  wish.seed = seed++;
  add(wish, "production, normal", true);
  if (cases.size() == before) {
    error = fmt::format("a shape of {} does not meet what it requires", program.name);
    return false;
  }
  wish.seed = seed++;
  wish.choice = Choice::Specials;
  wish.isInPlace = true;
  add(wish, "production, with infinities and NaNs, in place where it may be");
  wish.seed = seed++;
  wish.choice = Choice::All;
  wish.values = Values::Wide;
  wish.isPacked = wish.isInPlace = false;
  wish.layout = 3;
  add(wish, "production, every exponent, rows apart");
  return true;
}

void CaseDrawer::addEdges() {
  for (unsigned dim : drawer.rowDims())
    for (int64_t size : {0, 1})
      for (unsigned layout : {0u, 1u, 4u, 6u}) {
        CheckDrawer::Wish wish;
        wish.sizes[dim] = size;
        wish.layout = layout;
        wish.most = 200000;
        wish.choice = layout == 1 ? Choice::Specials : Choice::Finite;
        // Sizes that do not meet what the operator requires are drawn anew.
        const size_t before = cases.size();
        for (int attempt = 0; attempt < 20 && cases.size() == before; ++attempt) {
          wish.seed = seed++;
          add(wish, fmt::format("{} = {}", program.dims[dim].name, size));
        }
      }
}

void CaseDrawer::addDrawn() {
  // A bound on the draws, should an operator's requirements be met by few.
  for (size_t turn = 0, draws = 0; cases.size() < count && draws < 200 * count; ++turn) {
    const Distribution &distribution = kDrawn[turn % kDrawn.size()];
    CheckDrawer::Wish wish;
    wish.layout = static_cast<unsigned>(turn / 3 % CheckDrawer::kLayouts);
    wish.choice = distribution.choice;
    wish.values = distribution.values;
    wish.isInPlace = turn % 4 == 1;
    wish.isSplit = turn % 5 == 2;
    wish.drawsParameters = turn % 3 == 1;
    wish.most = turn % 16 == 5 ? 400000 : 48000;
    wish.longest = turn % 16 == 5 ? 70000 : 0;
    wish.least = turn % 8 == 3 ? 1 : 200;
    const size_t before = cases.size();
    for (int attempt = 0; attempt < 40 && cases.size() == before; ++attempt, ++draws) {
      wish.seed = seed++;
      add(wish, fmt::format("{}{}", distribution.name,
                            wish.isInPlace && canBeInPlace() ? ", in place" : ""));
    }
  }
}

} // namespace

std::vector<evidence::Case> drawCases(const Program &program, const plan::OperatorPlan &contract,
                                      const std::vector<ProductionShape> &shapes, size_t count,
                                      std::string &error) {
  CaseDrawer drawer(program, contract, count);
  for (const ProductionShape &shape : shapes)
    if (!drawer.addShape(shape, error))
      return {};
  drawer.addEdges();
  drawer.addDrawn();
  if (drawer.cases.size() < count) {
    error = fmt::format("only {} of {} calls of {} could be drawn", drawer.cases.size(), count,
                        program.name);
    return {};
  }
  return std::move(drawer.cases);
}

} // namespace h3
