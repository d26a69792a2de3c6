// The main function of the tests that every rank runs. Rank 0 prints what gtest has to say; all take part in failing.
#include <cstdio>
#include <memory>

#include "dist/ranks.h"

namespace headlight::testing {
namespace {
std::unique_ptr<dist::Group> world;
}
dist::Group& ranks() { return *world; }
}  // namespace headlight::testing

int main(int argc, char** argv) {
  using headlight::testing::world;
  ::testing::InitGoogleTest(&argc, argv);
  world = std::make_unique<headlight::dist::Group>(headlight::dist::Group::world({.timeout = 60}));
  if (world->rank() != 0) {
    ::testing::TestEventListeners& listeners = ::testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
  }
  const int failed = RUN_ALL_TESTS();
  const bool good = headlight::testing::all_problems(failed != 0 ? "failed" : "").empty();
  if (good && world->rank() == 0) std::printf("%d ranks passed\n", world->size());
  world.reset();
  return good ? 0 : 1;
}
