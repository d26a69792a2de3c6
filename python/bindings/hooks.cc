// Python callables that observe or change a run. Their arrays are copied on access: an array that a
// hook keeps stays valid, and an event that it keeps reports that the call is over.
#include <algorithm>
#include <cstring>
#include <vector>

#include "bindings/arrays.h"
#include "bindings/model.h"
#include "core/concat.h"

namespace headlight::python {
namespace {

// The data that an event refers to, until the hook returns.
template <class Event>
class Live {
 public:
  explicit Live(const Event* event) : event_(event) {}
  void end() noexcept { event_ = nullptr; }
  [[nodiscard]] const Event& get() const {
    if (event_ != nullptr) return *event_;
    throw Error(
        ErrorKind::usage, "python.event",
        "this event is over: its numbers are there only while the hook runs; copy what is needed later");
  }

 private:
  const Event* event_;
};

using LiveAttention = Live<AttentionEvent>;
using LiveResidual = Live<ResidualEvent>;
using LiveExperts = Live<ExpertsEvent>;
using LivePlace = Live<AttentionPlace>;

// Calls the hook with the event, which becomes invalid after the call, also if the call throws.
template <class Event, class... More>
Object call_with(const Handle& hook, const Event& event, More&&... more) {
  const Object live = to_python(Live<Event>(&event));
  struct Ending {
    Live<Event>& live;
    ~Ending() { live.end(); }
  } const ending{value_of<Live<Event>>(live)};
  return hook(live, std::forward<More>(more)...);
}

class PythonObserver : public Observer {
 public:
  explicit PythonObserver(Object hook) : hook_(std::move(hook)) {}
  void on_attention(const AttentionEvent& event) override { tell(event); }
  void on_residual(const ResidualEvent& event) override { tell(event); }
  void on_experts(const ExpertsEvent& event) override { tell(event); }

 private:
  template <class Event>
  void tell(const Event& event) {
    const HoldLock hold;
    call_with(hook_, event);
  }
  Object hook_;
};

// The numbers that a hook returned, written over those that it was given: [token, width] or [token, head, dim].
void write_back(const Object& numbers, const TensorView& to, const char* axes) {
  const Object array =
      import("numpy").attr("ascontiguousarray")(numbers, to.dtype() == DType::f64 ? "float64" : "float32");
  const ArrayArg given(array, "what the hook returned");
  if (!(given.view.shape() == to.shape()))
    throw Error(ErrorKind::input, "python.hook",
                concat("the hook returned ", given.view.shape().text(), "; need ", to.shape().text(), " (",
                       axes, "), or None"));
  const Index inner = to.rank() == 3 ? to.dim(1) : 1, size = static_cast<Index>(size_of(to.dtype()));
  const Index row = to.dim(to.rank() - 1) * size, step = to.rank() == 3 ? to.stride(1) : 0;
  const auto* from = given.view.as<std::byte>();
  for (Index t = 0; t < to.dim(0); ++t)
    for (Index h = 0; h < inner; ++h, from += row)
      std::memcpy(to.as<std::byte>() + (t * to.stride(0) + h * step) * size, from,
                  static_cast<std::size_t>(row));
}

// Weights of all heads of a sequence: [head, query, key].
Tensor all_weights(const AttentionEvent& event, Index sequence) {
  const Index heads = event.q.dim(1);
  Tensor all =
      Tensor::uninitialized({heads, event.queries(sequence), event.keys(sequence)}, event.lse.dtype());
  const auto size = static_cast<std::size_t>(all.dim(1) * all.dim(2)) * size_of(all.dtype());
  for (Index h = 0; h < heads; ++h) {
    const Tensor one = event.weights(sequence, h);
    std::memcpy(all.as<std::byte>() + static_cast<std::size_t>(h) * size, one.as<std::byte>(), size);
  }
  return all;
}

// z of one sequence, computed from changed weights: z = weights · v, in float64. Rows with unchanged weights keep
// their bits.
void mix_values(const AttentionEvent& event, Index sequence, const Tensor& before, const Tensor& after,
                const TensorView& z) {
  const Index group = event.q.dim(1) / event.v.dim(1);
  const Index first_query = event.options.q_starts[static_cast<std::size_t>(sequence)];
  const Index first_key = event.options.k_starts[static_cast<std::size_t>(sequence)];
  const Index keys = after.dim(2);
  const std::size_t row = static_cast<std::size_t>(keys) * size_of(after.dtype());
  std::vector<double> sum(static_cast<std::size_t>(z.dim(2)));
  for (Index h = 0; h < after.dim(0); ++h)
    for (Index i = 0; i < after.dim(1); ++i) {
      const std::size_t at = static_cast<std::size_t>(h * after.dim(1) + i) * row;
      if (std::memcmp(before.as<std::byte>() + at, after.as<std::byte>() + at, row) == 0) continue;
      std::fill(sum.begin(), sum.end(), 0.0);
      for (Index j = 0; j < keys; ++j) {
        const double weight = after.at(h, i, j);
        if (weight == 0) continue;
        for (Index d = 0; d < z.dim(2); ++d)
          sum[static_cast<std::size_t>(d)] += weight * event.v.at(0, h / group, first_key + j, d);
      }
      for (Index d = 0; d < z.dim(2); ++d) z.set(first_query + i, h, d, sum[static_cast<std::size_t>(d)]);
    }
}

// An object with the methods `heads`, `weights`, `residual` or `mask`, or a callable, which counts as `heads`.
class PythonIntervention : public Intervention {
 public:
  explicit PythonIntervention(const Object& hook) {
    heads_ = hook.attr_or_none("heads");
    weights_ = hook.attr_or_none("weights");
    residual_ = hook.attr_or_none("residual");
    mask_ = hook.attr_or_none("mask");
    reads_keys_ = to_switch(hook.attr_or_none("reads_keys"), "reads_keys");
    bool has_method = false;
    for (const Object* method : {&heads_, &weights_, &residual_, &mask_}) {
      if (method->is_none()) continue;
      if (PyCallable_Check(method->ptr()) == 0) refuse(hook);
      has_method = true;
    }
    if (has_method) return;
    if (PyCallable_Check(hook.ptr()) == 0) refuse(hook);
    heads_ = hook;
  }

