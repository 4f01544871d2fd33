//===-- codegen/kernel/Candidates.cpp - Which schedules to use ------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/kernel/Candidates.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/MathExtras.h>

#include <cmath>

using namespace mlir;

namespace h3 {

using Place = LayoutDigit::Place;

namespace {

/// A digit while a layout is made up, least significant first.
struct Draft {
  bool isThread;
  int64_t radix;
};

/// The order's own digits as far as \p extent reaches: named digits are threads, walked ones and
/// the open one registers. Threads beyond what a block has become registers too.
std::vector<Draft> draftOf(ir::OrderAttr order, int64_t extent, const Machine &machine) {
  std::vector<Draft> draft;
  int64_t left = extent, threads = 1;
  ArrayRef<ir::OrderDigit> digits = order.getDigits();
  for (size_t i = digits.size(); i-- > 0 && left > 1;) {
    int64_t radix = digits[i].radix ? digits[i].radix : left;
    if (llvm::isPowerOf2_64(radix))
      radix = std::min<int64_t>(radix, llvm::PowerOf2Ceil(left));
    bool isThread = digits[i].name && llvm::isPowerOf2_64(radix) && digits[i].radix &&
                    threads * radix <= machine.mostThreads;
    if (isThread)
      threads *= radix;
    draft.push_back({isThread, radix});
    left = llvm::divideCeil(left, radix);
  }
  return draft;
}

/// Without an order: threads beside each other, then registers.
std::vector<Draft> plainDraft(int64_t extent, int64_t vector, int64_t threads) {
  std::vector<Draft> draft{{false, vector}};
  int64_t left = llvm::divideCeil(extent, vector);
  threads = std::min<int64_t>(threads, llvm::PowerOf2Ceil(left));
  draft.push_back({true, threads});
  draft.push_back({false, static_cast<int64_t>(llvm::divideCeil(left, threads))});
  return draft;
}

/// Moves \p low of the least and \p high of the most significant thread bits into registers.
bool moveThreads(std::vector<Draft> &draft, unsigned low, unsigned high) {
  std::vector<Draft> bits;
  for (const Draft &digit : draft) {
    if (!digit.isThread) {
      bits.push_back(digit);
      continue;
    }
    for (int64_t radix = digit.radix; radix > 1; radix /= 2)
      bits.push_back({true, 2});
  }
  unsigned threads = llvm::count_if(bits, [](const Draft &bit) { return bit.isThread; });
  if (low + high > threads)
    return false;
  unsigned seen = 0;
  for (Draft &bit : bits)
    if (bit.isThread) {
      bit.isThread = seen >= low && seen < threads - high;
      ++seen;
    }
  draft = bits;
  return true;
}

/// The layout of a draft; of the least significant registers at most \p widest are the vector.
Layout layoutOf(const std::vector<Draft> &draft, int64_t widest, bool withLoop, int64_t unroll) {
  Layout layout;
  std::vector<LayoutDigit> &digits = layout.digits; // least significant first, until the end
  unsigned threadBit = 0;
  int64_t vector = 1;
  bool inVector = true;
  auto add = [&](Place place, int64_t radix, unsigned bit) {
    if (radix == 1)
      return;
    if (!digits.empty() && digits.back().place == place && place != Place::Vector) {
      digits.back().radix *= radix;
      return;
    }
    digits.push_back({place, radix, bit});
  };
  for (const Draft &digit : draft) {
    if (digit.isThread) {
      inVector = false;
      add(Place::Thread, digit.radix, threadBit);
      threadBit += llvm::Log2_64(digit.radix);
      continue;
    }
    int64_t radix = digit.radix;
    if (inVector) {
      int64_t take = std::min<int64_t>(radix & -radix, widest / vector);
      take = int64_t(1) << llvm::Log2_64(std::max<int64_t>(1, take));
      vector *= take;
      radix /= take;
      inVector = radix == 1;
    }
    add(Place::Register, radix, 0);
  }
  if (withLoop) {
    add(Place::Register, unroll, 0);
    digits.push_back({Place::Loop, 0, 0});
  }
  std::reverse(digits.begin(), digits.end());
  if (vector > 1)
    digits.push_back({Place::Vector, vector, 0});
  return layout;
}

/// Butterflies, and shared memory where a team has warps.
double exchanges(const Job &job, unsigned threads, const Machine &machine) {
  double sum = 0;
  for (const Phase &phase : job.phases)
    if (ir::ReduceOp reduce = phase.reduce())
      sum += reduce.getNumResults() * (6.0 * std::min(machine.waveBits(), llvm::Log2_32(threads)) +
                                       (threads > machine.waveThreads ? 40 : 0));
  return sum;
}

Candidate rate(const Job &job, JobSchedule schedule, int64_t extent, const Machine &machine) {
  Candidate candidate;
  const Layout &layout = schedule.layouts.front();
  unsigned threads = schedule.threads();
  int64_t held = std::max<int64_t>(1, layout.registers());
  double perThread =
      layout.hasLoop()
          ? std::ceil(static_cast<double>(extent) / static_cast<double>(threads * held)) * held
          : held;
  candidate.accesses = static_cast<unsigned>(perThread / layout.vector());
  candidate.accessBytes = layout.vector() * std::max(1u, job.narrowest);
  constexpr double anElement = 8, anAccess = 6, aThread = 24;
  // One access of the narrowest type: what a thread needs to keep memory busy.
  double comfortable = std::max(4u, 16 / std::max(1u, job.narrowest));
  double instructions = threads * (perThread * anElement + candidate.accesses * anAccess +
                                   exchanges(job, threads, machine) + aThread);
  if (held > comfortable)
    instructions *= static_cast<double>(held) / comfortable;
  candidate.instructions = instructions;
  candidate.schedule = std::move(schedule);
  return candidate;
}

/// The orders of the job's reductions, each once.
std::vector<ir::OrderAttr> ordersOf(const Job &job) {
  std::vector<ir::OrderAttr> orders;
  for (const Phase &phase : job.phases)
    if (ir::ReduceOp reduce = phase.reduce())
      if (reduce.getOrder() && !llvm::is_contained(orders, *reduce.getOrder()))
        orders.push_back(*reduce.getOrder());
  return orders;
}

class Search {
public:
  Search(const Job &job, unsigned accessBytes, const RowClass &rows, const Machine &machine)
      : job(job), accessBytes(accessBytes), machine(machine), capacity(rows.capacity) {
    if (!job.phases.empty())
      known = job.phases.front().constantExtent();
    if (!accessBytes && machine.masksVectors)
      widest = machine.vectorElements;
    if (!accessBytes)
      return;
    if (machine.vectorElements) {
      // Arithmetic has the width, whatever an access has; narrower vectors are for rows of which
      // no wider ones are whole.
      widest = widestSpread =
          std::max<int64_t>(1, machine.vectorElements * std::min(16u, accessBytes) / 16);
      return;
    }
    // Rows of any length begin where the length allows: a narrow access is for those of which no
    // wider vectors are whole. Where the length is fixed, only the access has to be narrow.
    unsigned bytes = known ? 16 : std::min(16u, accessBytes);
    widest = perAccess(bytes, job.narrowest);
    widestSpread = perAccess(accessBytes, job.widest);
    if (widestSpread == 1)
      widestSpread = std::min<int64_t>(2, perAccess(accessBytes, job.narrowest));
  }

