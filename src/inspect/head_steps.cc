#include "inspect/head_steps.h"

#include <algorithm>
#include <cmath>

#include "core/concat.h"
#include "headlight/error.h"
#include "inspect/attention_probe.h"
#include "inspect/exact_layers.h"
#include "nn/attention.h"

namespace headlight::inspect {
namespace {

// Computes a token's path through the layer.
class Follower {
 public:
  Follower(const LoadedModel& loaded, const StepsRequest& request, const AttentionProbe& probe)
      : probe_(probe),
        block_(loaded.model->stack(request.part).block(static_cast<std::size_t>(request.place.layer))),
        module_(attention_layer(loaded, request.part, request.place.layer)),
        stack_(loaded.model->stack(request.part)),
        matrices_(head_matrices(module_, request.place.head)) {
    steps_.request = request;
    describe();
    gather_rows();
  }

  HeadSteps follow() {
    const StepsRequest& r = steps_.request;
    const Tensor& read_by_keys = probe_.memory.empty() ? probe_.x : probe_.memory;
    const NormNumbers* norm = norm_ ? &*norm_ : nullptr;
    steps_.query = token(r.query, probe_.x, {Side::query, matrices_.q, module_.query_norm, norm});
    // The keys of cross-attention were normalized at the end of the encoder.
    const Way to_key{Side::key, matrices_.k, module_.key_norm, steps_.cross ? nullptr : norm};
    for (Index j = 0; j < probe_.keys; ++j) {
      TokenSteps key = token(j, read_by_keys, to_key);
      steps_.keys.push_back(key.ready());
      steps_.values.push_back(matrices_.v.apply(key.latent.empty() ? key.x : key.latent));
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
    s.qkv_bias = c.qkv_bias, s.out_bias = c.out_bias;
    if (!probe_.stream.empty()) {
      s.norm = block_.config().norm;
      norm_.emplace(s.cross ? block_.cross_norm : block_.attention_norm, *s.norm);
      s.norm_weight = norm_->weight, s.norm_bias = norm_->bias;
    }
    if (c.head_norm) s.head_norm = *c.head_norm;
    s.head_norm_place = c.head_norm_place;
    if (c.rope) {
      Rotation rotation;
      const Index dims = c.rope->dims > 0 ? c.rope->dims : c.turned_dim();
      rotation.first = c.head_dim - c.turned_dim();
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
    s.has_terms = c.disentangled.has_value();
    s.sink = probe_.sink;
    s.visible = probe_.options.visible;
    s.seen = probe_.seen;
    s.kernel_weights = probe_.kernel;
    s.reference_weights = probe_.exact;
  }

  // Numbers of the whole layer, for models in which one head's numbers need those of all heads.
  void gather_rows() {
    if (!module_.query_down.empty()) query_down_ = all_rows(module_.query_down);
    if (!module_.down.empty()) down_ = all_rows(module_.down);
    if (!steps_.head_norm || steps_.head_norm_place != nn::HeadNormPlace::all) return;
    const nn::MultiHeadAttentionConfig& c = module_.config();
    for (Index h = 0; h < c.heads; ++h) append(all_queries_, head_matrices(module_, h).q);
    for (Index h = 0; h < c.kv_heads; ++h)
      append(all_keys_, head_matrices(module_, h * (c.heads / c.kv_heads)).k);
  }
  static void append(MatrixRows& all, const MatrixRows& some) {
    all.weights.insert(all.weights.end(), some.weights.begin(), some.weights.end());
    all.bias.insert(all.bias.end(), some.bias.begin(), some.bias.end());
  }

  // From the layer's input to its queries or keys.
  enum class Side : std::uint8_t { query, key };
  struct Way {
    Side side;
    const MatrixRows& rows;
    const nn::Norm& head_norm;
    const NormNumbers* norm;  // the layer's own, before it; null: none
  };

  void project(TokenSteps& t, const Way& way) const {
    const auto& latent = module_.config().latent;
    Numbers shared;  // the end of the key, which all heads share
    if (latent && way.side == Side::key) {
      Numbers down = down_.apply(t.x);
      shared.assign(down.begin() + latent->rank, down.end());
      down.resize(static_cast<std::size_t>(latent->rank));
      t.latent = NormNumbers(module_.latent_norm, latent->norm).apply(down, nullptr, nullptr);
    } else if (latent && !query_down_.weights.empty()) {
      t.latent =
          NormNumbers(module_.query_down_norm, latent->norm).apply(query_down_.apply(t.x), nullptr, nullptr);
    }
    t.projected = way.rows.apply(t.latent.empty() ? t.x : t.latent);
    t.projected.insert(t.projected.end(), shared.begin(), shared.end());
  }

  void norm_head(TokenSteps& t, const Way& way) const {
    if (!steps_.head_norm) return;
    if (steps_.head_norm_place != nn::HeadNormPlace::all) {
      const Numbers& before = t.turned.empty() ? t.projected : t.turned;
      t.normed = NormNumbers(way.head_norm, *steps_.head_norm).apply(before, nullptr, &t.head_size);
      return;
    }
    const Index head = way.side == Side::query ? steps_.request.place.head : steps_.kv_head;
    const Range part{head * steps_.head_dim, (head + 1) * steps_.head_dim};
    const Numbers row = (way.side == Side::query ? all_queries_ : all_keys_).apply(t.x);
    t.normed =
        NormNumbers(way.head_norm, *steps_.head_norm, part).apply(t.projected, nullptr, &t.head_size, &row);
  }

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
    project(t, way);
    t.normed_last = steps_.head_norm && steps_.head_norm_place == nn::HeadNormPlace::turned;
    if (!t.normed_last) norm_head(t, way);
    if (steps_.rotation) t.turned = turned(*steps_.rotation, t.normed.empty() ? t.projected : t.normed, i);
    if (t.normed_last) norm_head(t, way);
    if (const auto& growth = module_.config().query_growth; growth && way.side == Side::query) {
      t.growth = std::log1p(std::floor(static_cast<double>(i + 1) / growth->every)) * growth->scale + 1;
      t.grown = t.ready();
      for (double& number : t.grown) number *= t.growth;
    }
    return t;
  }

  // DeBERTa: the query is multiplied with a key for the distance, the key with a query for it.
  void add_terms() {
    HeadSteps& s = steps_;
    const nn::Disentangled& d = *module_.config().disentangled;
    s.content_to_position = s.position_to_content = s.bias = s.dots;
    std::optional<NormNumbers> norm;
    if (!stack_.distance_norm.empty()) norm.emplace(stack_.distance_norm, *stack_.config().distance_norm);
    for (Index at = s.seen.begin; at < s.seen.end; ++at) {
      const auto j = static_cast<std::size_t>(at);
      Numbers row;
      const Index place = nn::distance_bucket(d, s.position - at);
      for (Index i = 0; i < s.width; ++i) row.push_back(stack_.distances.weight.at(place, i));
      if (norm) row = norm->apply(row, nullptr, nullptr);
      s.content_to_position[j] =
          d.content_to_position ? s.scale * dot(s.query.ready(), matrices_.k.apply(row)) : 0;
      s.position_to_content[j] = d.position_to_content ? s.scale * dot(s.keys[j], matrices_.q.apply(row)) : 0;
      s.scores[j] += s.bias[j] = s.content_to_position[j] + s.position_to_content[j];
    }
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
      if (s.has_bias && !s.has_terms) s.scores[j] += s.bias[j] = probe_.bias[j];
    }
    if (s.has_terms) add_terms();
  }

