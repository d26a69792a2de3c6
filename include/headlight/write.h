// Models that write: texts continued, translated, and how well they are guessed.
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

// Why a text ends.
enum class Ending : std::uint8_t {
  length,   // it has as many tokens as were asked for
  end,      // the model ended it
  context,  // the model reads no more
  stopped,  // by the caller, or by a stop string
};
[[nodiscard]] std::string_view name_of(Ending ending) noexcept;

struct GeneratedToken {
  Index item = 0;  // which prompt it follows
  TokenId id = 0;
  double log_probability = 0;  // the model's own, whatever rule chose the token
  std::string_view text;       // what can be shown now: whole characters, and never a part of a stop string
};

// Rules apply in this order: repetition penalty, temperature, top_k, top_p, min_p.
struct GeneratedText;
struct GenerateOptions {
  Index max_tokens = 200;
  double temperature = 0;         // 0: always the likeliest token
  Index top_k = 0;                // only the so many likeliest; 0: all
  double top_p = 1;               // the smallest set of tokens whose probabilities sum to this
  double min_p = 0;               // only tokens at least so likely, as a share of the likeliest
  double repetition_penalty = 1;  // above 1: tokens that the text has already become less likely
  std::uint64_t seed = 0;
  bool stop_at_end = true;              // the end's own token is not returned
  std::vector<std::string> stops = {};  // a text ends before the first of these
  Observer* observer = nullptr;
  Intervention* intervention = nullptr;
  // All prompts were accepted; each text has its prompt's ids and nothing else yet.
  std::function<void(std::span<const GeneratedText> texts)> on_start = nullptr;
  std::function<bool(const GeneratedToken& token)> on_token = nullptr;  // false ends that text
  Progress progress = {};
};

struct GeneratedText {
  std::vector<TokenId> prompt_ids;
  std::vector<TokenId> ids;               // of the new tokens
  std::vector<double> log_probabilities;  // of each
  std::string text;                       // that was added, without a stop string
  Ending ending = Ending::length;
  bool stopped_by_string = false;
};
// Throws Error{usage} that names the rule which makes no sense.
void check(const GenerateOptions& options);
// What follows each prompt, all of them at once. Throws Error{usage} for models that do not write.
[[nodiscard]] std::vector<GeneratedText> generate(Context& ctx, const Model& model,
                                                  std::span<const Prompt> prompts,
                                                  const GenerateOptions& options = {});

struct TranslateOptions {
  Index beams = 4;
  double length_penalty = 1;
  Index max_tokens = 0;    // of a translation; 0: twice its source's and 16
  Index first_number = 1;  // of the first text, for messages
  Intervention* intervention = nullptr;
};
struct Translation {
  std::string text;
  std::vector<TokenId> ids = {};  // without the end
  double score = 0;               // log-probability / (tokens and the end)^length_penalty
};
// One for each text; a text of spaces alone becomes an empty one.
[[nodiscard]] std::vector<Translation> translate(Context& ctx, const Model& model,
                                                 std::span<const std::string> texts,
                                                 const TranslateOptions& options = {},
                                                 const Progress& progress = {});

// Sentences with one or more translations that people made of each.
struct TestSet {
  std::vector<std::string> sources = {};
  std::vector<std::vector<std::string>> references = {};
};
struct TranslationScore {
  double bleu = 0;                  // 0 to 100, words cut by the rules of 13a
  double chrf = 0;                  // chrF2, 0 to 100
  double brevity = 0;               // BLEU's factor for being too short
  std::vector<double> shared = {};  // shares of runs of 1, 2, 3 and 4 words that a reference has
  Index sentences = 0, references = 0;
};
// translations[i] is that of sources[i].
[[nodiscard]] TranslationScore score_translations(const TestSet& set,
                                                  std::span<const std::string> translations);

// Texts between separators, without the blanks around them; an empty separator: all of it is one.
[[nodiscard]] std::vector<std::string> split_documents(std::string_view text, std::string_view separator);

struct EvaluateOptions {
  Index context = 0;  // tokens that a guess may look back at; 0: as many as the model reads
  std::string separator = "<|endoftext|>";  // between documents; empty: everything is one
};
struct Evaluation {
  double nats = 0;  // sum over all tokens
  Index tokens = 0, bytes = 0, documents = 0;
  [[nodiscard]] double nats_per_token() const { return tokens > 0 ? nats / static_cast<double>(tokens) : 0; }
  [[nodiscard]] double nats_per_byte() const { return bytes > 0 ? nats / static_cast<double>(bytes) : 0; }
  [[nodiscard]] double bits_per_byte() const;
  [[nodiscard]] double perplexity() const;  // per token
};
// How well a decoder guesses a text. Each document is guessed on its own.
[[nodiscard]] Evaluation evaluate(Context& ctx, const Model& model, std::span<const std::string> documents,
                                  const EvaluateOptions& options = {}, const Progress& progress = {});
[[nodiscard]] Evaluation evaluate(Context& ctx, const Model& model, std::istream& text,
                                  const EvaluateOptions& options = {}, const Progress& progress = {});

}  // namespace headlight

#pragma GCC visibility pop
