// The group itself: what is sent arrives where it should, sums have one order, lost peers are named.
#include "core/concat.h"
#include "dist/ranks.h"

namespace headlight::testing {
namespace {

std::vector<std::byte> message(int from, int to, std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t n = 0; n < size; ++n)
    bytes[n] = static_cast<std::byte>(17 * from + 31 * to + static_cast<int>(n % 251));
  return bytes;
}

TEST(Group, AllToAll) {
  dist::Group& group = ranks();
  const auto size_of_message = [](int from, int to) {
    return static_cast<std::size_t>((from + 1) * 1000 * to);
  };
  std::vector<std::vector<std::byte>> out, in;
  std::vector<std::span<const std::byte>> parts;
  std::vector<std::span<std::byte>> from;
  for (int r = 0; r < group.size(); ++r) {
    out.push_back(message(group.rank(), r, size_of_message(group.rank(), r)));
    in.emplace_back(size_of_message(r, group.rank()));
  }
  for (std::size_t r = 0; r < out.size(); ++r) parts.emplace_back(out[r]), from.emplace_back(in[r]);
  group.all_to_all(parts, from);
  std::string problem;
  for (int r = 0; r < group.size(); ++r)
    if (in[static_cast<std::size_t>(r)] != message(r, group.rank(), size_of_message(r, group.rank())))
      problem = concat("wrong bytes from rank ", r);
  EXPECT_EQ(all_problems(problem), "");
}

TEST(Group, GathersWhatEachRankGave) {
  const auto mine = message(ranks().rank(), 9, static_cast<std::size_t>(ranks().rank()) * 5);
  const auto all = ranks().all_gather(mine);
  std::string problem;
  for (int r = 0; r < ranks().size(); ++r)
    if (all[static_cast<std::size_t>(r)] != message(r, 9, static_cast<std::size_t>(r) * 5))
      problem = concat("rank ", r);
  EXPECT_EQ(all_problems(problem), "");
}

// 1e20 + 1 - 1e20 is 0 or 1, depending on the order: every rank must find the sum from rank 0 upwards.
TEST(Group, SumsInTheOrderOfRanks) {
  for (const Index length : {0, 1, 3, 1000}) {
    const auto number = [](int r, Index n) {
      const double large = n % 3 == 0 ? 1e20 : -3e7;
      return r % 3 == 0 ? large : r % 3 == 1 ? 1.0 + static_cast<double>(n) : -large;
    };
    for (const DType dtype : {DType::f32, DType::f64}) {
      Tensor mine({length}, dtype);
      for (Index n = 0; n < length; ++n) mine.view().set(n, number(ranks().rank(), n));
      ranks().sum(mine);
      std::string problem;
      for (Index n = 0; n < length; ++n) {
        double total = number(0, n);
        if (dtype == DType::f32) total = static_cast<float>(total);
        for (int r = 1; r < ranks().size(); ++r) {
          if (dtype == DType::f64) total += number(r, n);
          else total = static_cast<float>(total) + static_cast<float>(number(r, n));
        }
        if (mine.at(n) != total) problem = concat("element ", n, " is ", mine.at(n), ", expected ", total);
      }
      ASSERT_EQ(all_problems(problem), "");
    }
  }
}

TEST(Group, SplitsIntoGroups) {
  dist::Group half = ranks().split(ranks().rank() % 2);
  Tensor one = Tensor::from(std::vector<double>{static_cast<double>(ranks().rank())}, {1}, DType::f64);
  half.sum(one);
  double expected = 0;
  for (int r = ranks().rank() % 2; r < ranks().size(); r += 2) expected += r;
  EXPECT_EQ(all_problems(one.at(0) == expected ? "" : concat("sum ", one.at(0), " not ", expected)), "");
}

// Messages in the background, large enough that MPI waits for the other side before it sends.
TEST(Group, TransfersInTheBackground) {
  dist::Group& group = ranks();
  const int next = (group.rank() + 1) % group.size(),
            previous = (group.rank() + group.size() - 1) % group.size();
  std::vector<std::byte> in(1 << 20);
  const std::vector<std::byte> out = message(group.rank(), next, in.size());
  dist::Transfers moving(group);
  moving.receive(previous, in, 5);
  moving.send(next, out, 5);
  moving.run_in_background();
  moving.wait();
  EXPECT_EQ(all_problems(in == message(previous, group.rank(), in.size()) ? "" : "wrong bytes"), "");
}

// Rank 0 asks for a message that nobody sends.
TEST(Group, ALostPeerIsNamedAfterTheTimeout) {
  if (ranks().size() == 1) GTEST_SKIP() << "needs two ranks";
  dist::Group pair = dist::Group::world({.timeout = 0.2});
  std::string problem;
  if (pair.rank() == 0) {
    std::vector<std::byte> never(100);
    dist::Transfers waiting(pair);
    waiting.receive(1, never, 7);
    try {
      waiting.wait();
      problem = "no error";
    } catch (const dist::RankError& error) {
      const std::string text = error.what();
      if (error.code() != "dist.timeout" || error.kind() != ErrorKind::peer || error.rank() != 0 ||
          error.everywhere() ||
          text.find(concat("rank 0 of ", pair.size(), ": nothing arrived from rank 1 for 0.2 s")) != 0)
        problem = text;
    }
  }
  EXPECT_EQ(all_problems(problem), "");
}

TEST(Shards, EveryTokenHasOneOwner) {
  for (const dist::Layout layout : {dist::Layout::contiguous, dist::Layout::zigzag})
    for (const int count : {1, 2, 3, 4, 7})
      for (const Index length : {0, 1, 2, 5, 7, 8, 24, 1001}) {
        std::vector<int> owners(static_cast<std::size_t>(length));
        const dist::Shards shards{length, count, layout};
        Index least = length, most = 0;
        for (int r = 0; r < count; ++r) {
          Index size = 0;
          for (const Range& run : shards.runs(r))
            for (Index t = run.begin; t < run.end; ++t) ++owners[static_cast<std::size_t>(t)], ++size;
          EXPECT_EQ(size, shards.size(r));
          least = std::min(least, size), most = std::max(most, size);
        }
        EXPECT_EQ(owners, std::vector<int>(static_cast<std::size_t>(length), 1))
            << length << " over " << count;
        EXPECT_LE(most - least, layout == dist::Layout::zigzag ? 2 : 1);
      }
  EXPECT_EQ((dist::Shards{16, 4, dist::Layout::zigzag}.runs(1)), (std::vector<Range>{{2, 4}, {12, 14}}));
}

}  // namespace
}  // namespace headlight::testing
