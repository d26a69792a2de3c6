// The command line of `headlight show`.
#include <memory>

#include "cli/commands.h"
#include "cli/numbers.h"
#include "cli/show_settings.h"
#include "core/concat.h"

namespace headlight::cli {
namespace {

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(at, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

void read_heads(const std::string& text, std::vector<inspect::HeadPlace>& heads) {
  constexpr Index most = 100000;
  for (const std::string& part : split(text, ',')) {
    const std::size_t point = part.find('.');
    const auto layer = parse_integer(std::string_view(part).substr(0, point));
    const auto head =
        point == std::string::npos ? std::nullopt : parse_integer(std::string_view(part).substr(point + 1));
    if (!layer || !head || *layer < 0 || *head < 0 || *layer > most || *head > most)
      refuse_value("--head", text, "LAYER.HEAD, both counted from 0, several with commas: 2.5 or 2.5,3.0");
    heads.push_back({static_cast<int>(*layer), static_cast<int>(*head)});
  }
}

void add_numbers(CLI::App& command, const std::string& name, std::vector<std::int32_t>& list,
                 const std::string& description) {
  const auto read = [&list, name](const std::string& text) {
    for (const std::string& part : split(text, ',')) {
      const auto value = parse_integer(part);
      if (!value || *value < 0 || *value > std::numeric_limits<std::int32_t>::max())
        refuse_value(name, text, "whole numbers with commas: 5,17,3");
      list.push_back(static_cast<std::int32_t>(*value));
    }
  };
  command.add_option_function<std::string>(name, read, description)->type_name("N,N,…");
}

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
  command.add_option_function<std::string>(name, read, description)->type_name("LENGTH");
}

void read_what(const std::string& text, inspect::ArrayRequest& what) {
  what.weights = false;
  for (const std::string& part : split(text, ',')) {
    if (part == "weights") what.weights = true;
    else if (part == "scores") what.scores = true;
    else if (part == "q") what.q = true;
    else if (part == "k") what.k = true;
    else if (part == "v") what.v = true;
    else if (part == "z") what.z = true;
    else if (part == "residual") what.residual = true;
    else refuse_value("--what", text, "some of q,k,v,scores,weights,z,residual");
  }
}

void add_input(CLI::App& command, ShowSettings& s) {
  add_text(command, "TEXT", s.text,
           "What the model reads (default: piped text, else a sentence about a tired animal)");
  add_text(command, "--model", s.model,
           "A model's folder or .gguf file, or the name of one in the folder models (default: en)")
      ->type_name("NAME|PATH");
  add_text(command, "--target", s.target, "The translation to look at (default: the model's own)");
  add_numbers(command, "--ids", s.ids, "Token numbers in place of TEXT");
  add_numbers(command, "--target-ids", s.target_ids, "Token numbers in place of --target");
  add_numbers(command, "--type-ids", s.type_ids, "Segment numbers, for models that have them");
}

void add_choice_of_heads(CLI::App& command, ShowSettings& s) {
  add_choice<std::optional<Part>>(
      command, "--part", s.part,
      {{"encoder", Part::encoder}, {"decoder", Part::decoder}, {"cross", Part::cross}},
      "Which attention of a translator; cross: of the writer on the text");
  add_count(command, "--layer", s.layer, "All heads of a layer, counted from 0");
  command
      .add_option_function<std::string>(
          "--head", [&s](const std::string& text) { read_heads(text, s.heads); },
          "Heads as LAYER.HEAD from 0, several with commas")
      ->type_name("L.H");
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
  add_switch(command, "--words", s.words, "Join the tokens of a word");
  add_switch(command, "--exclude-self", s.exclude_self, "Leave out what tokens give to themselves");
  add_switch(command, "--mute-first", s.mute_first, "Leave out what goes to the first token");
}

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
  add_choice<std::optional<draw::Theme>>(
      command, "--theme", s.theme, {{"light", draw::Theme::light}, {"dark", draw::Theme::dark}},
      "Colours for a light or a dark page (default: dark terminal, light figure)");
  add_switch(command, "--numbers", s.numbers, "Write the weights into the cells");
}

void add_files(CLI::App& command, ShowSettings& s) {
  add_path(command, "--png", s.png, "Draw a figure");
  add_path(command, "--svg", s.svg, "Draw a figure");
  add_path(command, "--pdf", s.pdf, "Draw a figure");
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
           "  headlight show \"…\" --npy arrays --what weights,scores,residual\n\n"
           "  Rows are queries (from), columns are keys (to). Layers, heads and tokens count from 0.\n"
           "  exact: the model's own numbers; derived: computed from them, and it says how.\n"});
  const auto s = std::make_shared<ShowSettings>();
  add_input(*command, *s);
  add_choice_of_heads(*command, *s);
  add_selection(*command, *s);
  add_looks(*command, *s);
  add_files(*command, *s);
  keep_alive(*command, s);
  command->callback([s] { run_show(*s); });
}

}  // namespace headlight::cli
