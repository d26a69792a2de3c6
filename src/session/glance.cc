#include "session/glance.h"

#include <algorithm>
#include <filesystem>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "io/file.h"
#include "session/state.h"

namespace headlight::session {
namespace {

using inspect::AttentionMap;

constexpr const char *kCat = "The cat sat on the mat.",
                     *kControl = "The animal didn't cross the street because it was too wide.";
constexpr std::uint64_t kLargestAbout = 4096;

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

// A first line that the model's makers wrote about it.
std::string about(const std::string& folder) {
  const std::string path = folder + "/about.txt";
  if (!std::filesystem::exists(path)) return "";
  const std::vector<std::byte> bytes = io::read_file(path, kLargestAbout);
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return escaped(text.substr(0, text.find('\n')), 60);
}

// The head that aligns best by sentences that come with the model; without them the one with the strongest link.
void choose_cross_head(Context& ctx, const Run& run, Glance& view) {
  const inspect::Subject& subject = run.state().subject();
  const std::string path = subject.folder + "/alignments.tsv";
  if (!std::filesystem::exists(path)) {
    view.written.head = first_look(run, {.part = Part::cross}, ctx).head.place();
    return;
  }
  const std::vector<inspect::AlignedSentence> sentences = inspect::read_alignments(path);
  const std::span all(sentences);
  const auto chosen = inspect::score_alignment(ctx, subject, all.first(all.size() / 2));
  view.written.head = inspect::best_of(chosen).head;
  for (const auto& score : inspect::score_alignment(ctx, subject, all.subspan(all.size() / 2)))
    if (score.head == view.written.head) view.alignment = score;
}

void add_translation(Context& ctx, const Run& run, const std::string& text, Glance& view) {
  const inspect::Question& question = run.state().question;
  view.text = text;
  view.translation = run.model().tokenizer()->decode(question.written.ids());
  choose_cross_head(ctx, run, view);
  const std::vector<inspect::Word> from = inspect::words_of(question.written),
                                   to = inspect::words_of(question.source);
  view.written.rows = labels_of(from);
  view.written.columns = labels_of(to);
  const HeadPlace place = view.written.head;
  view.written.map = inspect::by_words(map_of(ctx, run, {Part::cross, place.layer, place.head}), from, to);
}

std::size_t place_of(const std::vector<inspect::Word>& words, const std::string& label) {
  std::size_t i = 0;
  while (words[i].label != label) ++i;  // the caller has taken it from these words
  return i;
}

// Who looks: a pronoun, whose meaning lies elsewhere, else the last word.
std::string word_to_ask(const std::vector<inspect::Word>& words, const inspect::Reading& reading) {
  static constexpr const char* kPronouns[] = {"it",  "they", "he",   "she", "them", "him",
                                              "her", "It",   "They", "He",  "She"};
  for (const char* pronoun : kPronouns)
    for (const inspect::Word& word : words)
      if (word.label == pronoun) return pronoun;
  for (auto word = words.rbegin(); word != words.rend(); ++word) {
    const auto& token = reading.tokens[static_cast<std::size_t>(word->tokens.begin)];
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

// The head where the word looks hardest: at `key`, or without one at any other word.
WordRow strongest_row(Context& ctx, const Run& run, const std::string& key) {
  const inspect::Reading& source = run.state().question.source;
  const std::vector<inspect::Word> words = inspect::words_of(source);
  const std::string word = key.empty() ? word_to_ask(words, source) : "it";
  LookRequest request{.part = Part::encoder, .query = words[place_of(words, word)].tokens};
  if (!key.empty()) request.key = words[place_of(words, key)].tokens;
  const FirstLook look = first_look(run, request, ctx);
  const auto at_key = std::find_if(words.begin(), words.end(), [&](const inspect::Word& other) {
    return other.tokens.begin == look.key.begin;
  });
  WordRow row = row_of(map_of(ctx, run, look.head), words, word, at_key->label);
  row.heads = look.heads_searched;
  return row;
}

void add_number(Context& ctx, const Run& run, Glance& view) {
  const std::vector<inspect::Word> words = inspect::words_of(run.state().question.source);
  const Range query = words[place_of(words, view.row.word)].tokens,
              key = words[place_of(words, view.row.key)].tokens;
  view.steps = explain(run,
                       {.head = {Part::encoder, view.row.head.layer, view.row.head.head},
                        .query = query.begin,
                        .key = key.begin},
                       ctx);
}

// The tutorials' sentence with its control: the same head, asked when "it" is the street.
void add_street(Context& ctx, const Model& model, Glance& view) {
  const Run street = attend(ctx, model, {.text = std::string(kStreetSentence)});
  view.street = kStreetSentence;
  view.street_translation = model.tokenizer()->decode(street.state().question.written.ids());
  view.row = strongest_row(ctx, street, "animal");
  add_number(ctx, street, view);
  const Run control = attend(ctx, model, {.text = kControl}, {.parts = {Part::encoder}});
  const AttentionMap map = map_of(ctx, control, {Part::encoder, view.row.head.layer, view.row.head.head});
  const WordRow row = row_of(map, inspect::words_of(control.state().question.source), "it", "animal");
  view.control = "too wide";
  for (const char* word : {"animal", "street"}) view.control_weights.emplace_back(word, row.weight_of(word));
}

}  // namespace

double WordRow::weight_of(const std::string& label) const {
  double sum = 0;
  for (std::size_t i = 0; i < words.size(); ++i)
    if (words[i] == label) sum += weights[i];
  return sum;
}

Glance glance_at(Context& ctx, const Model& model, const std::string& text) {
  const ModelInfo& info = model.info();
  if (info.kind != ModelKind::encoder_decoder || model.tokenizer() == nullptr)
    throw Error(ErrorKind::usage, "look.model",
                concat("\"", escaped(info.name), "\" does not translate; headlight show --model ",
                       escaped(info.path), " \"…\" shows what it looks at"));
  Glance view;
  view.model = info.name;
  view.about = about(info.path);
  view.parameters = info.parameters;
  const std::string read = text.empty() ? kCat : text;
  const Run run = attend(ctx, model, {.text = read});
  add_translation(ctx, run, read, view);
  if (text.empty()) {
    add_street(ctx, model, view);
  } else {
    view.row = strongest_row(ctx, run, "");
    add_number(ctx, run, view);
  }
  return view;
}

}  // namespace headlight::session
