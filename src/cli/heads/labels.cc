// headlight heads: labels on a text or a corpus and on the battery.
#include <algorithm>

#include "cli/heads/view.h"
#include "cli/model_places.h"
#include "cli/progress_bar.h"
#include "cli/show/files.h"
#include "cli/terminal.h"
#include "core/concat.h"
#include "core/escape.h"
#include "draw/figures.h"
#include "headlight/error.h"
#include "io/gzip.h"
#include "session/state.h"
#include "session/view.h"
#include "text/lines.h"

namespace headlight::cli {
namespace {

using inspect::LabelledHead;
using inspect::Question;
using inspect::Subject;

constexpr std::size_t kSimilar = 3;  // shown beside a head
constexpr std::string_view kEndOfText = "<|endoftext|>";

// Texts that were measured, and the first of them for the picture.
struct Read {
  inspect::TextSums sums;
  std::string what;
  Question first;
  std::vector<std::string> notes;
};

Question corpus_question(Context& ctx, const Subject& subject, std::string_view line, Index& cut) {
  const bool translates = subject.has(Part::cross);
  const std::size_t tab = translates ? line.find('\t') : std::string_view::npos;
  Question question{.source = inspect::read_text(*subject.tokenizer, line.substr(0, tab))};
  bool was_cut = inspect::cut_to_fit(subject, question.source);
  if (tab != std::string_view::npos) {
    const std::string_view rest = line.substr(tab + 1);
    question.written = inspect::read_text(*subject.tokenizer, rest.substr(0, rest.find('\t')));
    was_cut = inspect::cut_to_fit(subject, question.written) || was_cut;
  } else if (translates) {
    question.written = inspect::translate(ctx, subject, question.source);
  }
  cut += was_cut ? 1 : 0;
  return question;
}

Read read_corpus(Context& ctx, const Subject& subject, const HeadsSettings& s, ProgressBar& bar) {
  if (!subject.tokenizer)
    throw Error(ErrorKind::usage, "heads.tokenizer",
                concat("\"", escaped(subject.name), "\" has no tokenizer, so --corpus cannot be read"));
  const std::string bytes = io::read_text(s.corpus);
  const std::vector<std::string_view> lines = text::lines_of(bytes);
  Read read{.sums = inspect::TextSums(subject), .what = "", .first = {}, .notes = {}};
  Index cut = 0, texts = 0;
  for (std::size_t i = 0; i < lines.size() && (s.limit == 0 || texts < s.limit); ++i) {
    const std::string_view line = text::trimmed(lines[i]);
    if (line.empty() || line == kEndOfText) continue;
    text::check_utf8({s.corpus, i + 1}, "heads.corpus", line);
    Question question = corpus_question(ctx, subject, line, cut);
    inspect::add_text(ctx, subject, question, read.sums);
    if (texts++ == 0) read.first = std::move(question);
    const double by_lines = static_cast<double>(i + 1) / static_cast<double>(lines.size());
    bar.show("corpus", s.limit > 0
                           ? std::max(by_lines, static_cast<double>(texts) / static_cast<double>(s.limit))
                           : by_lines);
  }
  if (texts == 0)
    throw Error(ErrorKind::input, "heads.corpus",
                concat(escaped(s.corpus), ": has no text; need one in each line"));
  read.what = concat(texts, texts == 1 ? " text of " : " texts of ", escaped(s.corpus, 60));
  if (cut > 0)
    read.notes.push_back(concat(cut, " of ", texts, " texts are longer than the model reads (",
                                subject.model->config().max_positions, " tokens) and were cut there"));
  return read;
}

Read read_one(Context& ctx, const Subject& subject, const HeadsSettings& s) {
  Read read{.sums = inspect::TextSums(subject), .what = "this text", .first = {}, .notes = {}};
  read.first = read_question(ctx, subject, s, Needs::target);
  inspect::add_text(ctx, subject, read.first, read.sums);
  return read;
}

double best_score(const LabelledHead& head, inspect::Label label) {
  double best = 0;
  for (const inspect::HeadFigures* f : {&head.text, &head.battery})
    if (const auto* score = f->find(label)) best = std::max(best, score->score.value_or(0));
  return best;
}

void keep_found(std::vector<LabelledHead>& heads, inspect::Label label) {
  std::erase_if(heads, [&](const LabelledHead& h) { return !h.text.has(label) && !h.battery.has(label); });
  if (label == inspect::Label::none) return;
  std::stable_sort(heads.begin(), heads.end(), [&](const LabelledHead& a, const LabelledHead& b) {
    if (a.part != b.part) return a.part < b.part;
    return best_score(a, label) > best_score(b, label);
  });
}

// Says how near the nearest one is.
std::string nothing_found(const std::vector<LabelledHead>& heads, inspect::Label label, bool one_part) {
  const LabelledHead* best = nullptr;
  for (const LabelledHead& head : heads)
    if (best == nullptr || best_score(head, label) > best_score(*best, label)) best = &head;
  double needs = 0;
  for (const inspect::LabelRule& rule : inspect::label_rules())
    if (rule.label == label) needs = rule.least;
  std::string text = concat("None of ", heads.size(), " heads is ", name_of(label), ".");
  if (best != nullptr && best_score(*best, label) > 0)
    text += concat(" The nearest is ", head_name(*best, one_part), " with a score of ",
                   number_text(best_score(*best, label)), "; the label takes ", needs, " and lift 2.");
  return text;
}

void draw_atlas(io::Outputs& outputs, Context& ctx, const Model& model, const Read& read,
                const HeadsView& view, const HeadsSettings& s) {
  ShowSettings looks = s;
  looks.all = true;
  looks.heads.clear();
  looks.part = s.part.value_or(model.state().usual_part());
  const Run run =
      session::attend_tokens(ctx, model, read.first, {.parts = {*looks.part}, .keep_inputs = false});
  const session::View atlas = session::make_view(ctx, run, view_request(looks));
  std::vector<std::string> captions(atlas.maps.size());
  for (std::size_t i = 0; i < captions.size(); ++i)
    for (const LabelledHead& head : view.heads)
      if (head.part == *looks.part && head.place.layer == atlas.numbers[i].layer &&
          head.place.head == atlas.numbers[i].head)
        captions[i] = head.text.label_text();
  if (!looks.caption)
    looks.caption = concat("“", escaped(read.first.source.text, 240), "” Model ", escaped(model.info().name),
                           ". Below each map: what the head does on ", read.what, ".");
  write_drawing(outputs, looks, [&](const draw::FigureStyle& style) {
    return draw::atlas_figure(atlas.maps, atlas.in_row, style, captions);
  });
}

}  // namespace

void run_head_labels(const HeadsSettings& s) {
  io::Outputs outputs(s.json.force ? io::Existing::replace : io::Existing::refuse);
  for (const std::string* path : {&s.png, &s.svg, &s.pdf})
    if (!path->empty()) outputs.reserve(*path);
  JsonOutput json(s.json);
  const Model model = open_model(s.model);
  const Subject& subject = model.state().subject;
  if (s.part) check_part(subject, *s.part);
  for (const inspect::HeadPlace& place : s.heads) check_head(subject, part_of(s, subject), place);
  Context ctx({.threads = static_cast<int>(s.threads)});
  ProgressBar bar;
  const Read read = s.corpus.empty() ? read_one(ctx, subject, s) : read_corpus(ctx, subject, s, bar);
  const auto show = [&](double done) { bar.show("battery", done); };
  const inspect::Battery battery = inspect::make_battery(ctx, subject, show);
  const inspect::BatterySums sums = inspect::measure_battery(ctx, subject, battery, show);

  HeadsView view{.model = subject.name, .what = read.what, .heads = {}, .similar = {}};
  const std::vector<LabelledHead> all = inspect::labelled_heads(subject, read.sums, sums);
  const bool one_part = s.part || !subject.has(Part::cross) || !s.heads.empty();
  for (const LabelledHead& head : all) {
    if (one_part && head.part != part_of(s, subject)) continue;
    ++view.searched;
    if (s.heads.empty() || std::find(s.heads.begin(), s.heads.end(), head.place) != s.heads.end())
      view.heads.push_back(head);
  }
  view.one_part = one_part;
  const std::vector<LabelledHead> asked = view.heads;
  if (s.find) keep_found(view.heads, *s.find);
  if (!s.heads.empty()) {
    const inspect::HeadSimilarity similarity(ctx, subject, battery, part_of(s, subject));
    for (const LabelledHead& head : view.heads) {
      view.similar.push_back(similarity.like(head.place));
      view.similar.back().resize(std::min(view.similar.back().size(), kSimilar));
    }
  }
  bar.clear();
  if (s.has_figure()) draw_atlas(outputs, ctx, model, read, view, s);
  outputs.commit();
  json.write(labels_json(view));
  Page page = heads_page(s);
  if (view.heads.empty() && s.find) page.line(nothing_found(asked, *s.find, one_part));
  else if (!s.heads.empty()) add_head_details(page, view);
  else add_label_table(page, view);
  if (!s.has_figure()) print_page(page, s);
  for (const std::string& note : read.notes) print_error(concat("note: ", note, "\n"));
  for (const std::string& note : subject.notices) print_error(concat("note: ", note, "\n"));
}

}  // namespace headlight::cli
