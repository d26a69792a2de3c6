#include <cstdio>

#include "headlight/nn.h"
#include "headlight/tokenizer.h"
#include "headlight/version.h"

// Models bring layers and tokenizers along.
std::string text_of(const headlight::Tokenizer& tokenizer) {
  return tokenizer.decode(tokenizer.encode("a cat"));
}

int main() {
  const headlight::nn::SelfAttention layer(8, 8);
  if (layer.query.weight.value.dim(0) != 8) return 1;
  std::printf("consumed headlight %s\n", headlight::kVersion);
}
