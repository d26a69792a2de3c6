// Chooses the link of a run that is shown first.
#include <algorithm>
#include <cmath>

#include "core/concat.h"
#include "headlight/error.h"
#include "headlight/look.h"
#include "inspect/head_meter.h"
#include "session/state.h"
#include "text/function_words.h"
#include "text/words.h"

namespace headlight {
namespace {

// Neighbouring tokens that form one side of a link: a word, or the requested tokens.
struct End {
  Range tokens;
  Index first_word = 0, last_word = 0;
};

bool overlap(Range a, Range b) { return a.begin < b.end && b.begin < a.end; }

bool has_meaning(const TokenizedText& text, const Word& word) {
  return !text.tokens[static_cast<std::size_t>(word.tokens.begin)].special &&
         text::has_letter_or_digit(word.text);
}

End end_of(const TokenizedText& text, Range tokens) {
  return {tokens, text.tokens[static_cast<std::size_t>(tokens.begin)].word,
          text.tokens[static_cast<std::size_t>(tokens.end - 1)].word};
}

// The links that count: from pronouns to content words; between words that are neither the same nor
// neighbours; or all links.
enum class Rule { pronoun, farther, any };
enum class Side { query, key };
constexpr double kPronounLift = 2;  // below this, a pronoun is treated like any other word

bool counts(const TokenizedText& text, const Word& word, Rule rule, Side side) {
  if (rule == Rule::any) return true;
  if (!has_meaning(text, word)) return false;
  if (rule == Rule::farther) return true;
  return side == Side::query ? text::is_pronoun(word.text) : !text::is_function_word(word.text);
}

std::vector<End> ends_of(const TokenizedText& text, Range asked, Rule rule, Side side) {
  if (asked.size() > 0) return {end_of(text, asked)};
  std::vector<End> ends;
  for (const Word& word : text.words)
    if (counts(text, word, rule, side)) ends.push_back(end_of(text, word.tokens));
  return ends;
}

class LookMeter : public Observer {
 public:
  LookMeter(const Run& run, Part part, const LookRequest& request, Rule rule)
      : request_(request),
        part_(part),
        rule_(rule),
        queries_(ends_of(run.queries(part), request.query, rule, Side::query)),
        keys_(ends_of(run.keys(part), request.key, rule, Side::key)) {}

  void on_attention(const AttentionEvent& event) override {
    for (Index head = 0; head < event.q.dim(1); ++head) {
      const HeadPlace place{event.layer, static_cast<int>(head)};
      if (!request_.heads.empty() &&
          std::find(request_.heads.begin(), request_.heads.end(), place) == request_.heads.end())
        continue;
      ++best.heads_searched;
      for (const End& query : queries_) measure(event, place, query);
    }
  }

  [[nodiscard]] bool has_queries() const { return !queries_.empty(); }

  FirstLook best;
  double score = -INFINITY;  // of the best; -inf: there is none

 private:
  void measure(const AttentionEvent& event, const HeadPlace& place, const End& query) {
    weights_.assign(keys_.size(), 0);
    chances_.assign(keys_.size(), 0);
    inspect::for_each_row(event, place.head, query.tokens, [&](const inspect::PatternRow& row) {
      const double even = row.keys.size() > 0 ? 1 / static_cast<double>(row.keys.size()) : 0;
      for (std::size_t k = 0; k < keys_.size(); ++k) {
        for (Index j = std::max(keys_[k].tokens.begin, row.keys.begin);
             j < std::min(keys_[k].tokens.end, row.keys.end); ++j) {
          weights_[k] += double{row.weights[static_cast<std::size_t>(j)]};
          chances_[k] += even;
        }
      }
    });
    const auto rows = static_cast<double>(query.tokens.size());
    for (std::size_t k = 0; k < keys_.size(); ++k) {
      if (chances_[k] <= 0 || !counts(query, keys_[k])) continue;
      // The link's contribution to the divergence from uniform attention, which favours a large lift of a visible weight. Below
      // chance level it would grow again, so there the weight itself is used.
      const double weight = weights_[k] / rows, chance = chances_[k] / rows;
      const double value = weight > chance ? weight * std::log(weight / chance) : weight - chance;
      if (value <= score) continue;
      score = value;
      best.head = {part_, place.layer, place.head};
      best.query = query.tokens;
      best.key = keys_[k].tokens;
      best.weight = weight;
      best.chance = chance;
    }
  }

  [[nodiscard]] bool counts(const End& query, const End& key) const {
    if (rule_ == Rule::any || request_.key.size() > 0 || part_ == Part::cross) return true;
    const bool near = key.first_word <= query.last_word + 1 && key.last_word + 1 >= query.first_word;
    return !near && !overlap(key.tokens, {0, 1});
  }

  const LookRequest& request_;
  Part part_;
  Rule rule_;
  std::vector<End> queries_, keys_;
  std::vector<double> weights_, chances_;
};

void check(Range range, Index size, std::string_view what) {
  if (range.begin < 0 || range.end < range.begin || range.end > size)
    throw Error(ErrorKind::usage, "look.range",
                concat("the ", what, " is tokens ", range.begin, " to ", range.end - 1,
                       "; there are tokens 0 to ", size - 1));
}

}  // namespace

FirstLook first_look(const Run& run, const LookRequest& request, Context& ctx) {
  const Part part = session::part_of(run, request.part);
  check(request.query, run.queries(part).size(), "query");
  check(request.key, run.keys(part).size(), "key");
  for (const HeadPlace& place : request.heads)
    session::check_head(run.model().info(), {part, place.layer, place.head});
  for (const Rule rule : {Rule::pronoun, Rule::farther, Rule::any}) {
    if (rule == Rule::pronoun && (request.query.size() > 0 || request.key.size() > 0)) continue;
    LookMeter meter(run, part, request, rule);
    if (rule == Rule::pronoun && !meter.has_queries()) continue;
    session::replay(run, part, meter, "searching for a link", request.progress, ctx);
    if (meter.score == -INFINITY || (rule == Rule::pronoun && meter.best.lift() < kPronounLift)) continue;
    const bool query = request.query.size() > 0, key = request.key.size() > 0;
    meter.best.reason = query && key            ? LookReason::strongest_head
                        : rule == Rule::any     ? LookReason::nothing_farther
                        : rule == Rule::pronoun ? LookReason::pronoun
                        : query                 ? LookReason::strongest_key
                                                : LookReason::strongest_link;
    return meter.best;
  }
  if (request.query.size() == 0 || request.key.size() == 0)
    throw Error(ErrorKind::usage, "look.nothing", "the query can see none of these keys");
  const HeadPlace first = request.heads.empty() ? HeadPlace{} : request.heads.front();
  return {.head = {part, first.layer, first.head},
          .query = request.query,
          .key = request.key,
          .reason = LookReason::strongest_head};
}

}  // namespace headlight
