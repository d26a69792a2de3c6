#include "cli/compare/view.h"

#include <optional>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "session/view.h"

namespace headlight::cli {
namespace {

using inspect::AttentionMap;
using inspect::HeadPlace;
using inspect::WordPair;

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorKind::usage, "compare.options", message);
}

// Tokens opposite each other when there are as many of them in one model's reading; words otherwise.
class Aligner {
 public:
  Aligner(const ComparedRun& a, const ComparedRun& b) : a_(a), b_(b) {
    by_words_ = &a.subject != &b.subject || a.sides.queries.size() != b.sides.queries.size() ||
                a.sides.keys.size() != b.sides.keys.size();
    lay_out(a.sides.queries, b.sides.queries, result_.rows, result_.row_labels);
    lay_out(a.sides.keys, b.sides.keys, result_.columns, result_.column_labels);
    result_.by_words = by_words_;
  }
  [[nodiscard]] Comparison of(const AttentionMap& a, const AttentionMap& b) const {
    Comparison c = result_;
    c.a = inspect::aligned(in_units(a, a_.sides), c.rows, c.columns, inspect::Side::a);
    c.b = inspect::aligned(in_units(b, b_.sides), c.rows, c.columns, inspect::Side::b);
    return c;
  }

 private:
  void lay_out(const inspect::Reading& a, const inspect::Reading& b, std::vector<WordPair>& words,
               std::vector<std::string>& labels) const {
    const std::vector<std::string> of_a = units(a), of_b = units(b);
    if (by_words_) {
      words = inspect::align(of_a, of_b);
    } else {
      for (Index i = 0; i < a.size(); ++i) words.push_back({i, i});
    }
    labels = inspect::aligned_labels(words, of_a, of_b);
  }
  [[nodiscard]] std::vector<std::string> units(const inspect::Reading& reading) const {
    if (!by_words_) return reading.labels();
    std::vector<std::string> labels;
    for (const inspect::Word& word : inspect::words_of(reading)) labels.push_back(word.label);
    return labels;
  }
  [[nodiscard]] AttentionMap in_units(const AttentionMap& map, const Sides& sides) const {
    if (!by_words_) return map;
    return inspect::by_words(map, inspect::words_of(sides.queries), inspect::words_of(sides.keys));
  }
  const ComparedRun &a_, &b_;
  bool by_words_ = false;
  Comparison result_;
};

// The row of the query, which is a word of A and what stands opposite it in B.
Index row_of_query(const ComparedRun& a, const Comparison& c, const std::string& query,
                   std::vector<std::string>& notes) {
  const inspect::Pick pick = inspect::pick(a.sides.queries, query);
  if (!pick.note.empty()) notes.push_back(pick.note);
  const std::vector<inspect::Word> words = inspect::words_of(a.sides.queries);
  for (std::size_t r = 0; r < c.rows.size(); ++r) {
    const Index at = c.rows[r].a;
    if (at < 0) continue;
    const Index token = c.by_words ? words[static_cast<std::size_t>(at)].tokens.begin : at;
    const Index end = c.by_words ? words[static_cast<std::size_t>(at)].tokens.end : at + 1;
    if (pick.word.tokens.begin < token || pick.word.tokens.begin >= end) continue;
    if (c.rows[r].b < 0) refuse(concat("--query: \"", escaped(query, 60), "\" has no word opposite it in B"));
    if (pick.word.tokens.end > end)
      notes.push_back(concat("\"", escaped(query, 60), "\" is more than one row: comparing \"",
                             escaped(c.row_labels[r], 60), "\""));
    return static_cast<Index>(r);
  }
  refuse(concat("--query: \"", escaped(query, 60), "\" is no word of A"));
}

AttentionMap row_of(const AttentionMap& map, Index row) {
  std::vector<WordPair> columns;
  for (Index j = 0; j < map.columns; ++j) columns.push_back({j, j});
  return inspect::aligned(map, {{row, row}}, columns, inspect::Side::a);
}

}  // namespace

ComparedRun run_model(Context& ctx, const inspect::Subject& subject, const ModelInput& input, Part part,
                      const std::vector<HeadPlace>& heads) {
  check_part(subject, part);
  for (const HeadPlace& place : heads) check_head(subject, part, place);
  ComparedRun run{subject,
                  read_question(ctx, subject, input, part == Part::encoder ? Needs::source : Needs::target),
                  {},
                  {}};
  run.sides = sides_of(subject, run.question, part);
  const Index count = heads.empty() ? subject.layers(part) * subject.heads(part) : 1;
  session::check_map_memory(count, run.sides.queries.size(), run.sides.keys.size());
  inspect::MapRecorder recorder({.part = part, .heads = heads});
  (void)inspect::watch(ctx, subject, run.question, recorder);
  run.maps = std::move(recorder.maps());
  return run;
}

Comparison most_different(const ComparedRun& a, const ComparedRun& b, const CompareSettings& s) {
  const Aligner aligner(a, b);
  std::optional<Comparison> best;
  double apart = -1;
  std::size_t tried = 0;
  for (const AttentionMap& of_a : a.maps) {
    for (const AttentionMap& of_b : b.maps) {
      if (s.second_heads.empty() && (of_a.layer != of_b.layer || of_a.head != of_b.head)) continue;
      Comparison c = aligner.of(of_a, of_b);
      if (!s.query.empty()) {
        const Index row = row_of_query(a, c, s.query, c.notes);
        c.a = row_of(c.a, row), c.b = row_of(c.b, row);
        c.row_labels = {c.row_labels[static_cast<std::size_t>(row)]};
      }
      ++tried;
      if (const double gap = inspect::distance(c.a, c.b); gap > apart) {
        apart = gap;
        best = std::move(c);
      }
    }
  }
  if (!best) refuse("the two models have no head in common; name one of each with --head and --with-head");
  if (tried > 1) {
    best->notes.push_back(concat("showing head ", best->a.layer, ".", best->a.head,
                                 ", where the two differ most of ", tried,
                                 " heads; --head L.H shows another one"));
  }
  return std::move(*best);
}

}  // namespace headlight::cli
