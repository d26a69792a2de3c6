// headlight explain TEXT: which weight, and how it is to be told.
#include "cli/explain_steps.h"

#include <algorithm>

#include "cli/model_places.h"
#include "cli/terminal.h"
#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"

namespace headlight::cli {
namespace {

using inspect::AttentionMap;

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

// Heads and keys that were not named: where the query looks hardest. Itself and the first token do not count unless
// there is nothing else.
struct Choice {
  inspect::HeadPlace place;
  Index key = 0;
};
Choice hardest(const std::vector<AttentionMap>& maps, Index query, std::optional<Index> key, bool same_text) {
  Choice best{{maps.front().layer, maps.front().head}, key.value_or(0)};
  double top = -1;
  for (const AttentionMap& map : maps) {
    for (Index j = key.value_or(0); j < (key ? *key + 1 : map.columns); ++j) {
      if (!map.sees(0, j)) continue;
      const bool counts = key || ((!same_text || j != query) && j != 0);
      const double weight = counts ? double{map.at(0, j)} : double{map.at(0, j)} - 1;
      if (weight > top) top = weight, best = {{map.layer, map.head}, j};
    }
  }
  return best;
}

inspect::StepsRequest request_of(Context& ctx, const inspect::Subject& subject,
                                 const inspect::Question& question, const Sides& sides, Part part,
                                 const ExplainStepsSettings& s) {
  inspect::StepsRequest request;
  request.part = part;
  request.query = token_of(sides.queries, s.query);
  std::optional<Index> key;
  if (!s.key.empty()) key = token_of(sides.keys, s.key);
  if (!s.heads.empty() && key) {
    request.place = s.heads.front();
    request.key = *key;
    return request;
  }
  inspect::MapRecorder recorder({.part = part, .heads = s.heads, .rows = {request.query, request.query + 1}});
  (void)inspect::watch(ctx, subject, question, recorder);
  const Choice choice = hardest(recorder.maps(), request.query, key, part != Part::cross);
  request.place = choice.place;
  request.key = choice.key;
  const auto label = [](const inspect::Reading& reading, Index i) {
    return concat("\"", escaped(reading.tokens[static_cast<std::size_t>(i)].label, 40), "\"");
  };
  if (s.heads.empty()) {
    say(concat("head ", request.place.layer, ".", request.place.head, ", where ",
               label(sides.queries, request.query), " looks hardest", key ? " at it" : "",
               "; --head L.H explains another one"));
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
  const inspect::Subject subject = inspect::open_subject(s.model, model_places());
  const Part part = s.part.value_or(subject.usual_part());
  check_part(subject, part);
  for (const inspect::HeadPlace& place : s.heads) check_head(subject, part, place);
  Context ctx({.threads = static_cast<int>(s.threads)});
  const inspect::Question question =
      read_question(ctx, subject, s, part == Part::encoder ? Needs::source : Needs::target);
  const Sides sides = sides_of(subject, question, part);
  const inspect::StepsRequest request = request_of(ctx, subject, question, sides, part, s);
  const inspect::HeadSteps steps = inspect::head_steps(ctx, subject, question, request);
  if (request.key < steps.seen.begin || request.key >= steps.seen.end) {
    refuse(concat("token ", request.query, " cannot see token ", request.key, ": it sees tokens ",
                  steps.seen.begin, " to ", steps.seen.end - 1, " only (",
                  request.key > request.query ? "a decoder does not look ahead" : "its window ends before it",
                  ")"));
  }
  const StepsExplanation e{subject, question, sides, steps};
  if (form == ExplainForm::json) print(steps_json(e));
  else if (s.as != Snippet::none) print(steps_snippet(e, s.as));
  else print(steps_text(e, style));
}

}  // namespace headlight::cli
