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

#include "core/call_scope.h"
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

// Threads of this process, as the kernel counts them.
int threads_now() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("Threads:", 0) == 0) return std::stoi(line.substr(8));
  }
  return 0;
}

TEST(Contexts, ScratchGrowsAndStays) {
  Context ctx({.threads = 2});
  const CallScope call(ctx);
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

TEST(Contexts, ScratchBelongsToACall) {
  Context ctx({.threads = 1});
  expect_error([&] { (void)ctx.scratch(0, 1); }, ErrorKind::usage, "context.scratch",
               "scratch memory is requested outside a call");
  { const CallScope call(ctx); }
  expect_error([&] { (void)ctx.scratch(0, 1); }, ErrorKind::usage, "context.scratch", "outside a call");
}

TEST(Contexts, ScratchSaysWhenMemoryIsOut) {
  Context ctx({.threads = 1});
  const CallScope call(ctx);
  (void)ctx.scratch(0, 5000);
  expect_error([&] { (void)ctx.scratch(0, std::numeric_limits<std::size_t>::max()); }, ErrorKind::resource,
               "context.memory", "18446744073709551615 bytes");
  if (kSanitized) GTEST_SKIP() << "a sanitizer's allocator ends the program";
  expect_error([&] { (void)ctx.scratch(0, std::numeric_limits<std::size_t>::max() / 2); },
               ErrorKind::resource, "context.memory",
               "Context: no memory for 9223372036854775807 bytes of scratch");
  EXPECT_EQ(ctx.scratch_bytes(), 0U) << "nothing is held, nothing is lost";
  std::memset(ctx.scratch(0, 5000), 1, 5000);
}

Tensor numbers(const Shape& shape) {
  Tensor x(shape);
  for (Index i = 0; i < shape.elements(); ++i) x.as<float>()[i] = static_cast<float>(i % 37) / 37;
  return x;
}
bool same_bits(const Tensor& a, const Tensor& b) {
  return std::memcmp(a.as<float>(), b.as<float>(),
                     sizeof(float) * static_cast<std::size_t>(a.shape().elements())) == 0;
}

TEST(Contexts, ScratchCanBeReleased) {
  const Tensor q = numbers({1, 4, 128, 32});
  Tensor first(q.shape()), second(q.shape());
  Context ctx({.threads = 2});
  attention_forward(ctx, q, q, q, {}, first);
  EXPECT_GT(ctx.scratch_bytes(), 0U);
  ctx.release_scratch();
  EXPECT_EQ(ctx.scratch_bytes(), 0U);
  attention_forward(ctx, q, q, q, {}, second);
  EXPECT_TRUE(same_bits(first, second));
  const CallScope call(ctx);
  expect_error([&] { ctx.release_scratch(); }, ErrorKind::usage, "context.busy",
               "scratch cannot be released during a call");
}

TEST(Contexts, ScratchCanBeBounded) {
  const Tensor q = numbers({1, 4, 128, 32});
  Tensor expected(q.shape()), out(q.shape());
  Context free({.threads = 2});
  attention_forward(free, q, q, q, {}, expected);
  const std::size_t needed = free.scratch_bytes();

  Context enough({.threads = 2, .scratch_limit = needed});
  attention_forward(enough, q, q, q, {}, out);
  EXPECT_TRUE(same_bits(out, expected));
  EXPECT_LE(enough.scratch_bytes(), needed);

  Context small({.threads = 2, .scratch_limit = needed - 1});
  expect_error([&] { attention_forward(small, q, q, q, {}, out); }, ErrorKind::resource, "context.memory",
               "the limit is " + std::to_string(needed - 1) + "; raise ContextOptions::scratch_limit");
  EXPECT_LT(small.scratch_bytes(), needed);
  const Tensor one = numbers({1, 1, 2, 8});
  Tensor little(one.shape());
  attention_forward(small, one, one, one, {}, little);  // what is refused once leaves the Context in order
}

// Memory of earlier calls makes room for the present one, never the other way round.
TEST(Contexts, AtTheLimitEarlierCallsGiveWay) {
  Context ctx({.threads = 2, .scratch_limit = 3 * 4096});
  {
    const CallScope call(ctx);
    (void)ctx.scratch(0, 4096);
    (void)ctx.scratch(1, 8192);
    expect_error(
        [&] { (void)ctx.scratch(Context::kShared, 1); }, ErrorKind::resource, "context.memory",
        "Context: no memory for 1 bytes of scratch: this call holds 12288 already, and the limit is 12288");
  }
  const CallScope call(ctx);
  std::memset(ctx.scratch(Context::kShared, 12288), 1, 12288);
  EXPECT_EQ(ctx.scratch_bytes(), 12288U);
}

TEST(Contexts, ASecondThreadIsRefused) {
  Context ctx({.threads = 2});
  const Tensor q = numbers({1, 2, 16, 8});
  const auto refused_elsewhere = [&] {
    bool refused = false;
    std::thread([&] {
      Tensor out(q.shape());
      try {
        attention_forward(ctx, q, q, q, {}, out);
      } catch (const Error& error) {
        refused = error.code() == "context.busy" && error.kind() == ErrorKind::usage &&
                  std::string(error.what())
                          .find(
                              "another thread is using it; give each thread its own "
                              "Context") != std::string::npos;
      }
    }).join();
    return refused;
  };
  {
    const CallScope call(ctx);
    const CallScope inner(ctx);  // calls inside of calls are what a model does
    EXPECT_TRUE(refused_elsewhere());
  }
  EXPECT_FALSE(refused_elsewhere()) << "in turn they may";
}

// Two threads on one Context: every call is right or refused.
TEST(Contexts, TwoThreadsNeverMix) {
  const Tensor q = numbers({1, 8, 96, 16});
  Context ctx({.threads = 2});
  Tensor expected(q.shape());
  attention_forward(ctx, q, q, q, {}, expected);
  std::atomic<int> wrong{0}, right{0}, refused{0}, waiting{2};
  const auto caller = [&] {
    Tensor out(q.shape());
    --waiting;
    while (waiting > 0) std::this_thread::yield();
    for (int n = 0; n < 200; ++n) {
      try {
        attention_forward(ctx, q, q, q, {}, out);
        ++(same_bits(out, expected) ? right : wrong);
      } catch (const Error& error) { ++(error.code() == "context.busy" ? refused : wrong); }
    }
  };
  std::thread a(caller), b(caller);
  a.join();
  b.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_GT(right.load(), 0);
  EXPECT_EQ(right.load() + refused.load(), 400);
}

TEST(Contexts, CanShareTheirThreads) {
  const Tensor q = numbers({1, 8, 96, 16});
  Context first({.threads = 3});
  const int before = threads_now();
  Context second({.executor = first.executor()}), narrow({.threads = 2, .executor = first.executor()});
  EXPECT_EQ(threads_now(), before) << "no threads of their own";
  EXPECT_EQ(second.threads(), 3);
  EXPECT_EQ(narrow.threads(), 2);
  Tensor expected(q.shape());
  attention_forward(first, q, q, q, {}, expected);
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (Context* ctx : {&first, &second, &narrow}) {
    callers.emplace_back([&, ctx] {
      for (int n = 0; n < 50; ++n) {
        Tensor out(q.shape());
        attention_forward(*ctx, q, q, q, {}, out);
        if (!same_bits(out, expected)) ++wrong;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong.load(), 0);
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
      if (&default_context() == mine || default_context().executor() != mine->executor()) ++wrong;
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
