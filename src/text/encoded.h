// The result of encoding one text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headlight/tokenizer.h"
#include "text/aligned_text.h"

namespace headlight::text {

struct Token {
  TokenId id = 0;
  Range origin;
  std::int32_t surface = -1;  // index in Encoded::surfaces if its text differs from the vocabulary's
  std::uint8_t type_id = 0;
  bool added = false;
};

struct Encoded {
  std::vector<Token> tokens;
  std::vector<std::string> surfaces;

  void set_surface(Token& token, std::string_view surface) {
    token.surface = static_cast<std::int32_t>(surfaces.size());
    surfaces.emplace_back(surface);
  }
};

}  // namespace headlight::text
