#include "text/text_stream.h"

#include <algorithm>

namespace headlight::text {
namespace {

// Tokens that are decoded once more together with new ones: enough for any character and for the space or the
// word's first half in front.
constexpr std::size_t kOverlap = 6;
constexpr std::string_view kReplaced = "\uFFFD";  // what an incomplete character is decoded to

}  // namespace

TokenText::TokenText(Tokenizer tokenizer, std::vector<TokenId> before)
    : tokenizer_(std::move(tokenizer)), tokens_(std::move(before)), given_(tokens_.size()) {
  begin_ = given_ - std::min(given_, kOverlap);
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
  begin_ = std::max(begin_, given_ - std::min(given_, kOverlap));
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

// Where the longest end of the text starts that is the beginning of a string.
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
