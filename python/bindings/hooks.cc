// Python callables that watch a run, or change it. What they are given is copied when they ask for it: an array that a
// hook keeps stays valid, and an event that it keeps says that the call is over.
#include <cstring>

#include "bindings/arrays.h"
#include "bindings/model.h"
#include "core/concat.h"

namespace headlight::python {
namespace {

// What an event refers to, until the hook returns.
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

// Calls the hook with the event, which ends with the call, whatever becomes of it.
template <class Event, class... More>
py::object call_with(const py::handle& hook, const Event& event, More&&... more) {
  const auto live = std::make_shared<Live<Event>>(&event);
  struct Ending {
    Live<Event>& live;
    ~Ending() { live.end(); }
  } const ending{*live};
  return hook(live, std::forward<More>(more)...);
}

class PythonObserver : public Observer {
 public:
  explicit PythonObserver(py::object hook) : hook_(std::move(hook)) {}
  void on_attention(const AttentionEvent& event) override { tell(event); }
  void on_residual(const ResidualEvent& event) override { tell(event); }
  void on_experts(const ExpertsEvent& event) override { tell(event); }

 private:
  template <class Event>
  void tell(const Event& event) {
    const py::gil_scoped_acquire hold;
    call_with(hook_, event);
  }
  py::object hook_;
};

// The numbers that a hook returned, written where the heads' outputs are.
void write_back(const py::object& numbers, const TensorView& z) {
  const py::module_ numpy = py::module_::import("numpy");
  const py::object array =
      numpy.attr("ascontiguousarray")(numbers, z.dtype() == DType::f64 ? "float64" : "float32");
  const ArrayArg given(array, "what the hook returned");
  if (!(given.view.shape() == z.shape()))
    throw Error(ErrorKind::input, "python.hook",
                concat("the hook returned ", given.view.shape().text(), "; need ", z.shape().text(),
                       " (token, head, dim), or None"));
  const auto row = static_cast<std::size_t>(z.dim(2)) * size_of(z.dtype());
  const auto* from = given.view.as<std::byte>();
  for (Index t = 0; t < z.dim(0); ++t)
    for (Index h = 0; h < z.dim(1); ++h, from += row)
      std::memcpy(
          z.as<std::byte>() + (t * z.stride(0) + h * z.stride(1)) * static_cast<Index>(size_of(z.dtype())),
          from, row);
}

// An object with `heads` or `mask` methods, or a callable that stands for `heads`.
class PythonIntervention : public Intervention {
 public:
  explicit PythonIntervention(const py::object& hook) {
    heads_ = py::getattr(hook, "heads", py::none());
    mask_ = py::getattr(hook, "mask", py::none());
    reads_keys_ = to_switch(py::getattr(hook, "reads_keys", py::bool_(false)), "reads_keys");
    if (!heads_.is_none() || !mask_.is_none()) return;
    if (PyCallable_Check(hook.ptr()) == 0)
      throw Error(
          ErrorKind::usage, "python.hook",
          concat("intervene is ", repr_of(hook), "; need a callable, or an object with heads() or mask()"));
    heads_ = hook;
  }

  ConstTensorView mask(const AttentionPlace& place) override {
    if (mask_.is_none()) return {};
    const py::gil_scoped_acquire hold;
    const py::object result = call_with(mask_, place);
    if (result.is_none()) return {};
    // A copy: the hook may change its array while the run reads this one.
    const ArrayArg given(py::module_::import("numpy").attr("array")(result, "bool"), "the hook's mask");
    kept_ = contiguous(given.view);
    return kept_;
  }

  void on_heads(const AttentionEvent& event, TensorView z) override {
    if (heads_.is_none()) return;
    const py::gil_scoped_acquire hold;
    const py::object array = to_numpy_copy(z);
    const py::object result = call_with(heads_, event, array);
    write_back(result.is_none() ? array : result, z);
  }

  [[nodiscard]] bool reads_keys() const override { return reads_keys_; }

