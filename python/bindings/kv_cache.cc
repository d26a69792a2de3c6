#include "headlight/kv_cache.h"

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
    const py::gil_scoped_release free;
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

void append(SharedCache& self, const py::object& k, const py::object& v, const py::object& counts) {
  const ArrayArg keys(k, "k"), values(v, "v");
  const ConstTensorView k4 = keys.widened("k"), v4 = values.widened("v");
  const std::vector<Index> numbers = to_indices(counts, "counts");
  self.with([&](KvCache& cache) { cache.append(k4, v4, numbers); });
}

void append_to(SharedCache& self, Index item, const py::object& k, const py::object& v) {
  const ArrayArg keys(k, "k"), values(v, "v");
  const ConstTensorView k4 = keys.widened("k"), v4 = values.widened("v");
  self.with([&](KvCache& cache) { cache.append_to(item, k4, v4); });
}

py::tuple read(SharedCache& self, Index item, const py::object& keys) {
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
  return py::make_tuple(to_numpy(std::move(k)), to_numpy(std::move(v)));
}

// decode(q, options tuple, return_lse, threads) -> (out, lse or None)
py::tuple decode(SharedCache& self, const py::object& q, const py::tuple& options, bool return_lse,
                 const py::object& threads) {
  if (options.size() != kOptions) throw py::value_error("options");
  const ArrayArg query(q, "q");
  const ConstTensorView q4 = query.widened("q");
  const OptionArgs args(&PyTuple_GET_ITEM(options.ptr(), 0), q4.dtype(), q4.dim(1));
  Context& ctx = context_for(threads);
  const Index value_dim = self.with([](KvCache& cache) {
    return cache.options().value_dim == 0 ? cache.options().dim : cache.options().value_dim;
  });
  const ArrayMaker maker(query);
  const int drop = kMaxRank - query.view.rank();
  Result out = maker.make({q4.dim(0), q4.dim(1), q4.dim(2), value_dim}, q4.dtype(), drop), lse;
  if (return_lse) lse = maker.make({q4.dim(0), q4.dim(1), q4.dim(2)}, DType::f32, drop);
  self.with([&](KvCache& cache) { attention_decode(ctx, q4, cache, args.options, out.view(), lse.view()); });
  return py::make_tuple(out.take(), lse.take());
}

}  // namespace

void define_kv_cache(py::module_& module) {
  py::class_<SharedCache>(module, "KvCache")
      .def(py::init(&make_cache), py::kw_only(), py::arg("kv_heads"), py::arg("dim"),
           py::arg("value_dim") = 0, py::arg("items") = 1, py::arg("capacity") = 0, py::arg("dtype") = "f32",
           py::arg("window") = 0, py::arg("page_keys") = 0)
      .def("append", &append, py::arg("k"), py::arg("v"), py::arg("counts") = py::none())
      .def("append_to", &append_to, py::arg("item"), py::arg("k"), py::arg("v"))
      .def(
          "length",
          [](SharedCache& self, Index item) { return self.with([&](KvCache& c) { return c.length(item); }); },
          py::arg("item") = 0)
      .def(
          "first_key",
          [](SharedCache& self, Index item) {
            return self.with([&](KvCache& c) { return c.first_key(item); });
          },
          py::arg("item") = 0)
      .def_property_readonly(
          "items", [](SharedCache& self) { return self.with([](KvCache& c) { return c.items(); }); })
      .def_property_readonly(
          "nbytes", [](SharedCache& self) { return self.with([](KvCache& c) { return c.bytes(); }); })
      .def(
          "truncate",
          [](SharedCache& self, Index item, Index length) {
            self.with([&](KvCache& c) { c.truncate(item, length); });
          },
          py::arg("item"), py::arg("length"))
      .def(
          "fork",
          [](SharedCache& self, Index item) { return self.with([&](KvCache& c) { return c.fork(item); }); },
          py::arg("item"))
      .def(
          "share_prefix",
          [](SharedCache& self, Index from, Index to, Index length) {
            self.with([&](KvCache& c) { c.share_prefix(from, to, length); });
          },
          py::arg("source"), py::arg("target"), py::arg("length"))
      .def(
          "keep_items",
          [](SharedCache& self, Index count) { self.with([&](KvCache& c) { c.keep_items(count); }); },
          py::arg("count"))
      .def(
          "reset",
          [](SharedCache& self, const py::object& item) {
            if (item.is_none()) return self.with([](KvCache& c) { c.reset(); });
            const Index which = to_index(item, "item");
            self.with([&](KvCache& c) { c.reset(which); });
          },
          py::arg("item") = py::none())
      .def("read", &read, py::arg("item") = 0, py::arg("keys") = py::none())
      .def("_decode", &decode);
}

}  // namespace headlight::python
