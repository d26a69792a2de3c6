// A view of a run: which maps, of which heads, in which form.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "draw/weight_map.h"
#include "headlight/figure.h"
#include "headlight/look.h"
#include "inspect/attention_map.h"

namespace headlight::session {

enum class ViewKind : std::uint8_t {
  maps,   // heat maps, one after the other
  atlas,  // many small ones
  bars,   // one query
  tops,   // one query in many heads: the keys with the largest weights
};

struct View {
  ViewKind kind = ViewKind::maps;
  std::vector<draw::WeightMap> maps;
  std::vector<inspect::AttentionMap> numbers;  // the same, for data files
  inspect::Word query;                         // the requested query; no tokens: none
  Index in_row = 1;                            // of an atlas
  std::optional<FirstLook> choice;             // the head was chosen automatically
  std::vector<std::string> notes;              // words that occur several times in the text
};

// Refuses more than 1 GiB of weights.
void check_map_memory(Index maps, Index rows, Index columns);

// Whether some keys or links are not shown.
[[nodiscard]] inline bool leaves_out(const ViewRequest& s) {
  return s.exclude_self || s.mute_first || s.mute_special;
}

// The value at the end of the colour scale: 1 for weights, or the largest number shown.
[[nodiscard]] double scale_top(const View& view, MapOf of, bool auto_range);

[[nodiscard]] View make_view(Context& ctx, const Run& run, const ViewRequest& request,
                             const Progress& progress = {});

}  // namespace headlight::session
