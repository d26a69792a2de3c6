// Token by token: what a transformer keeps between calls.
#include <cstring>

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
  if (config_.kind != ModelKind::decoder) refuse("only a decoder starts without a source");
  if (config_.dtype != DType::f32) refuse("decoding computes in f32");
  if (items < 1) refuse(concat("decoding of ", items, " sequences; need 1 or more"));
  Decoding d;
  d.caches = decoder_.make_caches(ctx, items);
  d.items = items;
  return d;
}

Decoding Transformer::start(Context& ctx, const Tokens& source, Index copies,
                            const RunOptions& options) const {
  if (config_.kind != ModelKind::encoder_decoder) refuse("only an encoder-decoder starts from a source");
  if (config_.dtype != DType::f32) refuse("decoding computes in f32");
  if (source.sequences() < 1 || copies < 1) refuse("decoding of no sequence; need 1 or more");
  const Tensor encoded = encode(ctx, source, options);
  Decoding d;
  d.items = source.sequences() * copies;
  d.caches = decoder_.make_caches(ctx, d.items);
  d.memory = Tensor::uninitialized({source.size() * copies, config_.width}, config_.dtype);
  const Index row = config_.width * static_cast<Index>(size_of(config_.dtype));
  for (Index s = 0; s < source.sequences(); ++s) {
    const Index first = source.starts[static_cast<std::size_t>(s)],
                count = source.starts[static_cast<std::size_t>(s + 1)] - first;
    if (count == 0) refuse(concat("source sequence ", s, " has no tokens"));
    for (Index c = 0; c < copies; ++c) {
      std::memcpy(d.memory.as<std::byte>() + d.memory_starts.back() * row,
                  encoded.as<std::byte>() + first * row, static_cast<std::size_t>(count * row));
      d.memory_starts.push_back(d.memory_starts.back() + count);
    }
  }
  return d;
}

Tensor Transformer::next(Context& ctx, Decoding& decoding, const Tokens& tokens,
                         const RunOptions& options) const {
  if (tokens.sequences() != decoding.items)
    refuse(concat("new tokens for ", tokens.sequences(), " of ", decoding.items, " sequences"));
  for (Index s = 0; s < tokens.sequences(); ++s)
    if (tokens.starts[static_cast<std::size_t>(s + 1)] == tokens.starts[static_cast<std::size_t>(s)])
      refuse(concat("sequence ", s, " has no new token"));
  StackCall call{.tokens = tokens, .caches = &decoding.caches, .observer = options.observer};
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
