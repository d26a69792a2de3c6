#include "draw/typesetter.h"

#include <cstring>

#include "core/concat.h"
#include "draw/pango_text.h"
#include "draw/text.h"
#include "headlight/error.h"

namespace headlight::draw {
namespace {

bool has_family(PangoFontMap* fonts, std::string_view name) {
  PangoFontFamily** families = nullptr;
  int count = 0;
  pango_font_map_list_families(fonts, &families, &count);
  bool found = false;
  for (int i = 0; i < count; ++i) found = found || pango_font_family_get_name(families[i]) == name;
  g_free(families);
  return found;
}

}  // namespace

PangoContextPointer pango_context() {
  PangoFontMap* fonts = pango_cairo_font_map_get_default();  // of this thread; Pango's own
  if (!has_family(fonts, kFontFamily)) {
    throw Error(ErrorKind::file, "draw.fonts",
                concat("figures need the font \"", kFontFamily, "\", which is not installed\n",
                       "Install it (Debian: apt-get install fonts-dejavu-core) and try again."));
  }
  PangoContextPointer context(pango_font_map_create_context(fonts));
  cairo_font_options_t* options = cairo_font_options_create();
  cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
  cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
  cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
  pango_cairo_context_set_font_options(context.get(), options);
  cairo_font_options_destroy(options);
  pango_context_set_round_glyph_positions(context.get(), FALSE);
  return context;
}

PangoLayoutPointer pango_line(PangoContext* context, std::string_view text, const TextLook& look) {
  PangoLayoutPointer layout(pango_layout_new(context));
  PangoFontDescription* font = pango_font_description_new();
  pango_font_description_set_family_static(font, kFontFamily.data());
  pango_font_description_set_weight(font, look.bold ? PANGO_WEIGHT_BOLD : PANGO_WEIGHT_NORMAL);
  pango_font_description_set_absolute_size(font, look.size * PANGO_SCALE);
  pango_layout_set_font_description(layout.get(), font);
  pango_font_description_free(font);
  pango_layout_set_single_paragraph_mode(layout.get(), TRUE);
  pango_layout_set_text(layout.get(), text.data(), static_cast<int>(text.size()));
  return layout;
}

double pango_width(PangoLayout* layout) {
  PangoRectangle logical{};
  pango_layout_get_extents(layout, nullptr, &logical);
  return static_cast<double>(logical.width) / PANGO_SCALE;
}

struct Typesetter::Parts {
  PangoContextPointer context = pango_context();
};

Typesetter::Typesetter() : parts_(std::make_unique<Parts>()) {}
Typesetter::~Typesetter() = default;

double Typesetter::width(std::string_view text, const TextLook& look) const {
  return text.empty() ? 0 : pango_width(pango_line(parts_->context.get(), text, look).get());
}

bool Typesetter::has_glyphs(std::string_view text) const {
  return pango_layout_get_unknown_glyphs_count(pango_line(parts_->context.get(), text, {}).get()) == 0;
}

std::string Typesetter::fitted(std::string_view text, const TextLook& look, double limit) const {
  if (width(text, look) <= limit) return std::string(text);
  std::vector<Cluster> parts = clusters(text);
  while (parts.size() > 1) {
    parts.pop_back();
    std::string shorter;
    for (const Cluster& part : parts) shorter += part.bytes;
    shorter += "…";
    if (width(shorter, look) <= limit) return shorter;
  }
  return "…";
}

std::vector<std::string> Typesetter::wrapped(std::string_view text, const TextLook& look,
                                             double limit) const {
  std::vector<std::string> lines;
  std::string line;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(text.size(), end + 1));
    if (word.empty()) continue;
    const std::string longer = line.empty() ? std::string(word) : concat(line, " ", word);
    if (!line.empty() && width(longer, look) > limit) {
      lines.push_back(std::move(line));
      line = fitted(word, look, limit);
    } else {
      line = line.empty() ? fitted(longer, look, limit) : longer;
    }
  }
  if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

}  // namespace headlight::draw
