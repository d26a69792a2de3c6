// headlight compare: two texts on one model, or one text on two models, and the signed difference.

#include <algorithm>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/figures.h"
#include "cli/json_output.h"
#include "cli/map_look.h"
#include "cli/model_input.h"
#include "cli/numbers.h"
#include "cli/terminal.h"
#include "core/concat.h"
#include "core/escape.h"
#include "draw/bars_text.h"
#include "draw/figures.h"
#include "draw/heat_map_text.h"
#include "headlight/error.h"
#include "headlight/look.h"
#include "inspect/alignment.h"
#include "io/json_writer.h"
#include "serve/view_json.h"

namespace headlight::cli {
namespace {

struct CompareSettings {
  InputOptions a, b;  // if b has no model: that of a
  std::optional<Part> part;
  std::vector<HeadPlace> heads_a, heads_b;  // at most one; if b has none: that of a
  std::string query;
  MapLook look;
  FigureOptions figures;
  JsonTarget json;
  std::string npy;
  Index threads = 0;
};

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorKind::usage, "compare.options", message);
}

// Labels: "cat" in both texts, "cat → dog" replaced, "+ very" only in the second, "- old" only in the first.
std::vector<std::string> labels_of(const std::vector<ComparedUnit>& units, bool by_words,
                                   const TokenizedText& a, const TokenizedText& b) {
  const auto names = [&](const TokenizedText& text) {
    if (!by_words) return cli::labels_of(text);
    std::vector<std::string> words;
    for (const Word& word : text.words) words.push_back(word.text);
    return words;
  };
  std::vector<inspect::WordPair> pairs;
  for (const ComparedUnit& unit : units) pairs.push_back({unit.a, unit.b});
  return inspect::aligned_labels(pairs, names(a), names(b));
}

draw::WeightMap drawn(const Comparison& c, const Head& head, const Tensor& weights, const Run& a,
                      const Run& b, const Model& model) {
  draw::WeightMap out;
  out.title = concat(escaped(model.info().name, 40), ", ", name_of(head.part), " layer ", head.layer,
                     ", head ", head.head);
  out.short_name = place_text(head.place());
  out.origin = c.by_words ? draw::Origin::derived : draw::Origin::exact;
  if (c.by_words) out.derivation = "tokens merged into words";
  out.queries = labels_of(c.rows, c.by_words, a.queries(head.part), b.queries(head.part));
  out.keys = labels_of(c.columns, c.by_words, a.keys(head.part), b.keys(head.part));
  const std::span<const float> numbers(weights.as<float>(),
                                       static_cast<std::size_t>(weights.shape().elements()));
  for (const float number : numbers) {
    out.weights.push_back(number == number ? number : 0);
    out.visible.push_back(number == number ? 1 : 0);
  }
  if (std::find(out.visible.begin(), out.visible.end(), 0) == out.visible.end()) out.visible.clear();
  out.masked_words = "hidden, or in one text only";
  out.row_axis = row_axis(head.part);
  return out;
}

void write(io::JsonWriter& w, const Run& run, const Head& head) {
  w.begin_object().field("model", run.model().info().name).field("text", run.source().text);
  w.field("part", name_of(head.part)).field("layer", head.layer).field("head", head.head).end_object();
}

struct Pictures {
  draw::WeightMap a, b;
};

std::string text_of(const Pictures& p, const CompareSettings& s) {
  draw::TerminalStyle style = terminal_style(s.look);
  if (!s.query.empty()) return draw::compared_bars_text(p.a, p.b, style);
  std::string out;
  draw::WeightMap maps[] = {p.a, p.b, draw::difference(p.a, p.b)};
  maps[0].title = concat("A: ", p.a.title), maps[1].title = concat("B: ", p.b.title), maps[2].title = "B - A";
  for (const draw::WeightMap& map : maps) {
    if (!out.empty()) out += "\n";
    if (style.look == draw::Look::table) out += draw::title_line(map, style);
    out += draw::heat_map_text(map, style);
  }
  return out;
}

std::string json_of(const Pictures& p, const Run& a, const Run& b, const HeadDifference& heads) {
  io::JsonWriter w;
  w.begin_object(io::JsonLayout::lines);
  write(w.key("a"), a, heads.a);
  write(w.key("b"), b, heads.b);
  w.field("queries", p.a.queries).field("keys", p.a.keys);
  serve::write_weights(w.key("weights_a"), p.a);
  serve::write_weights(w.key("weights_b"), p.b);
  serve::write_weights(w.key("difference"), draw::difference(p.a, p.b));
  return w.end_object().take_line();
}

void check_settings(const CompareSettings& s) {
  if (s.a.text.empty()) refuse("nothing to compare; give two texts, or one text and --with-model");
  if (s.b.text.empty() && s.b.model.empty())
    refuse("only one text; give a second text, or a second model with --with-model");
  if (s.heads_a.size() > 1 || s.heads_b.size() > 1)
    refuse("compare shows one head; give one --head LAYER.HEAD");
  if (!s.heads_b.empty() && s.heads_a.empty())
    refuse("--with-head selects the head of B and needs --head for A");
}

