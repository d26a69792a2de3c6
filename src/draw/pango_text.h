// Pango for the typesetter and the Cairo writer, the only files that include this header.
#pragma once

#include <pango/pangocairo.h>

#include <memory>
#include <string_view>

#include "draw/drawing.h"

namespace headlight::draw {

struct Unref {
  void operator()(void* object) const noexcept { g_object_unref(object); }
};
using PangoContextPointer = std::unique_ptr<PangoContext, Unref>;
using PangoLayoutPointer = std::unique_ptr<PangoLayout, Unref>;

// Without hinting, so that text has the same size at every resolution. Throws Error{file} without the fonts.
[[nodiscard]] PangoContextPointer pango_context();
// One line of text; `look.size` is in the units of the drawing surface.
[[nodiscard]] PangoLayoutPointer pango_line(PangoContext* context, std::string_view text,
                                            const TextLook& look);
[[nodiscard]] double pango_width(PangoLayout* layout);

}  // namespace headlight::draw
