#include "models/tokenizer_vocab.h"

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"

namespace headlight::models {
namespace {

using namespace text;
using io::Json;

[[noreturn]] void refuse(const std::string& file, std::string_view code, const std::string& what) {
  throw Error(ErrorKind::input, concat("tokenizer.", code), concat(escaped(file), ": ", what));
}
std::string quoted_token(std::string_view token) { return concat("\"", escaped(token, 60), "\""); }

}  // namespace

TokenId read_token_id(const Json& json, std::string_view token) {
  const std::int64_t id = json.integer();
  if (id < 0 || id > 0x7FFFFFFE)
    refuse(json.file(), "id",
           concat("token ", quoted_token(token), " has the id ", id, ", which is out of range"));
  return static_cast<TokenId>(id);
}

void add_token(TokenTable& vocab, std::string_view token, TokenId id, const std::string& file) {
  switch (vocab.add(token, id)) {
    case TokenTable::Added::yes: return;
    case TokenTable::Added::token_taken:
      refuse(file, "vocab", concat("token ", quoted_token(token), " occurs twice"));
    case TokenTable::Added::id_taken:
      refuse(file, "vocab",
             concat("id ", id, " is given to ", quoted_token(vocab.token(id)), " and ", quoted_token(token)));
    case TokenTable::Added::id_too_large:
      refuse(file, "vocab",
             concat("token ", quoted_token(token), " has the id ", id, ", far outside of the vocabulary"));
  }
}

TokenTable read_vocab(const Json& entries) {
  if (!entries.is(Json::Kind::object))
    refuse(entries.file(), "vocab", "the vocabulary is not an object of tokens and ids");
  TokenTable vocab;
  vocab.reserve(entries.keys().size());
  for (std::size_t i = 0; i < entries.keys().size(); ++i)
    add_token(vocab, entries.keys()[i], read_token_id(entries.items()[i], entries.keys()[i]), entries.file());
  return vocab;
}

BpeParts::Merge merge_of(std::string_view left, std::string_view right, const BpeParts& parts,
                         const std::string& file) {
  const std::size_t skip = right.starts_with(parts.prefix) ? parts.prefix.size() : 0;
  std::string result(left);
  result += right.substr(skip);
  const auto id_of = [&](std::string_view token) {
    const auto found = parts.vocab.find(token);
    if (!found)
      refuse(file, "merge",
             concat("the merge of ", quoted_token(left), " and ", quoted_token(right), " needs ",
                    quoted_token(token), ", which is not in the vocabulary"));
    return *found;
  };
  return {id_of(left), id_of(right), id_of(result)};
}

BpeParts::Merge merge_of(std::string_view both, const BpeParts& parts, const std::string& file) {
  const std::size_t space = both.find(' ');
  if (space == std::string_view::npos || both.find(' ', space + 1) != std::string_view::npos)
    refuse(file, "merge",
           concat("the merge ", quoted_token(both), " is not two pieces with a space between"));
  return merge_of(both.substr(0, space), both.substr(space + 1), parts, file);
}

Tokenizer make_named_tokenizer(TokenizerParts parts, const std::string& file) {
  try {
    return make_tokenizer(std::move(parts));
  } catch (const Error& error) {
    throw Error(error.kind(), error.code(), concat(escaped(file), ": ", error.what()));
  }
}

}  // namespace headlight::models
