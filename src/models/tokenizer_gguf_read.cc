// Reads a vocabulary from tokenizer.ggml.*. Consistency is checked where the values are used.
#include <limits>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "models/tokenizer_gguf.h"

namespace headlight::models {
namespace {

std::string key(std::string_view name) { return concat("tokenizer.ggml.", name); }

[[noreturn]] void refuse_gguf_tokens(const io::Gguf& file, const char* code, const std::string& what) {
  throw Error(ErrorKind::input, concat("gguf.", code), concat(escaped(file.name()), ": ", what));
}

std::vector<std::string> texts(const io::Gguf& file, std::string_view name) {
  std::vector<std::string> list;
  for (const std::string_view text : file.texts(key(name)).value_or(std::vector<std::string_view>{}))
    list.emplace_back(text);
  return list;
}

std::optional<TokenId> token_id(const io::Gguf& file, std::string_view name) {
  const auto found = file.integer(key(name));
  if (!found) return std::nullopt;
  if (*found < 0 || *found > std::numeric_limits<TokenId>::max())
    refuse_gguf_tokens(file, "token_id", concat(key(name), " is ", *found, ", which is not a token id"));
  return static_cast<TokenId>(*found);
}

// A list of another type is refused before its bytes are read.
template <class List>
List checked(const io::Gguf& file, const char* code, const std::optional<List>& list, std::size_t tokens,
             const char* what) {
  if (!list) return {};
  if (list->size() != tokens)
    refuse_gguf_tokens(file, code, concat(tokens, " tokens, but ", list->size(), " ", what));
  return *list;
}

}  // namespace

std::optional<GgufVocabulary> read_gguf_vocabulary(const io::Gguf& file) {
  const auto model = file.text(key("model"));
  if (!model || *model == "none" || *model == "no_vocab") return std::nullopt;
  GgufVocabulary v;
  v.model = *model;
  v.pre = file.text(key("pre")).value_or("default");
  v.tokens = texts(file, "tokens");
  v.merges = texts(file, "merges");
  v.scores = checked(file, "tokens", file.reals(key("scores")), v.tokens.size(), "scores");
  for (const std::int64_t type :
       checked(file, "tokens", file.integers(key("token_type")), v.tokens.size(), "types")) {
    if (type < 0 || type > 100) refuse_gguf_tokens(file, "tokens", concat("a token is of type ", type));
    v.types.push_back(static_cast<std::int32_t>(type));
  }
  v.begin = token_id(file, "bos_token_id");
  v.end = token_id(file, "eos_token_id");
  v.unknown = token_id(file, "unknown_token_id");
  v.separator = token_id(file, "seperator_token_id");  // spelled as in the format
  if (!v.separator) v.separator = token_id(file, "separator_token_id");
  v.classifier = token_id(file, "cls_token_id");
  v.add_begin = file.boolean(key("add_bos_token"));
  v.add_end = file.boolean(key("add_eos_token"));
  v.add_space_prefix = file.boolean(key("add_space_prefix")).value_or(true);
  v.remove_extra_spaces = file.boolean(key("remove_extra_whitespaces")).value_or(false);
  for (const std::int64_t byte :
       file.integers(key("precompiled_charsmap")).value_or(std::vector<std::int64_t>{}))
    v.charsmap += static_cast<char>(byte);
  return v;
}

}  // namespace headlight::models
