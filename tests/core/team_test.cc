#include "core/team.h"

#include <gtest/gtest.h>

#include <mutex>
#include <string>

#include "support/thread_team.h"

namespace headlight {
namespace {

using testing::with_team;

// Each item says its number as often as its number: sizes differ, and some are empty.
std::string text_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
Bytes item(int number) {
  return Bytes(static_cast<std::size_t>(number % 5), static_cast<std::byte>('a' + number % 26));
}

std::string all_items(Context& ctx, int count, std::vector<int>& here) {
  std::string text;
  SharedItems items(ctx, [&](std::span<const std::byte> result) {
    text += text_of({result.begin(), result.end()}) + "|";
  });
  for (int i = 0; i < count; ++i)
    items.add([&, i] {
      here.push_back(i);
      return item(i);
    });
  items.finish();
  return text;
}

TEST(SharedItems, EveryoneGetsAllResultsInOrderAndComputesItsShare) {
  for (const int count : {0, 1, 3, 47, 100}) {
    Context alone({.threads = 1});
    std::vector<int> everything;
    const std::string expected = all_items(alone, count, everything);
    EXPECT_EQ(everything.size(), static_cast<std::size_t>(count));
    for (const int size : {1, 2, 3, 4}) {
      std::mutex mutex;
      std::size_t done = 0;
      with_team(size, [&](Team& team) {
        Context ctx({.executor = team_executor(team, Together::items, 1)});
        std::vector<int> here;
        const std::string got = all_items(ctx, count, here);
        const std::lock_guard lock(mutex);
        EXPECT_EQ(got, expected) << size << " members, member " << team.rank();
        EXPECT_LE(here.size(), static_cast<std::size_t>((count + size - 1) / size));
        done += here.size();
      });
      EXPECT_EQ(done, static_cast<std::size_t>(count));
    }
  }
}

TEST(SharedItems, AnItemBelongsToOneMember) {
  with_team(2, [](Team& team) {
    Context ctx({.executor = team_executor(team, Together::items, 1)});
    EXPECT_EQ(team_of(ctx, Together::items), &team);
    EXPECT_EQ(team_of(ctx, Together::products), nullptr);
    int seen = 0;
    SharedItems items(ctx, [&](std::span<const std::byte>) { ++seen; });
    for (int i = 0; i < 3; ++i)
      items.add([&] {
        EXPECT_EQ(team_of(ctx, Together::items),
                  nullptr);  // a call in here that shared items would wait for ever
        std::vector<int> here;
        EXPECT_EQ(all_items(ctx, 4, here), "|b|cc|ddd|");
        return Bytes{};
      });
    items.finish();
    EXPECT_EQ(seen, 3);
    EXPECT_EQ(team_of(ctx, Together::items), &team);
  });
}

TEST(SharedItems, AContextWithoutATeamIsAlone) {
  const Context ctx({.threads = 1});
  EXPECT_EQ(team_of(ctx, Together::items), nullptr);
  EXPECT_EQ(team_of(ctx, Together::products), nullptr);
}

}  // namespace
}  // namespace headlight
