//===-- runtime/cpu/Parallel.cpp - Blocks over threads --------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/cpu/Parallel.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <sched.h>
#include <thread>
#include <vector>

namespace h3::cpu {
namespace {

unsigned usableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    return static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
  return std::max(1u, std::thread::hardware_concurrency());
}

/// Threads that wait for work. They are never joined: at the end of the process nothing of the host
/// may have to wait for them.
class Pool {
public:
  Pool() : threads(usableCores()) {}

  void run(uint64_t count, ParallelFor::Body body, void *bodyContext) {
    if (threads == 1 || count < 2 || isInside)
      return body(bodyContext, 0, count);
    std::scoped_lock turn(turns);
    start();
    {
      std::scoped_lock lock(mutex);
      work = {body, bodyContext, count, std::max<uint64_t>(1, count / (threads * 4))};
      next = 0;
      left = threads - 1;
      ++generation;
    }
    wake.notify_all();
    isInside = true;
    takeRanges();
    isInside = false;
    std::unique_lock lock(mutex);
    done.wait(lock, [&] { return left == 0; });
  }

private:
  struct Work {
    ParallelFor::Body body = nullptr;
    void *context = nullptr;
    uint64_t count = 0, range = 1;
  };

  void start() {
    if (started)
      return;
    started = true;
    for (unsigned k = 1; k < threads; ++k)
      std::thread([this] { serve(); }).detach();
  }

  void takeRanges() {
    for (uint64_t first; (first = next.fetch_add(work.range)) < work.count;)
      work.body(work.context, first, std::min(first + work.range, work.count));
  }

  void serve() {
    isInside = true;
    uint64_t seen = 0;
    std::unique_lock lock(mutex);
    for (;;) {
      wake.wait(lock, [&] { return generation != seen; });
      seen = generation;
      lock.unlock();
      takeRanges();
      lock.lock();
      if (--left == 0)
        done.notify_one();
    }
  }

  const unsigned threads;
  std::mutex turns, mutex;
  std::condition_variable wake, done;
  Work work;
  std::atomic<uint64_t> next = 0;
  uint64_t generation = 0;
  unsigned left = 0;
  bool started = false;
  static thread_local bool isInside;
};

thread_local bool Pool::isInside = false;

} // namespace

ParallelFor defaultParallelFor() {
  static Pool *pool = new Pool; // lives as long as its threads
  return {[](void *context, uint64_t count, ParallelFor::Body body, void *bodyContext) {
            static_cast<Pool *>(context)->run(count, body, bodyContext);
          },
          pool};
}

ParallelFor serialFor() {
  return {[](void *, uint64_t count, ParallelFor::Body body, void *bodyContext) {
            body(bodyContext, 0, count);
          },
          nullptr};
}

void run(Entry entry, const plan::Launch &launch, const ParallelFor &parallel, uint64_t bytes) {
  std::array<uint64_t, plan::kMaxArguments + 1> arguments;
  size_t count = 0;
  if (!launch.members.empty())
    arguments[count++] = reinterpret_cast<uint64_t>(launch.members.data());
  for (const plan::Argument &argument : launch.args())
    arguments[count++] = argument.bits;
  struct Call {
    Entry entry;
    const uint64_t *arguments;
    uint64_t blocks, together;
  };
  constexpr uint64_t worthAThread = 32 * 1024; // bytes: a few microseconds
  const uint64_t blocks = launch.grid[0];
  uint64_t together = 1;
  if (bytes != 0)
    together =
        std::clamp<uint64_t>(worthAThread / std::max<uint64_t>(1, bytes / blocks), 1, blocks);
  Call call{entry, arguments.data(), blocks, together};
  parallel.run(
      parallel.context, (blocks + together - 1) / together,
      [](void *context, uint64_t first, uint64_t last) {
        const Call &call = *static_cast<const Call *>(context);
        call.entry(call.arguments, first * call.together,
                   std::min(call.blocks, last * call.together));
      },
      &call);
}

} // namespace h3::cpu
