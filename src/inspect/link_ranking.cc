#include "inspect/link_ranking.h"

#include <algorithm>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "inspect/head_meter.h"

namespace headlight::inspect {
namespace {

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorKind::usage, "heads.link", what); }

bool holds(Range range, Index i) { return i >= range.begin && i < range.end; }

bool overlap(Range a, Range b) { return a.begin < b.end && b.begin < a.end; }

class LinkMeter : public Observer {
 public:
  LinkMeter(const Sides& sides, Part part, const Link& link) : sides_(sides), part_(part), link_(link) {}

  void on_attention(const AttentionEvent& event) override {
    if (event.part != part_) return;
    for (Index head = 0; head < event.q.dim(1); ++head) {
      LinkWeight found{.place = {event.layer, static_cast<int>(head)}, .key = ""};
      Index rows = 0;
      top_ = 0;
      const Range queries = link_.from.tokens.size() > 0 ? link_.from.tokens : Range{0, event.queries(0)};
      for_each_row(event, head, queries, [&](const PatternRow& row) {
        if (link_.from.tokens.size() == 0 && !asks(row)) return;
        if (link_.to.tokens.size() > 0) add_weight(row, found);
        else add_largest(row, found);
        ++rows;
      });
      if (rows > 0) {
        found.weight /= static_cast<double>(rows);
        found.even /= static_cast<double>(rows);
      }
      weights_.push_back(std::move(found));
    }
  }
  std::vector<LinkWeight> take() { return std::move(weights_); }

 private:
  // Uses the queries that see the key and do not overlap it.
  [[nodiscard]] bool asks(const PatternRow& row) const {
    const bool self = part_ != Part::cross && holds(link_.to.tokens, row.query);
    return !self && overlap(row.keys, link_.to.tokens);
  }
  void add_weight(const PatternRow& row, LinkWeight& found) const {
    for (Index j = link_.to.tokens.begin; j < link_.to.tokens.end; ++j) {
      if (!holds(row.keys, j)) continue;
      found.weight += double{row.weights[static_cast<std::size_t>(j)]};
      found.even += 1 / static_cast<double>(row.keys.size());
    }
  }
  void add_largest(const PatternRow& row, LinkWeight& found) {
    double largest = 0;
    for (Index j = row.keys.begin; j < row.keys.end; ++j) {
      const EncodedToken& key = sides_.keys.tokens[static_cast<std::size_t>(j)];
      const bool self = part_ != Part::cross && holds(link_.from.tokens, j);
      const double w = double{row.weights[static_cast<std::size_t>(j)]};
      if (self || key.added || w <= largest) continue;
      largest = w;
      if (w > top_) top_ = w, found.key = key.label, found.key_token = j;
    }
    found.weight += largest;
    found.even += 1 / static_cast<double>(row.keys.size());
  }

  const Sides& sides_;
  Part part_;
  const Link& link_;
  double top_ = 0;
  std::vector<LinkWeight> weights_;
};

Word picked(const EncodedText& encoded, const std::string& what, std::vector<std::string>& notes) {
  if (what.empty()) return {};
  Pick pick = inspect::pick(encoded, what);
  if (!pick.note.empty()) notes.push_back(pick.note);
  return pick.word;
}

}  // namespace

LinkText parse_link(std::string_view text) {
  for (const std::string_view arrow : {std::string_view("->"), std::string_view("→")}) {
    const std::size_t at = text.find(arrow);
    if (at == std::string_view::npos) continue;
    const auto side = [](std::string_view part) {
      while (part.starts_with(' ')) part.remove_prefix(1);
      while (part.ends_with(' ')) part.remove_suffix(1);
      return std::string(part);
    };
    LinkText link{side(text.substr(0, at)), side(text.substr(at + arrow.size()))};
    if (link.from.empty() || link.to.empty() || (link.from == "?" && link.to == "?")) break;
    if (link.from == "?") link.from.clear();
    if (link.to == "?") link.to.clear();
    return link;
  }
  refuse(concat("\"", escaped(text, 60), "\" is not a link: it->animal, it->? or ?->animal"));
}

Link find_link(const LoadedModel& loaded, const Sides& sides, Part part, const LinkText& text) {
  Link link;
  link.from = picked(sides.queries, text.from, link.notes);
  link.to = picked(sides.keys, text.to, link.notes);
  const Range from = link.from.tokens, to = link.to.tokens;
  const bool both = from.size() > 0 && to.size() > 0;
  if (both && part == Part::decoder && to.begin >= from.end) {
    refuse(concat("\"", escaped(link.from.label, 40), "\" (token ", from.begin, ") cannot see \"",
                  escaped(link.to.label, 40), "\" (token ", to.begin, "): the decoder of \"",
                  escaped(loaded.name, 40), "\" attends only to earlier words"));
  }
  return link;
}

std::vector<LinkWeight> rank_link(Context& ctx, const LoadedModel& loaded, const ModelInput& input, Part part,
                                  const Link& link) {
  return rank_link(sides_of(loaded, input, part), part, link,
                   [&](Observer& observer) { (void)watch(ctx, loaded, input, observer); });
}

std::vector<LinkWeight> rank_link(const Sides& sides, Part part, const Link& link, const Replay& replay) {
  LinkMeter meter(sides, part, link);
  replay(meter);
  std::vector<LinkWeight> weights = meter.take();
  std::stable_sort(weights.begin(), weights.end(),
                   [](const LinkWeight& a, const LinkWeight& b) { return a.weight > b.weight; });
  return weights;
}

}  // namespace headlight::inspect
