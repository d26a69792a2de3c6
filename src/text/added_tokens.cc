#include "text/added_tokens.h"

#include <algorithm>

#include "core/concat.h"
#include "headlight/error.h"
#include "text/unicode.h"

namespace headlight::text {
namespace {

// The start of the character that ends at `at`.
std::uint32_t character_before(std::string_view text, std::uint32_t at) {
  do --at;
  while (at > 0 && is_continuation(text[at]));
  return at;
}

}  // namespace

AddedTokens::AddedTokens(const std::vector<AddedToken>& tokens,
                         const std::function<std::string(std::string_view)>& normalize)
    : tokens_(tokens) {
  std::vector<std::pair<std::string, std::int32_t>> original, normalized;
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const AddedToken& token = tokens_[i];
    by_id_.emplace(token.id, i);
    by_content_.emplace(token.content, i);
    const auto value = static_cast<std::int32_t>(i);
    std::string content = token.normalized ? normalize(token.content) : token.content;
    if (content.empty()) continue;  // it would match everywhere
    if (content.size() > kLongestToken)
      throw Error(ErrorKind::input, "tokenizer.added",
                  concat("tokenizer: added token ", token.id, " is ", content.size(),
                         " bytes long; the limit is ", kLongestToken));
    Search& search = token.normalized ? normalized_ : original_;
    search.add_start(content[0]);
    (token.normalized ? normalized : original).emplace_back(std::move(content), value);
  }
  original_.trie = ByteTrie(std::move(original));
  normalized_.trie = ByteTrie(std::move(normalized));
}

void AddedTokens::Search::add_start(char byte) {
  bool& start = starts[static_cast<unsigned char>(byte)];
  different += start ? 0 : 1;
  start = true;
  last_start = byte;
}

std::uint32_t AddedTokens::Search::next_start(std::string_view text, std::uint32_t at) const noexcept {
  const auto size = static_cast<std::uint32_t>(text.size());
  if (different == 0) return size;
  if (different == 1)
    return static_cast<std::uint32_t>(std::min<std::size_t>(text.find(last_start, at), size));
  while (at < size && !starts[static_cast<unsigned char>(text[at])]) ++at;
  return at;
}

void AddedTokens::find(std::string_view text, Stage stage, std::vector<Part>& parts) const {
  const Search& search = stage == Stage::original ? original_ : normalized_;
  const auto size = static_cast<std::uint32_t>(text.size());
  std::uint32_t done = 0;
  for (std::uint32_t at = 0; (at = search.next_start(text, at)) < size;) {
    std::int32_t found = ByteTrie::kNoValue;
    std::uint32_t end = at;
    ByteTrie::Node node = ByteTrie::kRoot;
    for (std::uint32_t i = at; i < size; ++i) {
      if (node = search.trie.step(node, text[i]); node == ByteTrie::kNowhere) break;
      if (search.trie.value(node) == ByteTrie::kNoValue) continue;
      found = search.trie.value(node);
      end = i + 1;
    }
    if (found == ByteTrie::kNoValue) {
      ++at;
      continue;
    }
    add_match(text, {at, end}, tokens_[static_cast<std::size_t>(found)], done, parts);
    at = std::max(end, done);
  }
  if (done < size) parts.push_back({{done, size}, nullptr});
}

void AddedTokens::add_match(std::string_view text, Range match, const AddedToken& token, std::uint32_t& done,
                            std::vector<Part>& parts) const {
  const auto size = static_cast<std::uint32_t>(text.size());
  if (token.single_word) {
    const bool word_before =
        match.begin > 0 && is_word_character(character_at(text, character_before(text, match.begin)).code);
    const bool word_after = match.end < size && is_word_character(character_at(text, match.end).code);
    if (word_before || word_after) return;
  }
  while (token.lstrip && match.begin > done) {
    const std::uint32_t before = character_before(text, match.begin);
    if (!is_one_of(character_at(text, before).code, kSpace)) break;
    match.begin = before;
  }
  while (token.rstrip && match.end < size) {
    const Character after = character_at(text, match.end);
    if (!is_one_of(after.code, kSpace)) break;
    match.end += after.length;
  }
  if (match.begin > done) parts.push_back({{done, match.begin}, nullptr});
  parts.push_back({match, &token});
  done = match.end;
}

const AddedToken* AddedTokens::find(TokenId id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &tokens_[found->second];
}

const AddedToken* AddedTokens::find(const std::string& content) const {
  const auto found = by_content_.find(content);
  return found == by_content_.end() ? nullptr : &tokens_[found->second];
}

}  // namespace headlight::text
