// Calls functions in floating-point modes other than the default one, as an audio program or an interval library would.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/float_mode.h"
#include "headlight/context.h"
#include "headlight/tensor.h"
#include "support/random.h"

namespace headlight::testing {

// What a function wrote.
class Bits {
 public:
  void add(const void* data, std::size_t bytes) {
    const auto* from = static_cast<const std::byte*>(data);
    all_.insert(all_.end(), from, from + bytes);
  }
  void add(const Tensor& x) {
    if (!x.empty())
      add(x.as<std::byte>(), static_cast<std::size_t>(x.shape().elements()) * size_of(x.dtype()));
  }
  template <class T>
  void add(const std::vector<T>& list) {
    add(list.data(), list.size() * sizeof(T));
  }
  void add(double x) { add(&x, sizeof x); }
  bool operator==(const Bits&) const = default;

 private:
  std::vector<std::byte> all_;
};

// Numbers around 1 with denormals among them, the same in every mode.
inline Tensor odd_numbers(const Shape& shape, DType dtype, std::uint64_t seed) {
  const DefaultFloatMode mode;
  Random random(seed);
  Tensor x(shape, dtype);
  const TensorView flat(x.as<std::byte>(), dtype, {shape.elements()});
  const double tiny = dtype == DType::f64 ? 1e-309 : dtype == DType::f16 ? 1e-6 : 1e-39;
  for (Index i = 0; i < flat.dim(0); ++i) flat.set(i, random.normal() * (i % 3 == 0 ? tiny : 1));
  return x;
}

// Denormals flushed; rounded down, up; rounded to zero with denormals flushed.
#if defined(__x86_64__)  // MXCSR
using FloatMode = unsigned;
inline constexpr FloatMode kFloatModes[] = {0x1F80 | 0x8040, 0x1F80 | 0x2000, 0x1F80 | 0x4000,
                                            0x1F80 | 0x6000 | 0x8040};
inline FloatMode read_float_mode() { return _mm_getcsr() & ~0x3FU; }  // without the sticky flags
inline void write_float_mode(FloatMode mode) { _mm_setcsr(mode); }
#elif defined(__aarch64__)  // FPCR
using FloatMode = std::uint64_t;
inline constexpr FloatMode kFloatModes[] = {1U << 24, 2U << 22, 1U << 22, (3U << 22) | (1U << 24)};
inline FloatMode read_float_mode() {
  FloatMode mode;
  asm volatile("mrs %0, fpcr" : "=r"(mode));
  return mode;
}
inline void write_float_mode(FloatMode mode) { asm volatile("msr fpcr, %0" : : "r"(mode)); }
#else
#error "how is the floating-point mode of this CPU set?"
#endif

class WithFloatMode {
 public:
  explicit WithFloatMode(FloatMode mode) : saved_(read_float_mode()) { write_float_mode(mode); }
  ~WithFloatMode() { write_float_mode(saved_); }
  WithFloatMode(const WithFloatMode&) = delete;
  WithFloatMode& operator=(const WithFloatMode&) = delete;

 private:
  FloatMode saved_;
};

// Some functions, called one after the other, and what they wrote.
struct NamedCall {
  std::vector<std::string> functions;
  std::function<void(Context&, DType, Bits&)> run;
};

// Every call gives the same bits in every mode for 1 to 4 threads, and leaves the caller's mode as it was.
inline void expect_same_bits_in_every_mode(const std::vector<NamedCall>& calls,
                                           std::span<const DType> types) {
  for (const auto& [functions, run] : calls) {
    const std::string& name = functions.front();
    for (const DType type : types) {
      Context one({.threads = 1});
      Bits expected;
      run(one, type, expected);
      EXPECT_NE(expected, Bits()) << name << " computes nothing here";
      for (const int threads : {1, 2, 3, 4}) {
        Context ctx({.threads = threads});
        for (const FloatMode mode : kFloatModes) {
          Bits found;
          FloatMode after = 0;
          {
            const WithFloatMode caller(mode);
            run(ctx, type, found);
            after = read_float_mode();
          }
          EXPECT_TRUE(found == expected) << name << " in " << name_of(type) << ", mode " << std::hex << mode
                                         << ", " << threads << " threads";
          EXPECT_EQ(after, mode) << name;
        }
      }
    }
  }
}

// No function is missing in a table of calls.
inline void expect_complete(const std::vector<NamedCall>& calls, const std::set<std::string>& functions) {
  EXPECT_FALSE(functions.empty());
  std::set<std::string> called;
  for (const NamedCall& call : calls) called.insert(call.functions.begin(), call.functions.end());
  for (const std::string& name : functions)
    EXPECT_TRUE(called.contains(name))
        << name << "() is not called in other floating-point modes; add it to the table";
}

}  // namespace headlight::testing
