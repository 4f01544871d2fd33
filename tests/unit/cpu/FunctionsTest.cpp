//===-- tests/unit/cpu/FunctionsTest.cpp - Every operation, bit by bit ----===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Each operation of the language, compiled for each target that this machine executes, on patterns
// of all kinds, against dsl/scalar. Also with a floating-point environment that a host has left in
// disorder.
//
//===----------------------------------------------------------------------===//

#include "backends/Backend.h"
#include "backends/cpu/LinkImage.h"
#include "codegen/contract/Contract.h"
#include "codegen/driver/Run.h"
#include "dsl/scalar/Scalar.h"
#include "runtime/cpu/Parallel.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace h3 {
namespace {

/// The CPU targets that this machine executes.
std::vector<std::string> executed() {
  std::vector<std::string> names;
  for (const Target &target : targets())
    if (target.backend == "cpu" && backendOf(target).ability(target, Step::Execute))
      names.emplace_back(target.name);
  return names;
}

/// Values by name, as bits.
using Columns = std::map<std::string, std::pair<ScalarType, std::vector<Bits>>>;

tensor::TensorData pack(const std::string &name, ScalarType type, const std::vector<Bits> &values) {
  tensor::TensorData data;
  data.name = name;
  data.type = *tensor::storageOf(*planType(type));
  data.shape = {int64_t(values.size())};
  const size_t width = byteWidth(type);
  data.data = *tensor::AlignedBuffer::allocate(values.size() * width);
  for (size_t k = 0; k < values.size(); ++k)
    std::memcpy(data.data.data() + k * width, &values[k], width);
  return data;
}

/// Runs operator \p op of \p text, which has one axis.
RunResult runColumns(const std::string &text, const std::string &op, const Columns &inputs,
                     const std::map<std::string, std::string> &settings,
                     const std::string &target) {
  LoadedSpec spec;
  Diagnostics diagnostics;
  EXPECT_TRUE(loadSpecText(text, {}, spec, diagnostics)) << diagnostics.renderText();
  std::vector<tensor::TensorData> storage;
  storage.reserve(inputs.size());
  RunRequest request;
  request.spec = &spec;
  request.op = op;
  request.backend = "cpu";
  request.target = target;
  request.settings = settings;
  for (const auto &[name, column] : inputs) {
    storage.push_back(pack(name, column.first, column.second));
    request.tensors[name] = {&storage.back(), tensor::wholeView(storage.back().shape)};
  }
  return runOperator(request);
}

Bits at(const RunResult &result, const std::string &name, ScalarType type, size_t place) {
  Bits bits = 0;
  const size_t width = byteWidth(type);
  std::memcpy(&bits, result.outputs.at(name).storage->data.data() + place * width, width);
  return bits;
}

unsigned bitsOf(ScalarType type) { return byteWidth(type) * 8; }

/// Patterns of all kinds: around every power of two, the special ones, any bits.
std::vector<Bits> patterns(ScalarType type, size_t count, uint64_t seed) {
  std::mt19937_64 engine(seed);
  const unsigned width = bitsOf(type);
  const Bits mask = width == 64 ? ~Bits(0) : (Bits(1) << width) - 1;
  std::vector<Bits> special;
  for (Bits magnitude : {Bits(0), Bits(1), mask >> 1, mask >> 2, (mask >> 1) - 1})
    for (Bits sign : {Bits(0), Bits(1) << (width - 1)})
      special.push_back(magnitude | sign);
  if (isFloat(type) && type != ScalarType::E4M3)
    for (bool negative : {false, true}) {
      Bits infinity = scalar::infinity(type, negative);
      for (Bits bits : {infinity, infinity - 1, infinity + 1})
        special.push_back(bits);
    }
  std::vector<Bits> result;
  while (result.size() < count) {
    Bits bits = engine() & mask;
    switch (engine() % 8) {
    case 0:
      bits = special[engine() % special.size()];
      break;
    case 1: // few bits of significand
      bits &= ~(mask >> (width / 2));
      break;
    case 2: // magnitudes near 1
      if (isFloat(type) && bitsOf(type) > 8)
        bits = (scalar::convert(ScalarType::F64, type, 0x3FF0000000000000) +
                (bits & (mask >> (width / 2 + 2)))) ^
               (engine() & (Bits(1) << (width - 1)));
      break;
    default:
      break;
    }
    result.push_back(bits);
  }
  return result;
}

struct Expectation {
  std::string output;
  ScalarType type;
  std::function<Bits(size_t)> value;
};

void expectBits(const RunResult &result, size_t count, const std::vector<Expectation> &all,
                const Columns &inputs) {
  ASSERT_EQ(result.code, ExitCode::Good) << result.message;
  for (const Expectation &wanted : all) {
    size_t different = 0;
    std::string first;
    for (size_t k = 0; k < count; ++k) {
      const Bits got = at(result, wanted.output, wanted.type, k),
                 expected = scalar::canonical(wanted.type, wanted.value(k));
      if (got == expected || different++)
        continue;
      for (const auto &[name, column] : inputs)
        first += fmt::format("{} = 0x{:X}, ", name, column.second[k]);
      first += fmt::format("got 0x{:X}, expected 0x{:X}", got, expected);
    }
    EXPECT_EQ(different, 0u) << wanted.output << " of " << name(wanted.type) << ": " << first;
  }
}

//===----------------------------------------------------------------------===//

constexpr const char *approximations = R"(
op approximations {
  dim n
  in  x : f32[n]
  out rsqrt_of, sqrt_of, rcp_of, ex2_of : f32[n]
  rsqrt_of[i] = rsqrt.approx(x[i])
  sqrt_of[i]  = sqrt.approx(x[i])
  rcp_of[i]   = rcp.approx.ftz(x[i])
  ex2_of[i]   = ex2.approx.ftz(x[i])
}
)";

