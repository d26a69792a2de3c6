#include "models/transformer.h"

#include <cmath>

#include "core/call_scope.h"
#include "core/concat.h"
#include "core/random.h"
#include "core/team.h"
#include "headlight/error.h"
#include "models/families.h"

namespace headlight::models {
namespace {

// Seeds of the two stacks: never 0, which means no dropout, and never equal.
std::uint64_t stack_seed(std::uint64_t seed, Part part) {
  const PhiloxCounter mixed =
      philox({static_cast<std::uint32_t>(part), 0, 0, 0}, static_cast<std::uint32_t>(seed),
             static_cast<std::uint32_t>(seed >> 32));
  return (static_cast<std::uint64_t>(mixed[0]) << 32 | mixed[1]) | 1U;
}

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorKind::usage, "model.call", concat("transformer: ", message));
}

StackCall stack_call(const Tokens& tokens, const RunOptions& options) {
  return {.tokens = tokens, .observer = options.observer, .intervention = options.intervention};
}

// The tokens of this process, with the starts of all.
Batch own_tokens(const TokenShare& share, const std::string& why, const Batch& whole) {
  if (!why.empty()) refuse(concat("processes cannot share the tokens of this model: ", why));
  const Range run{share.begin, share.end};
  if (run.size() == 0)
    refuse(concat(share.team->size(), " processes cannot share ", whole.input.size(),
                  " tokens of a batch; use fewer, or larger batches"));
  const auto cut = [&](const std::vector<std::int32_t>& all) {
    return all.empty() ? all : std::vector(all.begin() + run.begin, all.begin() + run.end);
  };
  Batch mine;
  mine.input = {cut(whole.input.ids), whole.input.starts};
  mine.targets = cut(whole.targets);
  mine.type_ids = cut(whole.type_ids);
  return mine;
}

void check_tokens(const char* name, const Tokens& tokens) {
  if (tokens.starts.empty() || tokens.starts.front() != 0 || tokens.starts.back() != tokens.size())
    refuse(concat(name, ": starts do not go from 0 to its ", tokens.size(), " tokens"));
}

}  // namespace

Transformer::Transformer(const TransformerConfig& config) : config_(completed(config)) {
  embedding_ =
      nn::Embedding("embedding", config_.vocabulary, config_.table_width(), config_.dtype, config_.weights);
  if (config_.kind != ModelKind::decoder) encoder_ = Stack(config_, Part::encoder);
  if (config_.kind != ModelKind::encoder) decoder_ = Stack(config_, Part::decoder);
  head_ = Head(config_);
}

Parameters Transformer::parameters() {
  Parameters list;
  embedding_.collect(list);
  if (config_.kind != ModelKind::decoder) encoder_.collect(list);
  if (config_.kind != ModelKind::encoder) decoder_.collect(list);
  head_.collect(list);
  return list;
}

void Transformer::check_head() const {
  if (config_.head.absent) refuse("the model was stored without its prediction head, so it has no logits");
}

void Transformer::check_batch(const Batch& batch) const {
  check_head();
  check_tokens("input", batch.input);
  if (batch.targets.size() != batch.input.ids.size())
    refuse(concat(batch.targets.size(), " targets for ", batch.input.size(), " tokens; need one for each"));
  if (!batch.type_ids.empty() && batch.type_ids.size() != batch.input.ids.size())
    refuse(concat(batch.type_ids.size(), " segment numbers for ", batch.input.size(), " tokens"));
  if (config_.kind != ModelKind::encoder_decoder) return;
  check_tokens("source", batch.source);
  if (batch.source.sequences() != batch.input.sequences())
    refuse(concat(batch.source.sequences(), " source sequences for ", batch.input.sequences(), " targets"));
}

std::string Transformer::why_not_by_tokens() const {
  if (config_.kind == ModelKind::encoder_decoder) return "it has an encoder and a decoder";
  if (config_.relative) return "its positions are a bias that all processes would learn";
  if (config_.key_slopes) return "its positions are a bias of whole sequences";
  for (const nn::BlockConfig& block : config_.main()) {
    if (block.attention.sinks) return "it has sinks, which all processes would learn";
    if (block.attention.rope && !block.attention.rope->long_factors.empty())
      return "its rotations depend on the length of a whole sequence";
  }
  return "";
}

