#include "session/view.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "inspect/recorder.h"
#include "session/link_map.h"
#include "session/state.h"

namespace headlight::session {
namespace {

using inspect::AttentionMap;
using inspect::Word;

constexpr Index kCellsOfMap = 1024, kCellsOfAtlas = 96;        // per side; more are not visible
constexpr double kMostWeights = double(std::size_t{1} << 28);  // 1 GiB of floats

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorKind::usage, "show.options", message);
}

class ViewMaker {
 public:
  ViewMaker(Context& ctx, const Run& run, const ViewRequest& request, const Progress& progress)
      : ctx_(ctx),
        run_(run),
        s_(request),
        progress_(progress),
        part_(part_of(run, request.part)),
        queries_(encoded_text(run.queries(part_))),
        keys_(encoded_text(run.keys(part_))) {
    const ModelInfo& info = run.model().info();
    for (const HeadPlace& place : s_.heads) session::check_head(info, {part_, place.layer, place.head});
    if (s_.layer) session::check_head(info, {part_, static_cast<int>(*s_.layer), 0});
    if (s_.rollout && part_ == Part::cross)
      refuse("--rollout multiplies the layers of one stack; choose --part encoder or decoder");
    check_range("--from", s_.from, queries_.size());
    check_range("--to", s_.to, keys_.size());
    if (!s_.query.empty()) query_ = picked(queries_, s_.query);
    if (!s_.key.empty()) key_ = picked(keys_, s_.key);
  }

  View make() {
    if (s_.by_head) make_tops();
    else if (!s_.key.empty()) make_pair();
    else if (!s_.query.empty()) make_bars();
    else make_maps();
    view_.query = query_;
    return std::move(view_);
  }

 private:
  Word picked(const inspect::EncodedText& encoded, const std::string& what) {
    inspect::Pick pick = inspect::pick(encoded, what);
    if (!pick.note.empty()) view_.notes.push_back(pick.note);
    return pick.word;
  }

  static void check_range(std::string_view option, Range range, Index tokens) {
    if (range.end > tokens)
      refuse(concat(option, " ", range.begin, ":", range.end, ": there are tokens 0 to ", tokens - 1));
  }

  // Heads to record: those named, those of the layer, or all.
  [[nodiscard]] std::vector<HeadPlace> wanted() const {
    if (!s_.heads.empty()) return s_.heads;
    std::vector<HeadPlace> list;
    const std::vector<Index>& heads = run_.model().info().find(part_)->heads;
    for (std::size_t layer = 0; layer < heads.size(); ++layer) {
      if (s_.layer && *s_.layer != static_cast<Index>(layer)) continue;
      for (Index head = 0; head < heads[layer]; ++head)
        list.push_back({static_cast<int>(layer), static_cast<int>(head)});
    }
    return list;
  }

  std::vector<AttentionMap> record(std::vector<HeadPlace> heads, Range rows, Index most_cells) {
    const auto side = [&](Index length) { return most_cells > 0 ? std::min(most_cells, length) : length; };
    check_map_memory(static_cast<Index>(heads.size()), side(rows.size() > 0 ? rows.size() : queries_.size()),
                     side(s_.to.size() > 0 ? s_.to.size() : keys_.size()));
    inspect::MapRecorder recorder({.part = part_,
                                   .heads = std::move(heads),
                                   .rows = rows,
                                   .columns = s_.to,
                                   .most_cells = most_cells,
                                   .of = s_.of});
    session::replay(run_, part_, recorder, "heads", progress_, ctx_);
    return std::move(recorder.maps());
  }

  [[nodiscard]] std::string title_of(const AttentionMap& map) const {
    std::string title =
        run_.model().info().kind == ModelKind::encoder_decoder ? concat(name_of(part_), " ") : "";
    if (map.layer >= 0) title += concat("layer ", map.layer);
    else title += "all layers";
    if (map.head >= 0) title += concat(", head ", map.head);
    if (s_.from.size() > 0) title += concat(", from ", s_.from.begin, ":", s_.from.end);
    if (s_.to.size() > 0) title += concat(", to ", s_.to.begin, ":", s_.to.end);
    return title;
  }

