//===-- runtime/dispatch/LoadSession.h - Loading one operator on a device - -*- C++ -*-===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What happens between a driver's `enter` and `leave`: the image is loaded, every variant is
// launched on its built-in calls on a private stream, and the results are compared with the
// reference's digests.
//
//===----------------------------------------------------------------------===//

#ifndef H3_RUNTIME_DISPATCH_LOADSESSION_H
#define H3_RUNTIME_DISPATCH_LOADSESSION_H

#include "runtime/dispatch/Runtime.h"

namespace h3::rt {

class LoadSession {
public:
  /// Under the runtime's lock. PTX is taken only if `allowPtx`.
  LoadSession(const Driver &driver, Device &device, Context &context, bool allowPtx)
      : driver(driver), api(driver.api), device(device), context(context), allowPtx(allowPtx) {}

  /// Loads the row's operator, checks it, and fills the entry's kernels. After a problem nothing of
  /// it stays on the device.
  std::optional<Problem> load(const Row &row, Entry &entry);

private:
  std::optional<Problem> inside(const Row &row, Entry &entry);
  std::optional<Problem> chooseImage(const Row &row, const bundle::Operator &op,
                                     const std::string &name, Entry &entry, void *&module);
  std::optional<Problem> loadModule(const bundle::Image &image, void *&module);
  std::optional<Problem> loadKernels(const bundle::Instance &instance, void *module,
                                     std::vector<void *> &kernels);
  std::optional<Problem> checkProbe(const Row &row, const bundle::Operator &probe);
  std::optional<Problem> check(const std::string &name, const bundle::Instance &instance,
                               std::span<const bundle::SelfCheck> checks,
                               const std::vector<void *> &kernels);
  std::optional<Problem> checkVariant(const bundle::Instance &instance,
                                      const bundle::SelfCheck &check, size_t variant, void *kernel,
                                      uint64_t memory, bool &isEqual);
  std::optional<Problem> problem(h3rt_driver_result status, const std::string &step) const;
  void unloadFresh();

  const Driver &driver;
  const h3rt_driver &api;
  Device &device;
  Context &context;
  const bool allowPtx;

  void *stream = nullptr;
  size_t modulesBefore = 0;                    ///< those behind are this session's
  bundle::CheckLayout layout;                  ///< of the check that runs
  std::vector<std::byte> pristine, downloaded; ///< a check's buffers as they go and come back
};

} // namespace h3::rt

#endif // H3_RUNTIME_DISPATCH_LOADSESSION_H
