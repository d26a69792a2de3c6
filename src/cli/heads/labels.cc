// headlight heads: labels on a text or a corpus and on the battery.
#include <algorithm>

#include "cli/heads/view.h"
#include "cli/progress_bar.h"
#include "cli/ranks.h"
#include "cli/terminal.h"
#include "core/concat.h"
#include "core/escape.h"
#include "draw/figures.h"
#include "headlight/error.h"
#include "session/view.h"
#include "text/lines.h"

namespace headlight::cli {
namespace {

using inspect::LabelledHead;

constexpr std::size_t kSimilar = 3;  // shown beside a head

// The texts, and their description in the result.
struct Read {
  std::vector<Prompt> prompts;
  std::string what = "this text";
};

Read read_texts(const Model& model, const HeadsSettings& s) {
  if (s.corpus.empty()) return {{prompt_of(model, s.input)}};
  if (model.tokenizer() == nullptr)
    throw Error(ErrorKind::usage, "heads.tokenizer",
                concat("\"", escaped(model.info().name), "\" has no tokenizer, so --corpus cannot be read"));
  const bool translates = model.info().kind == ModelKind::encoder_decoder;
  Read read;
  for (const std::string& line : cli::read_corpus(s.corpus, s.limit)) {
    const std::vector<std::string_view> cells = text::split(line, '\t');
    Prompt prompt{.text = translates ? std::string(cells[0]) : line};
    if (translates && cells.size() > 1) prompt.target = cells[1];
    read.prompts.push_back(std::move(prompt));
  }
  const std::size_t texts = read.prompts.size();
  read.what = concat(texts, texts == 1 ? " text of " : " texts of ",
                     s.corpus == "-" ? "standard input" : escaped(s.corpus, 60));
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

// Reports the closest head.
std::string nothing_found(const std::vector<LabelledHead>& heads, inspect::Label label, bool one_part) {
  const LabelledHead* best = nullptr;
  for (const LabelledHead& head : heads)
    if (best == nullptr || best_score(head, label) > best_score(*best, label)) best = &head;
  double needs = 0;
  for (const inspect::LabelRule& rule : inspect::label_rules())
    if (rule.label == label) needs = rule.least;
  std::string text = concat("None of ", heads.size(), " heads is ", name_of(label), ".");
  if (best != nullptr && best_score(*best, label) > 0)
    text += concat(" The closest is ", head_name(*best, one_part), " with a score of ",
                   number_text(best_score(*best, label)), "; the threshold is ", needs, " and lift 2.");
  return text;
}

void draw_atlas(io::Outputs& outputs, Context& ctx, const Model& model, const Read& read,
                const HeadsView& view, const HeadsSettings& s) {
  const Part part = chosen_part(model, s.part);
  const Run run = attend(ctx, model, read.prompts.front(), attend_to(part));
  const session::View atlas = session::make_view(ctx, run, {.part = part, .all = true});
  std::vector<std::string> captions(atlas.maps.size());
  for (std::size_t i = 0; i < captions.size(); ++i)
    for (const LabelledHead& head : view.heads)
      if (head.part == part && head.place.layer == atlas.numbers[i].layer &&
          head.place.head == atlas.numbers[i].head)
        captions[i] = head.text.label_text();
  const draw::FigureStyle style =
      figure_style(s.figures, s.look,
                   concat("“", escaped(run.source().text, 240), "” Model ", escaped(model.info().name),
                          ". Below each map: the label of the head on ", read.what, "."));
  write_figures(outputs, s.figures, draw::atlas_figure(atlas.maps, atlas.in_row, style, captions), style.dpi);
}

// The requested heads.
HeadsView view_of(const Model& model, const HeadsSettings& s, const Read& read,
                  const std::vector<LabelledHead>& heads) {
  HeadsView view{.model = model.info().name, .what = read.what, .heads = {}, .similar = {}};
  view.one_part = s.part || model.info().parts.size() == 1 || !s.heads.empty();
  for (const LabelledHead& head : heads) {
    if (view.one_part && head.part != chosen_part(model, s.part)) continue;
    ++view.searched;
    if (s.heads.empty() || std::find(s.heads.begin(), s.heads.end(), head.place) != s.heads.end())
      view.heads.push_back(head);
  }
  return view;
}

// The most similar heads of each listed head.
void add_similar(HeadsView& view, const HeadsSettings& s,
                 const std::vector<std::vector<SimilarHead>>& similar) {
  for (const LabelledHead& head : view.heads) {
    const auto asked = std::find(s.heads.begin(), s.heads.end(), head.place);
    if (asked == s.heads.end()) continue;
    view.similar.push_back(similar[static_cast<std::size_t>(asked - s.heads.begin())]);
    view.similar.back().resize(std::min(view.similar.back().size(), kSimilar));
  }
}

}  // namespace

void run_head_labels(const HeadsSettings& s) {
  io::Outputs outputs(s.json.existing());
  reserve_figures(outputs, s.figures);
  JsonOutput json(s.json);
  const Model model = open_model(s.input.model);
  const Part part = chosen_part(model, s.part);
  LabelRequest request{.cut_long_texts = !s.corpus.empty()};
  for (const HeadPlace& place : s.heads) {
    check_head(model, part, place);
    request.similar_to.push_back({part, place.layer, place.head});
  }
  Context ctx(shared(Together::items, {.threads = static_cast<int>(s.threads)}));
  ProgressBar bar;
  request.progress.report = bar.reporter();
  const Read read = read_texts(model, s);
  const HeadLabels labels = label_heads(ctx, model, read.prompts, request);
  HeadsView view = view_of(model, s, read, labels.heads);
  const std::vector<LabelledHead> asked = view.heads;
  if (s.find) keep_found(view.heads, *s.find);
  add_similar(view, s, labels.similar);
  bar.clear();
  if (s.figures.any()) draw_atlas(outputs, ctx, model, read, view, s);
  outputs.commit();
  json.write(labels_json(view));
  Page page(page_style(s.look));
  if (view.heads.empty() && s.find) page.line(nothing_found(asked, *s.find, view.one_part));
  else if (!s.heads.empty()) add_head_details(page, view);
  else add_label_table(page, view);
  if (!s.figures.any()) print_page(page, s);
  if (labels.cut > 0)
    print_notes({concat(labels.cut, " of ", read.prompts.size(),
                        " texts are longer than the context of the model (", model.info().context,
                        " tokens) and were cut; split them into shorter texts to use all of them")});
  print_notes(model.info().notices);
}

}  // namespace headlight::cli