  std::vector<Candidate> run(std::string &error);

private:
  void spread();
  void hold(int64_t extent);
  void loop();
  void add(JobSchedule schedule, int64_t extent);
  /// The widest vector, as far as whole vectors are known to fill the row. Where vectors are
  /// joined, as many slots of \p order as a vector has elements otherwise.
  int64_t widestFor(std::optional<int64_t> extent,
                    std::optional<ir::OrderAttr> order = std::nullopt) const {
    int64_t elements = widest;
    if (order && machine.joinsVectors && elements > 1)
      for (const ir::OrderDigit &digit : llvm::reverse(order->getDigits())) {
        if (digit.name || !digit.radix || !llvm::isPowerOf2_64(digit.radix))
          break;
        elements *= digit.radix;
      }
    bool isPartial = machine.masksVectors && !accessBytes;
    return extent && !isPartial ? std::min(elements, *extent & -*extent) : elements;
  }

  static int64_t perAccess(unsigned bytes, unsigned element) {
    return std::max(1u, bytes / std::max(1u, element));
  }

  const Job &job;
  const unsigned accessBytes;
  const Machine &machine;
  int64_t widest = 1; ///< elements of the narrowest type in an access
  /// Of the widest type: a spread thread has one access of each tensor. Two at least where those of
  /// the narrowest type fit.
  int64_t widestSpread = 1;
  std::optional<int64_t> capacity, known;
  std::vector<Candidate> found;
  std::string reason;
};

void Search::add(JobSchedule schedule, int64_t extent) {
  // A thread alone takes all slots of an order in each round, and a row that it must hold.
  bool mayHoldMore = !machine.hasThreads() && (schedule.kind == JobSchedule::Kind::Loop ||
                                               job.aliasReads == AliasReads::Elsewhere);
  for (const Layout &layout : schedule.layouts)
    if (layout.registers() > (mayHoldMore ? machine.mostHeld : machine.usuallyHeld))
      return;
  if (llvm::any_of(found, [&](const Candidate &other) {
        return other.schedule.layouts == schedule.layouts;
      }))
    return;
  if (std::string refused = refusal(job, schedule, accessBytes, machine); !refused.empty()) {
    if (reason.empty())
      reason = refused;
    return;
  }
  found.push_back(rate(job, std::move(schedule), extent, machine));
}

void Search::spread() {
  for (int64_t vector = widestSpread; vector >= 1; vector /= 2) {
    JobSchedule schedule;
    schedule.kind = JobSchedule::Kind::Spread;
    Layout layout;
    if (vector > 1)
      layout.digits.push_back({Place::Vector, vector, 0});
    schedule.layouts.push_back(layout);
    add(schedule, known.value_or(vector));
  }
}

void Search::hold(int64_t extent) {
  std::vector<ir::OrderAttr> orders = ordersOf(job);
  auto tryDraft = [&](const std::vector<Draft> &draft,
                      std::optional<ir::OrderAttr> order = std::nullopt) {
    // Vectors no wider than the row has whole ones.
    for (int64_t vector = widestFor(known, order); vector >= 1; vector /= 2) {
      JobSchedule schedule;
      schedule.kind = JobSchedule::Kind::Hold;
      schedule.layouts.push_back(layoutOf(draft, vector, false, 1));
      add(schedule, extent);
    }
  };
  if (orders.empty()) {
    for (int64_t threads = 1; threads <= machine.mostThreads; threads *= 2)
      for (int64_t vector = widestFor(known); vector >= 1; vector /= 2)
        tryDraft(plainDraft(extent, vector, threads));
    return;
  }
  for (ir::OrderAttr order : orders)
    for (unsigned low = 0; low <= 4; ++low)
      for (unsigned high = 0; high <= 10; ++high) {
        std::vector<Draft> draft = draftOf(order, extent, machine);
        if (moveThreads(draft, low, high))
          tryDraft(draft, order);
      }
}

/// Each phase has the layout that its own order wants; phases without one take as many threads.
void Search::loop() {
  const int64_t unroll = machine.hasThreads() ? 4 : 1;
  const int64_t plainThreads = std::min(256u, machine.mostThreads);
  auto bounded = [](ir::OrderAttr order) {
    int64_t product = 1;
    for (const ir::OrderDigit &digit : order.getDigits())
      product *= digit.radix;
    return product; // 0: it has an open digit
  };
  auto layoutFor = [&](const Phase &phase, int64_t threads) {
    ir::ReduceOp reduce = phase.reduce();
    std::optional<int64_t> own = phase.constantExtent();
    int64_t vector = widestFor(known, reduce ? reduce.getOrder() : std::nullopt);
    int64_t phaseVector =
        own ? std::min(vector, widestFor(own, reduce ? reduce.getOrder() : std::nullopt)) : vector;
    if (reduce && reduce.getOrder()) {
      ir::OrderAttr order = *reduce.getOrder();
      ArrayRef<ir::OrderDigit> digits = order.getDigits();
      int64_t product = bounded(order);
      if (product) // all radices are written: the row is held whole
        return layoutOf(draftOf(order, product, machine), phaseVector, false, 1);
      int64_t others = 1;
      for (const ir::OrderDigit &digit : digits)
        others *= std::max<int64_t>(1, digit.radix);
      bool walksTop = !digits.front().name;
      return layoutOf(draftOf(order, others, machine), phaseVector, true, walksTop ? unroll : 1);
    }
    return layoutOf({{false, phaseVector}, {true, threads}}, phaseVector, true, unroll);
  };
  int64_t threads = 1;
  for (const Phase &phase : job.phases)
    if (ir::ReduceOp reduce = phase.reduce(); reduce && reduce.getOrder())
      threads = std::max<int64_t>(threads, layoutFor(phase, 1).threads());
  if (threads == 1)
    threads = plainThreads;
  JobSchedule schedule;
  schedule.kind = JobSchedule::Kind::Loop;
  for (const Phase &phase : job.phases)
    schedule.layouts.push_back(layoutFor(phase, threads));
  constexpr int64_t aLongRow = 8192;
  add(schedule, known.value_or(aLongRow));
}

std::vector<Candidate> Search::run(std::string &error) {
  bool mustHold = job.aliasReads == AliasReads::Elsewhere;
  bool maySpread = !job.hasReduction() && job.aliasReads == AliasReads::None;
  // A thread alone goes along a row, if there are rows that it may leave to others.
  bool hasRows = !ir::ForallOp(job.rows).getIndices().empty();
  bool walks = !machine.hasThreads() && hasRows && !job.phases.empty();
  if (maySpread && !walks && (job.phases.empty() || job.commonExtent())) {
    spread();
  } else {
    if (job.commonExtent()) {
      if (known)
        hold(*known);
      else if (capacity)
        hold(*capacity);
    }
    if (!mustHold && (found.empty() || known))
      loop();
  }
  // Of equals the first. Spread candidates are in the order of their preference.
  if (!maySpread)
    llvm::stable_sort(found, [](const Candidate &a, const Candidate &b) {
      return a.instructions < b.instructions;
    });
  if (found.empty())
    error = reason.empty() ? "no schedule" : "no schedule is legal: " + reason;
  return std::move(found);
}

} // namespace

std::vector<Candidate> candidates(const Job &job, unsigned accessBytes, const RowClass &rows,
                                  const Machine &machine, std::string &error) {
  return Search(job, accessBytes, rows, machine).run(error);
}

namespace {

/// What is tried, best first. Rows whose length is known at run time are held up to `longestRow`
/// elements; 0: they are read for each phase again, whatever their length.
struct Attempt {
  unsigned accessBytes, indexBits;
  int64_t longestRow;
};
/// Of a thread alone: rows are held only where they have to be.
constexpr Attempt attemptsOfOne[] = {{16, 64, 1024}, {16, 64, 0}, {0, 64, 1024}, {0, 64, 0}};
constexpr Attempt attempts[] = {{32, 32, 0},   {16, 32, 1024}, {16, 32, 4096}, {16, 32, 0},
                                {8, 32, 4096}, {8, 32, 0},     {4, 32, 0},     {2, 32, 0},
                                {0, 32, 2048}, {0, 32, 0},     {16, 64, 0},    {0, 64, 0}};

/// Bytes of one access of elements of \p element bytes, of which vectors hold \p vector.
int64_t pieceBytes(const KernelSchedule &schedule, int64_t vector, int64_t element) {
  return std::max(element, std::min<int64_t>(vector * element, schedule.accessBytes));
}

/// The widest access of any job; the width of a single element counts as none.
int64_t widestPiece(const std::vector<Job> &jobs, const KernelSchedule &schedule) {
  int64_t most = 0;
  for (auto [job, how] : llvm::zip(jobs, schedule.jobs))
    for (const Layout &layout : how.layouts)
      for (int64_t element = std::max(1u, job.narrowest); element <= job.widest; element *= 2)
        if (int64_t piece = pieceBytes(schedule, layout.vector(), element); piece > element)
          most = std::max(most, piece);
  return most;
}

/// Whether every call that \p second can serve is one that \p first can on \p machine: indices of
/// the same width, rows as long, and no vector or access of \p first is wider.
bool covers(const std::vector<Job> &jobs, const KernelSchedule &first, const KernelSchedule &second,
            const Machine &machine) {
  if (first.indexBits != second.indexBits ||
      (!machine.alignsAccesses && first.accessBytes && !second.accessBytes) ||
      (first.longestRow && (!second.longestRow || second.longestRow > first.longestRow)))
    return false;
  for (auto [number, job] : llvm::enumerate(jobs)) {
    const JobSchedule &a = first.jobs[number], &b = second.jobs[number];
    if (b.rows % a.rows != 0)
      return false;
    for (size_t phase = 0; phase < job.phases.size(); ++phase) {
      int64_t mine = a.layout(phase).vector(), other = b.layout(phase).vector();
      // Where addresses do not matter, and the length of the row is known, nothing does.
      if (!machine.alignsAccesses && (mine <= other || job.phases[phase].constantExtent()))
        continue;
      if (mine > other)
        return false;
      for (int64_t element = std::max(1u, job.narrowest); element <= job.widest; element *= 2)
        if (pieceBytes(first, mine, element) > pieceBytes(second, other, element))
          return false;
    }
  }
  return true;
}

/// Whether the rules say that a variant with accesses of so many bytes is worth its time.
bool isWanted(const std::vector<Job> &jobs, const Attempt &attempt, const Machine &machine) {
  if (attempt.accessBytes > machine.widestAccess)
    return false;
  unsigned narrowest = 16;
  for (const Job &job : jobs)
    narrowest = job.narrowest ? std::min(narrowest, job.narrowest) : narrowest;
  return attempt.accessBytes == 0 || attempt.accessBytes >= 8 ||
         attempt.accessBytes >= 2 * narrowest;
}

std::optional<KernelSchedule> scheduleFor(const std::vector<Job> &jobs, const Attempt &attempt,
                                          const Machine &machine, std::string &error) {
  KernelSchedule schedule;
  schedule.accessBytes = attempt.accessBytes;
  schedule.indexBits = attempt.indexBits;
  RowClass rows;
  if (attempt.longestRow)
    rows.capacity = attempt.longestRow;
  unsigned team = 1;
  for (const Job &job : jobs) {
    std::vector<Candidate> all = candidates(job, attempt.accessBytes, rows, machine, error);
    if (all.empty())
      return {};
    const JobSchedule &best = all.front().schedule;
    if (best.kind == JobSchedule::Kind::Hold && !job.phases.front().constantExtent())
      schedule.longestRow = *best.layouts.front().capacity();
    team = std::max(team, best.threads());
    schedule.jobs.push_back(best);
  }
  int64_t reached = widestPiece(jobs, schedule);
  if (attempt.accessBytes == 32 && reached < 32) {
    error = "no access has 32 bytes";
    return {};
  }
  if (!reached)
    schedule.accessBytes = 0;
  schedule.blockThreads = std::max(team, machine.usualThreads);
  error = refusal(jobs, schedule, machine);
  if (!error.empty())
    return {};
  schedule.remapsByShuffle = true;
  schedule.remapsByShuffle = refusal(jobs, schedule, machine).empty();
  return schedule;
}

} // namespace

std::vector<KernelSchedule> chooseSchedules(const std::vector<Job> &jobs, const Machine &machine,
                                            std::string &error) {
  std::vector<KernelSchedule> result;
  std::string refused;
  bool anyOpen = llvm::any_of(jobs, [](const Job &job) {
    return llvm::any_of(job.phases, [](const Phase &phase) { return !phase.constantExtent(); });
  });
  for (const Attempt &attempt :
       machine.narrowsIndices ? ArrayRef(attempts) : ArrayRef(attemptsOfOne)) {
    if (attempt.longestRow && !anyOpen)
      continue; // how long a row may be is no question
    if (!isWanted(jobs, attempt, machine))
      continue;
    std::string reason;
    std::optional<KernelSchedule> schedule = scheduleFor(jobs, attempt, machine, reason);
    if (!schedule) {
      if (refused.empty())
        refused = reason;
      continue;
    }
    if (attempt.accessBytes == 32 && anyOpen &&
        llvm::any_of(schedule->jobs,
                     [](const JobSchedule &job) { return job.kind != JobSchedule::Kind::Spread; }))
      continue;
    // Jobs that hold no row have one schedule for all lengths.
    if (llvm::none_of(result, [&](const KernelSchedule &other) {
          return other.name() == schedule->name() || covers(jobs, other, *schedule, machine);
        }))
      result.push_back(*schedule);
  }
  if (result.empty())
    error = refused;
  return result;
}

} // namespace h3
