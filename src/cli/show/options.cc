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
    else refuse_value("--what", text, "a list from q,k,v,scores,weights,z,residual,experts");
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
      refuse_value(name, text, "FIRST:END, tokens from 0, END excluded: 100:160");
    range = {*begin, *end};
  };
  add_reader(command, name, read, description)->type_name("FIRST:END");
}

void add_choice_of_heads(CLI::App& command, ViewRequest& view) {
  begin_group(command, "Selection");
  add_part(command, view.part);
  add_count(command, "--layer", view.layer, "All heads of this layer, counted from 0");
  add_heads(command, view.heads);
  add_switch(command, "--all", view.all, "Small maps of all heads");
  add_text(command, "--query", view.query, "One word's row; the#2: the second \"the\", @5: token 5")
      ->type_name("WORD");
  add_text(command, "--key", view.key, "With --query: the weight of this link in every head")
      ->type_name("WORD");
  add_switch(command, "--by-head", view.by_head, "With --query: the largest weights, head by head");
}

void add_selection(CLI::App& command, ShowSettings& s) {
  ViewRequest& view = s.view;
  add_count(command, "--top", s.top, "Only the N largest weights (with --by-head: 3)", {1, 1000000});
  add_switch(command, "--words", view.words, "Merge tokens into words");
  begin_group(command, "Selection (more)", Detail::full);
  add_switch(command, "--mute-first", view.mute_first, "Leave out weights on the first token");
  add_choice<MeanOver>(command, "--mean", view.mean,
                       {{"heads", MeanOver::heads}, {"layers", MeanOver::layers}},
                       "Mean over the heads of each layer, or over all layers");
  add_switch(command, "--rollout", view.rollout, "Attention rollout (Abnar and Zuidema, 2020)");
  add_range(command, "--from", view.from, "Only these queries of a long text, unpooled");
  add_range(command, "--to", view.to, "Show only these keys");
  add_switch(command, "--exclude-self", view.exclude_self, "Leave out weights of tokens on themselves");
  add_switch(command, "--mute-special", view.mute_special, "Leave out weights on special tokens");
  add_switch(command, "--renormalize", view.renormalize,
             "Divide the remaining weights of each row by their sum");
  add_choice<MapOf>(
      command, "--of", view.of,
      {{"weights", MapOf::weights}, {"scores", MapOf::scores}, {"values", MapOf::values}},
      "Show weights, scores before the softmax, or weights times the norm of the values (default: weights)");
}

void add_files(CLI::App& command, ShowSettings& s) {
  add_figures(command, s.figures);
  begin_group(command, "Output");
  add_path(command, "--html", s.html, "Write the viewer with this run as one offline page");
  add_arrays(command, s.npy, "weights, logits");
  add_json(command, s.json);
  begin_group(command, "Output (more)", Detail::full);
  add_length(command, "--max-size", s.max_megabytes, {{"MB", 1}},
             "Size limit of the --html file (default: 25MB)");
  add_reader(
      command, "--what", [&s](const std::string& text) { read_what(text, s.what); },
      "Arrays for --npy: a list from q,k,v,scores,weights,z,residual,experts (default: weights)")
      ->type_name("NAME,…");
  add_threads(command, s.threads);
}

}  // namespace

void add_show(CLI::App& program) {
  CLI::App* command = add_command(
      program,
      {.name = "show",
       .what = "Show weights as heat maps, bars, figures or data",
       .usage = "headlight show [TEXT] [--model NAME|PATH] [--head L.H] [--query WORD] [options]",
       .examples =
           "  headlight show \"The animal didn't cross the street because it was too tired.\"\n"
           "  headlight show \"The cat sat on the mat\" --all\n"
           "  headlight show \"The cat sat\" --query cat --by-head --top 3\n"
           "  headlight show \"The cat sat on the mat\" --query cat --key mat\n"
           "  headlight show \"The cat sat\" --model en-fr --part cross\n"
           "  headlight show \"…\" --head 2.5 --svg figure.svg --width 85mm --font-size 7pt\n"
           "  headlight show \"The cat sat\" --html cat.html\n"
           "  headlight show --corpus stories.txt --limit 3 --query it\n"
           "  headlight show \"…\" --npy arrays --what weights,scores,residual\n"
           "  headlight show \"…\" --model mixtral --experts     experts of each token\n"
           "\n"
           "  Rows are queries (from), columns are keys (to). Layers, heads and tokens count from 0.\n"
           "  exact: the model's own numbers; derived: computed from them, as stated.\n"});
  const auto s = std::make_shared<ShowSettings>();
  add_model_input(*command, s->input, "The text (default: piped text, or a sample sentence)");
  begin_group(*command, "Model and text");
  add_path(*command, "--corpus", s->corpus, "Read one text per line of FILE; -: standard input")
      ->type_name("FILE|-");
  add_count(*command, "--limit", s->limit, "With --corpus: use only the first N texts", {1, 1000000});
  add_choice_of_heads(*command, s->view);
  add_selection(*command, *s);
  add_files(*command, *s);
  add_map_look(*command, s->look);
  add_choice<bool>(*command, "--color-range", s->look.auto_range, {{"fixed", false}, {"auto", true}},
                   "Range of colours: fixed is 0 to 1, auto ends at the largest value (default: fixed)");
  add_switch(*command, "--experts", s->experts,
             "Print the experts that each token is routed to (mixture-of-experts models)");
  keep_alive(*command, s);
  on_run(*command, [s] { s->experts ? run_show_experts(*s) : run_show(*s); });
}

}  // namespace headlight::cli
