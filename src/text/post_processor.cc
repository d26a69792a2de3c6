// Post-processors: special tokens around the text, type ids for pairs, and spaces trimmed from origins.
#include <algorithm>
#include <iterator>

#include "text/byte_characters.h"
#include "text/tokenizer_model.h"

namespace headlight {
namespace text {
namespace {

// Spaces at the ends of a byte-level token do not count as its text.
void trim_origins(Encoded& encoded, bool prefix_space, const auto& text_of) {
  const auto is_space = [](char32_t c) { return c == character_of(' ') || is_one_of(c, kSpace); };
  for (std::size_t i = 0; i < encoded.tokens.size(); ++i) {
    Token& token = encoded.tokens[i];
    const std::string_view text = text_of(encoded, token);
    std::uint32_t leading = 0, trailing = 0;
    for (std::size_t at = 0; at < text.size();) {
      const Character c = character_at(text, at);
      at += c.length;
      const bool space = is_space(c.code);
      if (space && leading + c.length == at) leading += c.length;
      trailing = space ? trailing + 1 : 0;
    }
    leading = static_cast<std::uint32_t>(count_characters(text.substr(0, leading)));
    Range& origin = token.origin;
    if (leading > 0 && !(prefix_space && (i == 0 || origin.begin == 0)))
      origin.begin = std::min(origin.begin + leading, origin.end);
    if (trailing > 0 && origin.end >= trailing) origin.end = std::max(origin.end - trailing, origin.begin);
  }
}

class Assembly {
 public:
  Assembly(Encoded& first, Encoded* second, SpecialTokens special)
      : first_(first), second_(second), special_(special) {}

  void add(TokenId id, std::int32_t type_id) {
    if (special_ == SpecialTokens::add)
      out_.tokens.push_back({id, {}, -1, static_cast<std::uint8_t>(type_id), true});
  }
  // Each text once: its tokens are moved.
  void add_text(bool first, std::int32_t type_id) {
    if (!first && second_ == nullptr) return;
    Encoded& from = first ? first_ : *second_;
    const auto shift = static_cast<std::int32_t>(out_.surfaces.size());
    if (type_id != 0 || shift != 0) {
      for (Token& token : from.tokens) {
        token.type_id = static_cast<std::uint8_t>(type_id);
        if (token.surface >= 0) token.surface += shift;
      }
    }
    if (out_.tokens.size() < from.tokens.size()) {
      from.tokens.insert(from.tokens.begin(), out_.tokens.begin(), out_.tokens.end());
      out_.tokens = std::move(from.tokens);
    } else {
      out_.tokens.insert(out_.tokens.end(), from.tokens.begin(), from.tokens.end());
    }
    out_.surfaces.insert(out_.surfaces.end(), std::make_move_iterator(from.surfaces.begin()),
                         std::make_move_iterator(from.surfaces.end()));
  }
  [[nodiscard]] Encoded finish() { return std::move(out_); }

  // [CLS] a [SEP] b [SEP], or <s> a </s></s> b </s>.
  void ends(const NamedToken& classifier, const NamedToken& separator, bool roberta) {
    add(classifier.id, 0);
    add_text(true, 0);
    add(separator.id, 0);
    if (second_ == nullptr) return;
    if (roberta) add(separator.id, 0);
    add_text(false, roberta ? 0 : 1);
    add(separator.id, roberta ? 0 : 1);
  }

  void fill(const Template& from) {
    for (const TemplatePiece& piece : second_ != nullptr ? from.pair : from.single) {
      if (piece.kind != TemplatePiece::Kind::special) {
        add_text(piece.kind == TemplatePiece::Kind::first, piece.type_id);
        continue;
      }
      const auto same = [&](const Template::Special& s) { return s.key == piece.special; };
      const auto found = std::find_if(from.specials.begin(), from.specials.end(), same);
      for (const NamedToken& token : found->tokens) add(token.id, piece.type_id);
    }
  }

 private:
  Encoded& first_;
  Encoded* second_;
  SpecialTokens special_;
  Encoded out_;
};

}  // namespace
}  // namespace text

text::Encoded TokenizerModel::post_process(text::Encoded first, text::Encoded* second,
                                           SpecialTokens special) const {
  using namespace text;
  const auto text_of = [&](const Encoded& encoded, const Token& token) -> std::string_view {
    return token.surface >= 0 ? encoded.surfaces[static_cast<std::size_t>(token.surface)]
                              : this->token(token.id);
  };
  const auto trim = [&](bool prefix_space) {
    trim_origins(first, prefix_space, text_of);
    if (second != nullptr) trim_origins(*second, prefix_space, text_of);
  };
  std::optional<Encoded> out;
  for (const PostProcessorStep& step : parts_.post_processor) {
    Assembly assembly(first, second, special);
    if (const auto* bytes = std::get_if<ByteLevel>(&step)) {
      if (bytes->trim_offsets) trim(bytes->add_prefix_space);
      continue;
    }
    if (const auto* bert = std::get_if<BertEnds>(&step))
      assembly.ends(bert->classifier, bert->separator, false);
    if (const auto* from = std::get_if<Template>(&step)) assembly.fill(*from);
    if (const auto* roberta = std::get_if<RobertaEnds>(&step)) {
      if (roberta->trim_offsets) trim(roberta->add_prefix_space);
      assembly.ends(roberta->classifier, roberta->separator, true);
    }
    out = assembly.finish();
  }
  if (out) return std::move(*out);
  if (second == nullptr) return first;
  Assembly assembly(first, second, special);
  assembly.add_text(true, 0);
  assembly.add_text(false, 1);
  return assembly.finish();
}

}  // namespace headlight
