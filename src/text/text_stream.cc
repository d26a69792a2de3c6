#include "text/text_stream.h"

#include <algorithm>

namespace headlight::text {
namespace {

// Tokens of the prompt that are decoded together with new ones: enough for a preceding space or first half of a
// word.
constexpr std::size_t kOverlap = 6;
constexpr std::size_t kLongestCharacter = 16;     // in tokens, with marks that join
constexpr std::string_view kReplaced = "\uFFFD";  // text of an incomplete character

}  // namespace

TokenText::TokenText(Tokenizer tokenizer, std::vector<TokenId> before)
    : tokenizer_(std::move(tokenizer)), tokens_(std::move(before)), given_(tokens_.size()) {
  begin_ = given_ - std::min(given_, kOverlap);
  // Not inside a character, whose bytes would corrupt the next one.
  const std::size_t least = begin_ - std::min(begin_, kLongestCharacter);
  while (begin_ > least && decode(given_).find(kReplaced) != std::string::npos) --begin_;
}

std::string TokenText::decode(std::size_t end) const {
  return tokenizer_.decode(std::span(tokens_).subspan(begin_, end - begin_));
}

std::string TokenText::add(TokenId token) {
  tokens_.push_back(token);
  const std::string now = decode(tokens_.size());
  if (now.ends_with(kReplaced)) return {};
  const std::string before = decode(given_);
  if (now.size() <= before.size()) return {};
  begin_ = given_;  // the end of a character, at least one token before the next one
  given_ = tokens_.size();
  return now.substr(before.size());
}

std::string TokenText::finish() {
  const std::string now = decode(tokens_.size()), before = decode(given_);
  given_ = tokens_.size();
  return now.size() > before.size() ? now.substr(before.size()) : std::string();
}

StopStrings::StopStrings(std::vector<std::string> strings) : strings_(std::move(strings)) {}

std::string StopStrings::add(std::string_view text) {
  if (found_) return {};
  held_ += text;
  std::size_t first = std::string::npos;
  for (const std::string& stop : strings_) first = std::min(first, held_.find(stop));
  found_ = first != std::string::npos;
  std::string out = held_.substr(0, found_ ? first : possible_start());
  held_.erase(0, found_ ? held_.size() : out.size());
  return out;
}

std::string StopStrings::finish() { return std::move(held_); }

// The start of the longest suffix of the text that is a prefix of the string.
std::size_t StopStrings::possible_start() const noexcept {
  std::size_t longest = 0;
  for (const std::string& stop : strings_) longest = std::max(longest, stop.size());
  const std::string_view all = held_;
  for (std::size_t at = all.size() - std::min(all.size(), longest); at < all.size(); ++at)
    for (const std::string& stop : strings_)
      if (stop.starts_with(all.substr(at))) return at;
  return all.size();
}

}  // namespace headlight::text
