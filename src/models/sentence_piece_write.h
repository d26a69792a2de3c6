// The vocabulary of a GGUF file as a SentencePiece model, the file that Hugging Face folders call tokenizer.model.
#pragma once

#include <string>

#include "models/tokenizer_gguf.h"

namespace headlight::models {

// For vocabularies called "llama" (BPE) and "t5" (unigram).
[[nodiscard]] std::string sentence_piece_model(const GgufVocabulary& vocabulary);

}  // namespace headlight::models
