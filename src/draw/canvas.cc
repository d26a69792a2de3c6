#include "draw/canvas.h"

#include <cairo/cairo-pdf.h>
#include <cairo/cairo-svg.h>
#include <cairo/cairo.h>
#include <pango/pangocairo.h>

#include <cmath>
#include <numbers>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"

namespace headlight::draw {
namespace {

cairo_status_t append(void* to, const unsigned char* data, unsigned int length) {
  try {
    static_cast<std::string*>(to)->append(reinterpret_cast<const char*>(data), length);
    return CAIRO_STATUS_SUCCESS;
  } catch (...) { return CAIRO_STATUS_NO_MEMORY; }
}

void check(cairo_status_t status) {
  if (status == CAIRO_STATUS_SUCCESS) return;
  throw Error(ErrorKind::resource, "draw.picture", concat("picture: ", cairo_status_to_string(status)));
}

}  // namespace

PictureFormat picture_format(std::string_view path) {
  if (path.ends_with(".png")) return PictureFormat::png;
  if (path.ends_with(".svg")) return PictureFormat::svg;
  if (path.ends_with(".pdf")) return PictureFormat::pdf;
  throw Error(ErrorKind::usage, "draw.format",
              concat(escaped(path), ": a picture's name ends in .png, .svg or .pdf"));
}

struct Canvas::Surface {
  PictureFormat format;
  std::string bytes;
  cairo_surface_t* surface = nullptr;
  cairo_t* cairo = nullptr;
  PangoLayout* layout = nullptr;

  ~Surface() {
    if (layout != nullptr) g_object_unref(layout);
    if (cairo != nullptr) cairo_destroy(cairo);
    if (surface != nullptr) cairo_surface_destroy(surface);
  }
  void color(Rgb c, double alpha = 1) const {
    cairo_set_source_rgba(cairo, c.r / 255.0, c.g / 255.0, c.b / 255.0, alpha);
  }
  void pen(const LineStyle& style) const {
    constexpr double kDash[] = {5, 4};
    color(style.color, style.alpha);
    cairo_set_line_width(cairo, style.width);
    cairo_set_dash(cairo, kDash, style.dashed ? 2 : 0, 0);
  }
  // Sets up the layout and returns its size.
  Point measure(std::string_view text, const TextStyle& style) const {
    PangoFontDescription* font = pango_font_description_from_string("DejaVu Sans, Noto Sans, Sans");
    pango_font_description_set_absolute_size(font, style.size * PANGO_SCALE);
    pango_font_description_set_weight(font, style.bold ? PANGO_WEIGHT_BOLD : PANGO_WEIGHT_NORMAL);
    pango_layout_set_font_description(layout, font);
    pango_font_description_free(font);
    pango_layout_set_text(layout, text.data(), static_cast<int>(text.size()));
    int width = 0, height = 0;
    pango_layout_get_size(layout, &width, &height);
    return {static_cast<double>(width) / PANGO_SCALE, static_cast<double>(height) / PANGO_SCALE};
  }
};

Canvas::Canvas(PictureFormat format, double width, double height, double scale)
    : surface_(std::make_unique<Surface>()) {
  Surface& s = *surface_;
  s.format = format;
  switch (format) {
    case PictureFormat::png:
      s.surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(std::lround(width * scale)),
                                             static_cast<int>(std::lround(height * scale)));
      break;
    case PictureFormat::svg:
      s.surface = cairo_svg_surface_create_for_stream(append, &s.bytes, width, height);
      break;
    case PictureFormat::pdf:
      s.surface = cairo_pdf_surface_create_for_stream(append, &s.bytes, width, height);
      // The same curves give the same file, whenever they are drawn.
      cairo_pdf_surface_set_metadata(s.surface, CAIRO_PDF_METADATA_CREATE_DATE, "2000-01-01T00:00:00Z");
      break;
  }
  check(cairo_surface_status(s.surface));
  s.cairo = cairo_create(s.surface);
  check(cairo_status(s.cairo));
  if (format == PictureFormat::png) cairo_scale(s.cairo, scale, scale);
  s.layout = pango_cairo_create_layout(s.cairo);
  cairo_set_line_join(s.cairo, CAIRO_LINE_JOIN_ROUND);
  cairo_set_line_cap(s.cairo, CAIRO_LINE_CAP_ROUND);
}

Canvas::~Canvas() = default;

void Canvas::fill(Rgb color) {
  surface_->color(color);
  cairo_paint(surface_->cairo);
}

void Canvas::line(Point from, Point to, const LineStyle& style) {
  const Point both[] = {from, to};
  path(both, 2, style);
}

void Canvas::path(const Point* points, std::size_t count, const LineStyle& style) {
  if (count < 2) return;
  surface_->pen(style);
  cairo_move_to(surface_->cairo, points[0].x, points[0].y);
  for (std::size_t i = 1; i < count; ++i) cairo_line_to(surface_->cairo, points[i].x, points[i].y);
  cairo_stroke(surface_->cairo);
}

void Canvas::dot(Point at, double radius, Rgb color) {
  surface_->color(color);
  cairo_arc(surface_->cairo, at.x, at.y, radius, 0, 2 * std::numbers::pi);
  cairo_fill(surface_->cairo);
}

void Canvas::box(Point corner, double width, double height, Rgb color, double alpha) {
  surface_->color(color, alpha);
  cairo_rectangle(surface_->cairo, corner.x, corner.y, width, height);
  cairo_fill(surface_->cairo);
}

void Canvas::begin_clip(Point corner, double width, double height) {
  cairo_save(surface_->cairo);
  cairo_rectangle(surface_->cairo, corner.x, corner.y, width, height);
  cairo_clip(surface_->cairo);
}

void Canvas::end_clip() { cairo_restore(surface_->cairo); }

void Canvas::text(Point at, std::string_view text, const TextStyle& style) {
  const Point size = surface_->measure(text, style);
  const double shift = style.anchor == Anchor::left     ? 0
                       : style.anchor == Anchor::middle ? size.x / 2
                                                        : size.x;
  cairo_save(surface_->cairo);
  surface_->color(style.color);
  cairo_translate(surface_->cairo, at.x, at.y);
  cairo_rotate(surface_->cairo, -style.rotation * std::numbers::pi / 180);
  cairo_move_to(surface_->cairo, -shift, -size.y / 2);
  pango_cairo_show_layout(surface_->cairo, surface_->layout);
  cairo_restore(surface_->cairo);
}

double Canvas::text_width(std::string_view text, const TextStyle& style) {
  return surface_->measure(text, style).x;
}

std::string Canvas::finish() {
  Surface& s = *surface_;
  check(cairo_status(s.cairo));
  if (s.format == PictureFormat::png) check(cairo_surface_write_to_png_stream(s.surface, append, &s.bytes));
  cairo_surface_finish(s.surface);
  check(cairo_surface_status(s.surface));
  return std::move(s.bytes);
}

}  // namespace headlight::draw
