// One forward pass and its numbers.
#include "headlight/run.h"

#include <algorithm>

#include "bindings/arrays.h"
#include "bindings/model.h"

namespace headlight::python {
namespace {

Range range_of(Handle value, Index size, const char* name) {
  const auto [begin, end] = to_range(value, size, name);
  return {begin, end};
}

Object weights(const Run& run, const Object& part, int layer, int head, const Object& queries,
               const Object& keys, const Object& threads) {
  const Part which = to_part(part);
  const Range rows = range_of(queries, run.queries(which).size(), "queries"),
              columns = range_of(keys, run.keys(which).size(), "keys");
  Context& ctx = context_for(threads);
  Tensor out;
  // The library reads an empty range as everything.
  if (rows.size() == 0 || columns.size() == 0) {
    out = Tensor({rows.size(), columns.size()});
  } else {
    const ReleaseLock free;
    out = run.weights({which, layer, head}, rows, columns, ctx);
  }
  return to_numpy(std::move(out));
}

Object logits(const Run& run, const Object& positions, const Object& threads) {
  const Range rows = run.positions() == 0 ? Range{} : range_of(positions, run.positions(), "positions");
  Context& ctx = context_for(threads);
  if (run.positions() > 0 && rows.size() == 0) return to_numpy(Tensor({0, run.model().info().vocabulary}));
  Tensor out;
  {
    const ReleaseLock free;
    out = run.logits(rows, ctx);
  }
  return to_numpy(std::move(out));
}

Dict statistics(const Run& run, const Object& part, int layer, int head) {
  const Head which{to_part(part), layer, head};
  Context& ctx = default_context();
  HeadStatistics found;
  {
    const ReleaseLock free;
    found = run.statistics(which, ctx);
  }
  const auto array = [](const auto& values, DType dtype) {
    Tensor tensor = Tensor::uninitialized({static_cast<Index>(values.size())}, dtype);
    std::copy(values.begin(), values.end(), tensor.as<typename std::decay_t<decltype(values)>::value_type>());
    return to_numpy(std::move(tensor));
  };
  Dict out;
  out["entropy"] = array(found.entropy, DType::f32);
  out["largest_weight"] = array(found.largest_weight, DType::f32);
  out["largest_key"] = array(found.largest_key, DType::i64);
  out["received"] = array(found.received, DType::f32);
  return out;
}

Dict prediction(const Run& run, Index position, Index count) {
  Prediction found;
  {
    const ReleaseLock free;
    found = run.prediction(position, count);
  }
  const auto entry = [](const TokenProbability& token) {
    return tuple_of(token.id, token.probability, token.logit);
  };
  Dict out;
  out["top"] = list_of(found.top, entry);
  out["actual"] = found.actual ? Object(entry(*found.actual)) : none();
  out["rank"] = found.rank;
  return out;
}

Object heat_map(const Run& run, const Object& part, int layer, int head, Index rows, Index columns,
                bool mean) {
  const Head which{to_part(part), layer, head};
  Tensor map;
  {
    const ReleaseLock free;
    map = run.heat_map(which, rows, columns, mean ? Pool::mean : Pool::max);
  }
  return to_numpy(std::move(map));
}

Object scores(const Run& run, const Object& part, int layer, int head) {
  const Head which{to_part(part), layer, head};
  Tensor found;
  {
    const ReleaseLock free;
    found = run.scores(which);
  }
  return to_numpy(std::move(found));
}

}  // namespace

void define_run(const Module& module) {
  Class<Run>("Run")
      .def("parts", [](const Run& run) { return list_of(run.parts(), from_part); })
      .def("source", [](const Run& run) { return from_tokenized(run.source()); })
      .def("target", [](const Run& run) { return from_tokenized(run.target()); })
      .def("queries",
           [](const Run& run, const Object& part) { return from_tokenized(run.queries(to_part(part))); })
      .def("keys", [](const Run& run, const Object& part) { return from_tokenized(run.keys(to_part(part))); })
      .def("position_tokens", [](const Run& run) { return from_tokenized(run.position_tokens()); })
      .def<&Run::predicts_next>("predicts_next")
      .def<&Run::positions>("positions")
      .def("hidden_states", [](const Run& run) { return to_numpy_copy(run.hidden_states()); })
      .def<&Run::bytes>("nbytes")
      .def<&weights>("weights")
      .def<&scores>("scores")
      .def("values",
           [](const Run& run, const Object& part, int layer, int head) {
             return to_numpy(run.values({to_part(part), layer, head}));
           })
      .def<&logits>("logits")
      .def<&statistics>("statistics")
      .def<&prediction>("prediction")
      .def<&heat_map>("heat_map")
      .def("replay",
           [](const Run& run, const Object& observe) {
             const std::unique_ptr<Observer> observer = observer_of(observe);
             if (!observer) return;
             const ReleaseLock free;
             run.replay(*observer);
           })
      .add_to(module);
}

}  // namespace headlight::python
