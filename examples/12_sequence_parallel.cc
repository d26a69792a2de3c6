// One long sequence on several processes, each with a shard of the tokens: mpirun -n 4 example_12_sequence_parallel
#include <cmath>
#include <cstdio>

#include "headlight/dist.h"
#include "headlight/headlight.h"

using headlight::Index;
namespace dist = headlight::dist;

namespace {

constexpr Index kTokens = 500, kHeads = 4, kDim = 16;

// Any numbers will do; a token has the same ones wherever it is computed.
float number(Index head, Index token, Index d) {
  return std::sin(static_cast<float>(head + 1) * 0.3F * static_cast<float>(token) + static_cast<float>(d));
}

// The tokens of these runs, one after the other.
headlight::Tensor tokens_of(const std::vector<headlight::Range>& runs) {
  Index size = 0;
  for (const headlight::Range& run : runs) size += run.size();
  headlight::Tensor x({1, kHeads, size, kDim});
  float* to = x.as<float>();
  for (Index h = 0; h < kHeads; ++h)
    for (const headlight::Range& run : runs)
      for (Index t = run.begin; t < run.end; ++t)
        for (Index d = 0; d < kDim; ++d) *to++ = number(h, t, d);
  return x;
}

void attend(dist::Group& group) {
  headlight::Context ctx;
  const dist::SequenceParallel how{.method = dist::Method::ring, .layout = dist::Layout::zigzag};
  const dist::Shards shards{kTokens, group.size(), how.layout};
  const auto runs = shards.runs(group.rank());
  const headlight::Tensor x = tokens_of(runs);  // queries, keys and values alike
  const headlight::AttentionOptions options{.visible = headlight::Visibility::causal()};
  headlight::Tensor out(x.shape());
  dist::attention_forward(ctx, group, x, x, x, options, how, out);

  // A real program would continue with its shard. This one compares it with a single process.
  const headlight::Tensor all = tokens_of({{0, kTokens}});
  const headlight::AttentionResult whole = headlight::attention(all, all, all, options);
  double apart = 0;
  for (Index h = 0; h < kHeads; ++h) {
    Index local = 0;
    for (const headlight::Range& run : runs)
      for (Index t = run.begin; t < run.end; ++t, ++local)
        for (Index d = 0; d < kDim; ++d)
          apart = std::max(apart, std::abs(out.at(0, h, local, d) - whole.out.at(0, h, t, d)));
  }
  headlight::Tensor differences({1}, headlight::DType::f64);
  differences.as<double>()[0] = apart;
  group.sum(differences);
  if (group.rank() == 0)
    std::printf("%d ranks %s with one process\n", group.size(),
                differences.at(0) < 1e-5 ? "agree" : "do not agree");
}

}  // namespace

int main() {
  dist::Group group = dist::Group::world();
  return dist::run(group, attend);
}
