// Figures of a run, as the bytes of a file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headlight/figure_style.h"
#include "headlight/run.h"

#pragma GCC visibility push(default)

namespace headlight {

enum class MeanOver : std::uint8_t { none, heads, layers };

// The section of a run to show.
struct ViewRequest {
  std::optional<Part> part = std::nullopt;  // none: the part that reads the text
  std::optional<Index> layer = std::nullopt;
  std::vector<HeadPlace> heads = {};  // none, and no layer: the head that first_look() chooses
  bool all = false;                   // all heads, small
  MeanOver mean = MeanOver::none;
  bool rollout = false;      // attention rollout through all layers
  Range from = {}, to = {};  // these queries and keys only; none: all
  std::string query = {},
              key = {};  // words as find_words() takes them: one query's weights, one link in all heads
  bool by_head = false;  // the largest weights of the query in every head
  bool words = false;    // words instead of tokens
  bool exclude_self = false, mute_first = false, mute_special = false;  // links to leave out
  bool renormalize = false;                                             // remaining weights of a row sum to 1
  MapOf of = MapOf::weights;
  bool every_weight = false;  // never pooled, however many there are
};

struct FigureRequest {
  ViewRequest view = {};
  FigureFormat format = FigureFormat::png;
  FigureLook look = {};
  Index bars = 0;                                     // for one query: only the largest weights; 0: all
  std::optional<std::string> caption = std::nullopt;  // none: the text and the model's name
  Progress progress = {};
};
// Throws Error{usage} for a view without a figure.
[[nodiscard]] std::string figure(const Run& run, const FigureRequest& request,
                                 Context& ctx = default_context());

}  // namespace headlight

#pragma GCC visibility pop
