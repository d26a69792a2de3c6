#include "measure/model_runs.h"

#include <algorithm>

#include "core/concat.h"
#include "headlight/error.h"
#include "measure/decoder_cost.h"
#include "measure/timing.h"
#include "models/load.h"
#include "models/random_model.h"
#include "models/tokenizer_file.h"

namespace headlight::measure {
namespace {

models::Tokens made_up_tokens(Index count, Index vocabulary) {
  std::vector<std::int32_t> ids;
  for (Index i = 0; i < count; ++i) ids.push_back(static_cast<std::int32_t>((i * 7919 + 13) % vocabulary));
  models::Tokens tokens;
  tokens.append(ids);
  return tokens;
}

class TransformerRun : public ModelRun {
 public:
  explicit TransformerRun(std::unique_ptr<models::Transformer> model) : model_(std::move(model)) {
    const models::TransformerConfig& c = model_->config();
    length_ = c.max_positions > 0 ? std::min<Index>(kPrompt, c.max_positions) : kPrompt;
    for (const Parameter* parameter : model_->parameters()) {
      const auto size = static_cast<double>(parameter->shape().elements());
      const bool table = parameter->shape().rank == 2 && parameter->shape()[0] == c.vocabulary;
      bytes_ += parameter->stored.empty() ? 4 * size : static_cast<double>(parameter->stored.bytes());
      // An embedding table is not read completely, unless it is tied to the output projection.
      if (table && !c.head.tied && parameter == model_->parameters().front())
        bytes_ -= static_cast<double>(parameter->stored.bytes());
      if (parameter->shape().rank == 2) (table ? head_ : blocks_) += size;
    }
    if (!c.head.tied) head_ /= 2;
  }

  double prefill(Context& ctx) override {
    const models::Tokens prompt = made_up_tokens(length_, model_->config().vocabulary);
    back_to(ctx, 0);
    const double begin = now_seconds();
    finish(model_->next(ctx, decoding_, prompt));
    return now_seconds() - begin;
  }
  double decode(Context& ctx, std::int64_t context) override {
    const Index vocabulary = model_->config().vocabulary;
    back_to(ctx, context);
    if (decoding_.length(0) < context)
      finish(model_->next(ctx, decoding_, made_up_tokens(context - decoding_.length(0), vocabulary)));
    const models::Tokens token = made_up_tokens(1, vocabulary);
    const double begin = now_seconds();
    finish(model_->next(ctx, decoding_, token));
    return now_seconds() - begin;
  }
  [[nodiscard]] std::int64_t length() const override { return length_; }
  [[nodiscard]] double flops() const override {
    const auto n = static_cast<double>(length_);
    double attention = 0;
    for (const nn::BlockConfig& b : model_->config().decoder)
      attention += 2 * n * n * static_cast<double>(b.attention.heads * b.attention.head_dim);
    return 2 * n * blocks_ + 2 * head_ + attention;
  }
  [[nodiscard]] double bytes(std::int64_t context) const override {
    double cache = 0;
    for (const nn::BlockConfig& b : model_->config().decoder)
      cache += static_cast<double>(b.attention.kv_heads * b.attention.head_dim) * 2 * 4;
    return bytes_ + cache * static_cast<double>(context);
  }
  [[nodiscard]] DecoderCost cost() const override { return decoder_cost(*model_); }

 private:
  static constexpr Index kPrompt = 512;
  // At most `context` tokens in the cache, whose memory is kept, because allocation is not part of the measurement.
  void back_to(Context& ctx, std::int64_t context) {
    if (decoding_.items == 0 || target_ != ctx.target()) {
      decoding_ = model_->start(ctx, 1);
      target_ = ctx.target();
    }
    if (decoding_.length(0) > context)
      for (KvCache& cache : decoding_.caches.self) cache.truncate(0, context);
  }
  static void finish(const Tensor& logits) {
    const float first = logits.as<float>()[0];
    if (!(first - first == 0))
      throw Error(ErrorKind::numeric, "bench.model", "bench: the model returned logits that are not finite");
  }

  std::unique_ptr<models::Transformer> model_;
  models::Decoding decoding_;
  SimdTarget target_ = SimdTarget::automatic;
  Index length_ = 0;
  double bytes_ = 0, blocks_ = 0, head_ = 0;
};

StoredType type_of(std::string_view name) {
  for (const StoredType type : stored_types())
    if (name_of(type) == name) return type;
  throw Error(ErrorKind::usage, "bench.type", concat("no matrix is stored as \"", name, "\""));
}

}  // namespace

std::unique_ptr<ModelRun> make_model_run(std::string_view shape, std::string_view type) {
  return std::make_unique<TransformerRun>(models::random_model(models::known_shape(shape), type_of(type)));
}

std::unique_ptr<ModelRun> load_model_run(const std::string& path) {
  auto model = models::load_transformer(path).model;
  if (model->config().kind != models::ModelKind::decoder)
    throw Error(ErrorKind::input, "bench.model", "bench: decoding needs a decoder; choose another model");
  return std::make_unique<TransformerRun>(std::move(model));
}

double time_to_first_token(Context& ctx, const std::string& path) {
  const double begin = now_seconds();
  const auto model = models::load_transformer(path).model;
  models::Decoding decoding = model->start(ctx, 1);
  const Tensor logits = model->next(ctx, decoding, made_up_tokens(1, model->config().vocabulary));
  return now_seconds() - begin;
}

double tokenize_rate(const std::string& path, const std::string& text) {
  const Tokenizer tokenizer = models::load_tokenizer(path);
  double best = 0;
  for (int run = 0; run < 3; ++run) {
    const double begin = now_seconds();
    const std::size_t tokens = tokenizer.encode(text).size();
    if (tokens > 0) best = std::max(best, static_cast<double>(text.size()) / (now_seconds() - begin));
  }
  return best;
}

}  // namespace headlight::measure
