// DeBERTa's scores: in addition to query·key, the query times a key of the distance, and the key times a query of it. The
// embeddings of distances are shared by all layers; each layer projects them to queries and keys, like tokens.
#include "nn/attention.h"
#include "nn/drive.h"
#include "nn/matmul.h"

namespace headlight::nn {

Index distance_bucket(const Disentangled& config, Index distance) {
  const Index half = config.buckets / 2, size = distance < 0 ? -distance : distance;
  Index bucket = size;
  if (size > half) {
    const auto of = [](Index n) { return static_cast<double>(n); };
    const double share = std::log(of(size) / of(half)) / std::log(of(config.max_distance - 1) / of(half));
    bucket = static_cast<Index>(std::ceil(share * of(half - 1))) + half;
  }
  return std::clamp<Index>((distance < 0 ? -bucket : bucket) + config.buckets, 0, 2 * config.buckets - 1);
}

namespace {

// Rows of one sequence and one head of [token, head, dim].
ConstTensorView head_rows(const TensorView& x, Index head, Index first, Index count) {
  const auto* data = static_cast<const std::byte*>(x.data()) +
                     (first * x.stride(0) + head * x.stride(1)) * static_cast<Index>(size_of(x.dtype()));
  return {data, x.dtype(), {count, x.dim(2)}, {x.stride(0), 1}};
}

}  // namespace

// [sequence, head, longest, longest], as a bias: both terms, scaled as scores are.
Tensor MultiHeadAttention::distance_terms(Context& ctx, const Heads& h, const AttentionCall& call) const {
  const DefaultFloatMode float_mode;
  const MultiHeadAttentionConfig& c = config_;
  const Disentangled& d = *c.disentangled;
  if (call.distances.empty() || call.cache != nullptr)
    throw Error(ErrorKind::usage, "nn.distances",
                concat(out.weight.name,
                       ": disentangled attention needs a table of distances and cannot use a cache"));
  const double factor = c.scale.value_or(1 / std::sqrt(static_cast<double>(c.head_dim)));
  Tensor keys = key.forward(ctx, call.distances), queries = query.forward(ctx, call.distances);
  const TensorView k_of = split_heads(keys.view(), c.heads), q_of = split_heads(queries.view(), c.heads);
  const auto sequences = static_cast<Index>(call.starts.size()) - 1;
  Index longest = 0;
  for (std::size_t s = 0; s + 1 < call.starts.size(); ++s)
    longest = std::max(longest, call.starts[s + 1] - call.starts[s]);
  const Index places = keys.dim(0);
  Tensor terms({sequences, c.heads, longest, longest}, h.q.dtype());
  std::vector<Index> bucket(static_cast<std::size_t>(std::max<Index>(0, 2 * longest - 1)));
  for (Index r = 0; r < static_cast<Index>(bucket.size()); ++r)
    bucket[static_cast<std::size_t>(r)] = distance_bucket(d, r - (longest - 1));
  for (Index s = 0; s < sequences; ++s) {
    const Index first = call.starts[static_cast<std::size_t>(s)],
                n = call.starts[static_cast<std::size_t>(s + 1)] - first;
    Tensor to_place = Tensor::uninitialized({n, places}, h.q.dtype()), of_place = to_place.clone();
    for (Index head = 0; head < c.heads && n > 0; ++head) {
      multiply(ctx, {.a = head_rows(h.q, head, first, n),
                     .b = head_rows(k_of, head, 0, places),
                     .c = to_place,
                     .b_form = MatrixForm::transposed});
      multiply(ctx, {.a = head_rows(h.k, head, first, n),
                     .b = head_rows(q_of, head, 0, places),
                     .c = of_place,
                     .b_form = MatrixForm::transposed});
      with_type(h.q.dtype(), [&](auto zero) {
        using T = decltype(zero);
        T* rows = terms.as<T>() + (s * c.heads + head) * longest * longest;
        const T *a = to_place.as<T>(), *b = of_place.as<T>();
        for (Index i = 0; i < n; ++i)
          for (Index j = 0; j < n; ++j) {
            const Index place = bucket[static_cast<std::size_t>(i - j + longest - 1)];
            T sum = 0;
            if (d.content_to_position) sum += a[i * places + place];
            if (d.position_to_content) sum += b[j * places + place];
            rows[i * longest + j] = static_cast<T>(factor) * sum;
          }
      });
    }
  }
  return terms;
}

}  // namespace headlight::nn
