#include "inspect/word_alignment.h"

#include <algorithm>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "inspect/model_run.h"
#include "io/file.h"
#include "text/lines.h"

namespace headlight::inspect {
namespace {

constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 24;

AlignedSentence parse_line(std::string_view line, const text::FilePlace& place) {
  constexpr std::string_view code = "alignment.line";
  const std::vector<std::string_view> columns = text::split(line, '\t');
  if (columns.size() != 3)
    text::refuse(place, code,
                 concat("needs source, translation and words between tabs, has ", columns.size()));
  AlignedSentence sentence{std::string(columns[0]), std::string(columns[1]), {}};
  for (const std::string_view pair : text::split(columns[2], ' ')) {
    const std::size_t equals = pair.find('=');
    if (equals == 0 || equals == std::string_view::npos || equals + 1 == pair.size())
      text::refuse(place, code, concat("\"", escaped(pair, 40), "\" is not WORD=SOURCE,SOURCE"));
    AlignedWord word{std::string(pair.substr(0, equals)), {}};
    for (const std::string_view source : text::split(pair.substr(equals + 1), ','))
      word.source.emplace_back(source);
    sentence.words.push_back(std::move(word));
  }
  return sentence;
}

std::size_t place_of(const std::vector<Word>& words, const std::string& label,
                     const AlignedSentence& sentence) {
  const auto found =
      std::find_if(words.begin(), words.end(), [&](const Word& w) { return w.label == label; });
  if (found == words.end()) {
    throw Error(ErrorKind::input, "alignment.word",
                concat("alignments: no word \"", escaped(label, 40), "\" in \"", escaped(sentence.source, 80),
                       "\" / \"", escaped(sentence.written, 80), "\""));
  }
  return static_cast<std::size_t>(found - words.begin());
}

bool looks_right(const AttentionMap& map, std::size_t row, const std::vector<std::size_t>& right) {
  const auto begin = map.weights.begin() + static_cast<std::ptrdiff_t>(row) * map.columns;
  const auto hardest = static_cast<std::size_t>(std::max_element(begin, begin + map.columns) - begin);
  return std::find(right.begin(), right.end(), hardest) != right.end();
}

}  // namespace

std::vector<AlignedSentence> parse_alignments(std::string_view text, const std::string& name) {
  std::vector<AlignedSentence> sentences;
  std::size_t number = 0;
  for (const std::string_view line : text::lines_of(text)) {
    ++number;
    if (!line.empty() && line[0] != '#') sentences.push_back(parse_line(line, {name, number}));
  }
  return sentences;
}

std::vector<AlignedSentence> read_alignments(const std::string& path) {
  const std::vector<std::byte> bytes = io::read_file(path, kLargestFile);
  return parse_alignments({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

std::vector<AlignmentScore> score_alignment(Context& ctx, const LoadedModel& loaded,
                                            std::span<const AlignedSentence> sentences) {
  if (!loaded.has(Part::cross) || !loaded.tokenizer) {
    throw Error(ErrorKind::usage, "alignment.model",
                concat("\"", escaped(loaded.name),
                       "\" cannot align words: this needs an encoder-decoder with a tokenizer"));
  }
  std::vector<AlignmentScore> scores;
  for (const AlignedSentence& sentence : sentences) {
    const ModelInput input{.source = read_text(*loaded.tokenizer, sentence.source),
                           .written = read_text(loaded.tokenizer->for_target(), sentence.written)};
    MapRecorder recorder({.part = Part::cross});
    (void)watch(ctx, loaded, input, recorder);
    const std::vector<Word> from = words_of(input.written), to = words_of(input.source);
    scores.resize(recorder.maps().size());
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const AttentionMap map = by_words(recorder.maps()[i], from, to);
      scores[i].head = {map.layer, map.head};
      for (const AlignedWord& word : sentence.words) {
        std::vector<std::size_t> right;
        for (const std::string& source : word.source) right.push_back(place_of(to, source, sentence));
        ++scores[i].words;
        if (looks_right(map, place_of(from, word.written, sentence), right)) ++scores[i].right;
      }
    }
  }
  return scores;
}

const AlignmentScore& best_of(std::span<const AlignmentScore> scores) {
  if (scores.empty())
    throw Error(ErrorKind::usage, "alignment.empty", "alignments: no sentence to score heads on");
  return *std::max_element(
      scores.begin(), scores.end(),
      [](const AlignmentScore& a, const AlignmentScore& b) { return a.right < b.right; });
}

}  // namespace headlight::inspect
