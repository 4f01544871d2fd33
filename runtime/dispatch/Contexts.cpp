//===-- runtime/dispatch/Contexts.cpp - Where calls run -------------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "runtime/dispatch/Contexts.h"

namespace h3::rt {

std::string Driver::codeText(int32_t code) const {
  const char *name = api.error_name ? api.error_name(api.user, code) : nullptr;
  const std::string number = std::to_string(code);
  return name ? std::string(name) + " (" + number + ")" : "driver status " + number;
}

ContextMap::ContextMap() {
  tables.push_back(std::make_unique<Slots>(64));
  current = tables.back().get();
}

ContextMap::~ContextMap() = default;

size_t ContextMap::place(const Driver *driver, int32_t device, uintptr_t key, size_t size) {
  // Fibonacci hashing (Knuth, The Art of Computer Programming 3, section 6.4): handles are
  // addresses, whose low bits say little.
  uint64_t hash = reinterpret_cast<uintptr_t>(driver) ^ key ^ (uint64_t(uint32_t(device)) << 40);
  hash *= 0x9e3779b97f4a7c15;
  return static_cast<size_t>(hash >> 32) & (size - 1);
}

ContextMap::Slot *ContextMap::slot(const Driver *driver, int32_t device, uintptr_t key) const {
  const Slots &slots = *current.load(std::memory_order_acquire);
  const size_t size = slots.places.size();
  for (size_t at = place(driver, device, key, size);; at = (at + 1) & (size - 1)) {
    Slot *found = slots.places[at].load(std::memory_order_acquire);
    if (!found || (found->driver == driver && found->device == device && found->key == key))
      return found;
  }
}

Context *ContextMap::find(const Driver *driver, int32_t device, uintptr_t key) const {
  const Slot *found = slot(driver, device, key);
  return found ? found->context.load(std::memory_order_acquire) : nullptr;
}

void ContextMap::insert(Slots &slots, Slot *slot) {
  const size_t size = slots.places.size();
  size_t at = place(slot->driver, slot->device, slot->key, size);
  while (slots.places[at].load(std::memory_order_relaxed))
    at = (at + 1) & (size - 1);
  slots.places[at].store(slot, std::memory_order_release);
}

void ContextMap::set(const Driver *driver, int32_t device, uintptr_t key, Context *context) {
  if (Slot *found = slot(driver, device, key)) {
    found->context.store(context, std::memory_order_release);
    return;
  }
  auto fresh = std::make_unique<Slot>();
  fresh->driver = driver;
  fresh->device = device;
  fresh->key = key;
  fresh->context = context;
  owned.push_back(std::move(fresh));
  if (2 * owned.size() > tables.back()->places.size()) {
    auto larger = std::make_unique<Slots>(2 * tables.back()->places.size());
    for (const auto &slot : owned)
      insert(*larger, slot.get());
    tables.push_back(std::move(larger));
    current.store(tables.back().get(), std::memory_order_release);
    return;
  }
  insert(*tables.back(), owned.back().get());
}

void ContextMap::remove(const Context *context) {
  for (const auto &slot : owned)
    if (slot->context.load(std::memory_order_relaxed) == context)
      slot->context.store(nullptr, std::memory_order_release);
}

} // namespace h3::rt
