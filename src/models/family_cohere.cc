// Cohere (Command R): attention and feed-forward in parallel after one norm without bias; rotated pairs are
// neighbours; logits are scaled. Cohere 2: layers without a window do not rotate.
#include "models/family_gguf.h"
#include "models/family_llama.h"

namespace headlight::models {
namespace {

Draft cohere_draft(const Hyperparameters& h, const WindowRule& windows = {}) {
  Usual usual = llama_usual(layer_norm(h));
  usual.norm.bias = false;
  usual.tied = true;
  Draft d = llama_draft(h, usual, windows);
  d.block.shape = nn::BlockShape::parallel_one_norm;
  d.block.attention.rope->interleaved = true;
  d.c.head.scale = h.real_or(Key::logits_factor, 0.0625);
  h.expect(Key::unit_heads, false, "norms with separate parameters for each head are not supported");
  return d;
}

TransformerConfig read_cohere(const Hyperparameters& h) { return decoder_of(cohere_draft(h)); }

TransformerConfig read_cohere2(const Hyperparameters& h) {
  const Draft d = cohere_draft(h, {.usual = 4096, .every = 4});
  TransformerConfig c = decoder_of(d);
  for (std::size_t n = 0; n < c.decoder.size(); ++n)
    if (d.windows[n] == 0) c.decoder[n].attention.rope.reset();
  return c;
}

}  // namespace

extern const Family kCohere, kCohere2;
const Family kCohere{"cohere", "command-r", read_cohere, like_llama(), gguf_names()};
const Family kCohere2{"cohere2", "cohere2", read_cohere2, like_llama(), gguf_names()};

}  // namespace headlight::models