Loss Transformer::learn(Context& ctx, const Batch& whole, const LearnOptions& options) {
  const CallScope scope(ctx);
  check_batch(whole);
  const TokenShare* share = tokens_of(ctx);
  Batch mine;
  if (share != nullptr) mine = own_tokens(*share, why_not_by_tokens(), whole);
  const Batch& batch = share != nullptr ? mine : whole;
  if (const std::string why = why_not_trained(config_); !why.empty())
    throw Error(ErrorKind::usage, "model.inference",
                concat("models of the family ", config_.family, " cannot be trained: ", why));
  make_grads(parameters());
  bool drops = config_.dropout > 0;
  each_layer(config_, [&](const nn::BlockConfig& block) {
    drops = drops || block.dropout > 0 || block.attention.dropout > 0;
  });
  const auto seed = [&](Part part) { return drops ? stack_seed(options.dropout_seed, part) : 0; };
  const bool both = config_.kind == ModelKind::encoder_decoder;
  Guiding guiding{options.guide, batch.links, options.guide.weight * options.scale};
  StackCall source{.tokens = batch.source, .dropout_seed = seed(Part::encoder)};
  source.recompute = options.checkpoint_layers;
  source.ready = options.ready;
  if (options.guide.weight > 0 && !batch.links.empty()) {
    check_guide(config_, options.guide);
    source.guiding = &guiding;
  }
  Stack::Saved encoder_saved, saved;
  Tensor memory;
  if (both) memory = encoder_.forward(ctx, embedding_, source, &encoder_saved);
  StackCall call{.tokens = batch.input, .types = batch.type_ids, .dropout_seed = seed(Part::decoder)};
  call.recompute = options.checkpoint_layers;
  call.ready = options.ready;
  if (both) call.memory = {memory, batch.source.starts};
  const Tensor x = main().forward(ctx, embedding_, call, &saved);

  Tensor dx, dmemory;
  Loss loss = head_.learn(ctx, embedding_, x, batch.targets, options, dx);
  if (both) dmemory = Tensor(memory.shape(), memory.dtype());
  main().backward(ctx, embedding_, call, saved, std::move(dx), both ? dmemory.view() : TensorView{});
  if (both) encoder_.backward(ctx, embedding_, source, encoder_saved, std::move(dmemory));
  loss.linked = guiding.loss;
  loss.links = source.guiding != nullptr ? static_cast<Index>(batch.links.size()) : 0;
  return loss;
}

Loss Transformer::evaluate(Context& ctx, const Batch& batch) const { return evaluate(ctx, batch, {}); }

Loss Transformer::evaluate(Context& ctx, const Batch& batch, const RunOptions& options) const {
  const CallScope scope(ctx);
  check_batch(batch);
  StackCall call = stack_call(batch.input, options);
  call.types = batch.type_ids;
  Tensor memory;
  if (config_.kind == ModelKind::encoder_decoder) {
    memory = encoder_.forward(ctx, embedding_, stack_call(batch.source, options));
    call.memory = {memory, batch.source.starts};
  }
  return head_.evaluate(ctx, embedding_, main().forward(ctx, embedding_, call), batch.targets);
}

Tensor Transformer::logits(Context& ctx, const Tokens& input, const RunOptions& options) const {
  const CallScope scope(ctx);
  check_head();
  return logits_of(ctx, hidden_states(ctx, input, options));
}

Tensor Transformer::logits(Context& ctx, const Tokens& source, const Tokens& input,
                           const RunOptions& options) const {
  return logits_of(ctx, hidden_states(ctx, source, input, options));
}

Tensor Transformer::logits_of(Context& ctx, ConstTensorView hidden) const {
  const CallScope scope(ctx);
  check_head();
  return head_.logits(ctx, embedding_, hidden);
}

Tensor Transformer::hidden_states(Context& ctx, const Tokens& input, const RunOptions& options) const {
  const CallScope scope(ctx);
  check_tokens("input", input);
  if (config_.kind == ModelKind::encoder_decoder)
    refuse("an encoder-decoder needs a source as well as an input");
  StackCall call = stack_call(input, options);
  call.types = options.types;
  return main().forward(ctx, embedding_, call);
}

Tensor Transformer::hidden_states(Context& ctx, const Tokens& source, const Tokens& input,
                                  const RunOptions& options) const {
  const CallScope scope(ctx);
  check_tokens("source", source);
  check_tokens("input", input);
  if (config_.kind != ModelKind::encoder_decoder) refuse("only an encoder-decoder reads a source");
  if (source.sequences() != input.sequences())
    refuse(concat(source.sequences(), " source sequences for ", input.sequences(), " targets"));
  const Tensor memory = encoder_.forward(ctx, embedding_, stack_call(source, options));
  StackCall call = stack_call(input, options);
  call.memory = {memory, source.starts};
  return decoder_.forward(ctx, embedding_, call);
}

Tensor Transformer::encode(Context& ctx, const Tokens& tokens, const RunOptions& options) const {
  const CallScope scope(ctx);
  check_tokens("tokens", tokens);
  if (config_.kind == ModelKind::decoder) refuse("a decoder has no encoder");
  StackCall call = stack_call(tokens, options);
  call.types = options.types;
  return encoder_.forward(ctx, embedding_, call);
}

std::string Transformer::file_name(const Parameter& parameter) const {
  std::string name = models::file_name(names_of(config_), parameter.name);
  if (name.empty())
    throw Error(ErrorKind::usage, "model.family",
                concat(config_.family, ": files of this family cannot store ", parameter.name,
                       "; choose another family"));
  if (name.ends_with(']'))
    throw Error(ErrorKind::usage, "model.family",
                concat(config_.family,
                       ": files of this family have the experts of a layer in one tensor, which cannot be ",
                       "written; choose another family"));
  return name;
}

std::string Transformer::config_json() const {
  return config_.source.empty() ? write_config(config_) : config_.source;
}

}  // namespace headlight::models
