// headlight explain: attention on one sentence with every intermediate number.

#include <algorithm>
#include <memory>
#include <span>

#include "cli/commands.h"
#include "cli/explain/predict.h"
#include "cli/explain/steps.h"
#include "cli/explain/text.h"
#include "cli/map_look.h"
#include "cli/numbers.h"
#include "cli/terminal.h"
#include "io/json_writer.h"
#include "io/outputs.h"
#include "io/word_vectors.h"

namespace headlight::cli {
namespace {

struct ExplainSettings {
  StepsSettings steps;  // for a model; --query, --json and --threads also apply to the worked example
  bool simple = false, trainable = false, causal = false, project = false, predict = false;
  std::optional<Index> heads_to_make, seed;
  std::string input, save_input;
  Color color = Color::automatic;
};

Recipe recipe_of(const ExplainSettings& s) {
  if (s.simple && (s.trainable || s.heads_to_make || s.project)) {
    refuse_option("--simple", "has no parameters; leave out --trainable, --heads and --project");
  }
  if (s.seed && !s.trainable && !s.heads_to_make && !s.project) {
    refuse_option("--seed", "is the seed of random parameters; add --trainable or --heads");
  }
  Recipe recipe;
  recipe.causal = s.causal;
  recipe.heads = s.heads_to_make.value_or(1);
  recipe.seed = static_cast<std::uint32_t>(s.seed.value_or(123));
  if (s.trainable) recipe.parameters = Parameters::uniform;
  if (s.heads_to_make) recipe.parameters = Parameters::per_head;
  if (s.project) recipe.parameters = Parameters::shared;
  return recipe;
}

Sentence sentence_of(const ExplainSettings& s) {
  if (s.input.empty()) return lab::journey();
  io::WordVectors own = io::read_word_vectors(s.input);
  return {.words = std::move(own.words), .x = std::move(own.x), .built_in = false};
}

Index query_of(const ExplainSettings& s, const Sentence& sentence) {
  const auto& words = sentence.words;
  if (s.steps.query.empty()) return words.size() > 1 ? 1 : 0;
  const auto found = std::find(words.begin(), words.end(), s.steps.query);
  if (found == words.end()) refuse_value("--query", s.steps.query, "a word of the sentence");
  return found - words.begin();
}

// The words and vectors as a file for --input, to be edited.
void save(const Sentence& sentence, const std::string& path, io::Existing existing) {
  io::JsonWriter w;
  w.begin_object(io::JsonLayout::lines).field("tokens", sentence.words);
  w.key("vectors").begin_list(io::JsonLayout::lines);
  for (Index i = 0; i < sentence.x.dim(0); ++i) {
    w.begin_list();
    for (Index d = 0; d < sentence.x.dim(1); ++d) w.value(sentence.x.at(i, d));
    w.end_list();
  }
  const std::string json = w.end_list().end_object().take_line();
  io::Outputs outputs(existing);
  outputs.reserve(path);
  outputs.write(path, std::as_bytes(std::span(json)));
  outputs.commit();
}

void run(const ExplainSettings& s) {
  const PageStyle style = page_style(s.color, 60, 100);
  if (s.steps.asks_for_model()) {
    if (s.simple || s.trainable || s.causal || s.heads_to_make || s.project || s.seed || s.predict ||
        !s.input.empty() || !s.save_input.empty()) {
      refuse_option("TEXT",
                    "is for a model, which has its own steps; leave out --simple, --trainable, --causal, "
                    "--heads, --project, --seed, --predict and --input");
    }
    return run_steps(s.steps, style);
  }
  if (s.predict && s.steps.json.to_stdout()) refuse_option("--predict", "asks a question; leave out --json");
  const Recipe recipe = recipe_of(s);
  const Sentence sentence = sentence_of(s);
  if (!s.save_input.empty()) {
    save(sentence, s.save_input, s.steps.json.existing());
    return;
  }
  const Index query = query_of(s, sentence);
  const Trace numbers = lab::trace(sentence, recipe);
  const Explanation explanation{sentence, recipe, numbers, query};
  JsonOutput(s.steps.json).write(explain_json(explanation));
  if (s.steps.json.to_stdout()) return;
  const ExplainPages pages = explain_pages(explanation, style);
  print(pages.before_scores);
  if (s.predict) print(verdict(explanation, ask(explanation)));
  print(pages.rest);
}

}  // namespace

void add_explain(CLI::App& program) {
  CLI::App* command = add_command(
      program,
      {.name = "explain",
       .what = "Compute one weight, or a small example, step by step",
       .usage =
           "headlight explain [--simple | --trainable | --heads N] [options]\n"
           "       headlight explain TEXT --query WORD --key WORD [--head L.H] [--model NAME|PATH] [options]",
       .examples =
           "  headlight explain                               without parameters\n"
           "  headlight explain --trainable                   with queries, keys and values\n"
           "  headlight explain --heads 2 --causal            two heads, causal\n"
           "  headlight explain --heads 2 --causal --project  as in GPT\n"
           "  headlight explain --predict                     guess first\n"
           "  headlight explain --save-input mine.json        words and vectors to edit\n"
           "  headlight explain --input mine.json --query cat\n"
           "      mine.json: {\"tokens\": [\"the\", \"cat\"], \"vectors\": [[0.1, 0.2], [0.7, 0.4]]}\n"
           "  headlight explain \"The cat sat\" --head 1.2 --query sat --key cat\n"
           "  headlight explain \"The cat sat\" --query sat --key cat --as numpy\n"});
  const auto s = std::make_shared<ExplainSettings>();
  add_model_input(*command, s->steps.input, "The text for a model (default: the worked example)");
  begin_group(*command, "One weight of a model");
  add_part(*command, s->steps.part);
  add_heads(*command, s->steps.heads);
  add_text(*command, "--query", s->steps.query, "The word that attends (default: the second word)")
      ->type_name("WORD");
  add_text(*command, "--key", s->steps.key, "The word it attends to (default: the largest weight)")
      ->type_name("WORD");
  add_choice<Snippet>(*command, "--as", s->steps.as, {{"numpy", Snippet::numpy}, {"cpp", Snippet::cpp}},
                      "Print a program that computes this weight");
  begin_group(*command, "Worked example");
  add_switch(*command, "--simple", s->simple, "Use no parameters (default)");
  add_switch(*command, "--trainable", s->trainable, "Use parameters Wq, Wk, Wv, uniform in 0 to 1");
  add_switch(*command, "--causal", s->causal, "Hide later words");
  add_count(*command, "--heads", s->heads_to_make, "Use N heads of width 2, 1 to 8", {1, 8});
  add_switch(*command, "--project", s->project, "Split one projection into heads; project the output");
  add_switch(*command, "--predict", s->predict, "Ask for your guess of the largest weight first");
  begin_group(*command, "Worked example (more)", Detail::full);
  add_path(*command, "--input", s->input, "Read words and vectors from a JSON file");
  add_path(*command, "--save-input", s->save_input,
           "Write words and vectors for --input to a file, and exit");
  add_count(*command, "--seed", s->seed, "Seed of the parameters (default: 123)", {0, 4294967295});
  add_arrays(*command, s->steps.npy, "a head's numbers");
  add_json(*command, s->steps.json);
  add_threads(*command, s->steps.threads);
  add_color(*command, s->color);
  keep_alive(*command, s);
  on_run(*command, [s] { run(*s); });
}

}  // namespace headlight::cli
