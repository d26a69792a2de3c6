// Which keys each query may see: every mask of this kind is a run of keys for each query, described by a few
// integers. No matrix of size tokens × tokens is allocated, and hidden keys are not computed.
#include <cstdio>
#include <utility>

#include "headlight/headlight.h"

using headlight::Index;
using headlight::Visibility;

namespace {

// One letter per query and key: 1 where the query may look.
void show(const char* name, const Visibility& visible, Index queries, Index keys) {
  std::printf("%-10s", name);
  for (Index i = 0; i < queries; ++i) {
    const headlight::Range run = visible.keys_for(i, queries, keys);
    std::printf(" ");
    for (Index j = 0; j < keys; ++j) std::printf("%c", j >= run.begin && j < run.end ? '1' : '.');
    std::printf(" ");
  }
  std::printf("\n");
}

}  // namespace

int main() {
  constexpr Index kTokens = 6;
  std::printf("six tokens, one group per query\n");
  show("all", Visibility::all(), kTokens, kTokens);
  show("causal", Visibility::causal(), kTokens, kTokens);         // itself and earlier keys
  show("window", Visibility::window(3), kTokens, kTokens);        // itself and two before
  show("prefix", Visibility::prefix_lm(2), kTokens, kTokens);     // the first two see each other
  show("both sides", {.left = 1, .right = 1}, kTokens, kTokens);  // one neighbour on either side

  // With a cache, new queries are aligned with the end of the keys: no special call, no offset to compute.
  std::printf("\nsix keys in the cache, two new queries\n");
  show("causal", Visibility::causal(), 2, kTokens);

  // In a call it is one option. With equal keys, a query's output is the mean of the values it can see.
  headlight::Tensor x({1, 1, kTokens, 1}), v({1, 1, kTokens, 1});
  for (Index i = 0; i < kTokens; ++i) v.view().set(0, 0, i, 0, static_cast<double>(i));
  std::printf("\nmean of the visible positions\n");
  for (const auto& [name, visible] :
       {std::pair{"all", Visibility::all()}, std::pair{"causal", Visibility::causal()},
        std::pair{"window", Visibility::window(3)}}) {
    const auto [out, lse] = headlight::attention(x, x, v, {.visible = visible});
    std::printf("%-10s", name);
    for (Index i = 0; i < kTokens; ++i) std::printf(" %.1f", out.at(0, 0, i, 0));
    std::printf("\n");
  }
  return 0;
}
