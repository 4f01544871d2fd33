//===-- runtime/cuda/Objects.h - Contexts, modules, memory, streams, events *- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

//
// Owners of the driver's objects. Each lives in the primary context of one device, keeps that
// context alive, and makes it current only during its own calls: push, call, pop. The context that
// was current in the thread before a call is current after it, also when the call fails.
//
// Objects move and are not copied. A destructor that fails has nobody to tell and says nothing.
//
//===----------------------------------------------------------------------===//

#ifndef H3_RUNTIME_CUDA_OBJECTS_H
#define H3_RUNTIME_CUDA_OBJECTS_H

#include "runtime/cuda/Driver.h"
#include "runtime/plan/Plan.h"

#include <functional>
#include <span>
#include <utility>

namespace h3::cuda {

/// The primary context of a device, retained; released by the destructor.
class PrimaryContext {
public:
  static Result<std::shared_ptr<const PrimaryContext>> retain(std::shared_ptr<const Driver> driver,
                                                              int deviceIndex);
  ~PrimaryContext();
  PrimaryContext(const PrimaryContext &) = delete;
  PrimaryContext &operator=(const PrimaryContext &) = delete;

  const Driver &driver() const { return *owner; }
  const DriverApi &api() const { return owner->api(); }
  CUcontext handle() const { return context; }

  /// Runs `body`, which returns std::optional<Failure>, with this context current. A failure of
  /// the body comes first, then one of push or pop.
  template <typename Body> std::optional<Failure> inside(Body body) const {
    if (auto failure = push())
      return failure;
    std::optional<Failure> result = body();
    std::optional<Failure> popped = pop();
    return result ? result : popped;
  }

private:
  PrimaryContext(std::shared_ptr<const Driver> driver, CUdevice device, CUcontext context)
      : owner(std::move(driver)), device(device), context(context) {}
  std::optional<Failure> push() const;
  std::optional<Failure> pop() const;

  std::shared_ptr<const Driver> owner;
  CUdevice device;
  CUcontext context;
};

using ContextRef = std::shared_ptr<const PrimaryContext>;

/// A driver object of type `Handle` that `destroy` ends.
template <typename Handle, CUresult (*DriverApi::*destroy)(Handle)> class Owned {
public:
  Owned() = default;
  Owned(ContextRef context, Handle handle) : owner(std::move(context)), object(handle) {}
  Owned(Owned &&other) noexcept
      : owner(std::move(other.owner)), object(std::exchange(other.object, Handle())) {}
  Owned &operator=(Owned &&other) noexcept {
    std::swap(owner, other.owner);
    std::swap(object, other.object);
    return *this;
  }
  ~Owned() {
    if (owner && object)
      owner->inside([&]() -> std::optional<Failure> {
        (owner->api().*destroy)(object);
        return std::nullopt;
      });
  }

  Handle handle() const { return object; }
  const ContextRef &context() const { return owner; }

private:
  ContextRef owner;
  Handle object = Handle();
};

/// A stream that does not wait for the null stream.
class Stream {
public:
  static Result<Stream> create(ContextRef context);
  std::optional<Failure> synchronize() const;
  CUstream handle() const { return owned.handle(); }

private:
  explicit Stream(Owned<CUstream, &DriverApi::streamDestroy> owned) : owned(std::move(owned)) {}
  Owned<CUstream, &DriverApi::streamDestroy> owned;
};

/// Device memory; the driver aligns it to 256 bytes or more. A size of 0 still has an address.
class DeviceBuffer {
public:
  static Result<DeviceBuffer> allocate(ContextRef context, size_t size);

  CUdeviceptr address() const { return owned.handle(); }
  size_t size() const { return length; }

  /// Copies in stream order. The host's bytes must stay until the stream is synchronized. `from`
  /// and `to` may be shorter than the buffer, not longer.
  std::optional<Failure> upload(std::span<const std::byte> from, const Stream &stream) const;
  std::optional<Failure> download(std::span<std::byte> to, const Stream &stream) const;
  std::optional<Failure> fill(uint8_t value, const Stream &stream) const;

  /// Copies all of `from`, which is no longer than this buffer, in stream order.
  std::optional<Failure> copyFrom(const DeviceBuffer &from, const Stream &stream) const;

private:
  DeviceBuffer(Owned<CUdeviceptr, &DriverApi::memFree> owned, size_t length)
      : owned(std::move(owned)), length(length) {}
  Owned<CUdeviceptr, &DriverApi::memFree> owned;
  size_t length;
};

/// A loaded cubin.
class Module {
public:
  /// `cubin` is an ELF image. PTX is refused: the driver's assembler would make code that nobody
  /// has audited.
  static Result<Module> load(ContextRef context, std::span<const std::byte> cubin);

  /// The kernel with that symbol. It lives as long as the module.
  Result<CUfunction> function(const std::string &entry) const;

private:
  explicit Module(Owned<CUmodule, &DriverApi::moduleUnload> owned) : owned(std::move(owned)) {}
  Owned<CUmodule, &DriverApi::moduleUnload> owned;
};

/// A point in a stream's time.
class Event {
public:
  static Result<Event> create(ContextRef context);
  std::optional<Failure> record(const Stream &stream) const;

  /// Waits for this event and returns the milliseconds since `start`.
  Result<float> millisecondsSince(const Event &start) const;

private:
  explicit Event(Owned<CUevent, &DriverApi::eventDestroy> owned) : owned(std::move(owned)) {}
  Owned<CUevent, &DriverApi::eventDestroy> owned;
};

/// Work recorded once and replayed as a whole: the driver then spends less between two kernels than
/// when each is launched alone.
class Graph {
public:
  /// Records what `body` enqueues on `stream`, which does not run it. A stream is not left in
  /// capture, also when the body fails. The body must not wait for the stream.
  static Result<Graph> capture(ContextRef context, const Stream &stream,
                               const std::function<std::optional<Failure>()> &body);

  /// Enqueues a replay of everything recorded.
  std::optional<Failure> launch(const Stream &stream) const;

private:
  explicit Graph(Owned<CUgraphExec, &DriverApi::graphExecDestroy> owned)
      : owned(std::move(owned)) {}
  Owned<CUgraphExec, &DriverApi::graphExecDestroy> owned;
};

/// When a kernel may start: after everything in front of it in its stream, or, by programmatic
/// dependent launch, already when all blocks of the kernel in front have said that it may. The
/// kernel then waits itself for that one to end, and only one that does (plan::Launch::waits) may
/// be started so: without the wait it would read what is not written yet. Needs a device of
/// capability 9.0 and a driver of CUDA 11.8 or newer. Results are the same.
enum class Start { AfterAll, Early };

/// Launches what a plan says, on the stream that is given; there is no default one. An empty launch
/// does nothing and succeeds.
std::optional<Failure> launch(const PrimaryContext &context, CUfunction function,
                              const plan::Launch &launch, const Stream &stream,
                              Start start = Start::AfterAll);

} // namespace h3::cuda

#endif // H3_RUNTIME_CUDA_OBJECTS_H
