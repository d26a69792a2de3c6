// Token by token generation: the state that a transformer keeps between calls.
#include <cstring>

#include "core/call_scope.h"
#include "core/concat.h"
#include "headlight/error.h"
#include "models/transformer.h"

namespace headlight::models {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorKind::usage, "model.decode", concat("transformer: ", message));
}

}  // namespace

Decoding Transformer::start(Context& ctx, Index items) const {
  const CallScope scope(ctx);
  if (config_.kind != ModelKind::decoder) refuse("only a decoder starts without a source");
  if (config_.dtype != DType::f32) refuse("decoding computes in f32");
  if (items < 1) refuse(concat("decoding of ", items, " sequences; need 1 or more"));
  Decoding d;
  d.caches = decoder_.make_caches(ctx, items);
  d.items = items;
  return d;
}

Decoding Transformer::start(Context& ctx, const Tokens& source, const RunOptions& options) const {
  const CallScope scope(ctx);
  Decoding decoding;
  start(ctx, decoding, source, options);
  return decoding;
}

void Transformer::start(Context& ctx, Decoding& d, const Tokens& source, const RunOptions& options) const {
  const CallScope scope(ctx);
  if (config_.kind != ModelKind::encoder_decoder) refuse("only an encoder-decoder starts from a source");
  if (config_.dtype != DType::f32) refuse("decoding computes in f32");
  if (source.sequences() < 1) refuse("no sequence to decode; need 1 or more");
  for (Index s = 0; s < source.sequences(); ++s) {
    if (source.starts[static_cast<std::size_t>(s)] == source.starts[static_cast<std::size_t>(s + 1)])
      refuse(concat("source sequence ", s, " has no tokens"));
  }
  if (!d.caches.self.empty() && d.caches.self.front().items() >= source.sequences()) {
    d.keep(source.sequences());
    for (auto* caches : {&d.caches.self, &d.caches.cross})
      for (KvCache& cache : *caches) cache.reset();
  } else {
    d.caches = {};  // before the new ones are allocated
    d.caches = decoder_.make_caches(ctx, source.sequences());
    d.items = source.sequences();
  }
  d.memory = encode(ctx, source, options);
  d.memory_starts = source.starts;
}

void Decoding::spread(Index copies) {
  for (auto* list : {&caches.self, &caches.cross})
    for (KvCache& cache : *list)
      for (Index c = 1; c < copies; ++c)
        for (Index i = 0; i < items; ++i) (void)cache.fork(i);
  items *= copies;
  const std::vector<std::vector<std::int32_t>> first = written;
  for (Index c = 1; c < copies; ++c) written.insert(written.end(), first.begin(), first.end());
}

void Decoding::copy(Index from, Index to) {
  for (auto* list : {&caches.self, &caches.cross})
    for (KvCache& cache : *list) cache.share_prefix(from, to, cache.length(from));
  if (!written.empty()) written[static_cast<std::size_t>(to)] = written[static_cast<std::size_t>(from)];
}

void Decoding::keep(Index count) {
  for (auto* list : {&caches.self, &caches.cross})
    for (KvCache& cache : *list) cache.keep_items(count);
  items = count;
  if (!written.empty()) written.resize(static_cast<std::size_t>(count));
}

namespace {

// The length beyond which all tokens of a text are rotated differently; 0: none.
Index turning_point(const TransformerConfig& c) {
  for (const nn::BlockConfig& block : c.decoder)
    if (block.attention.rope && block.attention.rope->scaling.kind == nn::RopeScaling::Kind::longrope)
      return block.attention.rope->scaling.original_positions;
  return 0;
}

// Adds new tokens to the state. When a text passes that length, its cached keys are no longer valid: `tokens`
// becomes the whole text, and the caches are emptied.
void remember(Decoding& d, Index turning_point, Tokens& tokens) {
  d.written.resize(static_cast<std::size_t>(d.items));
  bool turns = false;
  Tokens all;
  for (std::size_t s = 0; s < d.written.size(); ++s) {
    std::vector<std::int32_t>& item = d.written[s];
    item.resize(
        static_cast<std::size_t>(d.length(static_cast<Index>(s))));  // others may have shortened the caches
    const auto before = static_cast<Index>(item.size());
    item.insert(item.end(), tokens.ids.begin() + tokens.starts[s], tokens.ids.begin() + tokens.starts[s + 1]);
    turns =
        turns || (before > 0 && before <= turning_point && static_cast<Index>(item.size()) > turning_point);
    all.append(item);
  }
  if (!turns) return;
  for (KvCache& cache : d.caches.self) cache.reset();
  tokens = std::move(all);
}

}  // namespace

Tensor Transformer::next(Context& ctx, Decoding& decoding, const Tokens& given,
                         const RunOptions& options) const {
  const CallScope scope(ctx);
  Tokens tokens = given;
  if (tokens.sequences() != decoding.items)
    refuse(concat("new tokens for ", tokens.sequences(), " of ", decoding.items, " sequences"));
  for (Index s = 0; s < tokens.sequences(); ++s)
    if (tokens.starts[static_cast<std::size_t>(s + 1)] == tokens.starts[static_cast<std::size_t>(s)])
      refuse(concat("sequence ", s, " has no new token"));
  if (const Index point = turning_point(config_); point > 0) remember(decoding, point, tokens);
  StackCall call{.tokens = tokens,
                 .caches = &decoding.caches,
                 .observer = options.observer,
                 .intervention = options.intervention};
  if (!decoding.memory.empty()) call.memory = {decoding.memory, decoding.memory_starts};
  const Tensor x = decoder_.forward(ctx, embedding_, call);
  Tensor last = Tensor::uninitialized({decoding.items, config_.width}, config_.dtype);
  const std::size_t row = static_cast<std::size_t>(config_.width) * size_of(config_.dtype);
  for (Index s = 0; s < decoding.items; ++s) {
    const auto at = static_cast<std::size_t>(tokens.starts[static_cast<std::size_t>(s + 1)] - 1);
    std::memcpy(last.as<std::byte>() + static_cast<std::size_t>(s) * row, x.as<std::byte>() + at * row, row);
  }
  return head_.logits(ctx, embedding_, last);
}

}  // namespace headlight::models