TEST(CpuFunctions, ApproximationsAreTheModels) {
  std::vector<Bits> x = patterns(ScalarType::F32, 1 << 20, 1);
  for (ScalarType half : {ScalarType::F16, ScalarType::BF16})
    for (Bits bits = 0; bits < 0x10000; ++bits)
      x.push_back(scalar::convert(half, ScalarType::F32, bits));
  // Exponents of ex2 and the ends of its range.
  for (Bits bits = 0x42F00000; bits < 0x43200000; bits += 257)
    for (Bits sign : {Bits(0), Bits(1) << 31})
      x.push_back(bits | sign);
  Columns inputs{{"x", {ScalarType::F32, x}}};
  auto model = [&](scalar::Approximation function) {
    return [&x, function](size_t k) { return scalar::approximate(function, x[k]); };
  };
  using scalar::Approximation;
  for (const std::string &target : executed()) {
    SCOPED_TRACE(target);
    expectBits(runColumns(approximations, "approximations", inputs, {}, target), x.size(),
               {{"rsqrt_of", ScalarType::F32, model(Approximation::RsqrtApprox)},
                {"sqrt_of", ScalarType::F32, model(Approximation::SqrtApprox)},
                {"rcp_of", ScalarType::F32, model(Approximation::RcpApproxFtz)},
                {"ex2_of", ScalarType::F32, model(Approximation::Ex2ApproxFtz)}},
               inputs);
  }
}

constexpr const char *nearest = R"(
op nearest<T: f16 | bf16 | f32 | f64> {
  dim n
  in  x, y, z : T[n]
  out sum, difference, product, quotient, fused, contracted, root : T[n]
  out negated, magnitude, signed, most, least, most_num, least_num : T[n]
  out chosen : T[n]
  sum[i]        = x[i] + y[i]
  difference[i] = x[i] - y[i]
  product[i]    = x[i] * y[i]
  quotient[i]   = x[i] / y[i]
  fused[i]      = fma(x[i], y[i], z[i])
  contracted[i] = x[i] * y[i] + z[i]
  root[i]       = sqrt(x[i])
  negated[i]    = -x[i]
  magnitude[i]  = abs(x[i])
  signed[i]     = copysign(x[i], y[i])
  most[i]       = max(x[i], y[i])
  least[i]      = min(x[i], y[i])
  most_num[i]   = max.num(x[i], y[i])
  least_num[i]  = min.num(x[i], y[i])
  chosen[i]     = if x[i] < y[i] then x[i] else z[i]
}
)";

constexpr ScalarType floats[] = {ScalarType::F16, ScalarType::BF16, ScalarType::F32,
                                 ScalarType::F64};

