// Memory that runs out anywhere in a layer, on any thread, is an error of that call and of nothing else.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "headlight/error.h"
#include "nn/layer_calls.h"
#include "support/attention_calls.h"
#include "support/sanitizers.h"

namespace {

// Counts the requests of all threads; the one that makes it zero gets nothing.
std::atomic<long> requests_left{0};
bool refused() {
  return requests_left.load(std::memory_order_relaxed) > 0 && requests_left.fetch_sub(1) == 1;
}

}  // namespace

#pragma GCC diagnostic ignored "-Wmismatched-new-delete"  // once inlined, both look like malloc and free
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void* operator new(std::size_t bytes) {
  void* memory = refused() ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
// Tensors and scratch.
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  void* memory = nullptr;
  return refused() || posix_memalign(&memory, alignment, bytes) != 0 ? nullptr : memory;
}
#endif

namespace headlight::testing {
namespace {

constexpr long kCounting = 1L << 40;

long requests_of(const Call& call, Context& ctx, Bits& bits) {
  ctx.release_scratch();
  requests_left = kCounting;
  call.run(ctx, DType::f32, bits);
  return kCounting - requests_left.exchange(0);
}

void expect_survival(const Call& call, int threads, long most) {
  const std::string& name = call.functions.front();
  Context ctx({.threads = threads});
  Bits expected;
  const long requests = requests_of(call, ctx, expected);
  EXPECT_GT(requests, 0) << name;
  const long step = std::max(1L, requests / most);
  long failures = 0;
  for (long n = 1; n <= requests; n += step) {
    ctx.release_scratch();
    Bits ignored;
    requests_left = n;
    try {
      call.run(ctx, DType::f32, ignored);
    } catch (const std::bad_alloc&) { ++failures; } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::resource) << name << ": " << error.what();
      ++failures;
    }
    requests_left = 0;
    Bits again;
    call.run(ctx, DType::f32, again);
    ASSERT_TRUE(again == expected) << name << " after request " << n << " of " << requests << ", " << threads
                                   << " threads";
  }
  EXPECT_GT(failures, 0) << name;
}

TEST(OutOfMemory, ALayerFailsAndTheNextCallIsRight) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer has an allocator of its own";
  for (const int threads : {1, 3})
    for (const Call& call : nn::layer_calls::all()) expect_survival(call, threads, 40);
}

TEST(OutOfMemory, AttentionFailsAndTheNextCallIsRight) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer has an allocator of its own";
  for (const int threads : {1, 3})
    for (const Call& call : attention_calls::all()) expect_survival(call, threads, 40);
}

// Every single request of the layers that allocate on worker threads.
TEST(OutOfMemory, EveryRequestInsideOfTasks) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer has an allocator of its own";
  for (const auto& call : {nn::layer_calls::call_embedding, nn::layer_calls::call_gradients_of_attention})
    expect_survival({{"tasks"}, call}, 4, 1000);
}

}  // namespace
}  // namespace headlight::testing
