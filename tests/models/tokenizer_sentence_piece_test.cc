// SentencePiece .model files: made by hand byte by byte, and refused when they are damaged.
#include <gtest/gtest.h>

#include <bit>
#include <fstream>
#include <iterator>

#include "models/tokenizer_file.h"
#include "support/errors.h"
#include "support/shared_data.h"

namespace headlight::testing {
namespace {

std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80U);
  return out + static_cast<char>(value);
}
std::string bytes_field(int number, const std::string& bytes) {
  return varint(static_cast<std::uint64_t>(number) << 3 | 2U) + varint(bytes.size()) + bytes;
}
std::string number_field(int number, std::uint64_t value) {
  return varint(static_cast<std::uint64_t>(number) << 3) + varint(value);
}
std::string piece(const std::string& text, float score, int type) {
  const auto bits = std::bit_cast<std::uint32_t>(score);
  std::string inner = bytes_field(1, text) + varint(2U << 3 | 5U);
  for (int i = 0; i < 4; ++i) inner += static_cast<char>(bits >> (8 * i));
  return bytes_field(1, inner + number_field(3, static_cast<std::uint64_t>(type)));
}
constexpr int kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6;

Tokenizer parse(const std::string& bytes) { return models::tokenizer_from_sentence_piece(bytes, "t.model"); }
std::string trainer(int kind, const std::string& more = "") {
  return bytes_field(2, number_field(3, static_cast<std::uint64_t>(kind)) + more);
}

const std::string kStart = piece("<unk>", 0, kUnknown) + piece("<s>", 0, kControl);

std::string tokens(const Tokenizer& tokenizer, const std::string& text) {
  std::string out;
  for (const TokenPiece& one : tokenizer.encode_pieces(text)) out += (out.empty() ? "" : " ") + one.text;
  return out;
}

TEST(SentencePieceFile, UnigramWithUserSymbolsAndUnusedPieces) {
  const Tokenizer tokenizer =
      parse(kStart + piece("▁a", -1, kNormal) + piece("b", -2, kNormal) + piece("▁ab", -0.5F, kUnused) +
            piece("<br>", 0, kUserDefined) + piece("▁", -3, kNormal) + trainer(1));
  EXPECT_EQ(tokens(tokenizer, "ab"), "▁a b");
  EXPECT_EQ(tokens(tokenizer, "a<br>b"), "▁a <br> b");
  EXPECT_EQ(tokens(tokenizer, "xyb"), "▁ xy b");  // a run of unknown characters is one
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("a b")), "a b");
  EXPECT_EQ(tokenizer.decode(std::vector<TokenId>{1, 2, 0, 3}), "a \u2047 b");
  EXPECT_EQ(tokenizer.decode(std::vector<TokenId>{1, 2, 1}, SpecialTokens::leave_out), "a");
  EXPECT_EQ(tokenizer.decode(std::vector<TokenId>{1, 2, 1}, SpecialTokens::add), "<s> a<s>");
  EXPECT_TRUE(tokenizer.is_special(1));
  EXPECT_EQ(tokens(tokenizer, "<s>"), "▁ <s>");  // control symbols are not recognised in text: unknown
  EXPECT_EQ(tokenizer.encode("<s>")[1], 0);
}

TEST(SentencePieceFile, BpeByScoreAndUnusedGivenBack) {
  const std::string letters = piece("▁", -10, kNormal) + piece("a", -11, kNormal) + piece("b", -12, kNormal);
  EXPECT_EQ(tokens(parse(kStart + letters + piece("ab", -1, kNormal) + piece("▁a", -2, kNormal) + trainer(2)),
                   "ab"),
            "▁ ab");
  EXPECT_EQ(tokens(parse(kStart + letters + piece("ab", -2, kNormal) + piece("▁a", -1, kNormal) + trainer(2)),
                   "ab"),
            "▁a b");
  EXPECT_EQ(tokens(parse(kStart + letters + piece("ab", -1, kUnused) + trainer(2)), "ab"), "▁ a b");
  EXPECT_EQ(tokens(parse(kStart + letters + trainer(4)), "aab"), "▁ a a b");
  EXPECT_EQ(tokens(parse(kStart + letters + piece("▁ab", -1, kNormal) + trainer(3)), "ab ab b"),
            "▁ab ▁ab ▁b");
}