TEST(CpuFunctions, RoundToNearestOnce) {
  constexpr size_t count = 1 << 17;
  for (ScalarType type : floats) {
    const std::vector<Bits> x = patterns(type, count, 2), y = patterns(type, count, 3);
    std::vector<Bits> z = patterns(type, count, 4);
    // Sums that cancel, or nearly.
    for (size_t k = 0; k < count; k += 4)
      z[k] = scalar::neg(type, scalar::mul(type, x[k], y[k])) ^ (k / 4 % 3 == 0 ? 1 : 0);
    Columns inputs{{"x", {type, x}}, {"y", {type, y}}, {"z", {type, z}}};
    auto of = [&](auto function) {
      return [&, function](size_t k) { return function(type, x[k], y[k]); };
    };
    const std::vector<Expectation> wanted = {
        {"sum", type, [&](size_t k) { return scalar::add(type, x[k], y[k]); }},
        {"difference", type, [&](size_t k) { return scalar::sub(type, x[k], y[k]); }},
        {"product", type, [&](size_t k) { return scalar::mul(type, x[k], y[k]); }},
        {"quotient", type, [&](size_t k) { return scalar::div(type, x[k], y[k]); }},
        {"fused", type, [&](size_t k) { return scalar::fma(type, x[k], y[k], z[k]); }},
        {"contracted", type,
         [&](size_t k) { return scalar::add(type, scalar::mul(type, x[k], y[k]), z[k]); }},
        {"root", type, [&](size_t k) { return scalar::sqrt(type, x[k]); }},
        {"negated", type, [&](size_t k) { return scalar::neg(type, x[k]); }},
        {"magnitude", type, [&](size_t k) { return scalar::abs(type, x[k]); }},
        {"signed", type, of(scalar::copysign)},
        {"most", type, of(scalar::maximum)},
        {"least", type, of(scalar::minimum)},
        {"most_num", type, of(scalar::maximumNumber)},
        {"least_num", type, of(scalar::minimumNumber)},
        {"chosen", type,
         [&](size_t k) {
           return scalar::compare(type, x[k], y[k]) == scalar::Ordering::Less ? x[k] : z[k];
         }},
    };
    for (const std::string &target : executed()) {
      SCOPED_TRACE(target);
      expectBits(runColumns(nearest, "nearest", inputs, {}, target), count, wanted, inputs);
    }
  }
}

constexpr const char *directed = R"(
op down<T: f16 | bf16 | f32 | f64> {
  dim n
  in  x, y : T[n]
  out sum, difference, product, quotient, root : T[n]
  sum[i]        = add.rm(x[i], y[i])
  difference[i] = sub.rm(x[i], y[i])
  product[i]    = mul.rm(x[i], y[i])
  quotient[i]   = div.rm(x[i], y[i])
  root[i]       = sqrt.rm(x[i])
}
op up<T: f16 | bf16 | f32 | f64> {
  dim n
  in  x, y : T[n]
  out sum, difference, product, quotient, root : T[n]
  sum[i]        = add.rp(x[i], y[i])
  difference[i] = sub.rp(x[i], y[i])
  product[i]    = mul.rp(x[i], y[i])
  quotient[i]   = div.rp(x[i], y[i])
  root[i]       = sqrt.rp(x[i])
}
op zero<T: f16 | bf16 | f32 | f64> {
  dim n
  in  x, y : T[n]
  out sum, difference, product, quotient, root : T[n]
  sum[i]        = add.rz(x[i], y[i])
  difference[i] = sub.rz(x[i], y[i])
  product[i]    = mul.rz(x[i], y[i])
  quotient[i]   = div.rz(x[i], y[i])
  root[i]       = sqrt.rz(x[i])
}
op fma_of<T: f16 | bf16 | f32 | f64> {
  dim n
  in  x, y, z : T[n]
  out fused_down, fused_up, fused_zero : T[n]
  fused_down[i] = fma.rm(x[i], y[i], z[i])
  fused_up[i]   = fma.rp(x[i], y[i], z[i])
  fused_zero[i] = fma.rz(x[i], y[i], z[i])
}
)";

