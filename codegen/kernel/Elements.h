//===-- codegen/kernel/Elements.h - Code for a vector of elements - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef H3_CODEGEN_KERNEL_ELEMENTS_H
#define H3_CODEGEN_KERNEL_ELEMENTS_H

#include "codegen/kernel/Guards.h"
#include "codegen/kernel/Machine.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/SmallVector.h>
#include <mlir/IR/Builders.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace h3 {

/// A tensor as the kernel sees it.
struct KernelTensor {
  mlir::Value pointer;                    ///< to global memory
  llvm::SmallVector<mlir::Value> strides; ///< in elements, in the kernel's index type
  unsigned number = 0;                    ///< in the contract
  bool isInvariant = false;               ///< nothing in the launch writes it
  bool isAliased = false;                 ///< an output of the launch may overwrite it
  bool isStreamed = false;                ///< its accesses carry the hint that this is all
};

/// The loads of one leaf, by tensor and index: what one phase of a held row has read, another need
/// not read again.
using LoadCache = std::map<std::vector<uintptr_t>, mlir::Value>;

/// A vector of consecutive elements of a row that one thread handles at once.
struct Leaf {
  mlir::Value base;   ///< the first element; 0 where the elements do not exist
  mlir::Value exists; ///< null: they always do
  /// Where the vector may reach beyond the row: the row's extent, and the first element even if it
  /// does not exist. Null: a vector exists as a whole.
  mlir::Value end, first;
  int64_t offset = 0; ///< what registers and loops of fixed length add to the thread's own base
  LoadCache loads;
  /// What was emitted ahead of its phase, by operation.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value, 1>> ready;
};

/// An index, or a factor of one, for each element of a vector: a value that all elements share plus
/// a constant for each.
struct LaneIndex {
  struct Term {
    mlir::Value value;  ///< emitted, of the index type, the same for all elements
    mlir::Value source; ///< what it was emitted for, if it does not depend on the element
    bool isNegated = false;
    int64_t multiple = 1; ///< it is known to be a multiple of this
  };
  llvm::SmallVector<Term, 4> terms;
  llvm::SmallVector<int64_t, 8> offsets;
};

/// Emits operations of the h3 dialect as kernel code, for one element or for a vector of
/// consecutive elements at once: a value that depends on the element is one vector, all others are
/// scalars. Accesses along the last axis become vector accesses where the guards can promise the
/// alignment. `index` becomes an integer of the variant's width.
///
/// Arithmetic on the element's own index (and conditions on it) is emitted only where something
/// needs it: an address needs the first element alone, and so does a condition on which a vector
/// agrees.
class Elements {
public:
  Elements(mlir::OpBuilder &builder, Guards &guards, const Machine &machine,
           mlir::IntegerType indexType, unsigned accessBytes)
      : builder(builder), guards(guards), machine(machine), indexType(indexType),
        accessBytes(accessBytes) {}

  /// The kernel's first block, where constants go; before anything is emitted.
  void begin(mlir::Block &entry) { head = &entry; }

  void bindTensor(mlir::Value tensor, KernelTensor access) { tensors[tensor] = std::move(access); }
  void bind(mlir::Value value, mlir::Value emitted) { values[value] = emitted; }
  /// How the value that a thread has for an element reaches the thread that uses it: from what the
  /// thread itself has and the first of the elements that it uses.
  using Fetch = std::function<mlir::Value(mlir::Value own, mlir::Value first)>;
  void setFetch(Fetch how) { fetch = std::move(how); }

