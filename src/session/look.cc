// Links and explanations of a kept run, computed by inspect.
#include "headlight/look.h"
#include "core/concat.h"
#include "headlight/error.h"
#include "inspect/head_steps.h"
#include "inspect/link_ranking.h"
#include "session/state.h"

namespace headlight {

LinkWords parse_link(std::string_view text) {
  inspect::LinkText link = inspect::parse_link(text);
  return {std::move(link.from), std::move(link.to)};
}

HeadSteps explain(const Run& run, const ExplainRequest& request, Context& ctx) {
  const session::StoredAttention& attention = session::attention_of(run, request.head);
  const auto check = [](std::string_view what, Index token, Index count) {
    if (token < 0 || token >= count)
      throw Error(ErrorKind::usage, "explain.token",
                  concat("the ", what, " is token ", token, "; there are tokens 0 to ", count - 1));
  };
  check("query", request.query, attention.queries());
  check("key", request.key, attention.keys());
  if (attention.x().empty())
    throw Error(ErrorKind::usage, "explain.inputs",
                "the run did not keep the inputs of its layers; attend with keep_inputs");
  HeadSteps steps = inspect::head_steps(
      run.state().loaded(), {request.head.part, request.head.place(), request.query, request.key},
      [&](Observer& observer) {
        session::replay(run, request.head.part, request.head.layer, observer, ctx);
      });
  if (request.key < steps.seen.begin || request.key >= steps.seen.end)
    throw Error(ErrorKind::usage, "explain.unseen",
                concat("token ", request.query, " cannot see token ", request.key, ": it sees tokens ",
                       steps.seen.begin, " to ", steps.seen.end - 1, " only (",
                       request.key > request.query ? "a decoder cannot see later tokens"
                                                   : "its window ends before it",
                       ")"));
  return steps;
}

std::vector<LinkScore> find_links(const Run& run, const LinkRequest& request, Context& ctx) {
  const Part part = session::part_of(run, request.part);
  const inspect::LoadedModel& loaded = run.state().loaded();
  const inspect::LinkText words = inspect::parse_link(request.link);
  const inspect::Sides sides = inspect::sides_of(loaded, run.state().input, part);
  const inspect::Link link = inspect::find_link(loaded, sides, part, words);
  std::vector<LinkScore> scores;
  for (const inspect::LinkWeight& w : inspect::rank_link(sides, part, link, [&](Observer& observer) {
         session::replay(run, part, observer, "heads", request.progress, ctx);
       })) {
    LinkScore score{.head = {part, w.place.layer, w.place.head}, .weight = w.weight, .chance = w.even};
    if (w.key_token >= 0) score.key = w.key_token;
    scores.push_back(score);
  }
  return scores;
}

}  // namespace headlight