TEST(CpuFunctions, DirectedRoundings) {
  constexpr size_t count = 1 << 14;
  const std::pair<const char *, Rounding> roundings[] = {
      {"down", Rounding::Down}, {"up", Rounding::Up}, {"zero", Rounding::TowardZero}};
  for (ScalarType type : floats) {
    const std::vector<Bits> x = patterns(type, count, 5), z = patterns(type, count, 7);
    std::vector<Bits> y = patterns(type, count, 6);
    for (size_t k = 0; k < count; k += 8)
      y[k] = scalar::neg(type, x[k]); // terms that cancel
    Columns two{{"x", {type, x}}, {"y", {type, y}}}, three = two;
    three["z"] = {type, z};
    const std::map<std::string, std::string> settings{{"T", std::string(name(type))}};
    for (const std::string &target : executed()) {
      SCOPED_TRACE(target);
      std::vector<Expectation> fused;
      for (const auto &[op, rounding] : roundings) {
        SCOPED_TRACE(op);
        auto r = rounding;
        expectBits(
            runColumns(directed, op, two, settings, target), count,
            {{"sum", type, [&](size_t k) { return scalar::add(type, x[k], y[k], r); }},
             {"difference", type, [&](size_t k) { return scalar::sub(type, x[k], y[k], r); }},
             {"product", type, [&](size_t k) { return scalar::mul(type, x[k], y[k], r); }},
             {"quotient", type, [&](size_t k) { return scalar::div(type, x[k], y[k], r); }},
             {"root", type, [&](size_t k) { return scalar::sqrt(type, x[k], r); }}},
            two);
        fused.push_back({std::string("fused_") + op, type, [&x, &y, &z, type, r](size_t k) {
                           return scalar::fma(type, x[k], y[k], z[k], r);
                         }});
      }
      RunResult result = runColumns(directed, "fma_of", three, settings, target);
      if (type == ScalarType::F64 && !findTarget(target)->has(Capability::FusedMultiplyAdd))
        EXPECT_EQ(result.code, ExitCode::BadInput);
      else
        expectBits(result, count, fused, three);
    }
  }
}

constexpr const char *conversions = R"(
op converted<T: f16 | bf16 | f32 | f64 | e4m3 | e5m2 | i32 | i64> {
  dim n
  in  x : T[n]
  out h, h_rz : f16[n]
  out b, b_rz : bf16[n]
  out s, s_rz : f32[n]
  out d, d_rz : f64[n]
  out e, e_rz, e_sat : e4m3[n]
  out f, f_rz, f_sat : e5m2[n]
  h[i]     = f16(x[i])
  h_rz[i]  = f16.rz(x[i])
  b[i]     = bf16(x[i])
  b_rz[i]  = bf16.rz(x[i])
  s[i]     = f32(x[i])
  s_rz[i]  = f32.rz(x[i])
  d[i]     = f64(x[i])
  d_rz[i]  = f64.rz(x[i])
  e[i]     = e4m3(x[i])
  e_rz[i]  = e4m3.rz(x[i])
  e_sat[i] = e4m3.sat(x[i])
  f[i]     = e5m2(x[i])
  f_rz[i]  = e5m2.rz(x[i])
  f_sat[i] = e5m2.sat(x[i])
}
)";

TEST(CpuFunctions, ConversionsRoundOnce) {
  constexpr size_t count = 1 << 15;

  for (ScalarType type : {ScalarType::F16, ScalarType::BF16, ScalarType::F32, ScalarType::F64,
                          ScalarType::E4M3, ScalarType::E5M2, ScalarType::I32, ScalarType::I64}) {
    std::vector<Bits> x = patterns(type, count, 8);
    if (type == ScalarType::I64)
      for (size_t k = 0; k < count; k += 2) // of every size
        x[k] = static_cast<Bits>(static_cast<int64_t>(x[k]) >> (k / 2 % 63));
    Columns inputs{{"x", {type, x}}};
    auto to = [&](ScalarType result, Rounding rounding = Rounding::NearestEven,
                  bool saturate = false) {
      return [&x, type, result, rounding, saturate](size_t k) {
        // To its own type a conversion is the identity, which saturates nothing.
        return scalar::convert(type, result, x[k], rounding, saturate && type != result);
      };
    };
    const std::vector<Expectation> wanted = {
        {"h", ScalarType::F16, to(ScalarType::F16)},
        {"h_rz", ScalarType::F16, to(ScalarType::F16, Rounding::TowardZero)},
        {"b", ScalarType::BF16, to(ScalarType::BF16)},
        {"b_rz", ScalarType::BF16, to(ScalarType::BF16, Rounding::TowardZero)},
        {"s", ScalarType::F32, to(ScalarType::F32)},
        {"s_rz", ScalarType::F32, to(ScalarType::F32, Rounding::TowardZero)},
        {"d", ScalarType::F64, to(ScalarType::F64)},
        {"d_rz", ScalarType::F64, to(ScalarType::F64, Rounding::TowardZero)},
        {"e", ScalarType::E4M3, to(ScalarType::E4M3)},
        {"e_rz", ScalarType::E4M3, to(ScalarType::E4M3, Rounding::TowardZero)},
        {"e_sat", ScalarType::E4M3, to(ScalarType::E4M3, Rounding::NearestEven, true)},
        {"f", ScalarType::E5M2, to(ScalarType::E5M2)},
        {"f_rz", ScalarType::E5M2, to(ScalarType::E5M2, Rounding::TowardZero)},
        {"f_sat", ScalarType::E5M2, to(ScalarType::E5M2, Rounding::NearestEven, true)},
    };
    for (const std::string &target : executed()) {
      SCOPED_TRACE(target);
      expectBits(runColumns(conversions, "converted", inputs, {}, target), count, wanted, inputs);
    }
  }
}