  [[nodiscard]] static std::vector<std::string> block_labels(const std::vector<std::string>& labels,
                                                             Index in_cell) {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < labels.size(); i += static_cast<std::size_t>(in_cell))
      out.push_back(labels[i]);
    return out;
  }

  // Indices with their words.
  [[nodiscard]] draw::WeightMap drawn(const AttentionMap& map, const std::vector<std::string>& queries,
                                      const std::vector<std::string>& keys) const {
    draw::WeightMap out;
    out.title = title_of(map);
    out.short_name = map.head >= 0    ? concat(map.layer, ".", map.head)
                     : map.layer >= 0 ? concat(map.layer)
                                      : "all";
    out.origin = map.derivation.empty() ? draw::Origin::exact : draw::Origin::derived;
    out.derivation = map.derivation;
    out.queries = block_labels(queries, map.rows_in_cell);
    out.keys = block_labels(keys, map.columns_in_cell);
    out.rows_in_cell = map.rows_in_cell;
    out.columns_in_cell = map.columns_in_cell;
    out.weights = map.weights;
    out.visible = map.visible;
    out.row_axis = part_ == Part::cross ? "query (writing)" : "query (from)";
    if (leaves_out(s_)) out.masked_words = "hidden or left out";
    out.is_signed = s_.of == MapOf::scores;
    if (s_.of == MapOf::scores) out.quantity = "score before the softmax";
    if (s_.of == MapOf::values) out.quantity = "‖weight · v‖";
    return out;
  }

  // All columns whose tokens were added by the tokenizer.
  [[nodiscard]] std::vector<Index> special_columns() const {
    std::vector<Index> out;
    if (!s_.mute_special) return out;
    const auto& tokens = keys_.tokens;
    std::vector<Range> columns;
    if (s_.words)
      for (const Word& word : inspect::words_of(keys_)) columns.push_back(word.tokens);
    else
      for (Index i = 0; i < keys_.size(); ++i) columns.push_back({i, i + 1});
    for (std::size_t j = 0; j < columns.size(); ++j)
      if (std::all_of(tokens.begin() + columns[j].begin, tokens.begin() + columns[j].end,
                      [](const inspect::EncodedToken& token) { return token.added; }))
        out.push_back(static_cast<Index>(j));
    return out;
  }

  // The last steps, shared by all maps: merging into words, excluded cells, labels.
  void add(AttentionMap map, const std::vector<std::string>* rows = nullptr, Index first_row = 0) {
    std::vector<std::string> queries = rows != nullptr ? *rows : queries_.labels(), keys = keys_.labels();
    if (s_.from.size() > 0) queries = {queries.begin() + s_.from.begin, queries.begin() + s_.from.end};
    if (s_.to.size() > 0) keys = {keys.begin() + s_.to.begin, keys.begin() + s_.to.end};
    if (s_.words) {
      const std::vector<Word> to = inspect::words_of(keys_);
      std::vector<Word> from;
      if (rows != nullptr) from.push_back({queries[0], {0, 1}});
      else from = inspect::words_of(queries_);
      map = inspect::by_words(map, from, to);
      keys.clear();
      for (const Word& word : to) keys.push_back(word.label);
      if (rows == nullptr) {
        queries.clear();
        for (const Word& word : from) queries.push_back(word.label);
      } else {
        for (std::size_t i = 0; i < to.size(); ++i)
          if (to[i].tokens.begin <= first_row && first_row < to[i].tokens.end)
            first_row = static_cast<Index>(i);
      }
    }
    inspect::leave_out(map, {.self = s_.exclude_self, .first = s_.mute_first, .columns = special_columns()},
                       first_row);
    if (s_.renormalize) inspect::renormalize(map);
    view_.maps.push_back(drawn(map, queries, keys));
    view_.numbers.push_back(std::move(map));
  }

  // The default head if none was requested.
  FirstLook choose() {
    const FirstLook look =
        first_look(run_, {.part = part_, .query = query_.tokens, .progress = progress_}, ctx_);
    view_.choice = look;
    return look;
  }

  // Mean and rollout replace the maps of heads by one computed map.
  [[nodiscard]] std::vector<AttentionMap> combined(const std::vector<AttentionMap>& maps) const {
    std::vector<AttentionMap> layers;
    for (std::size_t first = 0; first < maps.size();) {
      std::size_t last = first;
      while (last < maps.size() && maps[last].layer == maps[first].layer) ++last;
      layers.push_back(inspect::mean_of(std::span(maps).subspan(first, last - first),
                                        concat("mean of ", last - first, " heads")));
      first = last;
    }
    if (s_.rollout) return {inspect::rollout_of(layers)};
    if (s_.mean == MeanOver::layers)
      return {inspect::mean_of(maps, concat("mean of ", maps.size(), " heads"))};
    return layers;
  }

  void make_maps() {
    const bool derives = s_.rollout || s_.mean != MeanOver::none;
    const bool exact = derives || s_.words || leaves_out(s_) || s_.every_weight;
    const bool chooses = s_.heads.empty() && !s_.layer && !s_.all && !derives;
    const bool many = s_.all || (s_.layer && s_.heads.empty());
    const Index cells = exact ? 0 : many ? kCellsOfAtlas : kCellsOfMap;
    std::vector<AttentionMap> maps =
        record(chooses ? std::vector{choose().head.place()} : wanted(), s_.from, cells);
    if (derives) maps = combined(maps);
    for (AttentionMap& map : maps) add(std::move(map));
    view_.kind = view_.maps.size() > 1 && (many || derives) ? ViewKind::atlas : ViewKind::maps;
    view_.in_row = derives ? std::min<Index>(static_cast<Index>(view_.maps.size()), 6)
                           : run_.model().info().find(part_)->heads.front();
  }

  // The query's row of these heads.
  std::vector<AttentionMap> rows(const std::vector<HeadPlace>& heads) {
    if (s_.rollout) {
      std::vector<AttentionMap> maps = combined(record(heads, {}, 0));
      for (AttentionMap& map : maps) map = inspect::mean_row(map, query_.tokens);
      return maps;
    }
    std::vector<AttentionMap> maps = record(heads, query_.tokens, 0);
    for (AttentionMap& map : maps) map = inspect::mean_row(map, {0, query_.tokens.size()});
    return s_.mean != MeanOver::none ? combined_rows(maps) : maps;
  }

  [[nodiscard]] std::vector<AttentionMap> combined_rows(const std::vector<AttentionMap>& maps) const {
    std::vector<AttentionMap> out = combined(maps);
    if (query_.tokens.size() > 1)
      for (AttentionMap& map : out) map.derivation += concat(", mean of ", query_.tokens.size(), " queries");
    return out;
  }

  void make_bars() {
    const bool chooses = s_.heads.empty() && !s_.layer && !s_.all && s_.mean == MeanOver::none && !s_.rollout;
    const std::vector<std::string> label = {query_.label};
    for (AttentionMap& map : rows(chooses ? std::vector{choose().head.place()} : wanted()))
      add(std::move(map), &label, query_.tokens.begin);
    view_.kind = ViewKind::bars;
  }

  void make_tops() {
    if (s_.query.empty()) refuse("--by-head needs --query WORD");
    const std::vector<std::string> label = {query_.label};
    for (AttentionMap& map : rows(wanted())) add(std::move(map), &label, query_.tokens.begin);
    view_.kind = ViewKind::tops;
  }

  void make_pair() {
    if (s_.query.empty()) refuse("--key WORD needs --query WORD");
    auto [drawn, numbers] = link_map(rows(wanted()), part_, query_, key_);
    view_.maps.push_back(std::move(drawn));
    view_.numbers.push_back(std::move(numbers));
  }

  Context& ctx_;
  const Run& run_;
  const ViewRequest& s_;
  const Progress& progress_;
  Part part_;
  inspect::EncodedText queries_, keys_;
  Word query_, key_;
  View view_;
};

}  // namespace

void check_map_memory(Index maps, Index rows, Index columns) {
  const double needed = static_cast<double>(maps) * static_cast<double>(rows) * static_cast<double>(columns);
  if (needed <= kMostWeights) return;
  throw Error(ErrorKind::resource, "show.memory",
              fmt::format("{} maps of {} × {} tokens are {:.1f} GiB of weights; the limit is 1 GiB\n"
                          "Select fewer heads with --head or --layer, or one --query.",
                          maps, rows, columns, needed / kMostWeights));
}

double scale_top(const View& view, MapOf of, bool auto_range) {
  if (of == MapOf::weights && !auto_range) return 1;
  double top = 0;
  for (const draw::WeightMap& map : view.maps) top = std::max(top, draw::largest(map));
  return top > 0 ? top : 1;
}

View make_view(Context& ctx, const Run& run, const ViewRequest& request, const Progress& progress) {
  return ViewMaker(ctx, run, request, progress).make();
}

}  // namespace headlight::session
