// What is to be seen of a run: which maps, made of which heads, as what kind of picture.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/show_settings.h"
#include "draw/weight_map.h"
#include "inspect/subject.h"

namespace headlight::cli {

enum class ViewKind : std::uint8_t {
  maps,   // heat maps, one after the other
  atlas,  // many small ones
  bars,   // one query
  tops,   // one query in many heads: the keys it looks at most
};

struct View {
  ViewKind kind = ViewKind::maps;
  std::vector<draw::WeightMap> maps;
  std::vector<inspect::AttentionMap> numbers;  // the same, for JSON
  inspect::Word query;                         // that was asked for; no tokens: none was
  Index in_row = 1;                            // of an atlas
  std::vector<std::string> notes;              // what was chosen for the reader, and why
};

// Refuses more than 1 GiB of weights.
void check_map_memory(Index maps, Index rows, Index columns);

// Where the colours end: 1 for weights, or the largest number shown.
[[nodiscard]] double scale_top(const View& view, const ShowSettings& settings);

// Runs the model and makes the view.
[[nodiscard]] View make_view(Context& ctx, const inspect::Subject& subject, const inspect::Question& question,
                             const ShowSettings& settings);

}  // namespace headlight::cli
