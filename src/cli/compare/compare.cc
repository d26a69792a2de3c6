// headlight compare: two texts on one model, or one text on two models, and the signed difference.

#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/compare/view.h"
#include "cli/model_places.h"
#include "cli/numbers.h"
#include "cli/show/files.h"
#include "cli/terminal.h"
#include "core/concat.h"
#include "core/escape.h"
#include "draw/bars_text.h"
#include "draw/figures.h"
#include "draw/heat_map_text.h"
#include "headlight/error.h"
#include "io/json_writer.h"
#include "serve/view_json.h"

namespace headlight::cli {
namespace {

using inspect::AttentionMap;

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorKind::usage, "compare.options", message);
}

draw::WeightMap drawn(const Comparison& c, const AttentionMap& map, const ComparedRun& run) {
  draw::WeightMap out;
  out.title = concat(escaped(run.subject.name, 40), ", ", name_of(map.part), " layer ", map.layer, ", head ",
                     map.head);
  out.short_name = concat(map.layer, ".", map.head);
  out.origin = c.by_words ? draw::Origin::derived : draw::Origin::exact;
  if (c.by_words) out.derivation = "tokens merged into words";
  out.queries = c.row_labels;
  out.keys = c.column_labels;
  out.weights = map.weights;
  out.visible = map.visible;
  out.masked_words = "not visible or not there";
  out.row_axis = run.sides.row_axis;
  return out;
}

void write(io::JsonWriter& w, const ComparedRun& run, const AttentionMap& map) {
  w.begin_object().field("model", run.subject.name).field("text", run.question.source.text);
  w.field("part", name_of(map.part)).field("layer", map.layer).field("head", map.head).end_object();
}

struct Pictures {
  draw::WeightMap a, b;
};

std::string text_of(const Pictures& p, const CompareSettings& s) {
  draw::TerminalStyle style = terminal_style(s);
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

void check_settings(const CompareSettings& s) {
  if (s.text.empty()) refuse("compare what? Give two texts, or one text and --with-model");
  if (s.second.text.empty() && s.second.model.empty())
    refuse("with what? Give a second text, or a second model with --with-model");
  if (s.heads.size() > 1 || s.second_heads.size() > 1) refuse("one head at a time: --head LAYER.HEAD");
  if (!s.second_heads.empty() && s.heads.empty())
    refuse("--with-head is the head of B; it needs --head for A");
}

void run(const CompareSettings& s) {
  check_settings(s);
  io::Outputs outputs(s.json.force ? io::Existing::replace : io::Existing::refuse);
  reserve_figures(outputs, s);
  JsonOutput json(s.json);

  const inspect::Subject first = inspect::open_subject(s.model, model_places());
  std::optional<inspect::Subject> other;
  if (!s.second.model.empty()) other = inspect::open_subject(s.second.model, model_places());
  const inspect::Subject& second = other ? *other : first;
  Context ctx({.threads = static_cast<int>(s.threads)});
  const Part part = s.part.value_or(first.usual_part());
  ModelInput second_input = s.second;
  if (second_input.text.empty()) second_input.text = s.text;
  const ComparedRun a = run_model(ctx, first, s, part, s.heads);
  const ComparedRun b =
      run_model(ctx, second, second_input, part, s.second_heads.empty() ? s.heads : s.second_heads);
  const Comparison c = most_different(a, b, s);
  const Pictures p{drawn(c, c.a, a), drawn(c, c.b, b)};
  if (s.has_figure()) {
    ShowSettings looks = s;
    if (!looks.caption)
      looks.caption = concat("A: “", escaped(a.question.source.text, 200), "” B: “",
                             escaped(b.question.source.text, 200), "”");
    write_drawing(outputs, looks,
                  [&](const draw::FigureStyle& style) { return draw::comparison_figure(p.a, p.b, style); });
  }
  outputs.commit();
  io::JsonWriter w;
  w.begin_object(io::JsonLayout::lines);
  write(w.key("a"), a, c.a);
  write(w.key("b"), b, c.b);
  w.field("queries", p.a.queries).field("keys", p.a.keys);
  serve::write_weights(w.key("weights_a"), p.a);
  serve::write_weights(w.key("weights_b"), p.b);
  serve::write_weights(w.key("difference"), draw::difference(p.a, p.b));
  json.write(w.end_object().take_line());
  if (!s.json.to_stdout() && !s.has_figure()) print(text_of(p, s));
  for (const std::string& note : c.notes) print_error(concat("note: ", note, "\n"));
}

}  // namespace

void add_compare(CLI::App& program) {
  CLI::App* command = add_command(
      program,
      {.name = "compare",
       .what = "Two texts on one model, or one text on two models: both and the difference",
       .usage = "headlight compare A B [--query WORD] [--model NAME|PATH] [--head L.H] [options]\n"
                "       headlight compare A --with-model NAME|PATH [options]",
       .examples =
           "  headlight compare \"The animal was too tired\" \"The animal was too wide\"\n"
           "  headlight compare \"It was too tired\" \"It was too wide\" --query it --head 2.5\n"
           "  headlight compare \"The cat sat\" --model runs/a --with-model runs/b --svg change.svg\n\n"
           "  The difference is B minus A: orange where B looks more, blue where it looks less.\n"
           "  Texts of different lengths are laid side by side word by word: \"cat → dog\" stands\n"
           "  in the same place, \"+ very\" in B alone, \"- old\" in A alone.\n"});
  const auto s = std::make_shared<CompareSettings>();
  add_text(*command, "A", s->text, "The first text");
  add_text(*command, "B", s->second.text, "The second text (default: the same, for a second model)");
  add_model(*command, s->model);
  add_text(*command, "--with-model", s->second.model, "The model that reads B (default: the same)")
      ->type_name("NAME|PATH");
  add_text(*command, "--target", s->target, "The translation of A to look at (default: the model's own)");
  add_text(*command, "--with-target", s->second.target, "The translation of B");
  add_part(*command, s->part);
  add_heads(*command, s->heads);
  add_heads(*command, s->second_heads, "--with-head", "The head of B (default: the same place)");
  add_text(*command, "--query", s->query, "One word of A and what stands opposite it in B: rows as bars")
      ->type_name("WORD");
  add_looks(*command, *s);
  add_figure(*command, *s);
  add_json(*command, s->json);
  add_count(*command, "--threads", s->threads, "Threads (default: one per core)", {1, 1024});
  keep_alive(*command, s);
  on_run(*command, [s] { run(*s); });
}

}  // namespace headlight::cli
