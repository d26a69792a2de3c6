// Words with their vectors, from JSON: {"tokens": ["a", "b"], "vectors": [[0.1, 0.2], [0.3, 0.4]]}.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headlight/tensor.h"

namespace headlight::io {

struct WordVectors {
  std::vector<std::string> words;
  Tensor x;  // [word, number], f64
};

// At most 256 words of at most 256 numbers from -1e6 to 1e6, and no other entry. Throws Error that
// names the file and the position.
[[nodiscard]] WordVectors read_word_vectors(const std::string& path);
// The same from memory; `name` is used in messages.
[[nodiscard]] WordVectors parse_word_vectors(std::string_view bytes, const std::string& name);

}  // namespace headlight::io