TEST(SentencePieceFile, SpacesAsTheNormalizerSays) {
  const std::string pieces = kStart + piece("▁", -1, kNormal) + piece("a", -2, kNormal);
  const auto with = [&](bool prefix, bool squeeze) {
    return parse(pieces + trainer(1) +
                 bytes_field(3, number_field(3, prefix ? 1 : 0) + number_field(4, squeeze ? 1 : 0)));
  };
  EXPECT_EQ(tokens(with(true, true), "  a  a "), "▁ a ▁ a");
  EXPECT_EQ(tokens(with(false, true), " a"), "a");
  EXPECT_EQ(tokens(with(true, false), " a "), "▁ ▁ a ▁");
  EXPECT_EQ(with(true, false).decode(with(true, false).encode(" a ")), " a ");
  EXPECT_EQ(tokens(parse(pieces + trainer(1, number_field(24, 1))), "a a"), "a ▁ a ▁");  // spaces as suffixes
  const std::vector<TokenSpan> spans = with(true, true).encode_spans("  a  a ");
  EXPECT_EQ(spans[1].begin, 2U);
  EXPECT_EQ(spans[3].begin, 5U);
  EXPECT_EQ(spans[3].end, 6U);
}

TEST(SentencePieceFile, BytesForWhatIsUnknown) {
  std::string bytes = kStart + piece("▁", -1, kNormal);
  for (int i = 0; i < 256; ++i) {
    constexpr const char* hex = "0123456789ABCDEF";
    bytes += piece(std::string("<0x") + hex[i / 16] + hex[i % 16] + ">", 0, kByte);
  }
  const Tokenizer tokenizer = parse(bytes + trainer(1, number_field(35, 1)));
  EXPECT_EQ(tokens(tokenizer, "é"), "▁ <0xC3> <0xA9>");
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("é😀")), "é😀");
  EXPECT_EQ(tokens(tokenizer, "\xFF"), "▁ <0xEF> <0xBF> <0xBD>");  // a byte that is no character: U+FFFD
  EXPECT_EQ(tokenizer.decode(std::vector<TokenId>{3 + 0xC3, 3 + 'a'}), "\uFFFDa");
}

TEST(SentencePieceFile, Refused) {
  const auto refuse = [](const std::string& bytes, const std::string& code, const std::string& words) {
    expect_error([&] { (void)parse(bytes); }, ErrorKind::input, code, words);
  };
  refuse("", "sentencepiece.form", "no pieces");
  refuse("hello", "sentencepiece.form", "not a SentencePiece model");
  refuse("\x0A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", "sentencepiece.form", "bytes where");
  refuse(std::string(11, '\xFF'), "sentencepiece.form", "64 bits");
  refuse(kStart + piece("a", 0, 7), "sentencepiece.form", "type 7");
  refuse(kStart + piece("<s>", 0, kNormal), "sentencepiece.form", "twice");
  refuse(kStart + trainer(9), "sentencepiece.form", "kind 9");
  refuse(piece("a", 0, kNormal), "tokenizer.unknown", "one unknown piece");
  refuse(kStart + piece("x", 0, kUnknown), "tokenizer.unknown", "one unknown piece");
  refuse(kStart + piece("", 0, kNormal), "tokenizer.pieces", "is empty");
  refuse(kStart + piece("\xFF", 0, kNormal), "tokenizer.vocab", "not UTF-8");
  refuse(kStart + piece("a", std::bit_cast<float>(0x7FC00000U), kNormal), "tokenizer.scores", "finite");
  refuse(kStart + piece("<0xZZ>", 0, kByte), "tokenizer.byte", "is marked as a byte");
  refuse(kStart + piece("<0x0a>", 0, kByte) + piece("<0x0A>", 0, kByte), "tokenizer.byte", "two pieces");
  refuse(kStart + trainer(1, number_field(35, 1)), "tokenizer.byte", "256 bytes");
  refuse(kStart + bytes_field(3, bytes_field(2, std::string("\xFF\xFF\xFF\x7F", 4))), "tokenizer.charsmap",
         "does not fit");
  refuse(kStart + bytes_field(3, bytes_field(2, std::string("\0\0\0\0\xFF\0", 6))), "tokenizer.charsmap",
         "not UTF-8");
}

// Cut anywhere, a file is refused or is still a model; it never does harm.
TEST(SentencePieceFile, CutAndChangedAnywhere) {
  std::string whole =
      kStart + piece("▁a", -1, kNormal) + piece("<br>", 0, kUserDefined) + trainer(1) +
      bytes_field(3, bytes_field(2, std::string("\x08\0\0\0\x61\x04\0\0\x61\0\0\x80x\0", 14)));
  (void)parse(whole);
  const auto attempt = [](const std::string& bytes) {
    try {
      (void)parse(bytes).encode("a b<br>\xFF");
    } catch (const Error& error) { EXPECT_EQ(error.kind(), ErrorKind::input); }
  };
  for (std::size_t i = 0; i < whole.size(); ++i) {
    attempt(whole.substr(0, i));
    for (const int bit : {0, 3, 7}) {
      std::string changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      attempt(changed);
    }
  }
}

}  // namespace
}  // namespace headlight::testing
