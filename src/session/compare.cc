// Two runs compared: which rows and columns correspond, and which heads differ most.
#include <algorithm>
#include <limits>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "headlight/look.h"
#include "inspect/alignment.h"
#include "session/state.h"

namespace headlight {
namespace {

using inspect::AttentionMap;
using inspect::WordPair;

AttentionMap map_of(const Run& run, const Head& head, Context& ctx) {
  inspect::MapRecorder recorder({.part = head.part, .heads = {head.place()}});
  session::replay(run, head.part, head.layer, recorder, ctx);
  return std::move(recorder.maps().front());
}

std::vector<inspect::Word> words_of(const TokenizedText& text) {
  std::vector<inspect::Word> words;
  for (const Word& word : text.words) words.push_back({word.text, word.tokens});
  return words;
}

// Pairs tokens if both runs have the same number of them from one model; words otherwise.
class Aligner {
 public:
  Aligner(const Run& a, const Run& b, Part part) : a_(a), b_(b), part_(part) {
    by_words = &a.model().state() != &b.model().state() || a.queries(part).size() != b.queries(part).size() ||
               a.keys(part).size() != b.keys(part).size();
    lay_out(a.queries(part), b.queries(part), rows);
    lay_out(a.keys(part), b.keys(part), columns);
  }
  [[nodiscard]] AttentionMap of_a(const AttentionMap& map) const {
    return inspect::aligned(in_units(map, a_), rows, columns, inspect::Side::a);
  }
  [[nodiscard]] AttentionMap of_b(const AttentionMap& map) const {
    return inspect::aligned(in_units(map, b_), rows, columns, inspect::Side::b);
  }

  bool by_words = false;
  std::vector<WordPair> rows, columns;

 private:
  void lay_out(const TokenizedText& a, const TokenizedText& b, std::vector<WordPair>& units) const {
    if (!by_words) {
      for (Index i = 0; i < a.size(); ++i) units.push_back({i, i});
      return;
    }
    const auto labels = [](const TokenizedText& text) {
      std::vector<std::string> out;
      for (const Word& word : text.words) out.push_back(word.text);
      return out;
    };
    units = inspect::align(labels(a), labels(b));
  }
  [[nodiscard]] AttentionMap in_units(const AttentionMap& map, const Run& run) const {
    if (!by_words) return map;
    return inspect::by_words(map, words_of(run.queries(part_)), words_of(run.keys(part_)));
  }
  const Run &a_, &b_;
  Part part_;
};

// The pairs of heads to compare: the requested ones, or those with the same layer and head.
std::vector<std::pair<Head, Head>> pairs_of(const Run& a, const Run& b, Part part,
                                            const CompareRequest& request) {
  const ModelInfo &of_a = a.model().info(), &of_b = b.model().info();
  if (request.head_a || request.head_b) {
    const HeadPlace first = request.head_a ? *request.head_a : *request.head_b;
    const HeadPlace second = request.head_b ? *request.head_b : *request.head_a;
    const std::pair<Head, Head> pair{{part, first.layer, first.head}, {part, second.layer, second.head}};
    session::check_head(of_a, pair.first);
    session::check_head(of_b, pair.second);
    return {pair};
  }
  std::vector<std::pair<Head, Head>> pairs;
  const PartInfo &first = *of_a.find(part), &second = *of_b.find(part);
  for (int layer = 0; layer < std::min(first.layers(), second.layers()); ++layer) {
    const auto at = static_cast<std::size_t>(layer);
    for (int head = 0; head < std::min(first.heads[at], second.heads[at]); ++head)
      pairs.push_back({{part, layer, head}, {part, layer, head}});
  }
  return pairs;
}

Tensor tensor_of(const AttentionMap& map) {
  Tensor out({map.rows, map.columns}, DType::f32);
  for (Index i = 0; i < map.rows; ++i)
    for (Index j = 0; j < map.columns; ++j)
      out.view().set(i, j, map.sees(i, j) ? double{map.at(i, j)} : std::numeric_limits<double>::quiet_NaN());
  return out;
}

// The row of A's query, if B has a word paired with it.
Index row_of_query(const Run& a, Part part, const Aligner& aligner, const std::string& query) {
  const TokenizedText& text = a.queries(part);
  const Range asked = find_words(text, query).tokens;
  for (std::size_t r = 0; r < aligner.rows.size(); ++r) {
    const Index at = aligner.rows[r].a;
    if (at < 0) continue;
    const Range row = aligner.by_words ? text.words[static_cast<std::size_t>(at)].tokens : Range{at, at + 1};
    if (asked.begin < row.begin || asked.begin >= row.end) continue;
    if (aligner.rows[r].b >= 0) return static_cast<Index>(r);
    throw Error(ErrorKind::usage, "compare.query",
                concat("\"", escaped(query, 60), "\" has no counterpart in B"));
  }
  throw Error(ErrorKind::usage, "compare.query", concat("\"", escaped(query, 60), "\" is not a word of A"));
}

std::vector<ComparedUnit> units_of(const std::vector<WordPair>& pairs) {
  std::vector<ComparedUnit> units;
  for (const WordPair& pair : pairs) units.push_back({pair.a, pair.b});
  return units;
}

}  // namespace

Comparison compare(const Run& a, const Run& b, const CompareRequest& request, const Progress& progress,
                   Context& ctx) {
  const Part part = session::part_of(a, request.part);
  session::check_part(b, part);
  Aligner aligner(a, b, part);
  if (!request.query.empty()) {
    const WordPair row =
        aligner.rows[static_cast<std::size_t>(row_of_query(a, part, aligner, request.query))];
    aligner.rows = {row};
  }
  const std::vector<std::pair<Head, Head>> pairs = pairs_of(a, b, part, request);
  if (pairs.empty())
    throw Error(ErrorKind::usage, "compare.heads",
                "the two models have no head in common; name one head of each");
  Comparison out;
  for (const auto& [of_a, of_b] : pairs) {
    progress.check();
    const AttentionMap first = aligner.of_a(map_of(a, of_a, ctx)),
                       second = aligner.of_b(map_of(b, of_b, ctx));
    out.heads.push_back({of_a, of_b, inspect::distance(first, second)});
    progress.tell("heads", static_cast<double>(out.heads.size()), static_cast<double>(pairs.size()));
  }
  std::stable_sort(out.heads.begin(), out.heads.end(),
                   [](const HeadDifference& x, const HeadDifference& y) { return x.distance > y.distance; });
  out.by_words = aligner.by_words;
  out.rows = units_of(aligner.rows);
  out.columns = units_of(aligner.columns);
  out.weights_a = tensor_of(aligner.of_a(map_of(a, out.heads.front().a, ctx)));
  out.weights_b = tensor_of(aligner.of_b(map_of(b, out.heads.front().b, ctx)));
  return out;
}

}  // namespace headlight
