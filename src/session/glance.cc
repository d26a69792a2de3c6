#include "session/glance.h"

#include <algorithm>
#include <filesystem>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "inspect/ablation.h"
#include "io/file.h"
#include "session/state.h"
#include "text/lines.h"

namespace headlight::session {
namespace {

using inspect::AttentionMap;

constexpr const char* kCat = "The cat sat on the mat.";
constexpr std::uint64_t kLargestAbout = 4096;
constexpr std::string_view kTaught = "taught head: ";
constexpr std::size_t kAsked =
    80;  // sentences with known antecedents: one half selects a head, the other half tests it

std::vector<std::string> labels_of(const std::vector<inspect::Word>& words) {
  std::vector<std::string> labels;
  labels.reserve(words.size());
  for (const inspect::Word& word : words) labels.push_back(word.label);
  return labels;
}

AttentionMap map_of(Context& ctx, const Run& run, const Head& head) {
  inspect::MapRecorder recorder({.part = head.part, .heads = {head.place()}});
  replay(run, head.part, head.layer, recorder, ctx);
  return std::move(recorder.maps().front());
}

// Lines of the model's own file about its heads: the first is for the screen, "taught head: 3.4" says which head
// training guided.
std::vector<std::string> about(const std::string& folder) {
  const std::string path = folder + "/about.txt";
  if (!std::filesystem::exists(path)) return {""};
  const std::vector<std::byte> bytes = io::read_file(path, kLargestAbout);
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::vector<std::string> lines;
  for (const std::string_view line : text::lines_of(text)) lines.push_back(escaped(line, 60));
  if (lines.empty()) lines.emplace_back();
  return lines;
}

// The head with the best alignment on the model's test sentences; without them the one with the strongest link.
void choose_cross_head(Context& ctx, const Run& run, Glance& view) {
  const inspect::LoadedModel& loaded = run.state().loaded();
  const std::string path = loaded.folder + "/alignments.tsv";
  if (!std::filesystem::exists(path)) {
    view.written.head = first_look(run, {.part = Part::cross}, ctx).head.place();
    return;
  }
  const std::vector<inspect::AlignedSentence> sentences = inspect::read_alignments(path);
  const std::span all(sentences);
  const auto chosen = inspect::score_alignment(ctx, loaded, all.first(all.size() / 2));
  view.written.head = inspect::best_of(chosen).head;
  for (const auto& score : inspect::score_alignment(ctx, loaded, all.subspan(all.size() / 2)))
    if (score.head == view.written.head) view.alignment = score;
}

void add_translation(Context& ctx, const Run& run, const std::string& text, Glance& view) {
  const inspect::ModelInput& input = run.state().input;
  view.text = text;
  view.translation = run.model().tokenizer()->decode(input.written.ids());
  choose_cross_head(ctx, run, view);
  std::vector<inspect::Word> from = inspect::words_of(input.written);
  const std::vector<inspect::Word> to = inspect::words_of(input.source);
  // The attention of the end token is omitted: the text has no such word.
  if (from.size() > 1 && input.written.tokens.back().added) from.pop_back();
  view.written.rows = labels_of(from);
  view.written.columns = labels_of(to);
  const HeadPlace place = view.written.head;
  view.written.map = inspect::by_words(map_of(ctx, run, {Part::cross, place.layer, place.head}), from, to);
}

std::size_t place_of(const std::vector<inspect::Word>& words, const std::string& label) {
  std::size_t i = 0;
  while (words[i].label != label) ++i;  // the caller took it from these words
  return i;
}

// The query: a pronoun if there is one, else the last word.
std::string word_to_ask(const std::vector<inspect::Word>& words, const inspect::EncodedText& encoded) {
  static constexpr const char* kPronouns[] = {"it",  "they", "he",   "she", "them", "him",
                                              "her", "It",   "They", "He",  "She"};
  for (const char* pronoun : kPronouns)
    for (const inspect::Word& word : words)
      if (word.label == pronoun) return pronoun;
  for (auto word = words.rbegin(); word != words.rend(); ++word) {
    const auto& token = encoded.tokens[static_cast<std::size_t>(word->tokens.begin)];
    if (!token.added && word->label.size() > 1) return word->label;
  }
  return words.front().label;
}

WordRow row_of(const AttentionMap& map, const std::vector<inspect::Word>& words, const std::string& word,
               const std::string& key) {
  WordRow row;
  row.word = word;
  row.key = key;
  row.head = {map.layer, map.head};
  const AttentionMap merged = inspect::by_words(map, words, words);
  row.words = labels_of(words);
  for (Index j = 0; j < merged.columns; ++j)
    row.weights.push_back(double{merged.at(static_cast<Index>(place_of(words, word)), j)});
  row.uniform = 1 / static_cast<double>(map.columns);
  return row;
}

// The head with the largest weight from the word to another.
WordRow strongest_row(Context& ctx, const Run& run) {
  const inspect::EncodedText& source = run.state().input.source;
  const std::vector<inspect::Word> words = inspect::words_of(source);
  const std::string word = word_to_ask(words, source);
  const LookRequest request{.part = Part::encoder, .query = words[place_of(words, word)].tokens};
  const FirstLook look = first_look(run, request, ctx);
  const auto at_key = std::find_if(words.begin(), words.end(), [&](const inspect::Word& other) {
    return other.tokens.begin == look.key.begin;
  });
  WordRow row = row_of(map_of(ctx, run, look.head), words, word, at_key->label);
  row.heads = look.heads_searched;
  return row;
}

void add_number(Context& ctx, const Run& run, const HeadPlace& head, Glance& view) {
  const std::vector<inspect::Word> words = inspect::words_of(run.state().input.source);
  const Range query = words[place_of(words, view.query)].tokens,
              key = words[place_of(words, view.key)].tokens;
  view.steps = explain(
      run, {.head = {Part::encoder, head.layer, head.head}, .query = query.begin, .key = key.begin}, ctx);
}

// The head that follows antecedents best on the model's test sentences; without them the one in which "it"
// attends most to the first noun.
void choose_pronoun_head(Context& ctx, const Run& run, PronounView& view) {
  const inspect::LoadedModel& loaded = run.state().loaded();
  const std::string path = loaded.folder + "/pronouns.tsv";
  if (!std::filesystem::exists(path)) {
    const std::vector<inspect::Word> words = inspect::words_of(run.state().input.source);
    view.head = first_look(run,
                           {.part = Part::encoder,
                            .query = words[place_of(words, "it")].tokens,
                            .key = words[place_of(words, view.first)].tokens},
                           ctx)
                    .head.place();
    return;
  }
  const std::vector<inspect::PronounSentence> sentences = inspect::read_pronouns(path);
  const auto all = std::span(sentences).first(std::min(kAsked, sentences.size()));
  view.head = inspect::best_of(inspect::score_antecedents(ctx, loaded, all.first(all.size() / 2))).head;
  for (const auto& score : inspect::score_antecedents(ctx, loaded, all.subspan(all.size() / 2)))
    if (score.head == view.head) view.score = score;
}

Meaning meaning_of(Context& ctx, const Run& run, const std::string& text, const PronounView& view) {
  const inspect::ModelInput& input = run.state().input;
  Meaning meaning;
  meaning.text = text;
  meaning.translation = run.model().tokenizer()->decode(input.written.ids());
  inspect::Ablation off({.change = Change::zero, .part = Part::encoder, .heads = {view.head}});
  meaning.without = inspect::translate(ctx, run.state().loaded(), input.source, nullptr, &off).text;
  const WordRow row = row_of(map_of(ctx, run, {Part::encoder, view.head.layer, view.head.head}),
                             inspect::words_of(input.source), "it", view.first);
  for (std::size_t i = 0; i < row.words.size(); ++i) {
    if (row.words[i] == view.first) meaning.first += row.weights[i];
    if (row.words[i] == view.second) meaning.second += row.weights[i];
  }
  return meaning;
}

// "it was too tired" and "it was too wide", in the same head.
void add_pronoun(Context& ctx, const Model& model, const std::vector<std::string>& lines, Glance& view) {
  const Run tired = attend(ctx, model, {.text = std::string(kTiredSentence)}),
            wide = attend(ctx, model, {.text = std::string(kWideSentence)});
  PronounView& it = view.pronoun.emplace();
  choose_pronoun_head(ctx, tired, it);
  it.meanings = {meaning_of(ctx, tired, std::string(kTiredSentence), it),
                 meaning_of(ctx, wide, std::string(kWideSentence), it)};
  it.taught =
      std::find(lines.begin(), lines.end(), concat(kTaught, it.head.layer, ".", it.head.head)) != lines.end();
  view.query = "it";
  view.key = it.first;
  add_number(ctx, tired, it.head, view);
}

}  // namespace

Glance glance_at(Context& ctx, const Model& model, const std::string& text) {
  const ModelInfo& info = model.info();
  if (info.kind != ModelKind::encoder_decoder || model.tokenizer() == nullptr)
    throw Error(ErrorKind::usage, "look.model",
                concat("\"", escaped(info.name), "\" does not translate; headlight show --model ",
                       escaped(info.path), " \"…\" shows its attention"));
  Glance view;
  view.model = info.name;
  const std::vector<std::string> lines = about(info.path);
  view.about = lines.front();
  view.parameters = info.parameters;
  const std::string read = text.empty() ? kCat : text;
  const Run run = attend(ctx, model, {.text = read});
  add_translation(ctx, run, read, view);
  if (text.empty()) {
    add_pronoun(ctx, model, lines, view);
  } else {
    view.row = strongest_row(ctx, run);
    view.query = view.row->word;
    view.key = view.row->key;
    add_number(ctx, run, view.row->head, view);
  }
  return view;
}

}  // namespace headlight::session
