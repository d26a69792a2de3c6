// headlight show: what a model looks at, on the terminal, as figures and as data.
#include <fmt/format.h>

#include "cli/model_places.h"
#include "cli/numbers.h"
#include "cli/show/files.h"
#include "cli/show/page.h"
#include "cli/terminal.h"
#include "core/concat.h"
#include "core/escape.h"
#include "draw/atlas_text.h"
#include "draw/bars_text.h"
#include "draw/heat_map_text.h"
#include "headlight/error.h"
#include "serve/view_json.h"
#include "session/state.h"
#include "session/view.h"

namespace headlight::cli {
namespace {

std::string text_of(const session::View& view, const ShowSettings& s) {
  draw::TerminalStyle style = terminal_style(s);
  style.top = session::scale_top(view, s.of, s.auto_range);
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

void check_combinations(const ShowSettings& s) {
  const auto refuse = [](std::string_view what) {
    throw Error(ErrorKind::usage, "show.options", std::string(what));
  };
  const int ways = (s.heads.empty() ? 0 : 1) + (s.layer ? 1 : 0) + (s.all ? 1 : 0);
  if (ways > 1) refuse("--head, --layer and --all choose heads; give one of them");
  if (!s.heads.empty() && (s.mean != MeanOver::none || s.rollout))
    refuse("--mean and --rollout take all heads of a layer; leave --head out");
  if (!s.html.empty() && (!s.ids.empty() || !s.target_ids.empty() || !s.type_ids.empty()))
    refuse("--html shows a text; give TEXT and --target in place of numbers");
  if (s.mean != MeanOver::none && s.rollout)
    refuse("--mean and --rollout are two ways to join heads; give one");
  const bool leaves_out = session::leaves_out(view_request(s));
  const bool part = s.from.size() > 0 || s.to.size() > 0;
  if (part &&
      (s.words || s.mean != MeanOver::none || s.rollout || leaves_out || s.renormalize || !s.query.empty()))
    refuse(
        "--from and --to show a part as it is; leave out --words, --mean, --rollout, --exclude-self, "
        "--mute-first, --mute-special and --query");
  if (s.renormalize && !leaves_out)
    refuse(
        "--renormalize is for rows with something left out: add --mute-first, --mute-special or "
        "--exclude-self");
  if (s.of != inspect::MapOf::weights &&
      (s.mean != MeanOver::none || s.rollout || !s.query.empty() || s.renormalize))
    refuse(
        "--of scores and --of values are maps of heads; leave out --mean, --rollout, --query and "
        "--renormalize");
  if (s.of == inspect::MapOf::scores && s.words)
    refuse("scores of words have no meaning; leave out --words, or --of scores");
  if (s.by_head && !s.key.empty()) refuse("--by-head lists keys; --key names one. Give one of them");
}

// Only what is shown is kept of the run; files of arrays take everything.
Run read_and_run(Context& ctx, const Model& model, const ShowSettings& s, inspect::ArrayRecorder& arrays) {
  const inspect::Subject& subject = model.state().subject;
  const Part part = s.part.value_or(subject.usual_part());
  check_part(subject, part);
  for (const HeadPlace& place : s.heads) check_head(subject, part, place);
  if (s.layer) check_layer(subject, part, *s.layer);
  const bool writes = !s.npy.empty() || part != Part::encoder;
  AttendOptions options;
  options.parts = {part};
  options.keep_inputs = false;
  if (!s.npy.empty()) options.observer = &arrays;
  return session::attend_tokens(
      ctx, model, read_question(ctx, subject, s, writes ? Needs::target : Needs::source), options);
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
                asked ? " looks hardest at another word, " : " looks at ", to,
                asked ? "" : fmt::format(", {:.1f} times chance", look.lift()), ": the strongest link of ",
                look.heads_searched, " heads; --head L.H shows another one, --all all of them");
}

}  // namespace

ViewRequest view_request(const ShowSettings& s) {
  return {.part = s.part,
          .layer = s.layer,
          .heads = s.heads,
          .all = s.all,
          .mean = s.mean,
          .rollout = s.rollout,
          .from = s.from,
          .to = s.to,
          .query = s.query,
          .key = s.key,
          .by_head = s.by_head,
          .words = s.words,
          .exclude_self = s.exclude_self,
          .mute_first = s.mute_first,
          .mute_special = s.mute_special,
          .renormalize = s.renormalize,
          .of = s.of,
          .every_weight = !s.json.path.empty()};
}

void run_show(const ShowSettings& s) {
  check_combinations(s);
  io::Outputs outputs(s.json.force ? io::Existing::replace : io::Existing::refuse);
  for (const std::string* path : {&s.png, &s.svg, &s.pdf, &s.html})
    if (!path->empty()) outputs.reserve(*path);
  JsonOutput json(s.json);

  const Model model = open_model(s.model);
  Context ctx({.threads = static_cast<int>(s.threads)});
  inspect::ArrayRecorder arrays(s.what);
  const Run run = read_and_run(ctx, model, s, arrays);
  const session::View view = session::make_view(ctx, run, view_request(s));

  if (s.has_figure()) write_view(outputs, view, run, s);
  if (!s.html.empty()) write_page(outputs, ctx, view, {run, s});
  outputs.commit();
  if (!s.npy.empty()) write_arrays(run, arrays.arrays(), s);
  json.write(serve::view_json(view, run));
  if (!s.json.to_stdout() && !s.has_figure() && s.npy.empty() && s.html.empty()) print(text_of(view, s));
  if (view.choice) print_error(concat("note: ", choice_note(run, *view.choice), "\n"));
  for (const std::string& note : view.notes) print_error(concat("note: ", note, "\n"));
  for (const std::string& note : model.info().notices) print_error(concat("note: ", note, "\n"));
  if (output_is_terminal() && s.ids.empty() && s.type_ids.empty())
    print_error(concat("In the browser: ", serve_command(view, {run, s}), "\n"));
}

draw::TerminalStyle terminal_style(const ShowSettings& s) {
  draw::TerminalStyle style;
  style.theme = s.theme.value_or(draw::Theme::dark);
  style.transfer = s.transfer;
  style.palette = s.palette;
  style.numbers = s.numbers;
  style.glyphs = output_is_utf8() ? draw::Glyphs::unicode : draw::Glyphs::ascii;
  style.width = terminal_width();
  const draw::Look plain = output_is_utf8() ? draw::Look::shades : draw::Look::ascii;
  const auto colored = [](ColorDepth depth) {
    return depth == ColorDepth::full ? draw::Look::full_color : draw::Look::palette;
  };
  switch (s.color) {
    case MapColor::always: style.look = colored(color_depth(Color::always)); return style;
    case MapColor::palette: style.look = draw::Look::palette; return style;
    case MapColor::shades: style.look = plain; return style;
    case MapColor::ascii: style.look = draw::Look::ascii; return style;
    case MapColor::automatic:
    case MapColor::never: break;
  }
  if (!output_is_terminal()) {
    style.look = draw::Look::table;
    style.width = 0;  // data has no width
    return style;
  }
  const ColorDepth depth = s.color == MapColor::never ? ColorDepth::none : color_depth(Color::automatic);
  style.look = depth == ColorDepth::none ? plain : colored(depth);
  return style;
}

}  // namespace headlight::cli
