// Models give the same bits whatever the caller's floating-point mode is: every function that computes is called.
#include <gtest/gtest.h>

#include "models/families.h"
#include "models/generate.h"
#include "models/recurrent.h"
#include "models/text_loss.h"
#include "models/transformer.h"
#include "models/translate.h"
#include "models/writer.h"
#include "support/entries.h"
#include "support/float_modes.h"
#include "support/places.h"
#include "support/small_models.h"

namespace headlight::models {
namespace {

using headlight::testing::Bits;
using headlight::testing::NamedCall;

Tokens some_tokens(const std::vector<Index>& lengths) {
  Tokens tokens;
  for (const Index n : lengths) {
    std::vector<std::int32_t> row;
    for (Index i = 0; i < n; ++i) row.push_back(static_cast<std::int32_t>((i * i + n) % 20));
    tokens.append(row);
  }
  return tokens;
}

TransformerConfig with_everything(TransformerConfig c) {
  c.dropout = 0.2;
  each_layer(c, [](nn::BlockConfig& b) { b.dropout = b.attention.dropout = 0.2; });
  c.initial_range = 0.5;
  c.ends = {0};
  c.decoder_start = 1;
  return c;
}
Sizes sizes() {
  return {.vocabulary = headlight::testing::small_tokenizer().size(),
          .width = 48,
          .layers = 2,
          .heads = 3,
          .context = 80};
}

// Every third number of a parameter becomes a denormal.
void sprinkle(Trainable& model, Bits& bits) {
  model.initialize(7);
  for (Parameter* p : model.parameters()) {
    bits.add(p->value);
    const headlight::DefaultFloatMode mode;
    auto* x = p->value.as<float>();
    for (Index i = 0; i < p->value.shape().elements(); i += 3) x[i] *= 1e-38F;
  }
}
void add_loss(Bits& bits, const Loss& loss) {
  for (const double x : {loss.sum, loss.plain, static_cast<double>(loss.correct)}) bits.add(x);
}
void add_grads(Bits& bits, Trainable& model) {
  for (const Parameter* p : model.parameters()) bits.add(p->grad);
}
Batch batch(bool source) {
  Batch b;
  b.input = some_tokens({5, 40, 1});
  if (source) b.source = some_tokens({9, 30, 3});
  b.targets = some_tokens({46}).ids;
  return b;
}
const LearnOptions kLearn{.scale = 0.01, .label_smoothing = 0.1, .dropout_seed = 5};

void call_decoder(Context& ctx, DType, Bits& bits) {
  for (const TransformerConfig& config : {gpt_config(sizes()), llama_config(sizes())}) {
    Transformer model(with_everything(config));
    sprinkle(model, bits);
    const Batch b = batch(false);
    add_loss(bits, model.learn(ctx, b, kLearn));
    add_grads(bits, model);
    add_loss(bits, model.evaluate(ctx, b));
    bits.add(model.logits(ctx, b.input));
    bits.add(model.logits_of(ctx, model.hidden_states(ctx, b.input)));
    Decoding decoding = model.start(ctx, 3);
    bits.add(model.next(ctx, decoding, b.input));
    bits.add(model.next(ctx, decoding, some_tokens({1, 1, 1})));
  }
}
void call_encoder_decoder(Context& ctx, DType, Bits& bits) {
  Transformer model(with_everything(translation_config(sizes())));
  sprinkle(model, bits);
  const Batch b = batch(true);
  add_loss(bits, model.learn(ctx, b, kLearn));
  add_grads(bits, model);
  add_loss(bits, model.evaluate(ctx, b));
  bits.add(model.encode(ctx, b.source));
  bits.add(model.logits(ctx, b.source, b.input));
  bits.add(model.hidden_states(ctx, b.source, b.input));
  Decoding decoding = model.start(ctx, b.source);
  bits.add(model.next(ctx, decoding, b.input));
}
void call_recurrent(Context& ctx, DType, Bits& bits) {
  for (const nn::CellKind cell : {nn::CellKind::gru, nn::CellKind::lstm}) {
    RecurrentModel model({.cell = cell,
                          .encoder_decoder = true,
                          .attention = true,
                          .vocabulary = sizes().vocabulary,
                          .width = 24,
                          .layers = 2,
                          .dropout = 0.2,
                          .eos = 0,
                          .decoder_start = 1});
    sprinkle(model, bits);
    const Batch b = batch(true);
    add_loss(bits, model.learn(ctx, b, kLearn));
    add_grads(bits, model);
    add_loss(bits, model.evaluate(ctx, b));
    bits.add(model.logits(ctx, b.source, b.input));
    RecurrentMemory memory = model.read(ctx, b.source);
    bits.add(model.next(ctx, memory, some_tokens({2, 2, 2})));
    RecurrentWriter writer(model);
    for (const auto& found : beam_search(ctx, writer, b.source, {.beams = 2, .most = 6})) {
      for (const Hypothesis& h : found) bits.add(h.score), bits.add(h.tokens);
    }
  }
}
void call_writing(Context& ctx, DType, Bits& bits) {
  Transformer model(with_everything(llama_config(sizes())));
  sprinkle(model, bits);
  const SamplingOptions sampling{.most = 8,
                                 .temperature = 0.8,
                                 .top_k = 15,
                                 .top_p = 0.9,
                                 .min_p = 0.01,
                                 .repetition_penalty = 1.1,
                                 .seed = 3,
                                 .stop_at_eos = false};
  const Tokens prompts = some_tokens({3, 7});
  for (const Continuation& c : continue_prompts(ctx, model, prompts, sampling)) {
    bits.add(c.tokens);
    bits.add(c.log_probabilities);
  }
  for (const auto& tokens : generate(ctx, model, prompts, sampling)) bits.add(tokens);
  const std::string texts[] = {"the animal did not cross the street", "it was tired"};
  bits.add(text_loss(ctx, model, headlight::testing::small_tokenizer(), texts, {.context = 5})->nats);
}
void call_translating(Context& ctx, DType, Bits& bits) {
  Transformer model(with_everything(translation_config(sizes())));
  sprinkle(model, bits);
  const Tokens source = some_tokens({3, 7});
  for (const auto& tokens : transform(ctx, model, source, {.most = 6, .stop_at_eos = false}))
    bits.add(tokens);
  for (const auto& found : beam_search(ctx, model, source, {.beams = 3, .most = 6})) {
    for (const Hypothesis& h : found) bits.add(h.score), bits.add(h.tokens);
  }
  TransformerWriter writer(model);
  const std::string texts[] = {"the animal did not cross the street", "it was tired"};
  for (const Translation& t :
       translate(ctx, writer, headlight::testing::small_tokenizer(), texts, {.beams = 2, .most = 6})) {
    bits.add(t.score);
    bits.add(t.tokens);
  }
}

std::vector<NamedCall> all() {
  return {
      {{"Transformer::learn", "Transformer::evaluate", "Transformer::logits", "Transformer::hidden_states",
        "Transformer::logits_of", "Transformer::start", "Transformer::next", "Trainable::learn",
        "Trainable::evaluate"},
       call_decoder},
      {{"Transformer::encode"}, call_encoder_decoder},
      {{"RecurrentModel::learn", "RecurrentModel::evaluate", "RecurrentModel::logits", "RecurrentModel::read",
        "RecurrentModel::next", "RecurrentWriter::start", "RecurrentWriter::next"},
       call_recurrent},
      {{"continue_prompts", "generate", "text_loss"}, call_writing},
      {{"transform", "beam_search", "translate", "TransformerWriter::start", "TransformerWriter::next",
        "Writer::start", "Writer::next"},
       call_translating}};
}

TEST(FloatModes, ModelsGiveTheSameBits) {
  constexpr DType kTypes[] = {DType::f32};
  headlight::testing::expect_same_bits_in_every_mode(all(), kTypes);
}

TEST(FloatModes, EveryFunctionOfModelsIsCalled) {
  const std::string folder = testing::source_folder() + "/src/models/";
  std::set<std::string> functions;
  for (const char* header : {"transformer.h", "recurrent.h", "generate.h", "text_loss.h", "translate.h",
                             "trainable.h", "writer.h"})
    functions.merge(headlight::testing::functions_on_a_context(folder + header));
  EXPECT_GE(functions.size(), 20U);
  headlight::testing::expect_complete(all(), functions);
}

}  // namespace
}  // namespace headlight::models
