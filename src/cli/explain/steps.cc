// headlight explain TEXT: selects the weight and the form of the explanation.
#include "cli/explain/steps.h"

#include <algorithm>

#include "cli/terminal.h"
#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "headlight/look.h"

namespace headlight::cli {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorKind::usage, "explain.options", message);
}

// A word is explained by its first token; a note names the others.
Index token_of(const TokenizedText& text, const std::string& what) {
  std::vector<std::string> notes;
  const Range tokens = picked(text, what, notes);
  if (tokens.size() > 1)
    notes.push_back(concat("\"", escaped(what, 40), "\" is ", tokens.size(),
                           " tokens: using the first (token ", tokens.begin, "); @", tokens.begin + 1,
                           " selects the next one"));
  print_notes(notes);
  return tokens.begin;
}

ExplainRequest request_of(Context& ctx, const Run& run, Part part, const StepsSettings& s) {
  const TokenizedText &queries = run.queries(part), &keys = run.keys(part);
  ExplainRequest request;
  request.query = token_of(queries, s.query);
  std::optional<Index> key;
  if (!s.key.empty()) key = token_of(keys, s.key);
  if (!s.heads.empty() && key) {
    request.head = {part, s.heads.front().layer, s.heads.front().head};
    request.key = *key;
    return request;
  }
  LookRequest asked{.part = part, .heads = s.heads, .query = {request.query, request.query + 1}};
  if (key) asked.key = {*key, *key + 1};
  const FirstLook look = first_look(run, asked, ctx);
  request.head = look.head;
  request.key = look.key.begin;
  const auto label = [](const TokenizedText& text, Index i) {
    return concat("\"", escaped(text.tokens[static_cast<std::size_t>(i)].text, 40), "\"");
  };
  if (s.heads.empty())
    print_notes({concat("head ", place_text(look.head.place()), ", where ", label(queries, request.query),
                        " looks hardest", key ? " at it" : "", "; --head L.H selects another")});
  if (!key) print_notes({concat("the key is ", label(keys, request.key), "; --key WORD selects another")});
  return request;
}

Tensor array_of(const std::vector<double>& numbers) {
  Tensor out({static_cast<Index>(numbers.size())}, DType::f64);
  std::copy(numbers.begin(), numbers.end(), out.as<double>());
  return out;
}

// Numbers for each key, and the query, key, context and output of the head, in float64.
void write_numbers(const StepsExplanation& e, const StepsSettings& s) {
  if (s.npy.empty()) return;
  const HeadSteps& steps = e.steps;
  std::vector<NamedTensor> arrays;
  const auto add = [&](const char* name, const Numbers& numbers) {
    if (!numbers.empty()) arrays.push_back({name, array_of(numbers)});
  };
  add("query", steps.query.ready());
  add("key", steps.key.ready());
  add("dot_products", steps.dots);
  add("scores", steps.scores);
  add("weights", steps.weights);
  add("context", steps.context);
  add("output", steps.output);
  write_arrays(s.npy, s.json, arrays, tokens_json(e.run.model().info().name, token_lists(e.run)));
}

}  // namespace

void run_steps(const StepsSettings& s, const PageStyle& style) {
  if (!s.input.given()) refuse("--part, --head, --key, --as and --npy need a model and a TEXT");
  if (s.query.empty()) refuse("no query word; give --query WORD, and --key WORD for the word it attends to");
  if (s.heads.size() > 1) refuse("explain shows one head; give one --head LAYER.HEAD");
  if (s.as != Snippet::none && s.json.to_stdout())
    refuse("--as and --json both write to standard output; give one of them, or --json FILE.json");
  JsonOutput json(s.json);
  const Model model = open_model(s.input.model);
  const Part part = chosen_part(model, s.part);
  for (const HeadPlace& place : s.heads) check_head(model, part, place);
  Context ctx({.threads = static_cast<int>(s.threads)});
  const Run run = attend(ctx, model, prompt_of(model, s.input), {.parts = {part}});
  const HeadSteps steps = explain(run, request_of(ctx, run, part, s), ctx);
  const StepsExplanation e{run, steps};
  json.write(steps_json(e));
  write_numbers(e, s);
  if (s.json.to_stdout()) return;
  print(s.as != Snippet::none ? steps_snippet(e, s.as) : steps_text(e, style));
}

}  // namespace headlight::cli
