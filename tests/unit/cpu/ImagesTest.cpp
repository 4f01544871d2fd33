//===-- tests/unit/cpu/ImagesTest.cpp - What an image may hold ------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "backends/Backend.h"
#include "backends/cpu/EmitObject.h"
#include "backends/cpu/LinkImage.h"
#include "runtime/cpu/Parallel.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/Support/SourceMgr.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

namespace h3 {
namespace {

/// Links what LLVM makes of \p text; its code, or the reason why there is none.
std::optional<std::vector<char>> linkText(const char *text, const char *target,
                                          std::string &error) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, diagnostic, context);
  EXPECT_TRUE(module) << diagnostic.getMessage().str();
  error = cpu::optimize(*module, *findTarget(target));
  std::optional<std::string> object = cpu::emitObject(*module, *findTarget(target), error);
  EXPECT_TRUE(object) << error;
  return cpu::linkImage(*object, error);
}

std::string refusalOf(const char *text) {
  std::string error;
  EXPECT_FALSE(linkText(text, "x86-64-v3", error));
  std::string other;
  EXPECT_FALSE(linkText(text, "aarch64", other));
  EXPECT_FALSE(other.empty());
  return error;
}

TEST(CpuImages, RefuseWhatIsNotDefined) {
  EXPECT_EQ(refusalOf("declare void @elsewhere()\n"
                      "define void @entry() { call void @elsewhere() ret void }"),
            "symbol 'elsewhere' is not defined");
  // A library's function that LLVM would call by itself.
  EXPECT_EQ(refusalOf("define double @entry(double %x, double %y) {\n"
                      "%r = frem double %x, %y ret double %r }"),
            "symbol 'fmod' is not defined");
}

TEST(CpuImages, RefuseWhatIsWrittenOrAThreadsOwn) {
  EXPECT_NE(refusalOf("@counter = internal global i32 1\n"
                      "define i32 @entry() { %v = load volatile i32, ptr @counter\n"
                      "store volatile i32 2, ptr @counter ret i32 %v }")
                .find("is not constant"),
            std::string::npos);
  EXPECT_NE(refusalOf("@own = thread_local global i32 1\n"
                      "define i32 @entry() { %v = load volatile i32, ptr @own ret i32 %v }")
                .find("is not constant"),
            std::string::npos);
}

TEST(CpuImages, RefuseAddressesThatDependOnThePlace) {
  EXPECT_NE(refusalOf("@table = internal constant [2 x ptr] [ptr @table, ptr @entry]\n"
                      "define ptr @entry(i64 %i) {\n"
                      "%a = getelementptr ptr, ptr @table, i64 %i\n"
                      "%v = load volatile ptr, ptr %a ret ptr %v }"),
            "");
}

TEST(CpuImages, AreRefusedWhereTheyAreDamaged) {
  std::string error;
  std::optional<std::vector<char>> image =
      linkText("define void @entry(ptr %a, i64 %f, i64 %l) { ret void }", "x86-64-v2", error);
  ASSERT_TRUE(image) << error;
  auto bytes = std::as_bytes(std::span(*image));
  ASSERT_TRUE(cpu::MappedImage::map(bytes));
  for (size_t size = 0; size <= 64; ++size)
    EXPECT_FALSE(cpu::MappedImage::map(bytes.first(size))) << size;
  std::vector<char> other = *image;
  other[12] = 1;
  other[13] = 1; // the code's place lies behind the end
  EXPECT_FALSE(cpu::MappedImage::map(std::as_bytes(std::span(other))));
  other = *image;
  other[18] = 1; // and an entry's
  EXPECT_FALSE(cpu::MappedImage::map(std::as_bytes(std::span(other))));
}

TEST(CpuParallel, EveryNumberComesOnce) {
  for (const cpu::ParallelFor &parallel : {cpu::defaultParallelFor(), cpu::serialFor()})
    for (uint64_t count : {0, 1, 2, 3, 7, 64, 1000, 4097}) {
      std::vector<std::atomic<int>> seen(count);
      parallel.run(
          parallel.context, count,
          [](void *context, uint64_t first, uint64_t last) {
            for (uint64_t k = first; k < last; ++k)
              ++(*static_cast<std::vector<std::atomic<int>> *>(context))[k];
          },
          &seen);
      for (uint64_t k = 0; k < count; ++k)
        EXPECT_EQ(seen[k], 1) << k << " of " << count;
    }
}

TEST(CpuParallel, SeveralThreadsMayCallAtOnce) {
  std::vector<std::jthread> callers;
  std::atomic<uint64_t> sum = 0;
  for (int k = 0; k < 4; ++k)
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round)
        cpu::defaultParallelFor().run(
            cpu::defaultParallelFor().context, 100,
            [](void *context, uint64_t first, uint64_t last) {
              *static_cast<std::atomic<uint64_t> *>(context) += last - first;
            },
            &sum);
    });
  callers.clear();
  EXPECT_EQ(sum, 4u * 200 * 100);
}

} // namespace
} // namespace h3