 private:
  py::object heads_, mask_;
  Tensor kept_;
  bool reads_keys_ = false;
};

py::object event_weights(const LiveAttention& live, const py::object& head, Index sequence) {
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
  Tensor all =
      Tensor::uninitialized({heads, event.queries(sequence), event.keys(sequence)}, event.lse.dtype());
  const auto size = static_cast<std::size_t>(all.dim(1) * all.dim(2)) * size_of(all.dtype());
  for (Index h = 0; h < heads; ++h) {
    const Tensor one = event.weights(sequence, h);
    std::memcpy(all.as<std::byte>() + static_cast<std::size_t>(h) * size, one.as<std::byte>(), size);
  }
  return to_numpy(std::move(all));
}

template <class Type, class Get>
auto copied(Get get) {
  return [get](const Type& live) { return to_numpy_copy(get(live.get())); };
}

py::list numbers(std::span<const Index> values) {
  return list_of(values, [](Index value) { return py::int_(value); });
}

}  // namespace

std::unique_ptr<Observer> observer_of(const py::object& hook) {
  if (hook.is_none()) return nullptr;
  if (PyCallable_Check(hook.ptr()) == 0)
    throw Error(ErrorKind::usage, "python.hook", concat("observe is ", repr_of(hook), "; need a callable"));
  return std::make_unique<PythonObserver>(hook);
}

std::unique_ptr<Intervention> intervention_of(const py::object& hook) {
  if (hook.is_none()) return nullptr;
  return std::make_unique<PythonIntervention>(hook);
}

void define_events(py::module_& module) {
  using A = LiveAttention;
  py::class_<A, std::shared_ptr<A>>(module, "AttentionEvent")
      .def_property_readonly("kind", [](const A&) { return "attention"; })
      .def_property_readonly("part", [](const A& e) { return from_part(e.get().part); })
      .def_property_readonly("layer", [](const A& e) { return e.get().layer; })
      .def_property_readonly("heads", [](const A& e) { return e.get().q.dim(1); })
      .def_property_readonly("q", copied<A>([](const AttentionEvent& e) { return e.q; }))
      .def_property_readonly("k", copied<A>([](const AttentionEvent& e) { return e.k; }))
      .def_property_readonly("v", copied<A>([](const AttentionEvent& e) { return e.v; }))
      .def_property_readonly("lse", copied<A>([](const AttentionEvent& e) { return e.lse; }))
      .def_property_readonly("x", copied<A>([](const AttentionEvent& e) { return e.x; }))
      .def_property_readonly("q_starts", [](const A& e) { return numbers(e.get().options.q_starts); })
      .def_property_readonly("k_starts", [](const A& e) { return numbers(e.get().options.k_starts); })
      .def_property_readonly("positions", [](const A& e) { return numbers(e.get().positions); })
      .def("weights", &event_weights, py::arg("head") = py::none(), py::kw_only(), py::arg("sequence") = 0);
  using R = LiveResidual;
  py::class_<R, std::shared_ptr<R>>(module, "ResidualEvent")
      .def_property_readonly("kind", [](const R&) { return "residual"; })
      .def_property_readonly("part", [](const R& e) { return from_part(e.get().part); })
      .def_property_readonly("layer", [](const R& e) { return e.get().layer; })
      .def_property_readonly("x", copied<R>([](const ResidualEvent& e) { return e.x; }));
  using X = LiveExperts;
  py::class_<X, std::shared_ptr<X>>(module, "ExpertsEvent")
      .def_property_readonly("kind", [](const X&) { return "experts"; })
      .def_property_readonly("part", [](const X& e) { return from_part(e.get().part); })
      .def_property_readonly("layer", [](const X& e) { return e.get().layer; })
      .def_property_readonly("logits", copied<X>([](const ExpertsEvent& e) { return e.logits; }))
      .def_property_readonly("used", [](const X& e) { return e.get().used; })
      .def_property_readonly("experts", [](const X& e) {
        return list_of(e.get().experts, [](std::int32_t expert) { return py::int_(expert); });
      });
  using P = LivePlace;
  py::class_<P, std::shared_ptr<P>>(module, "AttentionPlace")
      .def_property_readonly("part", [](const P& e) { return from_part(e.get().part); })
      .def_property_readonly("layer", [](const P& e) { return e.get().layer; })
      .def_property_readonly("heads", [](const P& e) { return e.get().heads; })
      .def_property_readonly("q_starts", [](const P& e) { return numbers(e.get().q_starts); })
      .def_property_readonly("k_starts", [](const P& e) { return numbers(e.get().k_starts); });
}

}  // namespace headlight::python
