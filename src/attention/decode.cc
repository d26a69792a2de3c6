// Checks of attention on a cache. The forward driver computes it, with the cache as its key source.
#include "attention/forward_block.h"
#include "attention/view_checks.h"
#include "core/concat.h"

namespace headlight {
namespace {

constexpr const char* kWho = "attention_decode";

void check_cache(const Context& ctx, const ConstTensorView& q, const CacheStore& cache,
                 const AttentionOptions& options) {
  if (ctx.target() != cache.target) {
    refuse(ErrorKind::usage, "kv_cache.target",
           concat(kWho, ": the cache was made for SIMD target ", name_of(cache.target),
                  " but the Context runs ", name_of(ctx.target()), "; make both with the same target"));
  }
  if (!options.k_lengths.empty() || !options.k_starts.empty() || !options.q_starts.empty()) {
    refuse(ErrorKind::usage, "kv_cache.lengths",
           concat(kWho, ": ", options.k_lengths.empty() ? "starts are" : "k_lengths is",
                  " given; the cache stores the lengths of its items, leave it empty"));
  }
  if (options.dropout.rate != 0) {
    refuse(ErrorKind::usage, "kv_cache.dropout",
           concat(kWho, ": dropout.rate is ", options.dropout.rate, "; need 0: decoding has no dropout"));
  }
  if (q.rank() != 4) return;  // reported by check_call()
  if (q.dtype() != DType::f32 && q.dtype() != DType::f16 && q.dtype() != DType::bf16) {
    refuse(ErrorKind::input, "kv_cache.dtype",
           concat(kWho, ": q is ", name_of(q.dtype()), "; need f32, f16 or bf16"));
  }
  if (q.dim(0) != static_cast<Index>(cache.items.size())) {
    refuse(ErrorKind::input, "kv_cache.batch",
           concat(kWho, ": q has batch ", q.dim(0), " but the cache has ", cache.items.size(),
                  " items; need the same"));
  }
}

// A windowed cache has dropped its oldest keys: no query may see them.
void check_window(const Problem& problem, const CacheStore& cache) {
  for (Index s = 0; s < problem.sequences; ++s) {
    const Index first = cache.first_key(s);
    if (first == 0) continue;
    const Sequence sequence = problem.sequence(s);
    for (Index i = 0; i < sequence.q_len; ++i) {
      const Range seen = problem.keys_for(sequence, i);
      if (seen.size() <= 0 || seen.begin >= first) continue;
      refuse(ErrorKind::usage, "kv_cache.window",
             concat(kWho, ": query ", i, " of item ", s, " sees key ", seen.begin,
                    ", but the cache's window of ", cache.options.window, " has dropped all before ", first,
                    "; need visible.left of at most ", cache.options.window - 1));
    }
  }
}

}  // namespace

void attention_decode(Context& ctx, ConstTensorView q, const KvCache& cache, const AttentionOptions& options,
                      const AttentionOutputs& outputs) {
  const CacheStore& store = cache.store();
  check_cache(ctx, q, store, options);
  AttentionOptions full = options;
  full.k_lengths = store.lengths;
  const Problem problem = check_cached_call(kWho, q, store, full);
  check_outputs(kWho, problem, outputs);
  check_window(problem, store);
  run_forward(ctx, problem, outputs);
}

void attention_decode(Context& ctx, ConstTensorView q, const KvCache& cache, const AttentionOptions& options,
                      TensorView out, TensorView lse) {
  attention_decode(ctx, q, cache, options, AttentionOutputs{.out = out, .lse = lse});
}

}  // namespace headlight
