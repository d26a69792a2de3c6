#include "inspect/head_steps.h"

#include <algorithm>
#include <cmath>

#include "core/concat.h"
#include "headlight/error.h"
#include "headlight/reference.h"

namespace headlight::inspect {
namespace {

Numbers row_of(ConstTensorView x, Index row) {
  Numbers out(static_cast<std::size_t>(x.dim(1)));
  for (std::size_t d = 0; d < out.size(); ++d) out[d] = x.at(row, static_cast<Index>(d));
  return out;
}

// A norm's numbers as they are used.
struct NormNumbers {
  nn::NormConfig config;
  Numbers weight, bias;

  NormNumbers(const nn::Norm& norm, const nn::NormConfig& of) : config(of) {
    for (Index i = 0; i < norm.weight.value.dim(0); ++i) {
      weight.push_back(norm.weight.value.at(i) + (of.weight_plus_one ? 1 : 0));
      bias.push_back(norm.bias.value.empty() ? 0 : norm.bias.value.at(i));
    }
  }
  Numbers apply(const Numbers& x, double* mean_out, double* size_out) const {
    const auto n = static_cast<double>(x.size());
    double mean = 0, squares = 0;
    if (config.kind == nn::NormKind::layer) {
      for (const double value : x) mean += value;
      mean /= n;
    }
    for (const double value : x) squares += (value - mean) * (value - mean);
    const double size = std::sqrt(squares / n + config.eps);
    Numbers y(x.size());
    for (std::size_t d = 0; d < x.size(); ++d) y[d] = (x[d] - mean) / size * weight[d] + bias[d];
    if (mean_out != nullptr) *mean_out = mean;
    if (size_out != nullptr) *size_out = size;
    return y;
  }
};

Numbers turned(const Rotation& rotation, const Numbers& x, Index position) {
  Numbers y = x;
  for (Index j = 0; j < rotation.half; ++j) {
    const auto first = static_cast<std::size_t>(rotation.interleaved ? 2 * j : j);
    const auto second = static_cast<std::size_t>(rotation.interleaved ? 2 * j + 1 : j + rotation.half);
    const double angle = static_cast<double>(position) * rotation.frequencies[static_cast<std::size_t>(j)];
    const double c = std::cos(angle) * rotation.factor, s = std::sin(angle) * rotation.factor;
    y[first] = x[first] * c - x[second] * s;
    y[second] = x[second] * c + x[first] * s;
  }
  return y;
}

// Keeps what one attention call saw.
class Probe : public Observer {
 public:
  explicit Probe(const StepsRequest& request) : request_(request) {}

  void on_attention(const AttentionEvent& event) override {
    if (event.part != request_.part || event.layer != request_.place.layer) return;
    found = true;
    const Index head = request_.place.head, kv = head / (event.q.dim(1) / event.k.dim(1));
    const Index queries = event.queries(0), tokens = event.keys(0), dim = event.q.dim(3);
    const auto copy = [](ConstTensorView from, Index rows) {
      Tensor out({rows, from.dim(1)}, DType::f64);
      for (Index t = 0; t < rows; ++t)
        for (Index d = 0; d < from.dim(1); ++d) out.view().set(t, d, from.at(t, d));
      return out;
    };
    x = copy(event.x, queries);
    if (!event.memory.empty()) memory = copy(event.memory, tokens);
    if (!event.stream.empty()) stream = copy(event.stream, queries);
    options = event.options;
    keys = tokens;
    position = options.visible.position(request_.query, queries, tokens);
    seen = options.visible.keys_for(request_.query, queries, tokens);
    if (!options.alibi_slopes.empty()) slope = options.alibi_slopes.at(head);
    if (!options.sinks.empty()) sink = options.sinks.at(head);
    if (!options.bias.empty()) {
      const auto at = [&](int axis, Index place) { return options.bias.dim(axis) == 1 ? Index{0} : place; };
      for (Index j = 0; j < tokens; ++j)
        bias.push_back(options.bias.at(Index{0}, at(1, head), at(2, request_.query), at(3, j)));
    }
    const Tensor row = event.weights(0, head, {request_.query, request_.query + 1});
    for (Index j = 0; j < tokens; ++j) kernel.push_back(row.at(Index{0}, j));
    reference(event, head, kv, dim);
  }

  bool found = false;
  Tensor x, memory, stream;
  AttentionOptions options;  // only its plain numbers are read after the run
  Index keys = 0, position = 0;
  Range seen;
  double slope = 0;
  std::optional<double> sink;
  Numbers bias, kernel, exact;