  /// How many threads beside each other access vectors beside each other from here on. Where their
  /// accesses together do not take whole sectors of memory, another access needs the rest of the
  /// sector, and no hint is given.
  void setThreadsBeside(int64_t threads) { threadsBeside = threads; }
  /// From here on \p element, an argument of a phase's body, stands for \p vector elements from the
  /// leaf's base, a multiple of \p vector. What was emitted for the body's operations is forgotten,
  /// but for what the leaf has ready.
  void enter(mlir::Value element, Leaf &leaf, unsigned vector);
  /// What follows belongs to the row and to no leaf.
  void leave();
  /// Emits what \p body has for the leaf that was entered and needs nothing unknown, stores
  /// excepted: memory can then work while something else is computed. With \p onlyLoads the loads
  /// and what their addresses need: behind a branch, such as a division has in the machine's code,
  /// they would wait for what is computed before it.
  void emitReady(mlir::Block &body, bool onlyLoads = false);
  /// Whether everything that \p op uses was emitted.
  bool isReady(mlir::Operation &op) const;
  /// Whether the inputs that an output of this launch may overwrite are overwritten from here on,
  /// so that reading them is an error.
  void forbidAliasedLoads(bool forbid) { aliasesAreGone = forbid; }
  /// From here on an input that an output of this launch may overwrite is read only where
  /// \p condition holds (null: everywhere) and the leaf that was entered exists; elsewhere it is 0.
  /// What does not exist is clamped to something that does, which another thread may be writing.
  void readAliasesWhere(mlir::Value condition) { aliasCondition = condition; }
  /// Whether code is emitted where all these conditions are known to hold.
  void assumeExistence(bool assume) { existenceIsKnown = assume; }

  /// What was emitted for \p value: a scalar if it is the same for all elements (or one element was
  /// chosen by `restrictTo`), otherwise a vector.
  mlir::Value emitted(mlir::Value value);

  void emit(mlir::Operation &op);
  void emitBlock(mlir::Block &block);
  void emitStore(ir::StoreOp store);

  /// Emits for element \p lane of the vector alone from here on; -1: for all.
  void restrictTo(int lane) { soleLane = lane; }
  /// Emits for these elements of the leaf's vector from here on, in this order: values that depend
  /// on the element have so many elements. Empty: for all. Until `restrictTo`'s end, `enter` or
  /// `leave`.
  void restrictToLanes(llvm::ArrayRef<unsigned> lanes);
  /// What follows belongs to no leaf, and its vectors have \p width elements.
  void setWidth(unsigned width);
  /// \p scalar in each element of a vector of \p width, or itself if that is 1.
  mlir::Value spread(mlir::Value scalar, unsigned width);
  /// Elements \p lanes of \p whole; a scalar if there is one.
  mlir::Value select(mlir::Value whole, llvm::ArrayRef<unsigned> lanes);

  /// The first operation without code generation; empty if there was none.
  const std::string &error() const { return message; }

  /// Whether vectors may reach beyond a row.
  bool hasPartialVectors() const { return machine.masksVectors && !accessBytes; }
  /// Whether the elements \p places of a leaf's vector exist: a vector of conditions, or one.
  mlir::Value exist(const Leaf &of, llvm::ArrayRef<unsigned> places);

  mlir::Type kernelType(mlir::Type type) { return type.isIndex() ? indexType : type; }
  mlir::Value constant(mlir::TypedAttr value);
  mlir::Value constant(int64_t value); ///< of the index type

private:
  void fail(mlir::Operation *op, const std::string &what);
  void emitAhead(mlir::Operation &op);

  // Values of the elements.
  bool isBound(mlir::Value value) const {
    return values.contains(value) || isElementIndex(value) || tensors.contains(value);
  }
  bool isElementIndex(mlir::Value value) const;
  bool isVector(mlir::Value value) const;  ///< emitted as one value for each element
  bool isUniform(mlir::Value value) const; ///< emitted once for all elements
  mlir::Value ofLane(mlir::Value elementIndex, unsigned lane);
  mlir::Value ofAllLanes(mlir::Value elementIndex);
  mlir::Value broadcast(mlir::Value scalar);
  mlir::Value extract(mlir::Value vector, unsigned lane);
  mlir::Value gather(llvm::ArrayRef<mlir::Value> lanes);
  mlir::Value clone(mlir::Operation &op, llvm::ArrayRef<mlir::Value> operands);

