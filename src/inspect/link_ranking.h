// Ranks heads by their weight on a link such as "it->animal", on one text or over many.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "inspect/head_battery.h"
#include "inspect/intervals.h"
#include "inspect/model_run.h"
#include "inspect/recorder.h"

namespace headlight::inspect {

// "it->animal", "it→animal"; "?" on one side: any word. Throws Error{usage} for anything else.
struct LinkText {
  std::string from, to;  // empty: any
};
[[nodiscard]] LinkText parse_link(std::string_view text);

struct Link {
  Word from, to;  // no tokens: any
  std::vector<std::string> notes = {};
};
// Throws Error{usage} if a word is not in the text, or if the query cannot see the key.
[[nodiscard]] Link find_link(const LoadedModel& loaded, const Sides& sides, Part part, const LinkText& text);

struct LinkWeight {
  HeadPlace place;
  double weight = 0;  // mean over the query's tokens of the sum over the key's tokens
  double even = 0;    // weight of uniform attention there
  std::string key;    // for "it->?": the word with the largest weight
  Index key_token = -1;
};
// The weight in every head, largest first, equals in the order of the model. "it->?": the largest weight on one token,
// without special tokens and the word itself. "?->animal": the mean over all other tokens that see it.
[[nodiscard]] std::vector<LinkWeight> rank_link(const Sides& sides, Part part, const Link& link,
                                                const Replay& replay);
[[nodiscard]] std::vector<LinkWeight> rank_link(Context& ctx, const LoadedModel& loaded,
                                                const ModelInput& input, Part part, const Link& link);

// Many links, each in its own text.
struct PairLine {
  std::string text, from, to, target;  // target: the translation, if given
};
// "TEXT TAB FROM TAB TO" or "… TAB TARGET"; "#" begins a remark. Throws Error{input} that names the line.
[[nodiscard]] std::vector<PairLine> parse_pairs(std::string_view text, const std::string& name);

struct PairsScore {
  HeadPlace place;
  double weight = 0, even = 0;  // means
  Interval interval;            // of the weight
};
struct PairsRanking {
  std::vector<PairsScore> heads;     // over all pairs, largest first
  std::optional<PairsScore> chosen;  // best on one half of the pairs, with its figures on the other half
  Index pairs = 0;
};
[[nodiscard]] PairsRanking rank_pairs(Context& ctx, const LoadedModel& loaded,
                                      std::span<const PairLine> pairs, Part part, const std::string& name,
                                      const Progress& progress = {});

}  // namespace headlight::inspect
