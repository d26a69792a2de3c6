// The description of a tokenizer as plain data: the sections of a tokenizer.json and their settings.
// Readers and training produce it, and make_tokenizer() creates a Tokenizer from it.
// A sequence of steps is a vector; nested sequences are flattened.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "headlight/tokenizer.h"
#include "text/token_table.h"

namespace headlight::text {

// Bytes of a token that is searched at every position of a text; longer ones are refused. This keeps the search
// linear in the text for every file.
inline constexpr std::size_t kLongestToken = 1000;

struct Pattern {
  std::string text;
  bool regex = false;  // else the text itself
};

// Normalizers: text to text.
enum class UnicodeForm { nfc, nfd, nfkc, nfkd };
struct Lowercase {};
struct StripAccents {};
struct BertCleaning {
  bool clean_text = true, chinese = true, lowercase = true;
  std::optional<bool> strip_accents = std::nullopt;  // as `lowercase` unless given
};
struct Replace {
  Pattern pattern;
  std::string content;
};
struct Prepend {
  std::string text;
};
struct StripEnds {
  bool left = true, right = true;
};
struct Charsmap {
  std::string bytes;  // SentencePiece's precompiled table of replacements
};
struct NmtCleaning {};
struct BytesAsCharacters {};  // every byte is replaced by the character that represents it
using NormalizerStep = std::variant<UnicodeForm, Lowercase, StripAccents, BertCleaning, Replace, Prepend,
                                    StripEnds, Charsmap, NmtCleaning, BytesAsCharacters>;

// Pre-tokenizers: text to words.
struct ByteLevel {
  bool add_prefix_space = true, trim_offsets = true, use_regex = true;
};
struct WordsAndSigns {};  // runs of \w, and runs of what is neither \w nor space ("Whitespace")
struct WhitespaceSplit {};
struct BertWords {};
enum class PrependScheme { always, first, never };
struct Metaspace {
  std::string replacement = "\u2581";
  PrependScheme scheme = PrependScheme::always;
  bool split = true;
};
enum class SplitBehavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };
struct Split {
  Pattern pattern;
  SplitBehavior behavior = SplitBehavior::isolated;
  bool invert = false;
};
struct Digits {
  bool individual = false;
};
struct Punctuation {
  SplitBehavior behavior = SplitBehavior::isolated;
};
struct Delimiter {
  std::string character;
};
using PreTokenizerStep = std::variant<ByteLevel, WordsAndSigns, WhitespaceSplit, BertWords, Metaspace, Split,
                                      Digits, Punctuation, Delimiter>;

// Models: words to tokens.
struct BpeParts {
  struct Merge {
    TokenId left = 0, right = 0, result = 0;
  };
  TokenTable vocab;
  std::vector<Merge> merges;  // by priority
  std::optional<std::string> unknown = std::nullopt;
  std::string prefix = {};  // in front of every symbol but a word's first
  std::string suffix = {};  // after a word's last symbol
  bool fuse_unknown = false, byte_fallback = false, ignore_merges = false;
};
struct UnigramParts {
  TokenTable vocab;
  std::vector<double> scores;  // by id: log probabilities
  std::optional<TokenId> unknown = std::nullopt;
  bool byte_fallback = false;
};
struct WordPieceParts {
  TokenTable vocab;
  std::string unknown = "[UNK]";
  std::string prefix = "##";
  std::size_t longest_word = 100;  // in characters; a longer one is unknown
};
struct WordLevelParts {
  TokenTable vocab;
  std::string unknown = "<unk>";
};
// SentencePiece models, from a .model file: with their own normalizer and decoder, without pre-tokenizer.
struct SentencePieceParts {
  enum class Kind : std::uint8_t { unigram, bpe, words, characters };
  enum class Type : std::uint8_t { normal, unknown, control, user_defined, unused, byte };
  Kind kind = Kind::unigram;
  TokenTable vocab;
  std::vector<float> scores;  // by id
  std::vector<Type> types;    // by id
  std::string charsmap;
  bool add_dummy_prefix = true, remove_extra_spaces = true, escape_spaces = true;
  bool space_as_suffix = false, byte_fallback = false;
  std::string unknown_surface = " \u2047 ";  // text of a decoded unknown token
};
// Two SentencePiece models whose pieces have the ids of a third file, as in opus-mt: one for sources, one for translations.
// Text is encoded with the first, or as a translation with the second; ids are decoded with the second.
struct SentencePairParts {
  SentencePieceParts source, target;
  TokenTable vocab;
  TokenId unknown = 0;  // a piece without an id
  bool encodes_target = false;
};
using ModelParts = std::variant<BpeParts, UnigramParts, WordPieceParts, WordLevelParts, SentencePieceParts,
                                SentencePairParts>;

// Post-processors: special tokens around the text.
struct NamedToken {
  std::string token;
  TokenId id = 0;
};
struct TemplatePiece {
  enum class Kind { special, first, second } kind = Kind::first;
  std::string special = {};  // its key in Template::specials
  std::int32_t type_id = 0;
};
struct Template {
  struct Special {
    std::string key;
    std::vector<NamedToken> tokens;
  };
  std::vector<TemplatePiece> single, pair;
  std::vector<Special> specials;
};
struct BertEnds {
  NamedToken separator, classifier;
};
struct RobertaEnds {
  NamedToken separator, classifier;
  bool trim_offsets = true, add_prefix_space = true;
};
using PostProcessorStep = std::variant<Template, BertEnds, RobertaEnds, ByteLevel>;

// Decoders: tokens to text.
struct JoinWordPieces {
  std::string prefix = "##";
  bool cleanup = true;
};
struct JoinSuffixed {
  std::string suffix = "</w>";
};
struct JoinBytes {};  // <0xE2> and similar
struct Fuse {};
struct StripCharacters {
  std::string content = " ";
  std::size_t start = 0, stop = 0;
};
struct JoinCtc {
  std::string pad = "<pad>", word_delimiter = "|";
  bool cleanup = true;
};
using DecoderStep = std::variant<ByteLevel, Metaspace, JoinWordPieces, JoinSuffixed, JoinBytes, Fuse, Replace,
                                 StripCharacters, JoinCtc>;

// Tokens that are searched in the text before normalization.
struct AddedToken {
  TokenId id = 0;
  std::string content;
  bool single_word = false;             // only without adjacent word characters
  bool lstrip = false, rstrip = false;  // includes adjacent white space
  bool normalized = false;              // searched after normalization
  bool special = false;
};

struct TokenizerParts {
  std::vector<AddedToken> added;
  std::vector<NormalizerStep> normalizer;
  std::vector<PreTokenizerStep> pre_tokenizer;
  ModelParts model;
  std::vector<PostProcessorStep> post_processor;
  std::vector<DecoderStep> decoder;  // none: tokens joined with spaces
};

// The vocabulary of the model, whatever its kind.
[[nodiscard]] const TokenTable& vocab_of(const ModelParts& model);

// Creates a tokenizer and checks that the parts are consistent. Throws Error{input}.
[[nodiscard]] Tokenizer make_tokenizer(TokenizerParts parts);
// The parts of a tokenizer, to be written to a file.
[[nodiscard]] const TokenizerParts& parts_of(const Tokenizer& tokenizer);

}  // namespace headlight::text