#if defined(__x86_64__)
/// A host may have flushed subnormals, and rounded as it liked: nothing of that reaches a kernel,
/// and nothing of a kernel's reaches the host.
TEST(CpuFunctions, TheHostsEnvironmentDoesNotMatter) {
  LoadedSpec spec;
  Diagnostics diagnostics;
  ASSERT_TRUE(loadSpecText(nearest, {}, spec, diagnostics)) << diagnostics.renderText();
  std::vector<OperatorInstances> all = instances(spec, diagnostics);
  ASSERT_EQ(all.size(), 1u);
  constexpr size_t count = 1000;
  for (const std::string &name : executed()) {
    const Target &target = *findTarget(name);
    for (const std::unique_ptr<Program> &program : all.front().programs) {
      std::string error;
      std::unique_ptr<mlir::MLIRContext> context = makeContext();
      const Program *programs[] = {program.get()};
      std::optional<Image> image = backendOf(target).compile(*context, programs, target, {}, error);
      ASSERT_TRUE(image) << error;
      std::optional<std::vector<char>> linked = cpu::linkImage(image->text, error);
      ASSERT_TRUE(linked) << error;
      auto mapped = cpu::MappedImage::map(std::as_bytes(std::span(*linked)));
      ASSERT_TRUE(mapped) << mapped.error();
      const ScalarType type = program->tensors.front().type;
      std::vector<tensor::TensorData> tensors, again;
      for (size_t k = 0; k < program->tensors.size(); ++k)
        for (auto *list : {&tensors, &again})
          list->push_back(pack(program->tensors[k].name, type,
                               k < 3 ? patterns(type, count, 10 + k) : std::vector<Bits>(count)));
      auto run = [&](std::vector<tensor::TensorData> &list) {
        std::vector<plan::Tensor> passed;
        for (tensor::TensorData &data : list)
          passed.push_back(plan::Tensor::contiguous(reinterpret_cast<uint64_t>(data.data.data()),
                                                    tensor::dtype(data.type), data.shape));
        auto chosen = plan::evaluate(image->plans.front(), passed, {});
        const auto &launch = std::get<plan::Launch>(chosen);
        cpu::Entry entry = mapped->find(image->plans.front().variants[launch.variant].entry);
        ASSERT_TRUE(entry);
        cpu::run(entry, launch, cpu::serialFor(), 0);
      };
      run(tensors);
      const unsigned before = _mm_getcsr();
      for (unsigned word : {0x9FC0u, 0x3F80u | 0x8040u, 0x5F80u, 0x7F80u}) {
        _mm_setcsr(word);
        run(again);
        const unsigned after = _mm_getcsr();
        _mm_setcsr(before);
        EXPECT_EQ(after, word);
        for (size_t k = 3; k < tensors.size(); ++k)
          EXPECT_EQ(
              std::memcmp(tensors[k].data.data(), again[k].data.data(), tensors[k].data.size()), 0)
              << tensors[k].name << " of " << h3::name(type) << " with MXCSR " << word;
      }
    }
  }
}
#endif

} // namespace
} // namespace h3
