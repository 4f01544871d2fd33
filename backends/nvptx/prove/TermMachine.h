//===-- backends/nvptx/prove/TermMachine.h - PTX over terms --- -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Runs a block of the PTX interpreter over terms. Beside each register of a thread stands a tag: 0
// for a value that is known, which the interpreter's own handlers compute, or a term: data, or an
// integer that grows with the rows (Affine.h). Scheduling, barriers, shared memory with its race
// detector and every fault are the interpreter's.
//
//===----------------------------------------------------------------------===//

#ifndef H3_BACKENDS_NVPTX_PROVE_TERMMACHINE_H
#define H3_BACKENDS_NVPTX_PROVE_TERMMACHINE_H

#include "backends/nvptx/prove/Operations.h"
#include "backends/nvptx/prove/TermMemory.h"

#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace h3::prove {

/// What the runs of one kernel have reached.
struct Coverage {
  std::vector<uint64_t> executed; ///< by instruction
  /// By instruction, of those with a guard: bit 0: it was executed, bit 1: it was passed over.
  std::vector<uint8_t> guards;
};

class TermMachine : public ptx::ThreadRunner {
public:
  /// \p canonicalNaN says whether an instruction's NaN is recorded as canonical.
  TermMachine(TermStore &terms, Operations &operations, const ptx::Code &code,
              const std::function<bool(std::string_view)> &canonicalNaN);

  // ---- Set for a run.
  TermMemory *memory = nullptr;
  /// Parameters that are no known number, by their offset in the parameter space.
  std::map<uint64_t, TermId> parameters;
  std::optional<Slopes> blockSlopes; ///< of %ctaid.x
  SymbolRange range;
  /// Set where an instruction would have been linear with fewer periods than the range allows.
  std::optional<int64_t> fewerPeriods;
  TermId affine(const Slopes &slopes, uint64_t base, unsigned width);

  Coverage coverage;
  uint64_t steps = 0;

  void begin(ptx::BlockRun &block) override;
  bool run(ptx::BlockRun &block, ptx::Thread &thread, uint32_t steps) override;
  void meet(ptx::BlockRun &block, std::span<ptx::Thread *const> lanes, uint32_t mask,
            const ptx::Op &op) override;

private:
  using Thread = ptx::Thread;
  using Op = ptx::Op;

  /// What a step asks of an instruction.
  struct Form {
    enum class Kind : uint8_t { OfThread, Memory, Shuffle, OfLanes };
    Kind kind = Kind::OfThread;
    bool writesVector = false;
    uint32_t number = 0; ///< in `operations`; 0: its result is not kept
  };
  Form formOf(const Op &op, const ptx::Instruction &instruction);

  bool step(Thread &thread, const Op &op);
  bool stepOnTerms(Thread &thread, const Op &op, const ptx::Instruction &instruction,
                   bool isPartial);
  bool applyKept(Thread &thread, const Op &op, const ptx::Instruction &instruction);
  bool guardHolds(Thread &thread, const Op &op, bool &holds);
  void clearTags(Thread &thread, const Op &op);
  void notProvable(Thread &thread, std::string text);

  TermId &tag(const Thread &thread, ptx::Slot slot) {
    return tags[size_t(thread.index) * code.slots() + slot];
  }
  TermId tag(const Thread &thread, ptx::Slot slot) const {
    return tags[size_t(thread.index) * code.slots() + slot];
  }
  /// The operand as \p width bits.
  TermId value(const Thread &thread, ptx::Slot slot, unsigned width);
  TermId predicate(const Thread &thread, ptx::Slot slot, bool negated);
  void define(Thread &thread, ptx::Slot slot, TermId value);

  // ---- Data (TermOps.cpp). False if the instruction has no term.
  bool apply(Thread &thread, const Op &op, const ptx::Instruction &instruction);
  bool applyFloat(Thread &thread, const Op &op, const ptx::Instruction &instruction);
  bool applyInteger(Thread &thread, const Op &op, const ptx::Instruction &instruction);
  bool applyBits(Thread &thread, const Op &op, const ptx::Instruction &instruction);
  bool applyConvert(Thread &thread, const Op &op, const ptx::Instruction &instruction);
  bool applyCompare(Thread &thread, const Op &op);
  bool applyMove(Thread &thread, const Op &op, const ptx::Instruction &instruction);
  TermId floatOperation(const ptx::Instruction &instruction, const Op &op, ScalarType type,
                        TermId a, TermId b, TermId c);
  TermId convertFloat(const Op &op, ScalarType from, ScalarType to, TermId a);
  TermId asWritten(const Op &op, ScalarType type, TermId a);
  TermId permute(TermId a, TermId b, uint64_t control);

  // ---- Memory.
  bool accessMemory(Thread &thread, const Op &op, const ptx::Instruction &instruction);
  bool accessShared(Thread &thread, const Op &op, const ptx::Instruction &instruction);
  bool accessParameters(Thread &thread, const Op &op);
  bool accessGlobal(Thread &thread, const Op &op, const ptx::Instruction &instruction);
  void finishLoad(Thread &thread, const Op &op, unsigned index, TermId value);

  // ---- Integers that grow (TermAffine.cpp).
  bool applyAffine(Thread &thread, const Op &op, const ptx::Instruction &instruction);
  /// One of whose operands is a quotient.
  bool applyQuotient(Thread &thread, const Op &op, const ptx::Instruction &instruction);
  /// Runs the instruction, whose result is \p quotient.
  bool finishQuotient(Thread &thread, const Op &op, const Quotient &quotient);
  const Quotient *quotientAt(const Thread &thread, ptx::Slot slot) const;
  /// Numbers in `slopes` that stand for 64-bit integers of which only this is known.
  enum class Vague : unsigned {
    No,
    Below = 1,  ///< below 2^32
    Beyond = 2, ///< 2^32 or more
  };
  Vague vagueOf(const Thread &thread, ptx::Slot slot) const;
  Slopes slopesOf(const Thread &thread, ptx::Slot slot) const;
  const Slopes &slopesOf(TermId id) const { return isOpaque(id) ? slopes[0] : slopes[terms[id].a]; }
  /// An integer of which a tag does not say what it is for all numbers of rows: its term is never
  /// part of another one, and it is no address.
  bool isOpaque(TermId id) const {
    const Term &term = terms[id];
    return term.op == TermOp::Affine && term.a != 0 &&
           (term.a <= unsigned(Vague::Beyond) || term.a >= firstQuotient);
  }

  TermStore &terms;
  Operations &operations;
  const ptx::Code &code;
  std::vector<bool> canonical; ///< by instruction: its NaN is
  std::vector<Form> forms;     ///< by instruction
  std::vector<TermId> tags;
  struct ByteTerm {
    TermId term = 0;
    uint8_t index = 0;
  };
  std::vector<ByteTerm> sharedTerms;
  std::vector<Slopes> slopes;
  /// Those of this block; number \c firstQuotient in a tag is the first.
  std::vector<Quotient> quotients;
  static constexpr unsigned firstQuotient = 1u << 31;
  std::map<Slopes, unsigned> slopeNumbers;
};

} // namespace h3::prove

#endif // H3_BACKENDS_NVPTX_PROVE_TERMMACHINE_H
