//===-- backends/nvptx/ptx/Approximate.cpp - Named approximations ---------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/nvptx/ptx/FloatBits.h"
#include "backends/nvptx/ptx/Machine.h"
#include "dsl/scalar/SpecialFunctions.h"

#include <fmt/format.h>

namespace h3::ptx {
namespace {

using scalar::F32;

template <Bits (*Model)(Bits)> void approximate(Thread &t, const Op &op) {
  Bits a = t.r[op.a];
  if (op.is(FlagFtz))
    a = flush<F32>(a);
  t.write(op.d, Model(a));
}

Handler modelOf(const Instruction &instruction, const Op &op) {
  if (op.type != Modifier::F32)
    return nullptr;
  switch (instruction.opcode) {
  case Opcode::Rsqrt:
    return approximate<scalar::rsqrtApprox>;
  case Opcode::Sqrt:
    return approximate<scalar::sqrtApprox>;
  case Opcode::Rcp:
    return op.is(FlagFtz) ? approximate<scalar::rcpApproxFtz> : approximate<scalar::rcpApprox>;
  case Opcode::Ex2:
    return op.is(FlagFtz) ? approximate<scalar::ex2ApproxFtz> : approximate<scalar::ex2Approx>;
  case Opcode::Lg2:
    return op.is(FlagFtz) ? approximate<scalar::lg2ApproxFtz> : approximate<scalar::lg2Approx>;
  default:
    return nullptr;
  }
}

} // namespace

bool selectApproximation(const Instruction &instruction, Op &op, std::string &problem) {
  if (!instruction.has(Modifier::Approx) && !instruction.has(Modifier::Full))
    return false;
  op.handler = modelOf(instruction, op);
  if (!op.handler) {
    std::string name(text(instruction.opcode));
    for (Modifier modifier : instruction.modifiers)
      name += fmt::format(".{}", text(modifier));
    problem = fmt::format("the approximation {} has no model", name);
  }
  return true;
}

} // namespace h3::ptx
