// headlight explain TEXT: which weight, and how it is to be told.
#include "cli/explain/steps.h"

#include "cli/terminal.h"
#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "headlight/look.h"
#include "session/state.h"

namespace headlight::cli {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorKind::usage, "explain.options", message);
}

void say(const std::string& note) { print_error(concat("note: ", note, "\n")); }

// A word is explained by its first token; what else it has is said.
Index token_of(const inspect::Reading& reading, const std::string& what) {
  const inspect::Pick pick = inspect::pick(reading, what);
  if (!pick.note.empty()) say(pick.note);
  const Range tokens = pick.word.tokens;
  if (tokens.size() > 1) {
    say(concat("\"", escaped(pick.word.label, 40), "\" is ", tokens.size(),
               " tokens: taking the first (token ", tokens.begin, "); @", tokens.begin + 1,
               " takes the next"));
  }
  return tokens.begin;
}

ExplainRequest request_of(Context& ctx, const Run& run, const Sides& sides, Part part,
                          const ExplainStepsSettings& s) {
  ExplainRequest request;
  request.query = token_of(sides.queries, s.query);
  std::optional<Index> key;
  if (!s.key.empty()) key = token_of(sides.keys, s.key);
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
  const auto label = [](const inspect::Reading& reading, Index i) {
    return concat("\"", escaped(reading.tokens[static_cast<std::size_t>(i)].label, 40), "\"");
  };
  if (s.heads.empty()) {
    say(concat("head ", look.head.layer, ".", look.head.head, ", where ", label(sides.queries, request.query),
               " looks hardest", key ? " at it" : "", "; --head L.H explains another one"));
  }
  if (!key) say(concat("the key is ", label(sides.keys, request.key), "; --key WORD takes another one"));
  return request;
}

}  // namespace

void run_explain_steps(const ExplainStepsSettings& s, ExplainForm form, const PageStyle& style) {
  if (s.text.empty() && s.ids.empty())
    refuse("--part, --head, --key and --as belong to a model: give it a TEXT to read");
  if (s.query.empty()) refuse("which word looks? Give --query WORD, and --key WORD for the one it looks at");
  if (s.heads.size() > 1) refuse("one head at a time: --head LAYER.HEAD");
  if (s.as != Snippet::none && form == ExplainForm::json)
    refuse("--as prints a program and --json numbers; give one of them");
  const Model model = open_model(s.model);
  const inspect::Subject& subject = model.state().subject;
  const Part part = s.part.value_or(subject.usual_part());
  check_part(subject, part);
  for (const HeadPlace& place : s.heads) check_head(subject, part, place);
  Context ctx({.threads = static_cast<int>(s.threads)});
  const inspect::Question question =
      read_question(ctx, subject, s, part == Part::encoder ? Needs::source : Needs::target);
  const Sides sides = sides_of(subject, question, part);
  const Run run = session::attend_tokens(ctx, model, question, {.parts = {part}});
  const HeadSteps steps = explain(run, request_of(ctx, run, sides, part, s), ctx);
  const StepsExplanation e{subject, question, sides, steps};
  if (form == ExplainForm::json) print(steps_json(e));
  else if (s.as != Snippet::none) print(steps_snippet(e, s.as));
  else print(steps_text(e, style));
}

}  // namespace headlight::cli
