// Decoders: the strings of tokens to text, step by step.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "text/parts.h"
#include "text/pattern.h"

namespace headlight::text {

class Decoder {
 public:
  explicit Decoder(const std::vector<DecoderStep>& steps);
  // Throws Error{input} when a replacement makes the text grow beyond 16 times its size and a megabyte.
  [[nodiscard]] std::string decode(std::vector<std::string> tokens) const;

 private:
  struct Step {
    DecoderStep settings;
    std::optional<Finder> finder;
  };
  std::vector<Step> steps_;
};

}  // namespace headlight::text
