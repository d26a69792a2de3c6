// headlight look: the first screen, computed by the default model.
#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/look_view.h"
#include "cli/model_input.h"
#include "cli/model_places.h"
#include "cli/numbers.h"
#include "cli/terminal.h"
#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "io/file.h"
#include "serve/run.h"

namespace headlight::cli {
namespace {

using inspect::AttentionMap;
using inspect::Question;
using inspect::Reading;
using inspect::Subject;
using inspect::Word;

constexpr const char *kCat = "The cat sat on the mat.",
                     *kControl = "The animal didn't cross the street because it was too wide.";
constexpr std::uint64_t kLargestAbout = 4096;

struct Settings {
  std::string text, model = "en-fr";
  Color color = Color::automatic;
  Index threads = 0;
};

std::vector<std::string> labels_of(const std::vector<Word>& words) {
  std::vector<std::string> labels;
  labels.reserve(words.size());
  for (const Word& word : words) labels.push_back(word.label);
  return labels;
}

std::vector<AttentionMap> maps_of(Context& ctx, const Subject& subject, const Question& question, Part part,
                                  std::vector<inspect::HeadPlace> heads = {}) {
  inspect::MapRecorder recorder({.part = part, .heads = std::move(heads)});
  (void)inspect::watch(ctx, subject, question, recorder);
  return std::move(recorder.maps());
}

// A first line that the model's makers wrote about it.
std::string about(const Subject& subject) {
  const std::string path = subject.folder + "/about.txt";
  if (!std::filesystem::exists(path)) return "";
  const std::vector<std::byte> bytes = io::read_file(path, kLargestAbout);
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return escaped(text.substr(0, text.find('\n')), 60);
}

// The head that aligns best by sentences that come with the model; without them the one that makes most choices.
void choose_cross_head(Context& ctx, const Subject& subject, const Question& question, LookView& view) {
  const std::string path = subject.folder + "/alignments.tsv";
  if (std::filesystem::exists(path)) {
    const std::vector<inspect::AlignedSentence> sentences = inspect::read_alignments(path);
    const std::span all(sentences);
    const auto chosen = inspect::score_alignment(ctx, subject, all.first(all.size() / 2));
    view.written.head = inspect::best_of(chosen).head;
    for (const auto& score : inspect::score_alignment(ctx, subject, all.subspan(all.size() / 2)))
      if (score.head == view.written.head) view.alignment = score;
    return;
  }
  double most = -1;
  for (const AttentionMap& map : maps_of(ctx, subject, question, Part::cross))
    if (inspect::focus_of(map) > most)
      most = inspect::focus_of(map), view.written.head = {map.layer, map.head};
}

void add_translation(Context& ctx, const Subject& subject, const std::string& text, LookView& view) {
  Question question{.source = inspect::read_text(*subject.tokenizer, text)};
  question.written = inspect::translate(ctx, subject, question.source);
  view.text = text;
  view.translation = subject.tokenizer->decode(question.written.ids());
  choose_cross_head(ctx, subject, question, view);
  const std::vector<Word> from = inspect::words_of(question.written), to = inspect::words_of(question.source);
  view.written.rows = labels_of(from);
  view.written.columns = labels_of(to);
  view.written.map =
      inspect::by_words(maps_of(ctx, subject, question, Part::cross, {view.written.head}).front(), from, to);
}

std::size_t place_of(const std::vector<Word>& words, const std::string& label) {
  std::size_t i = 0;
  while (words[i].label != label) ++i;  // the caller has taken it from these words
  return i;
}

// Who looks: a pronoun, whose meaning lies elsewhere, else the last word.
std::string word_to_ask(const std::vector<Word>& words, const Reading& reading) {
  static constexpr const char* kPronouns[] = {"it",  "they", "he",   "she", "them", "him",
                                              "her", "It",   "They", "He",  "She"};
  for (const char* pronoun : kPronouns)
    for (const Word& word : words)
      if (word.label == pronoun) return pronoun;
  for (auto word = words.rbegin(); word != words.rend(); ++word) {
    const auto& token = reading.tokens[static_cast<std::size_t>(word->tokens.begin)];
    if (!token.added && word->label.size() > 1) return word->label;
  }
  return words.front().label;
}

WordRow row_of(const AttentionMap& map, const std::vector<Word>& words, const std::string& word,
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

// The head where the word looks hardest: at `key`, or without one at any word but itself and what was added.
WordRow strongest_row(Context& ctx, const Subject& subject, const Question& question,
                      const std::string& key) {
  const std::vector<Word> words = inspect::words_of(question.source);
  const std::string word = key.empty() ? word_to_ask(words, question.source) : "it";
  const std::vector<AttentionMap> maps = maps_of(ctx, subject, question, Part::encoder);
  WordRow best;
  double most = -1;
  for (const AttentionMap& map : maps) {
    for (const Word& other : words) {
      const bool counts =
          key.empty() ? other.label != word && other.label.size() > 1 &&
                            !question.source.tokens[static_cast<std::size_t>(other.tokens.begin)].added
                      : other.label == key;
      if (!counts) continue;
      WordRow row = row_of(map, words, word, other.label);
      if (row.weight_of(other.label) > most) most = row.weight_of(other.label), best = std::move(row);
    }
  }
  if (most < 0) best = row_of(maps.front(), words, word, word);
  best.heads = static_cast<Index>(maps.size());
  return best;
}

void add_number(Context& ctx, const Subject& subject, const Question& question, LookView& view) {
  const std::vector<Word> words = inspect::words_of(question.source);
  const Range query = words[place_of(words, view.row.word)].tokens,
              key = words[place_of(words, view.row.key)].tokens;
  view.steps = inspect::head_steps(
      ctx, subject, question,
      {.part = Part::encoder, .place = view.row.head, .query = query.begin, .key = key.begin});
}

// The tutorials' sentence with its control: the same head, asked when "it" is the street.
void add_street(Context& ctx, const Subject& subject, LookView& view) {
  const Question street{.source = inspect::read_text(*subject.tokenizer, serve::kSentence)};
  view.street = serve::kSentence;
  view.street_translation = subject.tokenizer->decode(inspect::translate(ctx, subject, street.source).ids());
  view.row = strongest_row(ctx, subject, street, "animal");
  add_number(ctx, subject, street, view);
  const Question control{.source = inspect::read_text(*subject.tokenizer, kControl)};
  const AttentionMap map = maps_of(ctx, subject, control, Part::encoder, {view.row.head}).front();
  const WordRow row = row_of(map, inspect::words_of(control.source), "it", "animal");
  view.control = "too wide";
  for (const char* word : {"animal", "street"}) view.control_weights.emplace_back(word, row.weight_of(word));
}

void run(const Settings& s) {
  Context ctx({.threads = static_cast<int>(s.threads)});
  const Subject subject = inspect::open_subject(s.model, model_places());
  if (!subject.has(Part::cross) || !subject.tokenizer) {
    throw Error(ErrorKind::usage, "look.model",
                concat("\"", escaped(subject.name), "\" does not translate; headlight show --model ",
                       escaped(s.model), " \"…\" shows what it looks at"));
  }
  LookView view;
  view.model = subject.name;
  view.about = about(subject);
  for (const Parameter* parameter : subject.model->parameters())
    view.parameters += static_cast<double>(parameter->trained ? parameter->shape().elements() : 0);
  add_translation(ctx, subject, s.text.empty() ? kCat : s.text, view);
  if (s.text.empty()) {
    add_street(ctx, subject, view);
  } else {
    const Question question{.source = inspect::read_text(*subject.tokenizer, s.text)};
    view.row = strongest_row(ctx, subject, question, "");
    add_number(ctx, subject, question, view);
  }
  PageStyle style;
  style.color = color_depth(s.color);
  style.glyphs = output_is_utf8() ? draw::Glyphs::unicode : draw::Glyphs::ascii;
  print(look_text(view, style));
}

}  // namespace

void add_look(CLI::App& program) {
  CLI::App* command =
      add_command(program, {.name = "look",
                            .what = "Translate a sentence and see at a glance where the model looked",
                            .usage = "headlight look [TEXT] [--model NAME|PATH]",
                            .examples = "  headlight look\n"
                                        "  headlight look \"She gave the book to her brother.\"\n"});
  const auto s = std::make_shared<Settings>();
  add_text(*command, "TEXT", s->text, "A sentence; without one, those of the tutorials");
  add_model(*command, s->model);
  add_count(*command, "--threads", s->threads, "Threads (default: one per core)", {1, 1024});
  add_color(*command, s->color);
  keep_alive(*command, s);
  on_run(*command, [s] { run(*s); });
}

}  // namespace headlight::cli
