// Memory that runs out at a request of one's choice. Replaces the program's operator new and aligned_alloc: included by one
// file of a test program.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <new>
#include <string>

#include "headlight/error.h"
#include "support/float_modes.h"
#include "support/sanitizers.h"

namespace headlight::testing {

// Counts the requests of all threads; the one that makes it zero gets nothing.
inline std::atomic<long> requests_left{0};
inline bool refused() {
  return requests_left.load(std::memory_order_relaxed) > 0 && requests_left.fetch_sub(1) == 1;
}

}  // namespace headlight::testing

#pragma GCC diagnostic ignored "-Wmismatched-new-delete"  // once inlined, both look like malloc and free
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void* operator new(std::size_t bytes) {
  void* memory = headlight::testing::refused() ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
// Tensors and scratch.
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  void* memory = nullptr;
  return headlight::testing::refused() || posix_memalign(&memory, alignment, bytes) != 0 ? nullptr : memory;
}
#endif

namespace headlight::testing {

inline constexpr long kCounting = 1L << 40;

inline long requests_of(const NamedCall& call, Context& ctx, Bits& bits) {
  ctx.release_scratch();
  requests_left = kCounting;
  call.run(ctx, DType::f32, bits);
  return kCounting - requests_left.exchange(0);
}

// Runs the call with nothing for request `n`. True when it failed, which must be for want of memory; a call that could do
// without has the right bits.
inline bool fails_without(long n, const NamedCall& call, Context& ctx, const Bits& expected) {
  const std::string& name = call.functions.front();
  ctx.release_scratch();
  Bits found;
  bool failed = false;
  requests_left = n;
  try {
    call.run(ctx, DType::f32, found);
  } catch (const std::bad_alloc&) { failed = true; } catch (const Error& error) {
    requests_left = 0;
    failed = true;
    EXPECT_EQ(error.kind(), ErrorKind::resource) << name << ": " << error.what();
  }
  requests_left = 0;
  EXPECT_TRUE(failed || found == expected) << name << " went on without request " << n << ", to a wrong end";
  return failed;
}

inline std::ptrdiff_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

// Whichever request gets nothing, the call fails or is right, and the next one is right on the same Context. About `most` of
// the requests are tried, or all.
inline void expect_survival(const NamedCall& call, int threads, long most) {
  const std::string& name = call.functions.front();
  Context ctx({.threads = threads});
  Bits expected;
  const long requests = requests_of(call, ctx, expected);
  EXPECT_GT(requests, 0) << name;
  const long step = std::max(1L, requests / most);
  long failures = 0;
  const std::ptrdiff_t descriptors = open_descriptors();
  for (long n = 1; n <= requests; n += step) {
    failures += fails_without(n, call, ctx, expected) ? 1 : 0;
    Bits again;
    call.run(ctx, DType::f32, again);
    ASSERT_TRUE(again == expected) << name << " after request " << n << " of " << requests << ", " << threads
                                   << " threads";
  }
  EXPECT_GT(failures, 0) << name;
  EXPECT_EQ(open_descriptors(), descriptors) << name << " left files open";
}

}  // namespace headlight::testing
