// Looking into a long text costs what was asked for: no logits of all tokens, no weights of all heads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>

#include "core/concat.h"
#include "headlight/model.h"
#include "models/random_model.h"
#include "support/sanitizers.h"
#include "support/subprocess.h"
#include "support/temp_folder.h"

namespace headlight {
namespace {

constexpr Index kTokens = 4096, kVocabulary = 262144;
constexpr long kMegabyte = 1 << 20;

long peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024;
}

std::vector<std::int32_t> long_text() {
  std::vector<std::int32_t> ids;
  for (Index i = 0; i < kTokens; ++i) ids.push_back(static_cast<std::int32_t>(i * 7919 % kVocabulary));
  return ids;
}

// What the child process of the test below does; HEADLIGHT_MEMORY_MODEL names the folder.
TEST(SessionMemory, DISABLED_LooksIntoALongText) {
  const char* folder = std::getenv("HEADLIGHT_MEMORY_MODEL");
  ASSERT_NE(folder, nullptr) << "runs in a process of its own";
  const Model model = Model::open(folder);
  Context ctx({.threads = 2});
  const long before = peak_bytes();
  const headlight::Run run = attend(ctx, model, {.ids = long_text()});
  const FirstLook look = first_look(run, {}, ctx);
  const Tensor map = run.heat_map(look.head, 96, 96, Pool::max, ctx);
  const Prediction next = run.prediction(kTokens - 1, 5, ctx);
  FigureRequest request;
  request.view.heads = {look.head.place()};
  const std::string picture = figure(run, request, ctx);
  EXPECT_EQ(next.top.size(), 5U);
  EXPECT_EQ(picture.substr(1, 3), "PNG");
  // The parameters that were read since then are mapped: they are part of the peak, and not of what looking costs.
  const long cost = peak_bytes() - before - static_cast<long>(model.info().bytes);
  std::printf("looking cost %ld MB\n", cost / kMegabyte);
  EXPECT_LT(cost, 200 * kMegabyte);
}

TEST(SessionMemory, LookingCostsNoLogits) {
  if (testing::kSanitized) GTEST_SKIP() << "a sanitizer has memory of its own";
  testing::TempFolder folder;
  models::TransformerConfig config = models::llama_config(
      {.vocabulary = kVocabulary, .width = 16, .layers = 2, .heads = 2, .context = kTokens});
  (void)models::write_random_model(folder.path(""), config, StoredType::f32);
  const testing::Finished child = testing::run_process(
      "/proc/self/exe",
      {.arguments = {"--gtest_also_run_disabled_tests", "--gtest_filter=SessionMemory.DISABLED_*"},
       .environment = {concat("HEADLIGHT_MEMORY_MODEL=", folder.path(""))}});
  EXPECT_EQ(child.code, 0) << child.out << child.err;
  EXPECT_THAT(child.out, ::testing::HasSubstr("[  PASSED  ] 1 test"));
}

}  // namespace
}  // namespace headlight
