// Words of a text, tokens of a vocabulary and positions of a run, found by name.
#include <charconv>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "headlight/look.h"
#include "session/state.h"

namespace headlight {
namespace {

[[noreturn]] void refuse(std::string_view text, const std::string& what) {
  throw Error(ErrorKind::usage, "token", concat("\"", escaped(text, 60), "\" is not ", what));
}

TokenId numbered_token(std::string_view text, Index vocabulary) {
  Index id = -1;
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data() + 1, end, id);
  if (problem != std::errc() || stop != end || id < 0 || id >= vocabulary)
    refuse(text, concat("@ and a token id below ", vocabulary));
  return static_cast<TokenId>(id);
}

}  // namespace

WordChoice find_words(const TokenizedText& text, std::string_view words) {
  const inspect::Pick pick = inspect::pick(session::encoded_text(text), words);
  return {pick.word.tokens, pick.others, pick.word.label};
}

TokenId find_token(const Model& model, std::string_view text) {
  if (text.starts_with('@')) return numbered_token(text, model.info().vocabulary);
  const Tokenizer* tokenizer = model.tokenizer();
  if (tokenizer == nullptr) refuse(text, "@ and a token id: the model has no tokenizer");
  if (const std::optional<TokenId> id = tokenizer->find(text)) return *id;
  for (const std::string& form : {concat(" ", text), std::string(text)}) {
    const std::vector<TokenId> ids = tokenizer->encode(form, SpecialTokens::leave_out);
    if (ids.size() == 1) return ids[0];
  }
  std::string pieces;
  for (const TokenPiece& piece : tokenizer->encode_pieces(concat(" ", text), SpecialTokens::leave_out))
    pieces += concat(pieces.empty() ? "" : " ", "\"", escaped(piece.text, 30), "\" (@", piece.id, ")");
  refuse(text, concat("one token of the model, but several: ", pieces));
}

std::optional<Index> natural_position(const Run& run) {
  if (run.predicts_next()) return run.position_tokens().size() - 1;
  if (run.model().info().kind != ModelKind::encoder || run.model().tokenizer() == nullptr)
    return std::nullopt;
  const std::optional<TokenId> mask = run.model().tokenizer()->find(SpecialRole::mask);
  const std::vector<Token>& tokens = run.source().tokens;
  for (std::size_t i = 0; mask && i < tokens.size(); ++i)
    if (tokens[i].id == *mask) return static_cast<Index>(i);
  return std::nullopt;
}

Index usual_position(const Run& run) {
  if (const std::optional<Index> position = natural_position(run)) return *position;
  const TokenizedText& text = run.position_tokens();
  for (auto word = text.words.rbegin(); word != text.words.rend(); ++word)
    if (!text.tokens[static_cast<std::size_t>(word->tokens.begin)].special && word->text.size() > 1)
      return word->tokens.begin;
  return 0;
}

}  // namespace headlight