  ConstTensorView mask(const AttentionPlace& place) override {
    if (mask_.is_none()) return {};
    const HoldLock hold;
    const Object result = call_with(mask_, place);
    if (result.is_none()) return {};
    // A copy: the hook may change its array while the run reads this one.
    const ArrayArg given(import("numpy").attr("array")(result, "bool"), "the hook's mask");
    kept_ = contiguous(given.view);
    return kept_;
  }

  void on_heads(const AttentionEvent& event, TensorView z) override {
    if (heads_.is_none() && weights_.is_none()) return;
    const HoldLock hold;
    if (!weights_.is_none())
      for (Index s = 0; s < event.sequences(); ++s) change_weights(event, s, z);
    if (!heads_.is_none()) change(heads_, event, z, "token, head, dim");
  }

  void on_residual(const ResidualEvent& event, TensorView x) override {
    if (residual_.is_none()) return;
    const HoldLock hold;
    change(residual_, event, x, "token, width");
  }

  [[nodiscard]] bool reads_keys() const override { return reads_keys_ || !weights_.is_none(); }

 private:
  [[noreturn]] static void refuse(const Object& hook) {
    throw Error(ErrorKind::usage, "python.hook",
                concat("intervene is ", repr_of(hook),
                       "; need a callable, or an object with methods heads, weights, residual or mask"));
  }
  template <class Event>
  static void change(const Object& hook, const Event& event, const TensorView& numbers, const char* axes) {
    const Object array = to_numpy_copy(numbers);
    const Object result = call_with(hook, event, array);
    write_back(result.is_none() ? array : result, numbers, axes);
  }
  void change_weights(const AttentionEvent& event, Index sequence, const TensorView& z) const {
    const Tensor before = all_weights(event, sequence);
    Tensor after = before.clone();
    change(weights_, event, after, "head, query, key");
    mix_values(event, sequence, before, after, z);
  }

