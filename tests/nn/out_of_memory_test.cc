// Memory that runs out anywhere in a layer, on any thread, is an error of that call and of nothing else.
#include <gtest/gtest.h>

#include "nn/layer_calls.h"
#include "support/attention_calls.h"
#include "support/failing_memory.h"

namespace headlight::testing {
namespace {

TEST(OutOfMemory, ALayerFailsAndTheNextCallIsRight) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer has an allocator of its own";
  for (const int threads : {1, 3})
    for (const NamedCall& call : nn::layer_calls::all()) expect_survival(call, threads, 40);
}

TEST(OutOfMemory, AttentionFailsAndTheNextCallIsRight) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer has an allocator of its own";
  for (const int threads : {1, 3})
    for (const NamedCall& call : attention_calls::all()) expect_survival(call, threads, 40);
}

// Every single request of the layers that allocate on worker threads.
TEST(OutOfMemory, EveryRequestInsideOfTasks) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer has an allocator of its own";
  for (const auto& call : {nn::layer_calls::call_embedding, nn::layer_calls::call_gradients_of_attention})
    expect_survival({{"tasks"}, call}, 4, 1000);
}

}  // namespace
}  // namespace headlight::testing