  bool isIndexArithmetic(mlir::Operation &op) const;
  void emitPure(mlir::Operation &op);
  void emitConstant(mlir::arith::ConstantOp op);
  void emitCast(mlir::arith::IndexCastOp op);
  mlir::Value emittedCondition(mlir::Value condition);
  void emitIf(mlir::scf::IfOp op);
  void emitEachLane(mlir::scf::IfOp op, llvm::function_ref<void(unsigned lane)> emitLane);
  void emitIfOnce(mlir::scf::IfOp op, mlir::Value condition);
  void emitPattern(mlir::scf::IfOp op, llvm::ArrayRef<bool> taken);
  void emitPatternSelect(mlir::arith::SelectOp op, llvm::ArrayRef<bool> taken);
  void emitLoad(ir::LoadOp op);
  void emitRemap(ir::RemapOp op);

  // Indices (LaneIndex.cpp). Guards that a decomposition needs go to `pending`.
  using Pending = std::vector<plan::Condition>;
  std::optional<LaneIndex> decompose(mlir::Value value, Pending &pending);
  std::optional<LaneIndex> decomposeDigit(mlir::Operation &op, Pending &pending);
  mlir::Value sumOf(const LaneIndex &index, int64_t offset, mlir::Location loc);
  int64_t knownMultiple(const LaneIndex &index) const;
  /// Whether all elements of a vector agree on the condition.
  bool agrees(mlir::Value condition, Pending &pending);
  /// The condition for each element where it is the same in every vector.
  std::optional<llvm::SmallVector<bool>> pattern(mlir::Value condition);

  // Memory (ElementMemory.cpp).
  /// The part of memory that a vector touches along the last axis: `count` pieces of `length`
  /// elements from element `first` on, relative to the index' terms.
  struct Window {
    LaneIndex index;
    int64_t first = 0;
    unsigned length = 1, count = 0;
  };
  std::optional<Window> window(mlir::Value tensor, mlir::OperandRange indices);
  std::optional<std::vector<uintptr_t>> cacheKey(ir::LoadOp op);
  mlir::Value address(const KernelTensor &tensor, mlir::Type element,
                      llvm::ArrayRef<mlir::Value> indices, bool unitStride, mlir::Location loc);
  mlir::Value laneAddress(mlir::Value tensor, mlir::Type element, mlir::OperandRange indices,
                          unsigned lane, mlir::Location loc);
  mlir::Value pieceAddress(mlir::Value tensor, mlir::Type element, mlir::OperandRange indices,
                           const Window &window, unsigned piece, mlir::Location loc);
  mlir::Value loadWindow(ir::LoadOp op, const Window &window);
  mlir::Value load(ir::LoadOp op, mlir::Type type, mlir::Value pointer, unsigned alignment,
                   bool isStreamed = false);
  bool isStreamed(mlir::Value tensor, const Window &window, unsigned bytes);

  /// An index into a leaf that reaches beyond the row, of the row's last element if there is none.
  mlir::Value clamped(mlir::Value index);
  /// The place in the leaf's vector of element \p lane of what is emitted.
  unsigned leafLane(unsigned lane) const { return chosen.empty() ? lane : chosen[lane]; }

  mlir::OpBuilder &builder;
  Guards &guards;
  const Machine &machine;
  mlir::IntegerType indexType;
  unsigned accessBytes;
  mlir::Block *head = nullptr;
  unsigned vector = 1;                ///< elements of what is emitted
  unsigned leafVector = 1;            ///< of the leaf
  llvm::SmallVector<unsigned> chosen; ///< those of the leaf that are emitted; empty: all
  int soleLane = -1;
  unsigned branchDepth = 0;
  bool aliasesAreGone = false, existenceIsKnown = false;
  mlir::Value aliasCondition;
  Fetch fetch;
  int64_t threadsBeside = 1;
  Leaf *leaf = nullptr;
  llvm::DenseMap<mlir::Value, mlir::Value> values;
  llvm::DenseMap<mlir::Attribute, mlir::Value> constants;
  llvm::DenseMap<mlir::Value, mlir::Value> elementBases;
  llvm::DenseSet<mlir::Operation *> elementIndices; ///< arithmetic on the element's index
  llvm::DenseMap<mlir::Value, KernelTensor> tensors;
  std::string message;
};

} // namespace h3

#endif // H3_CODEGEN_KERNEL_ELEMENTS_H
