// Many links, each on its own text: the rest of link_ranking.h.
#include <algorithm>

#include "core/concat.h"
#include "core/escape.h"
#include "core/team.h"
#include "headlight/error.h"
#include "inspect/link_ranking.h"
#include "text/lines.h"

namespace headlight::inspect {
namespace {

constexpr std::string_view kCode = "heads.pairs";
constexpr std::size_t kMostPairs = 20000;
constexpr Index kLeastSplit = 8;  // pairs; fewer are too few to split into halves

// The weights of one head, pair after pair.
struct HeadLinks {
  HeadPlace place;
  std::vector<double> weights, even;
};

double mean(std::span<const double> values) {
  double sum = 0;
  for (const double x : values) sum += x;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

PairsScore score_of(const HeadLinks& head) {
  return {head.place, mean(head.weights), mean(head.even), bootstrap_mean(head.weights)};
}

HeadLinks half_of(const HeadLinks& head, Half half) {
  HeadLinks out{head.place, {}, {}};
  for (std::size_t i = 0; i < head.weights.size(); ++i) {
    if (inspect::half_of(static_cast<Index>(i)) != half) continue;
    out.weights.push_back(head.weights[i]);
    out.even.push_back(head.even[i]);
  }
  return out;
}

ModelInput input_of(Context& ctx, const LoadedModel& loaded, const PairLine& pair, Part part) {
  ModelInput input{.source = read_text(*loaded.tokenizer, pair.text)};
  if (!loaded.has(Part::cross)) return input;
  if (!pair.target.empty()) input.written = read_text(loaded.tokenizer->for_target(), pair.target);
  else if (part != Part::encoder) input.written = translate(ctx, loaded, input.source);
  return input;
}

// The weight of one head on the link of a pair.
struct Weight {
  HeadPlace place;
  double weight, even;
};

// By layer and head.
std::vector<Weight> weights_of(Context& ctx, const LoadedModel& loaded, const PairLine& pair, Part part) {
  const ModelInput input = input_of(ctx, loaded, pair, part);
  const Link link = find_link(loaded, sides_of(loaded, input, part), part, {pair.from, pair.to});
  std::vector<Weight> weights;
  for (const LinkWeight& w : rank_link(ctx, loaded, input, part, link))
    weights.push_back({w.place, w.weight, w.even});
  std::sort(weights.begin(), weights.end(), [](const Weight& a, const Weight& b) {
    return std::pair(a.place.layer, a.place.head) < std::pair(b.place.layer, b.place.head);
  });
  return weights;
}

}  // namespace

std::vector<PairLine> parse_pairs(std::string_view text, const std::string& name) {
  std::vector<PairLine> pairs;
  const std::vector<std::string_view> lines = text::lines_of(text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const text::FilePlace place{name, i + 1};
    if (lines[i].empty() || lines[i][0] == '#') continue;
    text::check_utf8(place, kCode, lines[i]);
    const std::vector<std::string_view> columns = text::split(lines[i], '\t');
    if (columns.size() != 3 && columns.size() != 4)
      text::refuse(place, kCode,
                   concat("needs a text, a word and the word it attends to, separated by tabs (and "
                          "optionally a translation); has ",
                          columns.size(), columns.size() == 1 ? " column" : " columns"));
    for (std::size_t c = 0; c < 3; ++c)
      if (columns[c].empty()) text::refuse(place, kCode, concat("column ", c + 1, " is empty"));
    if (pairs.size() == kMostPairs) text::refuse(place, kCode, concat("more than ", kMostPairs, " pairs"));
    pairs.push_back({std::string(columns[0]), std::string(columns[1]), std::string(columns[2]),
                     columns.size() == 4 ? std::string(columns[3]) : ""});
  }
  if (pairs.empty())
    throw Error(
        ErrorKind::input, kCode,
        concat(escaped(name, 100), ": has no pairs; a line is a text, a word and the word it attends to"));
  return pairs;
}

PairsRanking rank_pairs(Context& ctx, const LoadedModel& loaded, std::span<const PairLine> pairs, Part part,
                        const std::string& name, const Progress& progress) {
  std::vector<HeadLinks> heads;
  PairsRanking ranking;
  SharedItems items(ctx, [&](std::span<const std::byte> answer) {
    const std::vector<Weight> weights = values_of<Weight>(answer);
    heads.resize(weights.size());
    for (std::size_t h = 0; h < heads.size(); ++h) {
      heads[h].place = weights[h].place;
      heads[h].weights.push_back(weights[h].weight);
      heads[h].even.push_back(weights[h].even);
    }
  });
  for (const PairLine& pair : pairs) {
    items.add([&] {
      try {
        return bytes_of(weights_of(ctx, loaded, pair, part));
      } catch (const Error& error) {  // a word missing from its text is an error in the file
        throw Error(ErrorKind::input, kCode,
                    concat(escaped(name, 60), ": pair ", ranking.pairs + 1, ": ", error.what()));
      }
    });
    ++ranking.pairs;
    if (progress) progress(static_cast<double>(ranking.pairs) / static_cast<double>(pairs.size()));
  }
  items.finish();
  for (const HeadLinks& head : heads) ranking.heads.push_back(score_of(head));
  std::stable_sort(ranking.heads.begin(), ranking.heads.end(),
                   [](const PairsScore& a, const PairsScore& b) { return a.weight > b.weight; });
  if (ranking.pairs >= kLeastSplit) {
    const HeadLinks* best = nullptr;
    double most = -1;
    for (const HeadLinks& head : heads)
      if (const double m = mean(half_of(head, Half::choosing).weights); m > most) most = m, best = &head;
    ranking.chosen = score_of(half_of(*best, Half::scoring));
  }
  return ranking;
}

}  // namespace headlight::inspect
