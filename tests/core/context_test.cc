#include "headlight/context.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>
#include <limits>
#include <thread>

#include "headlight/attention.h"
#include "support/errors.h"
#include "support/sanitizers.h"

namespace headlight::testing {
namespace {

TEST(Contexts, ThreadsAreCheckedOrCounted) {
  EXPECT_GE(Context({.threads = 0}).threads(), 1);
  EXPECT_EQ(Context({.threads = 1}).threads(), 1);
  EXPECT_EQ(Context({.threads = 5}).threads(), 5);
  for (const int threads :
       {-1, 1'000'000, 1025, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()}) {
    expect_error([&] { const Context ctx({.threads = threads}); }, ErrorKind::usage, "context.threads",
                 "Context: " + std::to_string(threads) + " threads; need 1 to 1024, or 0 for one per core");
  }
}

TEST(Contexts, TargetsHaveNames) {
  for (const SimdTarget target : {SimdTarget::automatic, SimdTarget::scalar, SimdTarget::sse4,
                                  SimdTarget::avx2, SimdTarget::avx512, SimdTarget::neon}) {
    EXPECT_EQ(parse_simd_target(name_of(target)), target);
  }
  for (const char* name : {"avx1024", "", "AVX2", "avx2 "}) {
    expect_error([&] { (void)parse_simd_target(name); }, ErrorKind::usage, "context.target",
                 std::string("SIMD target \"") + name +
                     "\" is unknown; targets are auto, scalar, sse4, avx2, avx512, neon");
  }
}

TEST(Contexts, TheBestTargetUnlessAnotherIsAskedFor) {
  const std::vector<SimdTarget> supported = supported_targets();
  ASSERT_FALSE(supported.empty());
  EXPECT_EQ(Context({.threads = 1}).target(), supported.front());
  for (const SimdTarget target : supported)
    EXPECT_EQ(Context({.threads = 1, .target = target}).target(), target);
}

// An error when the Context is made, never an illegal instruction later.
TEST(Contexts, ATargetThisCpuLacksIsRefused) {
  const std::vector<SimdTarget> supported = supported_targets();
  int refused = 0;
  for (const SimdTarget target :
       {SimdTarget::scalar, SimdTarget::sse4, SimdTarget::avx2, SimdTarget::avx512, SimdTarget::neon}) {
    if (std::find(supported.begin(), supported.end(), target) != supported.end()) continue;
    expect_error([&] { const Context ctx({.threads = 1, .target = target}); }, ErrorKind::usage,
                 "context.target",
                 "Context: this CPU cannot run SIMD target " + std::string(name_of(target)) +
                     "; its best is " + std::string(name_of(supported.front())));
    ++refused;
  }
  EXPECT_GT(refused, 0) << "no CPU has both AVX-512 and NEON";
  expect_error([] { const Context ctx({.threads = 1, .target = static_cast<SimdTarget>(99)}); },
               ErrorKind::usage, "context.target", "cannot run SIMD target unknown");
}

TEST(Contexts, ScratchGrowsAndStays) {
  Context ctx({.threads = 2});
  EXPECT_EQ(ctx.scratch_bytes(), 0U);
  std::byte* first = ctx.scratch(0, 100);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 4096, 0U);
  EXPECT_EQ(ctx.scratch_bytes(), 4096U);
  EXPECT_EQ(ctx.scratch(0, 4096), first) << "what fits is kept";
  EXPECT_EQ(ctx.scratch(0, 1), first);
  std::byte* larger = ctx.scratch(0, 100'000);
  std::memset(larger, 1, 100'000);
  EXPECT_EQ(ctx.scratch(0, 4096), larger) << "and never shrinks";
  const std::size_t held = ctx.scratch_bytes();
  EXPECT_GE(held, 100'000U);
  std::byte* others[] = {ctx.scratch(1, 10), ctx.scratch(Context::kShared, 10),
                         ctx.scratch(Context::kRows, 10)};
  for (std::byte* other : others) EXPECT_NE(other, larger);
  EXPECT_NE(others[0], others[1]);
  EXPECT_NE(others[1], others[2]);
  EXPECT_EQ(ctx.scratch_bytes(), held + 3 * 4096);
}

TEST(Contexts, ScratchSaysWhenMemoryIsOut) {
  Context ctx({.threads = 1});
  (void)ctx.scratch(0, 5000);
  expect_error([&] { (void)ctx.scratch(0, std::numeric_limits<std::size_t>::max()); }, ErrorKind::resource,
               "context.memory", "18446744073709551615 bytes");
  if (kSanitized) GTEST_SKIP() << "a sanitizer's allocator ends the program";
  expect_error([&] { (void)ctx.scratch(0, std::numeric_limits<std::size_t>::max() / 2); },
               ErrorKind::resource, "context.memory",
               "attention: no memory for 9223372036854775807 bytes of scratch");
  EXPECT_EQ(ctx.scratch_bytes(), 0U) << "nothing is held, nothing is lost";
  std::memset(ctx.scratch(0, 5000), 1, 5000);
}

// Threads of this process, as the kernel counts them.
int threads_now() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("Threads:", 0) == 0) return std::stoi(line.substr(8));
  }
  return 0;
}

// Many threads that call attention() must not bring a pool each.
TEST(Contexts, DefaultContextsShareOnePool) {
  Tensor q({1, 4, 64, 32});
  for (Index i = 0; i < q.shape().elements(); ++i) q.as<float>()[i] = static_cast<float>(i % 37) / 37;
  const Tensor expected = std::move(attention(q, q, q).out);
  const Context* mine = &default_context();
  EXPECT_EQ(mine, &default_context());
  EXPECT_GE(mine->threads(), 1);

  constexpr int kCallers = 50;
  const int before = threads_now();
  std::atomic<int> arrived{0}, wrong{0};
  std::atomic<bool> leave{false};
  std::vector<std::thread> callers;
  for (int n = 0; n < kCallers; ++n) {
    callers.emplace_back([&] {
      for (int again = 0; again < 5; ++again) {
        const Tensor out = std::move(attention(q, q, q).out);
        if (std::memcmp(out.as<float>(), expected.as<float>(),
                        sizeof(float) * static_cast<std::size_t>(q.shape().elements())) != 0) {
          ++wrong;
        }
      }
      if (&default_context() == mine || &default_context().pool() != &mine->pool()) ++wrong;
      ++arrived;
      while (!leave) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
  }
  while (arrived < kCallers) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_LE(threads_now(), before + kCallers);
  leave = true;
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong.load(), 0);
}

// fork() copies the Contexts but not their threads: the child still computes, and ends.
TEST(Contexts, WorkAfterFork) {
  if (kThreadSanitizer) GTEST_SKIP() << "the thread sanitizer does not follow fork()";
  Tensor q({1, 8, 256, 32});
  for (Index i = 0; i < q.shape().elements(); ++i) q.as<float>()[i] = static_cast<float>(i % 41) / 41;
  auto own = std::make_unique<Context>(ContextOptions{.threads = 3});
  Tensor expected(q.shape());
  attention_forward(*own, q, q, q, {}, expected);
  (void)attention(q, q, q);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));  // workers asleep: the harder case
  const auto same = [&](const Tensor& out) {
    return std::memcmp(out.as<float>(), expected.as<float>(),
                       sizeof(float) * static_cast<std::size_t>(q.shape().elements())) == 0;
  };
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);
    Tensor out(q.shape());
    attention_forward(*own, q, q, q, {}, out);
    const bool right = same(out) && same(attention(q, q, q).out);
    own.reset();
    // A Context made here has threads again.
    Context fresh({.threads = 2});
    attention_forward(fresh, q, q, q, {}, out);
    _exit(right && same(out) ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << (WIFSIGNALED(status) ? "the child hung" : "the child computed something else");
  attention_forward(*own, q, q, q, {}, expected);
}

}  // namespace
}  // namespace headlight::testing