 private:
  // The reference on the very queries and keys that the kernel was given.
  void reference(const AttentionEvent& event, Index head, Index kv, Index dim) {
    Tensor q({1, 1, 1, dim}, DType::f64), k({1, 1, keys, dim}, DType::f64), out({1, 1, 1, dim}, DType::f64);
    Tensor weights({1, 1, 1, keys}, DType::f64), row, slopes, sinks;
    for (Index d = 0; d < dim; ++d) q.view().set(0, 0, 0, d, event.q.at(0, head, request_.query, d));
    for (Index j = 0; j < keys; ++j)
      for (Index d = 0; d < dim; ++d) k.view().set(0, 0, j, d, event.k.at(0, kv, j, d));
    AttentionOptions o;
    o.scale = options.scale;
    o.softcap = options.softcap;
    o.visible = options.visible;
    o.visible.offset = position;
    if (!bias.empty()) row = Tensor::from(bias, {1, 1, 1, keys}, DType::f64), o.bias = row;
    if (slope != 0) slopes = Tensor::from(Numbers{slope}, {1}, DType::f64), o.alibi_slopes = slopes;
    if (sink) sinks = Tensor::from(Numbers{*sink}, {1}, DType::f64), o.sinks = sinks;
    reference::attention(q, k, k, o, {.out = out, .weights = weights});
    for (Index j = 0; j < keys; ++j) exact.push_back(weights.at(Index{0}, Index{0}, Index{0}, j));
  }
  StepsRequest request_;
};

// Follows tokens through the layer.
class Follower {
 public:
  Follower(const Subject& subject, const StepsRequest& request, const Probe& probe)
      : probe_(probe),
        block_(subject.model->stack(request.part).blocks[static_cast<std::size_t>(request.place.layer)]),
        module_(attention_layer(subject, request.part, request.place.layer)),
        matrices_(head_matrices(module_, request.place.head)) {
    steps_.request = request;
    describe();
  }

  HeadSteps follow() {
    const StepsRequest& r = steps_.request;
    const Tensor& read_by_keys = probe_.memory.empty() ? probe_.x : probe_.memory;
    const NormNumbers* norm = norm_ ? &*norm_ : nullptr;
    steps_.query = token(r.query, probe_.x, {matrices_.q, module_.query_norm, norm});
    // What cross-attention looks at had its norm at the end of the encoder.
    const Way to_key{matrices_.k, module_.key_norm, steps_.cross ? nullptr : norm};
    for (Index j = 0; j < probe_.keys; ++j) {
      TokenSteps key = token(j, read_by_keys, to_key);
      steps_.keys.push_back(key.ready());
      steps_.values.push_back(matrices_.v.apply(key.x));
      if (j == r.key) steps_.key = std::move(key);
    }
    score();
    weigh();
    mix();
    return std::move(steps_);
  }

 private:
  void describe() {
    const nn::MultiHeadAttentionConfig& c = module_.config();
    HeadSteps& s = steps_;
    s.width = c.width, s.head_dim = c.head_dim, s.heads = c.heads;
    s.kv_head = matrices_.kv_head, s.kv_heads = c.kv_heads;
    s.cross = c.cross;
    s.qkv_bias = c.qkv_bias;
    if (!probe_.stream.empty()) {
      s.norm = block_.config().norm;
      norm_.emplace(s.cross ? block_.cross_norm : block_.attention_norm, *s.norm);
      s.norm_weight = norm_->weight, s.norm_bias = norm_->bias;
    }
    if (c.head_norm) s.head_norm = *c.head_norm;
    if (c.rope) {
      Rotation rotation;
      const Index dims = c.rope->dims > 0 ? c.rope->dims : c.head_dim;
      rotation.half = dims / 2;
      rotation.interleaved = c.rope->interleaved;
      rotation.frequencies = nn::rope_frequencies(*c.rope, dims, probe_.keys);
      rotation.factor = nn::rope_attention_factor(*c.rope);
      s.rotation = rotation;
    }
    s.usual_scale = !probe_.options.scale;
    s.scale = probe_.options.scale.value_or(1 / std::sqrt(static_cast<double>(c.head_dim)));
    s.softcap = probe_.options.softcap;
    s.slope = probe_.slope;
    s.position = probe_.position;
    s.has_bias = !probe_.bias.empty();
    s.sink = probe_.sink;
    s.visible = probe_.options.visible;
    s.seen = probe_.seen;
    s.kernel_weights = probe_.kernel;
    s.reference_weights = probe_.exact;
  }

