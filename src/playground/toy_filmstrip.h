// A run as one picture: a row for each head, a column for each of some frames.
#pragma once

#include <optional>

#include "draw/color.h"
#include "draw/drawing.h"
#include "headlight/head_place.h"
#include "playground/toy_session.h"

namespace headlight::playground {

struct FilmstripOptions {
  std::optional<HeadPlace> head = std::nullopt;  // only this head; none: all
  std::size_t moments = 6;
  draw::Theme theme = draw::Theme::light;
  draw::Palette palette = draw::Palette::cividis;
};
// Uses the frames that show the newest probe. Throws Error{usage} if there are none, or no such head.
[[nodiscard]] draw::Drawing filmstrip_figure(const ToyRecord& record, const ToyTask& task,
                                             const FilmstripOptions& options);

// The frames that show a run in this many pictures: the first, the last, and those between at equal numbers of steps.
[[nodiscard]] std::vector<std::size_t> chosen_moments(const ToyRecord& record, std::size_t count);

// "2 layers of 2 heads, width 32, without positions"
[[nodiscard]] std::string short_text(const ToySettings& settings);

}  // namespace headlight::playground
