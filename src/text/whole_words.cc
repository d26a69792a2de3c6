#include "text/whole_words.h"

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "text/bpe.h"
#include "text/byte_characters.h"
#include "text/unicode.h"
#include "text/unigram.h"

namespace headlight::text {
namespace {

void add_unknown(const TokenTable& vocab, const std::string& unknown, std::string_view word,
                 std::vector<Piece>& out) {
  const auto id = vocab.find(unknown);
  if (!id)
    throw Error(ErrorKind::input, "tokenizer.unknown",
                concat("tokenizer: \"", escaped(word, 60), "\" is unknown, and so is the unknown token \"",
                       escaped(unknown, 60), "\""));
  out.push_back({*id, 0, static_cast<std::uint32_t>(word.size())});
}

}  // namespace

WordPiece::WordPiece(const WordPieceParts& parts, Symbols symbols)
    : parts_(parts),
      symbols_(symbols),
      trie_(trie_of(parts.vocab, symbols)),
      continued_(trie_.walk(ByteTrie::kRoot, parts.prefix)) {}

void WordPiece::encode(std::string_view word, std::vector<Piece>& out) const {
  const std::size_t first = out.size();
  const std::size_t characters = symbols_ == Symbols::bytes ? word.size() : count_characters(word);
  bool known = characters <= parts_.longest_word;
  for (std::uint32_t at = 0; known && at < word.size();) {
    Piece longest{-1, at, at};
    ByteTrie::Node node = at == 0 ? ByteTrie::kRoot : continued_;
    for (std::uint32_t end = at; node != ByteTrie::kNowhere && end < word.size();) {
      node = trie_.step(node, word[end++]);
      if (node != ByteTrie::kNowhere && trie_.value(node) != ByteTrie::kNoValue)
        longest = {trie_.value(node), at, end};
    }
    known = longest.id >= 0;
    if (known) out.push_back(longest);
    at = longest.end;
  }
  if (known) return;
  out.resize(first);
  add_unknown(parts_.vocab, parts_.unknown, word, out);
}

void WordLevel::encode(std::string_view word, std::vector<Piece>& out) const {
  const auto id =
      symbols_ == Symbols::bytes ? parts_.vocab.find(bytes_to_characters(word)) : parts_.vocab.find(word);
  if (id) out.push_back({*id, 0, static_cast<std::uint32_t>(word.size())});
  else add_unknown(parts_.vocab, parts_.unknown, word, out);
}

}  // namespace headlight::text
