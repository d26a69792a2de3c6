#include "models/sentence_piece_write.h"

#include <bit>
#include <cstdint>
#include <string_view>

namespace headlight::models {
namespace {

// Protocol buffers: a number for field and wire type, then the value; numbers have seven bits per byte, the lowest first.
class MessageWriter {
 public:
  void number(int field, std::uint64_t value) {
    add(static_cast<std::uint64_t>(field) << 3);
    add(value);
  }
  void real(int field, float value) {
    add(static_cast<std::uint64_t>(field) << 3 | 5);
    const auto bits = std::bit_cast<std::uint32_t>(value);
    for (int byte = 0; byte < 4; ++byte) out_.push_back(static_cast<char>(bits >> 8 * byte & 255));
  }
  void text(int field, std::string_view value) {
    add(static_cast<std::uint64_t>(field) << 3 | 2);
    add(value.size());
    out_ += value;
  }
  [[nodiscard]] const std::string& bytes() const { return out_; }

 private:
  void add(std::uint64_t value) {
    for (; value > 127; value >>= 7) out_.push_back(static_cast<char>((value & 127) | 128));
    out_.push_back(static_cast<char>(value));
  }
  std::string out_;
};

// The id of a token that the file does not have is -1, in ten bytes.
std::uint64_t id_of(std::optional<TokenId> id) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(id.value_or(-1)));
}

MessageWriter training(const GgufVocabulary& vocabulary, bool has_bytes) {
  MessageWriter spec;
  spec.number(3, vocabulary.model == "t5" ? 1 : 2);  // unigram, BPE
  spec.number(35, has_bytes ? 1 : 0);
  spec.number(40, id_of(vocabulary.unknown));
  spec.number(41, id_of(vocabulary.begin));
  spec.number(42, id_of(vocabulary.end));
  spec.number(43, id_of(std::nullopt));
  return spec;
}

}  // namespace

std::string sentence_piece_model(const GgufVocabulary& vocabulary) {
  constexpr std::int32_t kNormal = 1, kByte = 6;
  MessageWriter model;
  bool has_bytes = false;
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const std::int32_t type = vocabulary.types.empty() ? kNormal : vocabulary.types[id];
    has_bytes = has_bytes || type == kByte;
    MessageWriter piece;
    piece.text(1, vocabulary.tokens[id]);
    piece.real(2, vocabulary.scores[id]);
    piece.number(3, static_cast<std::uint64_t>(type));
    model.text(1, piece.bytes());
  }
  model.text(2, training(vocabulary, has_bytes).bytes());
  MessageWriter normalizer;
  normalizer.text(1, vocabulary.charsmap.empty() ? "identity" : "own");
  if (!vocabulary.charsmap.empty()) normalizer.text(2, vocabulary.charsmap);
  normalizer.number(3, vocabulary.add_space_prefix ? 1 : 0);
  normalizer.number(4, vocabulary.remove_extra_spaces ? 1 : 0);
  normalizer.number(5, 1);
  model.text(3, normalizer.bytes());
  return model.bytes();
}

}  // namespace headlight::models
