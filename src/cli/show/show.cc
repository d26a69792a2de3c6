// headlight show: attention weights of a model, on the terminal, as figures and as data.
#include <fmt/format.h>

#include "cli/ranks.h"
#include "cli/show/page.h"
#include "cli/terminal.h"
#include "core/concat.h"
#include "core/escape.h"
#include "draw/atlas_text.h"
#include "draw/bars_text.h"
#include "draw/heat_map_text.h"
#include "headlight/error.h"
#include "io/json_writer.h"
#include "serve/view_json.h"
#include "session/figure_of.h"
#include "session/state.h"
#include "session/view.h"

namespace headlight::cli {
namespace {

std::string text_of(const session::View& view, const ShowSettings& s) {
  draw::TerminalStyle style = terminal_style(s.look);
  style.top = session::scale_top(view, s.view.of, s.look.auto_range);
  if (view.kind == session::ViewKind::atlas) return draw::atlas_text(view.maps, view.in_row, style);
  if (view.kind == session::ViewKind::tops)
    return draw::top_keys_text(view.maps, s.top > 0 ? s.top : 3, style);
  std::string out;
  for (const draw::WeightMap& map : view.maps) {
    if (!out.empty()) out += "\n";
    if (style.look == draw::Look::table && view.maps.size() > 1) out += draw::title_line(map, style);
    out += view.kind == session::ViewKind::bars ? draw::bars_text(map, style, s.top)
                                                : draw::heat_map_text(map, style);
  }
  return out;
}

[[noreturn]] void refuse(std::string_view what) {
  throw Error(ErrorKind::usage, "show.options", std::string(what));
}

void check_input(const ShowSettings& s) {
  const InputOptions& in = s.input;
  const bool numbers =
      !in.ids.empty() || !in.target_ids.empty() || !in.type_ids.empty() || !in.features.empty();
  if (!s.html.empty() && numbers) refuse("--html needs text; give TEXT and --target instead of token ids");
  if (s.limit > 0 && s.corpus.empty()) refuse("--limit needs --corpus");
  if (s.corpus.empty()) return;
  if (in.given() || numbers) refuse("TEXT and --corpus exclude each other; give one of them");
  if (!in.target.empty() || !in.second.empty())
    refuse("--target and --second need a single TEXT; leave them out with --corpus");
}

void check_combinations(const ViewRequest& v) {
  const int ways = (v.heads.empty() ? 0 : 1) + (v.layer ? 1 : 0) + (v.all ? 1 : 0);
  const bool joins = v.mean != MeanOver::none || v.rollout, leaves_out = session::leaves_out(v);
  const bool part = v.from.size() > 0 || v.to.size() > 0;
  if (ways > 1) refuse("--head, --layer and --all exclude each other; give one of them");
  if (!v.heads.empty() && joins) refuse("--mean and --rollout use all heads of a layer; leave out --head");
  if (v.mean != MeanOver::none && v.rollout)
    refuse("--mean and --rollout exclude each other; give one of them");
  if (part && (v.words || joins || leaves_out || v.renormalize || !v.query.empty()))
    refuse(
        "--from and --to show exact weights; leave out --words, --mean, --rollout, --exclude-self, "
        "--mute-first, --mute-special and --query");
  if (v.renormalize && !leaves_out)
    refuse("--renormalize needs --mute-first, --mute-special or --exclude-self");
  if (v.of != MapOf::weights && (joins || !v.query.empty() || v.renormalize))
    refuse(
        "--of scores and --of values show single heads; leave out --mean, --rollout, --query and "
        "--renormalize");
  if (v.of == MapOf::scores && v.words)
    refuse("scores cannot be merged into words; leave out --words or --of scores");
  if (v.by_head && !v.key.empty()) refuse("--by-head and --key exclude each other; give one of them");
}

std::string choice_note(const Run& run, const FirstLook& look) {
  const auto words = [](const TokenizedText& text, Range tokens) {
    std::string out;
    for (const Word& word : text.words)
      if (word.tokens.begin < tokens.end && tokens.begin < word.tokens.end)
        out += concat(out.empty() ? "" : " ", word.text);
    return concat("\"", escaped(out, 40), "\"");
  };
  const std::string from = words(run.queries(look.head.part), look.query),
                    to = words(run.keys(look.head.part), look.key);
  const bool asked = look.reason == LookReason::strongest_key;
  return concat("showing head ", look.head.layer, ".", look.head.head, ", where ", from,
                asked ? " attends most to another word, " : " attends to ", to,
                asked ? "" : fmt::format(", {:.1f} times chance", look.lift()),
                ": the most distinctive link ",
                look.reason == LookReason::pronoun ? "from a pronoun in " : "of ", look.heads_searched,
                " heads; --head L.H shows another one, --all shows all");
}

// One text, or one of several.
class Showing {
 public:
  Showing(const ShowSettings& s, const Model& model, Context& ctx) : s_(s), model_(model), ctx_(ctx) {
    const Part part = chosen_part(model, s.view.part);
    for (const HeadPlace& place : s.view.heads) check_head(model, part, place);
    if (s.view.layer) check_layer(model, part, *s.view.layer);
    // Only the displayed maps of the run are kept; --npy keeps everything.
    options_ = attend_to(part);
    view_ = s.view;
    view_.every_weight = !s.json.path.empty();
  }

