// Generation: continue texts, translate, and measure predictions.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/run.h"

#pragma GCC visibility push(default)

namespace headlight {

// Why generation stopped.
enum class Ending : std::uint8_t {
  length,   // the requested number of tokens
  end,      // the model predicted its end token
  context,  // the context is full
  stopped,  // by the caller, or by a stop string
};
[[nodiscard]] std::string_view name_of(Ending ending) noexcept;

struct GeneratedToken {
  Index item = 0;  // index of its prompt
  TokenId id = 0;
  double log_probability = 0;  // of the model, before sampling rules
  std::string_view text;       // printable so far: whole characters, never part of a stop string
};

// Rules apply in this order: repetition penalty, temperature, top_k, top_p, min_p.
struct GeneratedText;
struct GenerateOptions {
  Index max_tokens = 200;
  double temperature = 0;         // 0: always the most likely token
  Index top_k = 0;                // sample from the N most likely; 0: all
  double top_p = 1;               // the smallest set of tokens whose probabilities sum to this
  double min_p = 0;               // minimum probability, relative to the most likely token
  double repetition_penalty = 1;  // above 1: tokens that already occur become less likely
  std::uint64_t seed = 0;
  bool stop_at_end = true;              // the end token is not returned
  std::vector<std::string> stops = {};  // stop before the first of these
  Observer* observer = nullptr;
  Intervention* intervention = nullptr;
  // All prompts were accepted; each text has only the ids of its prompt so far.
  std::function<void(std::span<const GeneratedText> texts)> on_start = nullptr;
  std::function<bool(const GeneratedToken& token)> on_token = nullptr;  // false stops that text
  Progress progress = {};
};

struct GeneratedText {
  std::vector<TokenId> prompt_ids;
  std::vector<TokenId> ids;               // of the new tokens
  std::vector<double> log_probabilities;  // of each
  std::string text;                       // generated text, without a stop string
  Ending ending = Ending::length;
  bool stopped_by_string = false;
};
// Throws Error{usage} that names the invalid rule.
void check(const GenerateOptions& options);
// Continues all prompts in one batch. Throws Error{usage} for models that are not decoders.
[[nodiscard]] std::vector<GeneratedText> generate(Context& ctx, const Model& model,
                                                  std::span<const Prompt> prompts,
                                                  const GenerateOptions& options = {});

struct Translation {
  std::string text;
  std::vector<TokenId> ids = {};  // without the end token
  double score = 0;               // log-probability / (length including the end token)^length_penalty
};
// A beam search after one step: the texts that are continued, whose score is the log-probability alone, and those that
// have ended. Both may be empty.
struct BeamTexts {
  std::vector<Translation> continued, ended;
};
struct TranslateOptions {
  Index beams = 4;
  double length_penalty = 1;
  Index max_tokens = 0;    // of a translation; 0: twice the source length plus 16
  Index first_number = 1;  // of the first text, for messages
  bool known_words =
      true;  // prefer words of the model's known_words.txt, if it has one, and of the text itself
  Intervention* intervention = nullptr;
  std::function<void(const BeamTexts& texts)> on_step = nullptr;  // after each step; needs a single text
};
// One for each text; a text of only spaces gives an empty translation.
[[nodiscard]] std::vector<Translation> translate(Context& ctx, const Model& model,
                                                 std::span<const std::string> texts,
                                                 const TranslateOptions& options = {},
                                                 const Progress& progress = {});

// Sentences with one or more reference translations.
struct TestSet {
  std::vector<std::string> sources = {};
  std::vector<std::vector<std::string>> references = {};
};
struct TranslationScore {
  double bleu = 0;                  // 0 to 100, 13a tokenization
  double chrf = 0;                  // chrF2, 0 to 100
  double brevity = 0;               // brevity penalty
  std::vector<double> shared = {};  // precision of 1- to 4-grams
  Index sentences = 0, references = 0;
};
// Cuts sources that are longer than the model's context, and returns how many were cut.
Index cut_sources(TestSet& set, const Model& model);
// translations[i] belongs to sources[i].
[[nodiscard]] TranslationScore score_translations(const TestSet& set,
                                                  std::span<const std::string> translations);

// Texts between separators, without surrounding spaces; an empty separator: one text.
[[nodiscard]] std::vector<std::string> split_documents(std::string_view text, std::string_view separator);

struct EvaluateOptions {
  Index context = 0;  // tokens that a prediction may depend on; 0: the context of the model
  std::string separator = "<|endoftext|>";  // between documents; empty: one document
};
struct Evaluation {
  double nats = 0;  // sum over all tokens
  Index tokens = 0, bytes = 0, documents = 0;
  [[nodiscard]] double nats_per_token() const { return tokens > 0 ? nats / static_cast<double>(tokens) : 0; }
  [[nodiscard]] double nats_per_byte() const { return bytes > 0 ? nats / static_cast<double>(bytes) : 0; }
  [[nodiscard]] double bits_per_byte() const;
  [[nodiscard]] double perplexity() const;  // per token
};
// Loss of a decoder on a text. Each document is evaluated separately.
[[nodiscard]] Evaluation evaluate(Context& ctx, const Model& model, std::span<const std::string> documents,
                                  const EvaluateOptions& options = {}, const Progress& progress = {});
[[nodiscard]] Evaluation evaluate(Context& ctx, const Model& model, std::istream& text,
                                  const EvaluateOptions& options = {}, const Progress& progress = {});

}  // namespace headlight

#pragma GCC visibility pop