  void weigh() {
    HeadSteps& s = steps_;
    s.top = s.sink.value_or(-INFINITY);
    for (const double score : s.scores)
      if (!std::isnan(score)) s.top = std::max(s.top, score);
    s.exps.assign(s.scores.size(), 0);
    s.weights = s.exps;
    s.sink_exp = s.sink ? std::exp(*s.sink - s.top) : 0;
    s.sum = s.sink_weight = s.sink_exp;
    for (std::size_t j = 0; j < s.scores.size(); ++j)
      if (!std::isnan(s.scores[j])) s.sum += s.exps[j] = std::exp(s.scores[j] - s.top);
    for (std::size_t j = 0; j < s.scores.size(); ++j)
      if (s.sum > 0) s.weights[j] = s.exps[j] / s.sum;
    if (s.sum > 0) s.sink_weight /= s.sum;
  }

  void mix() {
    HeadSteps& s = steps_;
    const auto dim = static_cast<std::size_t>(module_.config().value_dim());
    s.context.assign(dim, 0);
    for (std::size_t j = 0; j < s.weights.size(); ++j)
      for (std::size_t d = 0; d < dim; ++d) s.context[d] += s.weights[j] * s.values[j][d];
    s.output_row = matrices_.out.weights.front();
    for (const Numbers& row : matrices_.out.weights) s.output.push_back(dot(row, s.context));
  }

  const AttentionProbe& probe_;
  const nn::Block& block_;
  const nn::MultiHeadAttention& module_;
  const models::Stack& stack_;
  HeadMatrices matrices_;
  MatrixRows query_down_, down_, all_queries_, all_keys_;
  std::optional<NormNumbers> norm_;
  HeadSteps steps_;
};

}  // namespace

HeadSteps head_steps(Context& ctx, const LoadedModel& loaded, const ModelInput& input,
                     const StepsRequest& request) {
  return head_steps(loaded, request, [&](Observer& observer) { (void)watch(ctx, loaded, input, observer); });
}

HeadSteps head_steps(const LoadedModel& loaded, const StepsRequest& request, const Replay& replay) {
  AttentionProbe probe(request);
  replay(probe);
  if (!probe.found) {
    throw Error(
        ErrorKind::usage, "inspect.steps",
        concat("the run has no ", name_of(request.part), " attention in layer ", request.place.layer));
  }
  HeadSteps steps = Follower(loaded, request, probe).follow();
  steps.adds_positions = loaded.model->config().embedding.positions != models::AddedPositions::none;
  return steps;
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
  if (!grown.empty()) return grown;
  if (normed_last && !normed.empty()) return normed;
  if (!turned.empty()) return turned;
  return normed.empty() ? projected : normed;
}

double HeadSteps::kernel_gap() const { return largest_gap(weights, kernel_weights); }
double HeadSteps::reference_gap() const { return largest_gap(weights, reference_weights); }

}  // namespace headlight
