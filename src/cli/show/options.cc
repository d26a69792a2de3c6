// The command line of `headlight show`.
#include <CLI/App.hpp>
#include <memory>

#include "cli/commands.h"
#include "cli/model_input.h"
#include "cli/numbers.h"
#include "cli/show/settings.h"
#include "core/concat.h"

namespace headlight::cli {
namespace {

// "85mm", "8.5cm", "3.3in"; a number alone is in the first unit.
void add_length(CLI::App& command, const std::string& name, double& value,
                const std::vector<std::pair<std::string_view, double>>& units,
                const std::string& description) {
  const auto read = [&value, name, units](const std::string& text) {
    for (const auto& [unit, factor] : units) {
      if (!text.ends_with(unit)) continue;
      if (const auto number = parse_real(std::string_view(text).substr(0, text.size() - unit.size()));
          number && *number > 0) {
        value = *number * factor;
        return;
      }
    }
    const auto number = parse_real(text);
    if (!number || *number <= 0) refuse_value(name, text, concat("a length such as 85", units[0].first));
    value = *number;
  };
  add_reader(command, name, read, description)->type_name("LENGTH");
}

void read_what(const std::string& text, inspect::ArrayRequest& what) {
  what.weights = false;
  for (const std::string& part : split_list(text)) {
    if (part == "weights") what.weights = true;
    else if (part == "scores") what.scores = true;
    else if (part == "q") what.q = true;
    else if (part == "k") what.k = true;
    else if (part == "v") what.v = true;
    else if (part == "z") what.z = true;
    else if (part == "residual") what.residual = true;
    else if (part == "experts") what.experts = true;
    else refuse_value("--what", text, "some of q,k,v,scores,weights,z,residual,experts");
  }
}

// "100:160": tokens 100 to 159.
void add_range(CLI::App& command, const std::string& name, Range& range, const std::string& description) {
  const auto read = [&range, name](const std::string& text) {
    const std::size_t colon = text.find(':');
    const auto begin = parse_integer(std::string_view(text).substr(0, colon));
    const auto end =
        colon == std::string::npos ? std::nullopt : parse_integer(std::string_view(text).substr(colon + 1));
    if (!begin || !end || *begin < 0 || *end <= *begin)
      refuse_value(name, text, "FIRST:END, tokens counted from 0: 100:160");
    range = {*begin, *end};
  };
  add_reader(command, name, read, description)->type_name("FIRST:END");
}

void add_choice_of_heads(CLI::App& command, ShowSettings& s) {
  add_part(command, s.part);
  add_count(command, "--layer", s.layer, "All heads of a layer, counted from 0");
  add_heads(command, s.heads);
  add_switch(command, "--all", s.all, "An atlas of all heads");
  add_choice<MeanOver>(command, "--mean", s.mean, {{"heads", MeanOver::heads}, {"layers", MeanOver::layers}},
                       "The mean over the heads of each layer, or over all layers");
  add_switch(command, "--rollout", s.rollout,
             "Follow attention through all layers (Abnar and Zuidema, 2020)");
}

void add_selection(CLI::App& command, ShowSettings& s) {
  add_text(command, "--query", s.query,
           "One word's row as bars; \"Harry Potter\", the#2 and @5 pick words, the second the, token 5")
      ->type_name("WORD");
  add_text(command, "--key", s.key, "With --query: that link in every head")->type_name("WORD");
  add_switch(command, "--by-head", s.by_head, "With --query: what it looks at most, head by head");
  add_count(command, "--top", s.top, "Only the N largest weights (--by-head: 3)", {1, 1000000});
  add_range(command, "--from", s.from, "Only these queries: an exact part of a long text");
  add_range(command, "--to", s.to, "Only these keys");
  add_switch(command, "--words", s.words, "Join the tokens of a word");
  add_switch(command, "--exclude-self", s.exclude_self, "Leave out what tokens give to themselves");
  add_switch(command, "--mute-first", s.mute_first, "Leave out what goes to the first token");
  add_switch(command, "--mute-special", s.mute_special,
             "Leave out what goes to tokens of the tokenizer's own");
  add_switch(command, "--renormalize", s.renormalize, "Let what is left of each row sum to 1 again");
  add_choice<inspect::MapOf>(
      command, "--of", s.of,
      {{"weights", inspect::MapOf::weights},
       {"scores", inspect::MapOf::scores},
       {"values", inspect::MapOf::values}},
      "Maps of weights, of scores before the softmax, or of weights times the length of "
      "their values (default: weights)");
}

void add_files(CLI::App& command, ShowSettings& s) {
  add_figure(command, s);
  add_path(command, "--html", s.html,
           "Write the viewer's page with this run inside, to open without a server");
  add_length(command, "--max-size", s.max_megabytes, {{"MB", 1}}, "The largest --html file (default: 25MB)");
  add_json(command, s.json);
  add_path(command, "--npy", s.npy,
           "Write logits.npy and all weights as PART_LAYER.npy [heads, q, k] into a folder")
      ->type_name("FOLDER");
  command
      .add_option_function<std::string>(
          "--what", [&s](const std::string& text) { read_what(text, s.what); },
          "What --npy writes: some of q,k,v,scores,weights,z,residual")
      ->type_name("NAME,…");
  add_count(command, "--threads", s.threads, "Threads (default: one per core)", {1, 1024});
}

}  // namespace

void add_looks(CLI::App& command, ShowSettings& s) {
  add_choice<MapColor>(command, "--color", s.color,
                       {{"auto", MapColor::automatic},
                        {"always", MapColor::always},
                        {"256", MapColor::palette},
                        {"shades", MapColor::shades},
                        {"ascii", MapColor::ascii},
                        {"never", MapColor::never}},
                       "auto: colours on a terminal unless NO_COLOR is set, numbers in a pipe");
  add_choice<draw::Transfer>(command, "--color-scale", s.transfer,
                             {{"linear", draw::Transfer::linear},
                              {"sqrt", draw::Transfer::square_root},
                              {"log", draw::Transfer::logarithm}},
                             "How weights become colours (default: sqrt)");
  std::vector<std::pair<std::string, draw::Palette>> palettes;
  palettes.reserve(std::size(draw::kPalettes));
  for (const draw::Palette palette : draw::kPalettes) palettes.emplace_back(draw::name_of(palette), palette);
  add_choice<draw::Palette>(command, "--palette", s.palette, palettes,
                            "Colours of weights; grey is for print (default: cividis)");
  add_choice<std::optional<draw::Theme>>(
      command, "--theme", s.theme, {{"light", draw::Theme::light}, {"dark", draw::Theme::dark}},
      "Colours for a light or a dark page (default: dark terminal, light figure)");
  add_switch(command, "--numbers", s.numbers, "Write the weights into the cells");
}

void add_figure(CLI::App& command, ShowSettings& s) {
  add_figure_files(command, s);
  add_length(command, "--width", s.figure.width_mm, {{"mm", 1}, {"cm", 10}, {"in", 25.4}},
             "The figure's width (default: 160mm)");
  add_length(command, "--font-size", s.figure.font_size, {{"pt", 1}}, "Of the figure's text (default: 8pt)");
  add_length(command, "--dpi", s.figure.dpi, {{"dpi", 1}}, "Pixels per inch of a PNG (default: 300)");
  add_text(command, "--title", s.figure.title, "A heading above the figure");
  command
      .add_option_function<std::string>(
          "--caption", [&s](const std::string& text) { s.caption = text; },
          "Below the figure (default: text and model; empty: none)")
      ->type_name("TEXT");
}

void add_show(CLI::App& program) {
  CLI::App* command = add_command(
      program,
      {.name = "show",
       .what = "Show what a model looks at: heat maps, bars, figures, data",
       .usage = "headlight show [TEXT] [--model NAME|PATH] [--head L.H | --layer L | --all] [--query WORD] "
                "[options]",
       .examples =
           "  headlight show \"The animal didn't cross the street because it was too tired.\"\n"
           "  headlight show \"The cat sat on the mat\" --all\n"
           "  headlight show \"Harry Potter lives here\" --query \"Harry Potter\" --by-head --top 3\n"
           "  headlight show \"The cat sat on the mat\" --query cat --key mat\n"
           "  headlight show \"The cat sat\" --model en-fr --part cross\n"
           "  headlight show \"…\" --head 2.5 --svg figure.svg --width 85mm --font-size 7pt\n"
           "  headlight show \"The cat sat\" --html cat.html\n"
           "  headlight show \"…\" --head 2.5 --from 900:960 --to 0:80     a part of a long text, exact\n"
           "  headlight show \"…\" --head 2.5 --mute-first --color-range auto     beside a sink\n"
           "  headlight show \"…\" --npy arrays --what weights,scores,residual\n"
           "  headlight show \"…\" --model mixtral --experts     which experts each token goes to\n\n"
           "  Rows are queries (from), columns are keys (to). Layers, heads and tokens count from 0.\n"
           "  exact: the model's own numbers; derived: computed from them, and it says how.\n"});
  const auto s = std::make_shared<ShowSettings>();
  add_model_input(*command, *s,
                  "What the model reads (default: piped text, else a sentence about a tired animal)");
  add_choice_of_heads(*command, *s);
  add_selection(*command, *s);
  add_looks(*command, *s);
  add_choice<bool>(*command, "--color-range", s->auto_range, {{"fixed", false}, {"auto", true}},
                   "Colours of weights from 0 to 1, or to the largest one shown (default: fixed)");
  add_files(*command, *s);
  add_switch(*command, "--experts", s->experts, "Which experts each token goes to, of models that have them");
  keep_alive(*command, s);
  on_run(*command, [s] { s->experts ? run_show_experts(*s) : run_show(*s); });
}

}  // namespace headlight::cli
