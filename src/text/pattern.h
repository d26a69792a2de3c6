// Finding a pattern in text: plain text, one of the well-known split patterns as a hand-written scanner,
// or any regular expression through PCRE2 with limits, so that it throws instead of hanging.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "text/aligned_text.h"
#include "text/parts.h"

namespace headlight::text {

struct Found {
  Range range;
  bool match = false;
};

class Finder {
 public:
  // Throws Error{input} if a regular expression does not compile or has another meaning in PCRE2.
  explicit Finder(const Pattern& pattern);
  ~Finder();
  Finder(Finder&&) noexcept;
  Finder& operator=(Finder&&) noexcept;

  // All of `within` as matches and what is between them, in order. Ranges count from the start of
  // `text`; nothing outside `within` is read. Throws Error{input} when the expression needs too
  // much time for this text.
  void find(std::string_view text, Range within, std::vector<Found>& found) const;

 private:
  class Expression;
  // The end of the match that starts at `at`; the known patterns leave no gaps between matches.
  using Scanner = std::uint32_t (*)(std::string_view text, std::uint32_t at, std::uint32_t end);
  static Scanner known(std::string_view expression);

  void find_runs_of_spaces(std::string_view text, Range within, std::vector<Found>& found) const;

  std::string literal_;
  Scanner scanner_ = nullptr;
  bool runs_of_spaces_ = false;  // " {2,}", which many normalizers look for
  std::unique_ptr<Expression> expression_;
};

// GPT-2's split pattern, the default of the byte-level pre-tokenizer.
[[nodiscard]] std::string_view gpt2_pattern();
[[nodiscard]] std::string_view llama3_pattern();
[[nodiscard]] std::string_view qwen2_pattern();

}  // namespace headlight::text
