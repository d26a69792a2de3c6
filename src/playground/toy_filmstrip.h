// A run as one picture: a row for each head, a column for each of a few moments.
#pragma once

#include <optional>

#include "draw/color.h"
#include "draw/drawing.h"
#include "headlight/head_place.h"
#include "playground/toy_session.h"

namespace headlight::playground {

struct FilmstripOptions {
  std::optional<HeadPlace> head = std::nullopt;  // only this one; none: all
  std::size_t moments = 6;
  draw::Theme theme = draw::Theme::light;
  draw::Palette palette = draw::Palette::cividis;
};
// Of the frames that show the newest probe. Throws Error{usage} when there is none, or no such head.
[[nodiscard]] draw::Drawing filmstrip_figure(const ToyRecord& record, const ToyTask& task,
                                             const FilmstripOptions& options);

// Which frames show a run in so few pictures: the first, the last, and those between at equal numbers of steps.
[[nodiscard]] std::vector<std::size_t> chosen_moments(const ToyRecord& record, std::size_t count);

// "2 layers of 2 heads, width 32, without positions"
[[nodiscard]] std::string short_text(const ToySettings& settings);

}  // namespace headlight::playground
