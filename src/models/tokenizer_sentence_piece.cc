// Parser of SentencePiece's .model, a protocol buffer. Fields that are not used here are skipped;
// every length is checked against the remaining bytes.
#include <bit>
#include <optional>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "models/tokenizer_file.h"
#include "models/tokenizer_vocab.h"
#include "text/parts.h"

namespace headlight::models {
namespace {

using text::SentencePieceParts;
using text::TokenTable;

// A message's fields, one after the other.
class Message {
 public:
  Message(std::string_view bytes, const std::string& file) : rest_(bytes), file_(file) {}

  struct Field {
    std::uint32_t number = 0;
    enum class Wire { integer, fixed64, bytes, fixed32 } wire = Wire::integer;
    std::uint64_t value = 0;
    std::string_view bytes;
  };

  std::optional<Field> next() {
    if (rest_.empty()) return std::nullopt;
    const std::uint64_t tag = varint();
    Field field;
    if (tag >> 3 == 0 || tag >> 3 > 0x1FFFFFFF) refuse("a field has no number");
    field.number = static_cast<std::uint32_t>(tag >> 3);
    switch (tag & 7U) {
      case 0: field.value = varint(); break;
      case 1:
        field.wire = Field::Wire::fixed64;
        field.value = fixed(8);
        break;
      case 2:
        field.wire = Field::Wire::bytes;
        field.bytes = take(varint());
        break;
      case 5:
        field.wire = Field::Wire::fixed32;
        field.value = fixed(4);
        break;
      default: refuse("a field has an unknown form");
    }
    return field;
  }

  [[nodiscard]] std::string_view bytes(const Field& field) const {
    if (field.wire != Field::Wire::bytes) refuse("a text field is not text");
    return field.bytes;
  }
  [[nodiscard]] std::uint64_t integer(const Field& field) const {
    if (field.wire != Field::Wire::integer) refuse("a number field is not a number");
    return field.value;
  }
  [[nodiscard]] float real(const Field& field) const {
    if (field.wire != Field::Wire::fixed32) refuse("a score is not a 32-bit number");
    return std::bit_cast<float>(static_cast<std::uint32_t>(field.value));
  }
  [[nodiscard]] Message message(const Field& field) const { return {bytes(field), file_}; }
  [[noreturn]] void refuse(std::string_view what) const {
    throw Error(ErrorKind::input, "sentencepiece.form",
                concat(escaped(file_), ": not a SentencePiece model: ", what));
  }

 private:
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) refuse("it ends within a number");
      const auto byte = static_cast<unsigned char>(rest_[0]);
      rest_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return value;
    }
    refuse("a number is longer than 64 bits");
  }
  std::string_view take(std::uint64_t count) {
    if (count > rest_.size())
      refuse(concat("a field of ", count, " bytes where ", rest_.size(), " are left"));
    const std::string_view taken = rest_.substr(0, static_cast<std::size_t>(count));
    rest_.remove_prefix(taken.size());
    return taken;
  }
  std::uint64_t fixed(std::size_t count) {
    std::uint64_t value = 0;
    const std::string_view bytes = take(count);
    for (std::size_t i = 0; i < count; ++i)
      value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    return value;
  }

  std::string_view rest_;
  const std::string& file_;
};

void read_piece(Message message, SentencePieceParts& parts) {
  std::string_view piece;
  float score = 0;
  std::uint64_t type = 1;
  while (const auto field = message.next()) {
    if (field->number == 1) piece = message.bytes(*field);
    if (field->number == 2) score = message.real(*field);
    if (field->number == 3) type = message.integer(*field);
  }
  if (type < 1 || type > 6) message.refuse(concat("piece ", parts.vocab.size(), " is of type ", type));
  if (parts.vocab.add(piece, parts.vocab.size()) != TokenTable::Added::yes)
    message.refuse(concat("piece \"", escaped(piece, 60), "\" occurs twice"));
  parts.scores.push_back(score);
  parts.types.push_back(static_cast<SentencePieceParts::Type>(type - 1));
}

void read_trainer(Message message, SentencePieceParts& parts) {
  while (const auto field = message.next()) {
    switch (field->number) {
      case 3: {
        const std::uint64_t kind = message.integer(*field);
        if (kind < 1 || kind > 4) message.refuse(concat("a model of kind ", kind));
        parts.kind = static_cast<SentencePieceParts::Kind>(kind - 1);
        break;
      }
      case 24: parts.space_as_suffix = message.integer(*field) != 0; break;
      case 35: parts.byte_fallback = message.integer(*field) != 0; break;
      case 44: parts.unknown_surface = message.bytes(*field); break;
      default: break;
    }
  }
}

void read_normalizer_spec(Message message, SentencePieceParts& parts) {
  while (const auto field = message.next()) {
    switch (field->number) {
      case 2: parts.charsmap = message.bytes(*field); break;
      case 3: parts.add_dummy_prefix = message.integer(*field) != 0; break;
      case 4: parts.remove_extra_spaces = message.integer(*field) != 0; break;
      case 5: parts.escape_spaces = message.integer(*field) != 0; break;
      default: break;
    }
  }
}

SentencePieceParts read_parts(std::string_view bytes, const std::string& name) {
  SentencePieceParts parts;
  Message message(bytes, name);
  while (const auto field = message.next()) {
    if (field->number == 1) read_piece(message.message(*field), parts);
    if (field->number == 2) read_trainer(message.message(*field), parts);
    if (field->number == 3) read_normalizer_spec(message.message(*field), parts);
  }
  if (parts.vocab.count() == 0) message.refuse("it has no pieces");
  return parts;
}

}  // namespace

Tokenizer tokenizer_from_sentence_piece(std::string_view bytes, const std::string& name) {
  text::TokenizerParts whole;
  whole.model = read_parts(bytes, name);
  return make_named_tokenizer(std::move(whole), name);
}

Tokenizer tokenizer_from_sentence_pair(const io::Json& vocab, std::string_view source,
                                       std::string_view target) {
  const std::string& name = vocab.file();
  text::SentencePairParts pair;
  pair.source = read_parts(source, concat(name, " (source.spm)"));
  pair.target = read_parts(target, concat(name, " (target.spm)"));
  pair.vocab = read_vocab(vocab);
  const auto unknown = pair.vocab.find("<unk>"), end = pair.vocab.find("</s>");
  if (!unknown || !end)
    throw Error(ErrorKind::input, "tokenizer.vocab",
                concat(escaped(name), ": has no token ", unknown ? "</s>" : "<unk>"));
  pair.unknown = *unknown;
  text::TokenizerParts whole;
  for (const char* special : {"</s>", "<unk>", "<pad>"})
    if (const auto id = pair.vocab.find(special))
      whole.added.push_back({.id = *id, .content = special, .special = true});
  using Kind = text::TemplatePiece::Kind;
  const std::vector<text::TemplatePiece> single = {{Kind::first, {}, 0}, {Kind::special, "</s>", 0}};
  const std::vector<text::TemplatePiece> both = {
      {Kind::first, {}, 0}, {Kind::second, {}, 0}, {Kind::special, "</s>", 0}};
  whole.post_processor = {text::Template{single, both, {{"</s>", {{"</s>", *end}}}}}};
  whole.model = std::move(pair);
  return make_named_tokenizer(std::move(whole), name);
}

}  // namespace headlight::models
