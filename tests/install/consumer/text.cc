#include <cstdio>

#include "headlight/tokenizer.h"
#include "headlight/version.h"

// Tokenizers come from files, which are read by another component: this one is only asked for.
std::string text_of(const headlight::Tokenizer& tokenizer) {
  return tokenizer.decode(tokenizer.encode("a cat"));
}

int main() {
  if (&text_of == nullptr) return 1;
  std::printf("consumed headlight %s\n", headlight::kVersion);
}