CompareRequest request_of(const CompareSettings& s, const Model& a, const Model& b, Part part) {
  check_part(b, part);
  CompareRequest request{.part = part, .query = s.query};
  if (!s.heads_a.empty()) request.head_a = s.heads_a.front();
  if (!s.heads_a.empty()) request.head_b = s.heads_b.empty() ? s.heads_a.front() : s.heads_b.front();
  if (request.head_a) check_head(a, part, *request.head_a);
  if (request.head_b) check_head(b, part, *request.head_b);
  return request;
}

std::vector<std::string> notes_of(const CompareSettings& s, const Run& a, const Comparison& c, Part part,
                                  const std::string& row) {
  std::vector<std::string> notes;
  if (!s.query.empty()) {
    const Range asked = picked(a.queries(part), s.query, notes);
    const Index at = c.rows.front().a;
    const Range shown =
        c.by_words ? a.queries(part).words[static_cast<std::size_t>(at)].tokens : Range{at, at + 1};
    if (asked.end > shown.end)
      notes.push_back(concat("\"", escaped(s.query, 60), "\" is more than one row: comparing \"",
                             escaped(row, 60), "\""));
  }
  if (c.heads.size() > 1)
    notes.push_back(concat("showing head ", place_text(c.heads.front().a.place()),
                           ", where the two differ most of ", c.heads.size(),
                           " heads; --head L.H shows another one"));
  return notes;
}

void run(const CompareSettings& s) {
  check_settings(s);
  io::Outputs outputs(s.json.existing());
  reserve_figures(outputs, s.figures);
  JsonOutput json(s.json);
  const Model first = open_model(s.a.model), second = s.b.model.empty() ? first : open_model(s.b.model);
  Context ctx({.threads = static_cast<int>(s.threads)});
  const Part part = chosen_part(first, s.part);
  const CompareRequest request = request_of(s, first, second, part);
  InputOptions other = s.b;
  if (other.text.empty()) other.text = s.a.text;
  const Run a = attend(ctx, first, prompt_of(first, s.a), attend_to(part)),
            b = attend(ctx, second, prompt_of(second, other), attend_to(part));
  const Comparison c = compare(a, b, request, {}, ctx);
  const HeadDifference& heads = c.heads.front();
  const Pictures p{drawn(c, heads.a, c.weights_a, a, b, first), drawn(c, heads.b, c.weights_b, a, b, second)};
  if (s.figures.any()) {
    const draw::FigureStyle style = figure_style(
        s.figures, s.look,
        concat("A: “", escaped(a.source().text, 200), "” B: “", escaped(b.source().text, 200), "”"));
    write_figures(outputs, s.figures, draw::comparison_figure(p.a, p.b, style), style.dpi);
  }
  outputs.commit();
  std::vector<NamedTensor> arrays;
  for (const auto& [name, map] :
       {std::pair{"weights_a", p.a}, {"weights_b", p.b}, {"difference", draw::difference(p.a, p.b)}})
    arrays.push_back({name, matrix_of(map)});
  write_arrays(s.npy, s.json, arrays,
               tokens_json(first.info().name, {{"a", a.queries(part)}, {"b", b.queries(part)}}));
  json.write(json_of(p, a, b, heads));
  if (!s.json.to_stdout() && !s.figures.any() && s.npy.empty()) print(text_of(p, s));
  print_notes(notes_of(s, a, c, part, p.a.queries.front()));
}

}  // namespace

void add_compare(CLI::App& program) {
  CLI::App* command = add_command(
      program,
      {.name = "compare",
       .what = "Compare two texts, or one text on two models",
       .usage = "headlight compare A B [--query WORD] [--model NAME|PATH] [--head L.H] [options]\n"
                "       headlight compare A --with-model NAME|PATH [options]",
       .examples = "  headlight compare \"The animal was too tired\" \"The animal was too wide\"\n"
                   "  headlight compare \"It was too tired\" \"It was too wide\" --query it --head 2.5\n"
                   "  headlight compare \"The cat sat\" --model runs/a --with-model runs/b\n"
                   "\n"
                   "  The difference is B minus A: orange where B has more weight, blue where it has less.\n"
                   "  Texts of different lengths are aligned by word: \"cat → dog\" is a replaced word,\n"
                   "  \"+ very\" occurs only in B, \"- old\" only in A.\n"});
  const auto s = std::make_shared<CompareSettings>();
  s->b.model.clear();
  begin_group(*command, "Models and texts");
  add_text(*command, "A", s->a.text, "The first text");
  add_text(*command, "B", s->b.text, "The second text (default: A, with a second model)");
  add_model(*command, s->a.model);
  add_text(*command, "--with-model", s->b.model, "The model that reads B (default: the same)")
      ->type_name("NAME|PATH");
  add_text(*command, "--target", s->a.target, "The translation of A (default: the model's own)");
  add_text(*command, "--with-target", s->b.target, "The translation of B");
  begin_group(*command, "Selection");
  add_part(*command, s->part);
  add_heads(*command, s->heads_a);
  add_heads(*command, s->heads_b, "--with-head", "The head of B (default: the same as for A)");
  add_text(*command, "--query", s->query, "One word of A and its counterpart in B: rows as bars")
      ->type_name("WORD");
  add_figures(*command, s->figures);
  add_arrays(*command, s->npy, "maps, difference");
  add_json(*command, s->json);
  add_map_look(*command, s->look);
  add_threads(*command, s->threads);
  keep_alive(*command, s);
  on_run(*command, [s] { run(*s); });
}

}  // namespace headlight::cli
