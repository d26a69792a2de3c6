#include "models/recurrent.h"

#include "core/call_scope.h"
#include "core/concat.h"
#include "core/escape.h"
#include "core/float_mode.h"
#include "headlight/error.h"
#include "models/draft.h"
#include "models/json_hyperparameters.h"
#include "models/numbers.h"

namespace headlight::models {
namespace {

[[noreturn]] void refuse_recurrent(const std::string& message) {
  throw Error(ErrorKind::usage, "model.recurrent", concat("recurrent model: ", message));
}

TransformerConfig head_config(const RecurrentModelConfig& c) {
  TransformerConfig t;
  t.vocabulary = c.vocabulary, t.width = c.width;
  t.head.tied = c.tied;
  t.head.bias = true;
  t.dtype = c.dtype;
  return t;
}

Dropout place(double rate, std::uint64_t seed, std::size_t layer) { return {rate, seed, layer}; }

}  // namespace

// One run of a stack of layers over packed tokens.
struct RecurrentModel::Pass {
  const Tokens& tokens;
  const std::vector<Tensor>* states = nullptr;  // initial state of each layer; null: zero
  ConstTensorView memory = {};
  std::span<const Index> memory_starts = {};
  std::uint64_t dropout_seed = 0;  // 0: none

  [[nodiscard]] nn::RecurrentCall call(std::size_t layer) const {
    nn::RecurrentCall c;
    c.starts = tokens.starts;
    if (states != nullptr) c.state = (*states)[layer];
    c.memory = memory;
    c.memory_starts = memory_starts;
    return c;
  }
};

struct RecurrentModel::Saved {
  std::vector<Tensor> inputs;  // of each layer
  std::vector<nn::RecurrentLayer::Saved> layers;
  std::vector<Tensor> last;
};

RecurrentModel::RecurrentModel(const RecurrentModelConfig& config) : config_(config) {
  const RecurrentModelConfig& c = config_;
  if (c.vocabulary < 1 || c.width < 1 || c.layers < 1)
    refuse_recurrent(concat("vocabulary ", c.vocabulary, ", width ", c.width, ", ", c.layers,
                            " layers; need 1 or more of each"));
  if (c.attention && !c.encoder_decoder) refuse_recurrent("attention needs an encoder: set encoder_decoder");
  if (!(c.dropout >= 0 && c.dropout < 1))
    refuse_recurrent(concat("a dropout of ", c.dropout, "; need at least 0 and below 1"));
  embedding_ = nn::Embedding("embedding", c.vocabulary, c.width, c.dtype);
  for (Index n = 0; n < c.layers; ++n) {
    nn::RecurrentConfig layer{.kind = c.cell, .in = c.width, .width = c.width};
    if (c.encoder_decoder) encoder_.emplace_back(concat("encoder.", n), layer, c.dtype);
    if (c.attention && n == 0) layer.memory_width = c.width;
    decoder_.emplace_back(concat("decoder.", n), layer, c.dtype);
  }
  head_ = Head(head_config(c));
}

Parameters RecurrentModel::parameters() {
  Parameters list;
  embedding_.collect(list);
  for (nn::RecurrentLayer& layer : encoder_) layer.collect(list);
  for (nn::RecurrentLayer& layer : decoder_) layer.collect(list);
  head_.collect(list);
  return list;
}

void RecurrentModel::check_batch(const Batch& batch) const {
  if (batch.targets.size() != batch.input.ids.size())
    refuse_recurrent(
        concat(batch.targets.size(), " targets for ", batch.input.size(), " tokens; need one for each"));
  if (config_.encoder_decoder && batch.source.sequences() != batch.input.sequences())
    refuse_recurrent(
        concat(batch.source.sequences(), " source sequences for ", batch.input.sequences(), " targets"));
}

Tensor RecurrentModel::run(Context& ctx, const std::vector<nn::RecurrentLayer>& layers, const Pass& pass,
                           Saved& saved, bool keep) const {
  Tensor x = Tensor::uninitialized({pass.tokens.size(), config_.width}, config_.dtype);
  embedding_.forward(ctx, pass.tokens.ids, x);
  const bool drops = config_.dropout > 0 && pass.dropout_seed != 0;
  if (drops) nn::drop(ctx, place(config_.dropout, pass.dropout_seed, 0), x, x);
  saved.layers.resize(layers.size());
  for (std::size_t n = 0; n < layers.size(); ++n) {
    auto [y, last] = layers[n].forward(ctx, x, pass.call(n), keep ? &saved.layers[n] : nullptr);
    if (drops) nn::drop(ctx, place(config_.dropout, pass.dropout_seed, n + 1), y, y);
    saved.last.push_back(std::move(last));
    if (keep) saved.inputs.push_back(std::move(x));
    x = std::move(y);
  }
  return x;
}

// Returns the gradients of the initial states of each layer.
std::vector<Tensor> RecurrentModel::back(Context& ctx, std::vector<nn::RecurrentLayer>& layers,
                                         const Pass& pass, const Saved& saved, Tensor dy,
                                         const std::vector<Tensor>& dlast, TensorView dmemory) {
  const bool drops = config_.dropout > 0 && pass.dropout_seed != 0;
  std::vector<Tensor> dstates(layers.size());
  for (std::size_t n = layers.size(); n-- > 0;) {
    if (drops) nn::drop(ctx, place(config_.dropout, pass.dropout_seed, n + 1), dy, dy);
    nn::RecurrentLayer::Grads grads;
    if (pass.states != nullptr) {
      dstates[n] = Tensor::uninitialized((*pass.states)[n].shape(), config_.dtype);
      grads.dstate = dstates[n];
    }
    if (layers[n].config().memory_width > 0) grads.dmemory = dmemory;
    dy = layers[n].backward(ctx, saved.inputs[n], pass.call(n), saved.layers[n], dy,
                            dlast.empty() ? ConstTensorView{} : dlast[n].view(), grads);
  }
  if (drops) nn::drop(ctx, place(config_.dropout, pass.dropout_seed, 0), dy, dy);
  embedding_.backward(ctx, pass.tokens.ids, dy);
  return dstates;
}

Loss RecurrentModel::learn(Context& ctx, const Batch& batch, const LearnOptions& options) {
  const CallScope scope(ctx);
  check_batch(batch);
  make_grads(parameters());
  const bool drops = config_.dropout > 0;
  // Never 0, which means no dropout; different for the encoder.
  const std::uint64_t seed = drops ? 2 * options.dropout_seed + 1 : 0;
  Saved encoder_saved, saved;
  Tensor memory, dmemory, dx;
  const Pass source{.tokens = batch.source, .dropout_seed = drops ? seed ^ (std::uint64_t{1} << 63) : 0};
  Pass pass{.tokens = batch.input, .dropout_seed = seed};
  if (config_.encoder_decoder) {
    memory = run(ctx, encoder_, source, encoder_saved, true);
    pass.states = &encoder_saved.last;
    pass.memory = memory, pass.memory_starts = batch.source.starts;
    dmemory = Tensor(memory.shape(), config_.dtype);
  }
  const Tensor x = run(ctx, decoder_, pass, saved, true);
  const Loss loss = head_.learn(ctx, embedding_, x, batch.targets, options, dx);
  const std::vector<Tensor> dstates =
      back(ctx, decoder_, pass, saved, std::move(dx), {}, dmemory.empty() ? TensorView{} : dmemory.view());
  if (config_.encoder_decoder)
    (void)back(ctx, encoder_, source, encoder_saved, std::move(dmemory), dstates, {});
  return loss;
}

RecurrentMemory RecurrentModel::read(Context& ctx, const Tokens& source) const {
  const CallScope scope(ctx);
  RecurrentMemory memory;
  if (!config_.encoder_decoder) return memory;
  Saved saved;
  memory.source = run(ctx, encoder_, {.tokens = source}, saved, false);
  memory.source_starts = source.starts;
  memory.states = std::move(saved.last);
  return memory;
}

Tensor RecurrentModel::advance(Context& ctx, RecurrentMemory& memory, const Tokens& tokens) const {
  Saved saved;
  Pass pass{.tokens = tokens};
  if (!memory.states.empty()) pass.states = &memory.states;
  if (config_.attention) pass.memory = memory.source, pass.memory_starts = memory.source_starts;
  Tensor x = run(ctx, decoder_, pass, saved, false);
  memory.states = std::move(saved.last);
  return x;
}

Tensor RecurrentModel::next(Context& ctx, RecurrentMemory& memory, const Tokens& tokens) const {
  return head_.logits(ctx, embedding_, advance(ctx, memory, tokens));
}

Loss RecurrentModel::evaluate(Context& ctx, const Batch& batch) const {
  const CallScope scope(ctx);
  check_batch(batch);
  RecurrentMemory memory = read(ctx, batch.source);
  return head_.evaluate(ctx, embedding_, advance(ctx, memory, batch.input), batch.targets);
}

Tensor RecurrentModel::logits(Context& ctx, const Tokens& source, const Tokens& input) const {
  const CallScope scope(ctx);
  if (config_.encoder_decoder && source.sequences() != input.sequences())
    refuse_recurrent(concat(source.sequences(), " source sequences for ", input.sequences(), " targets"));
  RecurrentMemory memory = read(ctx, source);
  return next(ctx, memory, input);
}

// 6 per multiplied parameter and token; additive attention is 4 · width per pair of tokens.
double RecurrentModel::flops(const Batch& batch) const {
  const auto elements = [](const nn::Linear& linear) {
    return linear.empty() ? 0.0 : static_cast<double>(linear.weight.value.shape().elements());
  };
  const auto n = static_cast<double>(batch.input.size()), m = static_cast<double>(batch.source.size());
  double sum = 0;
  for (const nn::RecurrentLayer& layer : decoder_) {
    sum += 6 * n *
           (elements(layer.input) + elements(layer.hidden) + elements(layer.query) + elements(layer.found));
    sum += 6 * m * elements(layer.key);
  }
  for (const nn::RecurrentLayer& layer : encoder_)
    sum += 6 * m * (elements(layer.input) + elements(layer.hidden));
  for (std::size_t s = 0; config_.attention && s + 1 < batch.input.starts.size(); ++s) {
    const auto pairs = static_cast<double>((batch.input.starts[s + 1] - batch.input.starts[s]) *
                                           (batch.source.starts[s + 1] - batch.source.starts[s]));
    sum += 3.5 * 4 * pairs * static_cast<double>(config_.width);
  }
  double counted = 0;
  for (const std::int32_t target : batch.targets) counted += target != kIgnored ? 1 : 0;
  return sum + 6 * counted * static_cast<double>(config_.vocabulary * config_.width);
}

std::string RecurrentModel::config_json() const {
  const RecurrentModelConfig& c = config_;
  return ConfigWriter()
      .text("model_type", kRecurrentType)
      .text("cell", c.cell == nn::CellKind::gru ? "gru" : "lstm")
      .boolean("is_encoder_decoder", c.encoder_decoder)
      .boolean("attention", c.attention)
      .integer("vocab_size", c.vocabulary)
      .integer("hidden_size", c.width)
      .integer("num_hidden_layers", c.layers)
      .boolean("tie_word_embeddings", c.tied)
      .real("dropout", c.dropout)
      .token("bos_token_id", c.bos)
      .token("eos_token_id", c.eos)
      .token("pad_token_id", c.pad)
      .token("decoder_start_token_id", c.decoder_start)
      .finish();
}

RecurrentModelConfig read_recurrent_config(const io::Json& json) {
  const std::string &type = json.text("model_type"), &cell = json.text("cell");
  const bool known = type == kRecurrentType && (cell == "gru" || cell == "lstm");
  if (!known)
    throw Error(ErrorKind::input, "model.config",
                concat(escaped(json.file()), ": model_type is \"", escaped(type, 40), "\" and cell \"",
                       escaped(cell, 40), "\"; need ", kRecurrentType, " with gru or lstm"));
  RecurrentModelConfig c;
  c.cell = cell == "gru" ? nn::CellKind::gru : nn::CellKind::lstm;
  c.encoder_decoder = json.boolean_or("is_encoder_decoder", false);
  c.attention = json.boolean_or("attention", false);
  c.vocabulary = json.integer("vocab_size");
  c.width = json.integer("hidden_size");
  c.layers = json.integer("num_hidden_layers");
  c.tied = json.boolean_or("tie_word_embeddings", true);
  c.dropout = json.real_or("dropout", 0);
  const auto token_of = [&](std::string_view field) {
    const std::vector<std::int32_t> tokens = tokens_of(json, field);
    return tokens.empty() ? -1 : tokens.front();
  };
  c.bos = token_of("bos_token_id");
  c.eos = token_of("eos_token_id");
  c.pad = token_of("pad_token_id");
  c.decoder_start = token_of("decoder_start_token_id");
  return c;
}

// PyTorch's rule for recurrent layers: uniform within 1/sqrt(width), biases too. The biases of forget gates are 1.
void RecurrentModel::initialize(std::uint64_t seed) {
  const DefaultFloatMode float_mode;
  const Parameters list = parameters();
  const double range = 1 / std::sqrt(static_cast<double>(config_.width));
  for (std::size_t p = 0; p < list.size(); ++p) {
    using Shape = InitialNumbers::Shape;
    const bool table = list[p] == &embedding_.weight || list[p] == &head_.projection.weight;
    InitialNumbers(seed, p).fill(list[p]->value, table ? Shape::normal : Shape::uniform, table ? 0.1 : range);
  }
  for (Index i = 0; i < config_.vocabulary; ++i) head_.bias.value.view().set(i, 0.0);
  if (config_.cell != nn::CellKind::lstm) return;
  for (std::vector<nn::RecurrentLayer>* layers : {&encoder_, &decoder_})
    for (nn::RecurrentLayer& layer : *layers)
      for (Index i = config_.width; i < 2 * config_.width; ++i) layer.input.bias.value.view().set(i, 1.0);
}

}  // namespace headlight::models