  // From what a layer reads to its queries, or to its keys.
  struct Way {
    const MatrixRows& rows;
    const nn::Norm& head_norm;
    const NormNumbers* norm;  // the layer's own, before it; null: none
  };
  [[nodiscard]] TokenSteps token(Index i, const Tensor& read, const Way& way) const {
    TokenSteps t;
    t.token = i;
    t.x = row_of(read, i);
    if (way.norm != nullptr) {
      t.stream = row_of(probe_.stream, i);
      t.x = way.norm->apply(t.stream, &t.mean, &t.size);
    }
    t.row = way.rows.weights.front();
    t.row_bias = way.rows.bias.front();
    t.projected = way.rows.apply(t.x);
    if (steps_.head_norm)
      t.normed = NormNumbers(way.head_norm, *steps_.head_norm).apply(t.projected, nullptr, &t.head_size);
    if (steps_.rotation) t.turned = turned(*steps_.rotation, t.normed.empty() ? t.projected : t.normed, i);
    return t;
  }

  void score() {
    HeadSteps& s = steps_;
    const auto n = static_cast<std::size_t>(probe_.keys);
    const double nan = std::numeric_limits<double>::quiet_NaN();
    s.dots.assign(n, nan);
    s.scaled = s.scores = s.dots;
    if (s.softcap > 0) s.capped = s.dots;
    if (s.slope != 0) s.alibi = s.dots;
    if (s.has_bias) s.bias = s.dots;
    for (Index at = s.seen.begin; at < s.seen.end; ++at) {
      const auto j = static_cast<std::size_t>(at);
      s.dots[j] = dot(s.query.ready(), s.keys[j]);
      s.scores[j] = s.scaled[j] = s.dots[j] * s.scale;
      if (s.softcap > 0) s.scores[j] = s.capped[j] = s.softcap * std::tanh(s.scaled[j] / s.softcap);
      if (s.slope != 0) {
        s.alibi[j] = -s.slope * std::abs(static_cast<double>(s.position - at));
        s.scores[j] += s.alibi[j];
      }
      if (s.has_bias) s.scores[j] += s.bias[j] = probe_.bias[j];
    }
  }

  void weigh() {
    HeadSteps& s = steps_;
    s.top = s.sink.value_or(-INFINITY);
    for (const double score : s.scores)
      if (!std::isnan(score)) s.top = std::max(s.top, score);
    s.exps.assign(s.scores.size(), 0);
    s.weights = s.exps;
    s.sum = s.sink ? std::exp(*s.sink - s.top) : 0;
    s.sink_weight = s.sum;
    for (std::size_t j = 0; j < s.scores.size(); ++j)
      if (!std::isnan(s.scores[j])) s.sum += s.exps[j] = std::exp(s.scores[j] - s.top);
    for (std::size_t j = 0; j < s.scores.size(); ++j)
      if (s.sum > 0) s.weights[j] = s.exps[j] / s.sum;
    if (s.sum > 0) s.sink_weight /= s.sum;
  }

  void mix() {
    HeadSteps& s = steps_;
    const auto dim = static_cast<std::size_t>(s.head_dim);
    s.context.assign(dim, 0);
    for (std::size_t j = 0; j < s.weights.size(); ++j)
      for (std::size_t d = 0; d < dim; ++d) s.context[d] += s.weights[j] * s.values[j][d];
    s.output_row = matrices_.out.weights.front();
    for (const Numbers& row : matrices_.out.weights) s.output.push_back(dot(row, s.context));
  }

  const Probe& probe_;
  const nn::Block& block_;
  const nn::MultiHeadAttention& module_;
  HeadMatrices matrices_;
  std::optional<NormNumbers> norm_;
  HeadSteps steps_;
};

}  // namespace

HeadSteps head_steps(Context& ctx, const Subject& subject, const Question& question,
                     const StepsRequest& request) {
  return head_steps(subject, request,
                    [&](Observer& observer) { (void)watch(ctx, subject, question, observer); });
}

HeadSteps head_steps(const Subject& subject, const StepsRequest& request, const Replay& replay) {
  Probe probe(request);
  replay(probe);
  if (!probe.found) {
    throw Error(
        ErrorKind::usage, "inspect.steps",
        concat("the run has no ", name_of(request.part), " attention in layer ", request.place.layer));
  }
  return Follower(subject, request, probe).follow();
}

}  // namespace headlight::inspect

namespace headlight {
namespace {

double largest_gap(const Numbers& a, const Numbers& b) {
  double gap = 0;
  for (std::size_t j = 0; j < a.size(); ++j) gap = std::max(gap, std::abs(a[j] - b[j]));
  return gap;
}

}  // namespace

const Numbers& TokenSteps::ready() const {
  if (!turned.empty()) return turned;
  return normed.empty() ? projected : normed;
}

double HeadSteps::kernel_gap() const { return largest_gap(weights, kernel_weights); }
double HeadSteps::reference_gap() const { return largest_gap(weights, reference_weights); }

}  // namespace headlight