  Object heads_, weights_, residual_, mask_;
  Tensor kept_;
  bool reads_keys_ = false;
};

Object event_weights(const LiveAttention& live, const Object& head, Index sequence) {
  const AttentionEvent& event = live.get();
  if (sequence < 0 || sequence >= event.sequences())
    throw Error(ErrorKind::usage, "python.event",
                concat("sequence ", sequence, " of a run with ", event.sequences(), " sequences"));
  if (event.k.empty())
    throw Error(
        ErrorKind::usage, "python.event",
        "the keys of this call are in a cache; set reads_keys = True on the intervention to see them");
  const Index heads = event.q.dim(1);
  if (!head.is_none()) {
    const Index one = to_index(head, "head");
    if (one < 0 || one >= heads)
      throw Error(ErrorKind::usage, "python.event",
                  concat("head ", one, " of a layer with ", heads, " heads"));
    return to_numpy(event.weights(sequence, one));
  }
  return to_numpy(all_weights(event, sequence));
}

List numbers(std::span<const Index> values) {
  return list_of(values, [](Index value) { return value; });
}

}  // namespace

std::unique_ptr<Observer> observer_of(const Object& hook) {
  if (hook.is_none()) return nullptr;
  if (PyCallable_Check(hook.ptr()) == 0)
    throw Error(ErrorKind::usage, "python.hook", concat("observe is ", repr_of(hook), "; need a callable"));
  return std::make_unique<PythonObserver>(hook);
}

std::unique_ptr<Intervention> intervention_of(const Object& hook) {
  if (hook.is_none()) return nullptr;
  return std::make_unique<PythonIntervention>(hook);
}

void define_events(const Module& module) {
  using A = LiveAttention;
  Class<A>("AttentionEvent",
           "One attention of a run. q, k, v: [1, head, token, dim], after rotations and norms; lse: [1, "
           "head, token]; x: [token, width], what queries are projected from. weights(head): [query, key]; "
           "without a head [head, query, key].")
      .property("kind", [](const A&) { return "attention"; })
      .property("part", [](const A& e) { return from_part(e.get().part); })
      .property("layer", [](const A& e) { return e.get().layer; })
      .property("heads", [](const A& e) { return e.get().q.dim(1); })
      .property("q", [](const A& e) { return to_numpy_copy(e.get().q); })
      .property("k", [](const A& e) { return to_numpy_copy(e.get().k); })
      .property("v", [](const A& e) { return to_numpy_copy(e.get().v); })
      .property("lse", [](const A& e) { return to_numpy_copy(e.get().lse); })
      .property("x", [](const A& e) { return to_numpy_copy(e.get().x); })
      .property("q_starts", [](const A& e) { return numbers(e.get().options.q_starts); })
      .property("k_starts", [](const A& e) { return numbers(e.get().options.k_starts); })
      .property("positions", [](const A& e) { return numbers(e.get().positions); })
      .def<&event_weights>("weights", arg("head", none()), KeywordsOnly(), arg("sequence", 0))
      .add_to(module);
  using R = LiveResidual;
  Class<R>("ResidualEvent",
           "The residual stream x, [token, width]: layer 0 is the input of the first block, layer n the "
           "output of block n - 1.")
      .property("kind", [](const R&) { return "residual"; })
      .property("part", [](const R& e) { return from_part(e.get().part); })
      .property("layer", [](const R& e) { return e.get().layer; })
      .property("starts", [](const R& e) { return numbers(e.get().starts); })
      .property("x", [](const R& e) { return to_numpy_copy(e.get().x); })
      .add_to(module);
  using X = LiveExperts;
  Class<X>("ExpertsEvent",
           "The experts selected for each token of a layer. logits: [token, expert]; used: experts for each "
           "token; experts: their numbers, [token, used] as one list, the one with the largest weight "
           "first.")
      .property("kind", [](const X&) { return "experts"; })
      .property("part", [](const X& e) { return from_part(e.get().part); })
      .property("layer", [](const X& e) { return e.get().layer; })
      .property("logits", [](const X& e) { return to_numpy_copy(e.get().logits); })
      .property("used", [](const X& e) { return e.get().used; })
      .property(
          "experts",
          [](const X& e) { return list_of(e.get().experts, [](std::int32_t expert) { return expert; }); })
      .add_to(module);
  using P = LivePlace;
  Class<P>("AttentionPlace",
           "The attention that is about to start: what mask(place) of an intervention is called with.")
      .property("part", [](const P& e) { return from_part(e.get().part); })
      .property("layer", [](const P& e) { return e.get().layer; })
      .property("heads", [](const P& e) { return e.get().heads; })
      .property("q_starts", [](const P& e) { return numbers(e.get().q_starts); })
      .property("k_starts", [](const P& e) { return numbers(e.get().k_starts); })
      .add_to(module);
}

}  // namespace headlight::python
