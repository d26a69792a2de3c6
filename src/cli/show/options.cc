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

void add_choice_of_heads(CLI::App& command, ViewRequest& view) {
  begin_group(command, "What is shown");
  add_part(command, view.part);
  add_count(command, "--layer", view.layer, "All heads of a layer, counted from 0");
  add_heads(command, view.heads);
  add_switch(command, "--all", view.all, "An atlas of all heads");
  add_text(command, "--query", view.query, "One word's row; the#2: the second \"the\", @5: token 5")
      ->type_name("WORD");
  add_text(command, "--key", view.key, "With --query: that link in every head")->type_name("WORD");
  add_switch(command, "--by-head", view.by_head, "With --query: what it looks at most, head by head");
}

void add_selection(CLI::App& command, ShowSettings& s) {
  ViewRequest& view = s.view;
  add_count(command, "--top", s.top, "Only the N largest weights (--by-head: 3)", {1, 1000000});
  add_switch(command, "--words", view.words, "Join the tokens of a word");
  begin_group(command, "What is shown, in full", Detail::full);
  add_switch(command, "--mute-first", view.mute_first, "Leave out what goes to the first token");
  add_choice<MeanOver>(command, "--mean", view.mean,
                       {{"heads", MeanOver::heads}, {"layers", MeanOver::layers}},
                       "The mean over the heads of each layer, or over all layers");
  add_switch(command, "--rollout", view.rollout,
             "Follow attention through all layers (Abnar and Zuidema, 2020)");
  add_range(command, "--from", view.from, "Only these queries: an exact part of a long text");
  add_range(command, "--to", view.to, "Only these keys");
  add_switch(command, "--exclude-self", view.exclude_self, "Leave out what tokens give to themselves");
  add_switch(command, "--mute-special", view.mute_special,
             "Leave out what goes to tokens of the tokenizer's own");
  add_switch(command, "--renormalize", view.renormalize, "Let what is left of each row sum to 1 again");
  add_choice<MapOf>(command, "--of", view.of,
                    {{"weights", MapOf::weights}, {"scores", MapOf::scores}, {"values", MapOf::values}},
                    "Maps of weights, of scores before the softmax, or of weights times the length of "
                    "their values (default: weights)");
}

void add_files(CLI::App& command, ShowSettings& s) {
  add_figures(command, s.figures);
  begin_group(command, "Output");
  add_path(command, "--html", s.html, "Write the viewer's page with this run inside");
  add_arrays(command, s.npy, "weights, logits");
  add_json(command, s.json);
  begin_group(command, "Output, in full", Detail::full);
  add_length(command, "--max-size", s.max_megabytes, {{"MB", 1}}, "The largest --html file (default: 25MB)");
  add_reader(
      command, "--what", [&s](const std::string& text) { read_what(text, s.what); },
      "What --npy writes: some of q,k,v,scores,weights,z,residual")
      ->type_name("NAME,…");
  add_threads(command, s.threads);
}

}  // namespace

void add_show(CLI::App& program) {
  CLI::App* command = add_command(
      program,
      {.name = "show",
       .what = "Show what a model looks at: heat maps, bars, figures, data",
       .usage = "headlight show [TEXT] [--model NAME|PATH] [--head L.H] [--query WORD] [options]",
       .examples =
           "  headlight show \"The animal didn't cross the street because it was too tired.\"\n"
           "  headlight show \"The cat sat on the mat\" --all\n"
           "  headlight show \"Harry Potter lives here\" --query \"Harry Potter\" --by-head --top 3\n"
           "  headlight show \"The cat sat on the mat\" --query cat --key mat\n"
           "  headlight show \"The cat sat\" --model en-fr --part cross\n"
           "  headlight show \"…\" --head 2.5 --svg figure.svg --width 85mm --font-size 7pt\n"
           "  headlight show \"The cat sat\" --html cat.html\n"
           "  headlight show --corpus stories.txt --limit 3 --query it\n"
           "  headlight show \"…\" --npy arrays --what weights,scores,residual\n"
           "  headlight show \"…\" --model mixtral --experts     which experts each token goes to\n\n"
           "  Rows are queries (from), columns are keys (to). Layers, heads and tokens count from 0.\n"
           "  exact: the model's own numbers; derived: computed from them, and it says how.\n"});
  const auto s = std::make_shared<ShowSettings>();
  add_model_input(*command, s->input, "What the model reads (default: piped text, else ours)");
  begin_group(*command, "Model and text");
  add_path(*command, "--corpus", s->corpus, "Many texts: a line of FILE each; -: standard input")
      ->type_name("FILE|-");
  add_count(*command, "--limit", s->limit, "With --corpus: only the first N texts", {1, 1000000});
  add_choice_of_heads(*command, s->view);
  add_selection(*command, *s);
  add_files(*command, *s);
  add_map_look(*command, s->look);
  add_choice<bool>(*command, "--color-range", s->look.auto_range, {{"fixed", false}, {"auto", true}},
                   "Colours of weights from 0 to 1, or to the largest one shown (default: fixed)");
  add_switch(*command, "--experts", s->experts, "Which experts each token goes to, of models that have them");
  keep_alive(*command, s);
  on_run(*command, [s] { s->experts ? run_show_experts(*s) : run_show(*s); });
}

}  // namespace headlight::cli
