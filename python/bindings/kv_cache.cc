#include "headlight/kv_cache.h"

#include <array>
#include <memory>
#include <mutex>

#include "bindings/options.h"
#include "core/concat.h"

namespace headlight::python {
namespace {

using Result = ArrayMaker::Result;

KvType type_of(const std::string& name) {
  for (const KvType type : {KvType::f32, KvType::f16, KvType::bf16, KvType::int8})
    if (name_of(type) == name) return type;
  throw Error(ErrorKind::usage, "cache.type", concat("dtype is \"", name, "\"; need f32, f16, bf16 or int8"));
}

// Python threads may share a cache: each call locks it. The lock is taken after the interpreter's lock is
// released, so that a waiting thread does not block others.
class SharedCache {
 public:
  explicit SharedCache(const KvCacheOptions& options) : cache_(default_context(), options) {}

  template <class Call>
  auto with(Call&& call) {
    const ReleaseLock free;
    const std::lock_guard lock(mutex_);
    return call(cache_);
  }

 private:
  std::mutex mutex_;
  KvCache cache_;
};

std::unique_ptr<SharedCache> make_cache(Index kv_heads, Index dim, Index value_dim, Index items,
                                        Index capacity, const std::string& dtype, Index window,
                                        Index page_keys) {
  return std::make_unique<SharedCache>(KvCacheOptions{.items = items,
                                                      .kv_heads = kv_heads,
                                                      .dim = dim,
                                                      .value_dim = value_dim,
                                                      .capacity = capacity,
                                                      .type = type_of(dtype),
                                                      .window = window,
                                                      .page_keys = page_keys});
}

void append(SharedCache& self, const Object& k, const Object& v, const Object& counts) {
  const ArrayArg keys(k, "k"), values(v, "v");
  const ConstTensorView k4 = keys.widened("k"), v4 = values.widened("v");
  const std::vector<Index> numbers = to_indices(counts, "counts");
  self.with([&](KvCache& cache) { cache.append(k4, v4, numbers); });
}

void append_to(SharedCache& self, Index item, const Object& k, const Object& v) {
  const ArrayArg keys(k, "k"), values(v, "v");
  const ConstTensorView k4 = keys.widened("k"), v4 = values.widened("v");
  self.with([&](KvCache& cache) { cache.append_to(item, k4, v4); });
}

Tuple read(SharedCache& self, Index item, const Object& keys) {
  Index first = 0, length = 0, kv_heads = 0, dim = 0, value_dim = 0;
  self.with([&](KvCache& cache) {
    first = cache.first_key(item), length = cache.length(item);
    const KvCacheOptions& o = cache.options();
    kv_heads = o.kv_heads, dim = o.dim, value_dim = o.value_dim == 0 ? o.dim : o.value_dim;
  });
  const auto [begin, end] = to_range(keys, length, "keys");
  const Range range{keys.is_none() ? first : begin, end};
  Tensor k({kv_heads, range.size(), dim}), v({kv_heads, range.size(), value_dim});
  self.with([&](KvCache& cache) { cache.read(item, range, k, v); });
  return tuple_of(to_numpy(std::move(k)), to_numpy(std::move(v)));
}

// decode(q, options tuple, return_lse, threads) -> (out, lse or None)
Tuple decode(SharedCache& self, const Object& q, const Tuple& options, bool return_lse,
             const Object& threads) {
  check_argument(options.size() == kOptions, options, "options", "all of them");
  std::array<PyObject*, kOptions> places{};
  for (int i = 0; i < kOptions; ++i) places[static_cast<std::size_t>(i)] = PyTuple_GetItem(options.ptr(), i);
  const ArrayArg query(q, "q");
  const ConstTensorView q4 = query.widened("q");
  const OptionArgs args(places.data(), q4.dtype(), q4.dim(1));
  Context& ctx = context_for(threads);
  const Index value_dim = self.with([](KvCache& cache) {
    return cache.options().value_dim == 0 ? cache.options().dim : cache.options().value_dim;
  });
  const ArrayMaker maker(query);
  const int drop = kMaxRank - query.view.rank();
  Result out = maker.make({q4.dim(0), q4.dim(1), q4.dim(2), value_dim}, q4.dtype(), drop), lse;
  if (return_lse) lse = maker.make({q4.dim(0), q4.dim(1), q4.dim(2)}, DType::f32, drop);
  self.with([&](KvCache& cache) { attention_decode(ctx, q4, cache, args.options, out.view(), lse.view()); });
  return tuple_of(out.take(), lse.take());
}

}  // namespace

void define_kv_cache(const Module& module) {
  Class<SharedCache>("KvCache")
      .constructor<&make_cache>(KeywordsOnly(), arg("kv_heads"), arg("dim"), arg("value_dim", 0),
                                arg("items", 1), arg("capacity", 0), arg("dtype", "f32"), arg("window", 0),
                                arg("page_keys", 0))
      .def<&append>(
          "append", arg("k"), arg("v"), arg("counts", none()),
          "Appends tokens to every sequence: k [item, kv_head, token, dim], v likewise. counts: how many "
          "of them each sequence takes.")
      .def<&append_to>("append_to", arg("item"), arg("k"), arg("v"), "Appends tokens to one sequence.")
      .def(
          "length",
          [](SharedCache& self, Index item) { return self.with([&](KvCache& c) { return c.length(item); }); },
          arg("item", 0), "Tokens of a sequence.")
      .def(
          "first_key",
          [](SharedCache& self, Index item) {
            return self.with([&](KvCache& c) { return c.first_key(item); });
          },
          arg("item", 0), "The oldest token that is kept: with window=, older ones are discarded.")
      .property(
          "items", [](SharedCache& self) { return self.with([](KvCache& c) { return c.items(); }); },
          "Number of sequences; fork adds one.")
      .property(
          "nbytes", [](SharedCache& self) { return self.with([](KvCache& c) { return c.bytes(); }); },
          "Memory in use, in bytes.")
      .def(
          "truncate",
          [](SharedCache& self, Index item, Index length) {
            self.with([&](KvCache& c) { c.truncate(item, length); });
          },
          arg("item"), arg("length"), "Removes all tokens from number length on.")
      .def(
          "fork",
          [](SharedCache& self, Index item) { return self.with([&](KvCache& c) { return c.fork(item); }); },
          arg("item"),
          "Adds a sequence with the contents of another one and returns its number. Memory is shared until "
          "one of them changes.")
      .def(
          "share_prefix",
          [](SharedCache& self, Index from, Index to, Index length) {
            self.with([&](KvCache& c) { c.share_prefix(from, to, length); });
          },
          arg("source"), arg("target"), arg("length"),
          "Replaces a sequence by the first tokens of another one.")
      .def(
          "keep_items",
          [](SharedCache& self, Index count) { self.with([&](KvCache& c) { c.keep_items(count); }); },
          arg("count"), "Removes all sequences from number count on.")
      .def(
          "reset",
          [](SharedCache& self, const Object& item) {
            if (item.is_none()) return self.with([](KvCache& c) { c.reset(); });
            const Index which = to_index(item, "item");
            self.with([&](KvCache& c) { c.reset(which); });
          },
          arg("item", none()), "Removes the tokens of one sequence, or of all.")
      .def<&read>("read", arg("item", 0), arg("keys", none()),
                  "Keys and values of a sequence, [kv_head, token, dim]; keys: a slice of the tokens.")
      .def<&decode>("_decode", arg("q"), arg("options"), arg("return_lse"), arg("threads"))
      .add_to(module);
}

}  // namespace headlight::python
