#include "inspect/pronouns.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "io/file.h"
#include "text/lines.h"
#include "text/spaced_words.h"

namespace headlight::inspect {
namespace {

constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 24;
constexpr std::size_t kColumns = 8;
constexpr std::string_view kCode = "pronouns.line";

Index number_in(std::string_view column, std::string_view what, const text::FilePlace& place) {
  Index number = 0;
  const auto end = column.data() + column.size();
  const auto read = std::from_chars(column.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end || number < 0)
    text::refuse(place, kCode, concat(what, " \"", escaped(column, 20), "\" is not a number from 0"));
  return number;
}

PronounSentence parse_line(std::string_view line, const text::FilePlace& place) {
  const std::vector<std::string_view> columns = text::split(line, '\t');
  if (columns.size() != kColumns)
    text::refuse(place, kCode, concat("needs ", kColumns, " columns between tabs, has ", columns.size()));
  PronounSentence s{std::string(columns[0]),
                    std::string(columns[1]),
                    number_in(columns[2], "pronoun", place),
                    number_in(columns[3], "antecedent", place),
                    number_in(columns[4], "other noun", place),
                    number_in(columns[7], "twin", place)};
  const Index words = text::count_spaced_words(s.source);
  if (std::max({s.pronoun, s.antecedent, s.other}) >= words)
    text::refuse(place, kCode, concat("names a word beyond the ", words, " words of its sentence"));
  return s;
}

Range tokens_of(const EncodedText& encoded, Index word) {
  const auto [begin, end] = text::tokens_in(encoded.tokens, text::spaced_word(encoded.text, word));
  return {begin, end};
}

double weight_on(const AttentionMap& map, const Range& keys) {
  double sum = 0;
  for (Index j = keys.begin; j < keys.end; ++j) sum += double{map.at(0, j)};
  return sum;
}

// The number of pairs of twins that are both right, for one head.
class TwinCounter {
 public:
  void add(Index twin, bool right) {
    auto& [sentences, rights] = counts_[twin];
    ++sentences;
    rights += right ? 1 : 0;
  }
  void write(AntecedentScore& score) const {
    for (const auto& [twin, count] : counts_) {
      if (count.first != 2) continue;
      ++score.twins;
      if (count.second == 2) ++score.twins_right;
    }
  }

 private:
  std::map<Index, std::pair<int, int>> counts_;
};

void check_encoder(const LoadedModel& loaded) {
  if (loaded.has(Part::encoder) && loaded.tokenizer) return;
  throw Error(
      ErrorKind::usage, "pronouns.model",
      concat("\"", escaped(loaded.name), "\" cannot be used: pronouns need an encoder with a tokenizer"));
}

}  // namespace

std::vector<PronounSentence> parse_pronouns(std::string_view text, const std::string& name) {
  std::vector<PronounSentence> sentences;
  std::size_t number = 0;
  for (const std::string_view line : text::lines_of(text)) {
    ++number;
    if (!line.empty() && line[0] != '#') sentences.push_back(parse_line(line, {name, number}));
  }
  return sentences;
}

std::vector<PronounSentence> read_pronouns(const std::string& path) {
  const std::vector<std::byte> bytes = io::read_file(path, kLargestFile);
  return parse_pronouns({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

std::vector<AntecedentScore> score_antecedents(Context& ctx, const LoadedModel& loaded,
                                               std::span<const PronounSentence> sentences,
                                               const SentencesDone& done) {
  check_encoder(loaded);
  std::vector<AntecedentScore> scores;
  std::vector<TwinCounter> twins;
  for (std::size_t n = 0; n < sentences.size(); ++n) {
    const PronounSentence& s = sentences[n];
    const ModelInput input{.source = read_text(*loaded.tokenizer, s.source)};
    const Index query = tokens_of(input.source, s.pronoun).begin;
    const Range antecedent = tokens_of(input.source, s.antecedent), other = tokens_of(input.source, s.other);
    MapRecorder recorder({.part = Part::encoder, .rows = {query, query + 1}});
    (void)watch(ctx, loaded, input, recorder);
    scores.resize(recorder.maps().size());
    twins.resize(scores.size());
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const AttentionMap& map = recorder.maps()[i];
      const double on_antecedent = weight_on(map, antecedent), on_other = weight_on(map, other);
      scores[i].head = {map.layer, map.head};
      scores[i].antecedent += on_antecedent;
      scores[i].other += on_other;
      ++scores[i].sentences;
      if (on_antecedent > on_other) ++scores[i].right;
      twins[i].add(s.twin, on_antecedent > on_other);
    }
    if (done) done(n + 1);
  }
  for (std::size_t i = 0; i < scores.size(); ++i) {
    scores[i].antecedent /= static_cast<double>(scores[i].sentences);
    scores[i].other /= static_cast<double>(scores[i].sentences);
    twins[i].write(scores[i]);
  }
  return scores;
}

const AntecedentScore& best_of(std::span<const AntecedentScore> scores) {
  if (scores.empty())
    throw Error(ErrorKind::usage, "pronouns.empty", "pronouns: no sentence to score heads on");
  return *std::max_element(scores.begin(), scores.end(),
                           [](const AntecedentScore& a, const AntecedentScore& b) {
                             return a.right != b.right ? a.right < b.right : a.antecedent < b.antecedent;
                           });
}

std::vector<std::string> french_pronouns(std::string_view text) {
  std::vector<std::string> found;
  std::string word;
  const auto finish = [&] {
    if (word == "il" || word == "elle" || word == "ils" || word == "elles") found.push_back(word);
    word.clear();
  };
  for (const char letter : text) {
    const bool capital = letter >= 'A' && letter <= 'Z';
    const bool part =
        capital || (letter >= 'a' && letter <= 'z') || static_cast<unsigned char>(letter) >= 0x80;
    if (!part) finish();
    else word += capital ? static_cast<char>(letter - 'A' + 'a') : letter;
  }
  finish();
  return found;
}

Index PronounTranslations::count_right() const { return std::count(right.begin(), right.end(), true); }

PronounTranslations translate_pronouns(Context& ctx, const LoadedModel& loaded,
                                       std::span<const PronounSentence> sentences, Intervention* intervention,
                                       const SentencesDone& done) {
  check_encoder(loaded);
  PronounTranslations out;
  for (std::size_t n = 0; n < sentences.size(); ++n) {
    const EncodedText source = read_text(*loaded.tokenizer, sentences[n].source);
    out.texts.push_back(translate(ctx, loaded, source, nullptr, intervention).text);
    out.right.push_back(french_pronouns(out.texts.back()) == french_pronouns(sentences[n].translation));
    if (done) done(n + 1);
  }
  return out;
}

}  // namespace headlight::inspect
