// Analysis of runs: what to look at first, one weight step by step, links, labels of heads, two runs compared.
#include "bindings/arrays.h"
#include "bindings/model.h"
#include "headlight/look.h"

namespace headlight::python {
namespace {

const char* name_of(LookReason reason) {
  switch (reason) {
    case LookReason::pronoun: return "pronoun";
    case LookReason::strongest_link: return "strongest_link";
    case LookReason::strongest_key: return "strongest_key";
    case LookReason::strongest_head: return "strongest_head";
    case LookReason::nothing_farther: return "nothing_farther";
  }
  return "strongest_link";
}

Tuple from_head(const Head& head) { return tuple_of(from_part(head.part), head.layer, head.head); }

Range range_or_none(const Object& value) {
  if (value.is_none()) return {};
  const std::vector<Index> ends = to_indices(value, "range");
  if (ends.size() != 2) throw Error(ErrorKind::usage, "python.range", "a range has two ends");
  return {ends[0], ends[1]};
}

Dict look_first(const Run& run, const Object& part, const Object& heads, const Object& query,
                const Object& key) {
  const LookRequest request{.part = to_part_or_none(part),
                            .heads = to_places(heads),
                            .query = range_or_none(query),
                            .key = range_or_none(key),
                            .progress = progress_of(none())};
  FirstLook found;
  {
    const ReleaseLock free;
    found = first_look(run, request);
  }
  Dict out;
  out["head"] = from_head(found.head);
  out["query"] = from_range(found.query);
  out["key"] = from_range(found.key);
  out["weight"] = found.weight;
  out["chance"] = found.chance;
  out["heads_searched"] = found.heads_searched;
  out["reason"] = name_of(found.reason);
  return out;
}

Object array_of(const Numbers& values) {
  if (values.empty()) return none();
  return to_numpy(Tensor::from(values, {static_cast<Index>(values.size())}, DType::f64));
}

Dict token_steps(const TokenSteps& t) {
  Dict out;
  out["token"] = t.token;
  out["x"] = array_of(t.x);
  out["projected"] = array_of(t.projected);
  out["normed"] = array_of(t.normed);
  out["turned"] = array_of(t.turned);
  out["ready"] = array_of(t.ready());
  return out;
}

Dict explain_weight(const Run& run, const Object& part, int layer, int head, Index query, Index key) {
  const ExplainRequest request{{to_part(part), layer, head}, query, key};
  HeadSteps steps;
  {
    const ReleaseLock free;
    steps = explain(run, request);
  }
  Dict out;
  out["query"] = token_steps(steps.query);
  out["key"] = token_steps(steps.key);
  out["seen"] = from_range(steps.seen);
  out["scale"] = steps.scale;
  out["softcap"] = steps.softcap;
  out["slope"] = steps.slope;
  out["sink"] = value_or_none(steps.sink);
  for (const auto& [name, values] : std::initializer_list<std::pair<const char*, const Numbers*>>{
           {"dots", &steps.dots},
           {"scaled", &steps.scaled},
           {"capped", &steps.capped},
           {"alibi", &steps.alibi},
           {"bias", &steps.bias},
           {"scores", &steps.scores},
           {"exps", &steps.exps},
           {"weights", &steps.weights},
           {"context", &steps.context},
           {"output", &steps.output},
           {"kernel_weights", &steps.kernel_weights}})
    out[name] = array_of(*values);
  out["top"] = steps.top;
  out["sum"] = steps.sum;
  out["kernel_gap"] = steps.kernel_gap();
  out["reference_gap"] = steps.reference_gap();
  return out;
}

Dict figures_of(const HeadFigures& figures) {
  Dict out, scores;
  for (const PatternScore& pattern : figures.patterns)
    scores.set(from_text(headlight::name_of(pattern.label)), value_or_none(pattern.score));
  out["label"] = from_text(figures.label_text());
  out["labels"] = list_of(figures.labels, [](Label label) { return from_text(headlight::name_of(label)); });
  out["scores"] = scores;
  out["entropy"] = figures.entropy;
  out["effective_keys"] = figures.effective_keys;
  out["mean_distance"] = figures.mean_distance;
  out["sink_share"] = figures.sink_share;
  out["largest_weight"] = figures.largest_weight;
  return out;
}

List labels_of(const Model& model, const Object& texts, const Object& progress, const Object& threads) {
  const std::vector<std::string> list = to_texts(texts, "texts");
  const Progress report = progress_of(progress);
  Context& ctx = context_for(threads);
  std::vector<LabelledHead> heads;
  {
    const ReleaseLock free;
    heads = label_heads(ctx, model, list, report);
  }
  return list_of(heads, [](const LabelledHead& head) {
    return tuple_of(from_part(head.part), head.place.layer, head.place.head, figures_of(head.text),
                    figures_of(head.battery));
  });
}

List links_of(const Run& run, const Object& link, const Object& part) {
  const LinkRequest request{to_text(link, "link"), to_part_or_none(part)};
  std::vector<LinkScore> found;
  {
    const ReleaseLock free;
    found = find_links(run, request);
  }
  return list_of(found, [](const LinkScore& score) {
    return tuple_of(from_head(score.head), score.weight, score.chance, value_or_none(score.key));
  });
}

std::optional<HeadPlace> place_or_none(const Object& value) {
  if (value.is_none()) return std::nullopt;
  return to_places(tuple_of(value)).front();
}

Dict compare_runs(const Run& a, const Run& b, const Object& part, const Object& query, const Object& head_a,
                  const Object& head_b, const Object& progress) {
  const CompareRequest request{.part = to_part_or_none(part),
                               .query = query.is_none() ? std::string() : to_text(query, "query"),
                               .head_a = place_or_none(head_a),
                               .head_b = place_or_none(head_b)};
  const Progress report = progress_of(progress);
  Comparison found;
  {
    const ReleaseLock free;
    found = compare(a, b, request, report);
  }
  const auto unit = [](const ComparedUnit& u) { return tuple_of(u.a, u.b); };
  Dict out;
  out["by_words"] = found.by_words;
  out["rows"] = list_of(found.rows, unit);
  out["columns"] = list_of(found.columns, unit);
  out["heads"] = list_of(found.heads, [](const HeadDifference& d) {
    return tuple_of(from_head(d.a), from_head(d.b), d.distance);
  });
  out["weights_a"] = to_numpy(std::move(found.weights_a));
  out["weights_b"] = to_numpy(std::move(found.weights_b));
  return out;
}

}  // namespace

void define_questions(const Module& module) {
  module.def<&look_first>("first_look");
  module.def<&explain_weight>("explain");
  module.def<&labels_of>("label_heads");
  module.def<&links_of>("find_links");
  module.def<&compare_runs>("compare");
  module.def("find_words", [](const Run& run, const Object& part, bool of_keys, const Object& words) {
    const Part which = to_part(part);
    return from_range(
        find_words(of_keys ? run.keys(which) : run.queries(which), to_text(words, "words")).tokens);
  });
  module.def("find_token", [](const Model& model, const Object& text) {
    return find_token(model, to_text(text, "token"));
  });
  module.def("usual_position", [](const Run& run) { return usual_position(run); });
}

}  // namespace headlight::python
