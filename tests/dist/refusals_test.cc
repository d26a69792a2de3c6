// What cannot be done is refused by all ranks with one text, which names the rank that was asked wrongly; and the group can
// be used again.
#include "core/concat.h"
#include "dist/ranks.h"

namespace headlight::testing {
namespace {

constexpr Index kTokens = 10, kHeads = 4, kDim = 8;

// A good call, which tests spoil on one rank or on all.
struct Call {
  dist::SequenceParallel how;
  Index tokens = dist::Shards{kTokens, ranks().size(), how.layout}.size(ranks().rank());
  Tensor q{{1, kHeads, tokens, kDim}}, k{{1, kHeads, tokens, kDim}}, v{{1, kHeads, tokens, kDim}},
      out{{1, kHeads, tokens, kDim}};
  AttentionOptions options;

  void run() {
    Context ctx({.threads = 1});
    dist::attention_forward(ctx, ranks(), q, k, v, options, how, out);
  }
};

bool is_last() { return ranks().rank() == ranks().size() - 1; }

// All ranks throw, from `rank` (-1: any), with this code and these words.
void expect_refused(Call& call, int rank, const std::string& code, const std::string& words) {
  std::string problem = "no error";
  try {
    call.run();
  } catch (const dist::RankError& error) {
    problem = "";
    if (error.code() != code || std::string(error.what()).find(words) == std::string::npos)
      problem = error.what();
    if (!error.everywhere()) problem += " (not everywhere)";
    if (rank >= 0 && error.rank() != rank) problem += concat(" (of rank ", error.rank(), ")");
  }
  EXPECT_EQ(all_problems(problem), "") << code;
  Call good;
  good.run();  // nobody is left waiting
}

TEST(Refusals, ABadArgumentOfOneRank) {
  Call call;
  if (is_last()) call.k = Tensor({1, 3, call.tokens, kDim});
  expect_refused(call, ranks().size() - 1, "attention.heads",
                 concat("rank ", ranks().size() - 1, " of ", ranks().size(),
                        ": dist::attention_forward: k has 3 heads but q has 4; need Hq % Hkv == 0"));
}

TEST(Refusals, BadOptionsOfTheWholeCall) {
  Call call;
  call.options.scale = std::numeric_limits<double>::infinity();
  expect_refused(call, 0, "attention.scale", "scale is inf");
  Call masked;  // the mask of a shard is not that of the whole
  const Tensor mask({kTokens + 1}, DType::boolean);
  masked.options.mask = mask;
  expect_refused(masked, 0, "attention.mask", "broadcasts to [1, 4, 10, 10]");
}

TEST(Refusals, RanksThatDisagree) {
  if (ranks().size() == 1) GTEST_SKIP() << "needs two ranks";
  Call causal;
  if (is_last()) causal.options.visible = Visibility::causal();
  expect_refused(causal, ranks().size() - 1, "dist.disagree",
                 "visible.right is 0 but rank 0 has visible.right 2305843009213693951");
  Call method;
  if (is_last()) method.how.method = dist::Method::ring;
  expect_refused(method, ranks().size() - 1, "dist.disagree", "method is 2 but rank 0 has method 0");
  Call dtype;
  if (is_last())
    for (Tensor* x : {&dtype.q, &dtype.k, &dtype.v, &dtype.out}) *x = Tensor(x->shape(), DType::f64);
  expect_refused(dtype, ranks().size() - 1, "dist.disagree",
                 "q is f64 [1, 4, tokens, 8] but rank 0 has q f32 [1, 4, tokens, 8]");
}

TEST(Refusals, ShardsThatDoNotFollowTheLayout) {
  if (ranks().size() == 1) GTEST_SKIP() << "needs two ranks";
  Call call;
  const Index tokens = ranks().rank() == 0 ? call.tokens + 2 : is_last() ? call.tokens - 2 : call.tokens;
  for (Tensor* x : {&call.q, &call.k, &call.v, &call.out}) *x = Tensor({1, kHeads, tokens, kDim});
  expect_refused(
      call, 0, "dist.shard",
      concat("q has ", dist::Shards{kTokens, ranks().size()}.size(0) + 2,
             " tokens on rank 0 but the contiguous shard of 10 tokens over ", ranks().size(), " ranks has"));
}

TEST(Refusals, NeighboursThatDoNotDivideTheRanks) {
  Call call;
  call.how = {.method = dist::Method::hybrid, .head_ranks = ranks().size() + 1};
  expect_refused(call, 0, "dist.head_ranks",
                 concat("head_ranks is ", ranks().size() + 1, " of ", ranks().size(), " ranks with"));
}

TEST(Refusals, LessThanNoHeadsAtATime) {
  Call call;
  call.how.heads_at_once = -1;
  expect_refused(call, 0, "dist.heads_at_once", "heads_at_once is -1; need a number of key heads, or 0");
}

}  // namespace
}  // namespace headlight::testing