  // Returns its JSON. Files are those of the settings.
  std::string show(const Prompt& prompt, const ShowSettings& files) {
    io::Outputs outputs(files.json.existing());
    reserve_figures(outputs, files.figures);
    if (!files.html.empty()) outputs.reserve(files.html);
    inspect::ArrayRecorder recorder(files.what);
    AttendOptions options = options_;
    if (!files.npy.empty()) {
      options.observer = &recorder;
      options.decode = true;
    }
    const Run run = attend(ctx_, model_, prompt, options);
    const session::View view = session::make_view(ctx_, run, view_);
    if (files.figures.any()) {
      const draw::FigureStyle style =
          figure_style(files.figures, files.look, session::caption_of(run),
                       session::scale_top(view, files.view.of, files.look.auto_range));
      write_figures(outputs, files.figures, session::figure_of(view, style, files.top), style.dpi);
    }
    if (!files.html.empty()) write_page(outputs, ctx_, view, {run, files});
    outputs.commit();
    if (!files.npy.empty()) write_all(run, recorder, files);
    say(run, view);
    return files.json.path.empty() ? "" : serve::view_json(view, run);
  }

 private:
  static void write_all(const Run& run, inspect::ArrayRecorder& recorder, const ShowSettings& files) {
    std::vector<NamedTensor> arrays;
    for (inspect::NamedArray& array : recorder.arrays())
      arrays.push_back({std::move(array.name), std::move(array.tensor)});
    if (run.positions() > 0) arrays.push_back({"logits", run.logits()});
    write_arrays(files.npy, files.json, arrays, tokens_json(run.model().info().name, token_lists(run)));
  }

  void say(const Run& run, const session::View& view) const {
    if (!s_.json.to_stdout() && !s_.figures.any() && s_.npy.empty() && s_.html.empty())
      print(text_of(view, s_));
    if (view.choice) print_notes({choice_note(run, *view.choice)});
    print_notes(view.notes);
    const bool numbers = !s_.input.ids.empty() || !s_.input.type_ids.empty() || !s_.input.features.empty();
    if (output_is_terminal() && !numbers && s_.corpus.empty())
      print_error(concat("In the browser: ", serve_command(view, {run, s_}), "\n"));
  }

  const ShowSettings& s_;
  const Model& model_;
  Context& ctx_;
  AttendOptions options_;
  ViewRequest view_;
};

// The files of each text have its number in their names; one JSON has them all.
void show_corpus(const ShowSettings& s, const std::vector<std::string>& texts, Showing& showing,
                 JsonOutput& json) {
  io::JsonWriter w;
  w.begin_object().key("texts").begin_list(io::JsonLayout::lines);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    ShowSettings files = s;
    files.figures = numbered(s.figures, i + 1);
    if (!s.html.empty()) files.html = numbered_file(s.html, i + 1);
    if (!s.npy.empty()) files.npy = concat(s.npy, "/", i + 1);
    if (!s.json.to_stdout())
      print(concat(i == 0 ? "" : "\n", i + 1, ": ", printable(escaped(texts[i], 200)), "\n"));
    std::string one = showing.show({.text = texts[i]}, files);
    while (one.ends_with('\n')) one.pop_back();
    w.value(io::JsonText{one});
  }
  json.write(w.end_list().end_object().take_line());
}

}  // namespace

void run_show(const ShowSettings& s) {
  check_combinations(s.view);
  check_input(s);
  if (s.corpus.empty()) {
    io::Outputs check(s.json.existing());  // refuses files that cannot be written before a model is opened
    reserve_figures(check, s.figures);
    if (!s.html.empty()) check.reserve(s.html);
  }
  JsonOutput json(s.json);
  std::vector<std::string> texts;
  if (!s.corpus.empty()) texts = read_corpus(s.corpus, s.limit);
  const Model model = open_model(s.input.model);
  Context ctx(shared(Together::products, {.threads = static_cast<int>(s.threads)}));
  Showing showing(s, model, ctx);
  if (s.corpus.empty()) json.write(showing.show(prompt_of(model, s.input), s));
  else show_corpus(s, texts, showing, json);
  print_notes(model.info().notices);
}

}  // namespace headlight::cli
