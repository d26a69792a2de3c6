#include "draw/drawing_writers.h"

#include <cairo/cairo-pdf.h>
#include <cairo/cairo.h>

#include <cmath>
#include <memory>
#include <numbers>
#include <span>

#include "core/concat.h"
#include "draw/pages.h"
#include "draw/pango_text.h"
#include "draw/png_resolution.h"
#include "headlight/error.h"

namespace headlight::draw {
namespace {

struct FreeSurface {
  void operator()(cairo_surface_t* surface) const noexcept { cairo_surface_destroy(surface); }
};
struct FreeCairo {
  void operator()(cairo_t* cairo) const noexcept { cairo_destroy(cairo); }
};
using Surface = std::unique_ptr<cairo_surface_t, FreeSurface>;
using Cairo = std::unique_ptr<cairo_t, FreeCairo>;

void expect_success(cairo_status_t status) {
  if (status == CAIRO_STATUS_SUCCESS) return;
  throw Error(ErrorKind::resource, "draw.cairo",
              concat("the figure could not be drawn: ", cairo_status_to_string(status)));
}

cairo_status_t append_bytes(void* out, const unsigned char* data, unsigned int size) {
  try {
    static_cast<std::string*>(out)->append(reinterpret_cast<const char*>(data), size);
    return CAIRO_STATUS_SUCCESS;
  } catch (...) { return CAIRO_STATUS_NO_MEMORY; }  // no exception may pass through C code
}

void set_color(cairo_t* cr, Rgb c, double alpha = 1) {
  cairo_set_source_rgba(cr, c.r / 255.0, c.g / 255.0, c.b / 255.0, alpha);
}

// On pixels, edges are rounded to pixel borders, so that every pixel of a cell has exactly the cell's colour.
enum class Edges { exact, pixels };

Box snapped(cairo_t* cr, const Box& box) {
  double x0 = box.x, y0 = box.y, x1 = box.right(), y1 = box.bottom();
  cairo_user_to_device(cr, &x0, &y0);
  cairo_user_to_device(cr, &x1, &y1);
  x0 = std::round(x0), y0 = std::round(y0), x1 = std::round(x1), y1 = std::round(y1);
  cairo_device_to_user(cr, &x0, &y0);
  cairo_device_to_user(cr, &x1, &y1);
  return {x0, y0, x1 - x0, y1 - y0};
}

class Painter {
 public:
  Painter(cairo_t* cr, Edges edges) : cr_(cr), edges_(edges), context_(pango_context()) {}

  void operator()(const RectangleItem& item) { fill(item.box, item.fill, item.alpha); }

  void operator()(const DotItem& item) {
    set_color(cr_, item.fill);
    cairo_new_path(cr_);
    cairo_arc(cr_, item.center.x, item.center.y, item.radius, 0, 2 * std::numbers::pi);
    cairo_fill(cr_);
  }

  void operator()(const ClipItem& item) {
    cairo_reset_clip(cr_);
    if (!item.box) return;
    cairo_rectangle(cr_, item.box->x, item.box->y, item.box->width, item.box->height);
    cairo_clip(cr_);
  }

  void operator()(const LineItem& item) {
    if (item.points.empty()) return;
    set_color(cr_, item.color, item.alpha);
    cairo_set_line_width(cr_, item.width);
    cairo_set_line_join(cr_, CAIRO_LINE_JOIN_ROUND);
    cairo_set_dash(cr_, item.dashes.data(), static_cast<int>(item.dashes.size()), 0);
    cairo_new_path(cr_);  // text leaves a current point
    for (const Point& point : item.points) cairo_line_to(cr_, point.x, point.y);
    cairo_stroke(cr_);
  }

  void operator()(const CellsItem& item) {
    if (item.bitmap) {
      draw_bitmap(item);
      return;
    }
    const double overlap = edges_ == Edges::pixels ? 0 : 0.25;
    for (Index row = 0; row < item.rows; ++row) {
      for (Index column = 0; column < item.columns; ++column) {
        const auto& color = item.colors[static_cast<std::size_t>(row * item.columns + column)];
        if (color) fill(cell_box(item, row, column, overlap), *color);
      }
    }
  }

  void operator()(const HatchItem& item) {
    set_color(cr_, item.color);
    cairo_set_line_width(cr_, item.width);
    cairo_set_dash(cr_, nullptr, 0, 0);
    for (const Box& box : item.boxes) {
      for (const Segment& line : hatch_lines(box, item.distance)) {
        cairo_move_to(cr_, line.from.x, line.from.y);
        cairo_line_to(cr_, line.to.x, line.to.y);
      }
    }
    cairo_stroke(cr_);
  }

  void operator()(const TextItem& item) {
    const PangoLayoutPointer layout = pango_line(context_.get(), item.text, item.look);
    const double width = pango_width(layout.get());
    cairo_save(cr_);
    cairo_translate(cr_, item.at.x, item.at.y);
    cairo_rotate(cr_, -item.degrees * std::numbers::pi / 180);
    cairo_move_to(cr_,
                  item.anchor == Anchor::left     ? 0
                  : item.anchor == Anchor::middle ? -width / 2
                                                  : -width,
                  0);
    set_color(cr_, item.look.color);
    pango_cairo_show_layout_line(cr_, pango_layout_get_line_readonly(layout.get(), 0));
    cairo_restore(cr_);
  }

 private:
  void fill(const Box& exact, Rgb color, double alpha = 1) {
    const Box box = edges_ == Edges::pixels ? snapped(cr_, exact) : exact;
    set_color(cr_, color, alpha);
    cairo_rectangle(cr_, box.x, box.y, box.width, box.height);
    cairo_fill(cr_);
  }

  void draw_bitmap(const CellsItem& item);

  cairo_t* cr_;
  Edges edges_;
  PangoContextPointer context_;
};

Surface bitmap_of(const CellsItem& cells) {
  const auto columns = static_cast<int>(cells.columns), rows = static_cast<int>(cells.rows);
  Surface surface(cairo_image_surface_create(CAIRO_FORMAT_ARGB32, columns, rows));
  expect_success(cairo_surface_status(surface.get()));
  unsigned char* data = cairo_image_surface_get_data(surface.get());
  const int stride = cairo_image_surface_get_stride(surface.get());
  for (int row = 0; row < rows; ++row) {
    auto* pixels = reinterpret_cast<std::uint32_t*>(data + static_cast<std::ptrdiff_t>(row) * stride);
    for (int column = 0; column < columns; ++column) {
      const auto& color = cells.colors[static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) +
                                       static_cast<std::size_t>(column)];
      pixels[column] = !color ? 0U
                              : 0xFF000000U | (std::uint32_t{color->r} << 16) |
                                    (std::uint32_t{color->g} << 8) | std::uint32_t{color->b};
    }
  }
  cairo_surface_mark_dirty(surface.get());
  return surface;
}

void Painter::draw_bitmap(const CellsItem& item) {
  const Surface surface = bitmap_of(item);
  const Box box = edges_ == Edges::pixels ? snapped(cr_, item.box) : item.box;
  cairo_save(cr_);
  cairo_translate(cr_, box.x, box.y);
  cairo_scale(cr_, box.width / static_cast<double>(item.columns),
              box.height / static_cast<double>(item.rows));
  cairo_set_source_surface(cr_, surface.get(), 0, 0);
  cairo_pattern_set_filter(cairo_get_source(cr_), CAIRO_FILTER_NEAREST);
  cairo_rectangle(cr_, 0, 0, static_cast<double>(item.columns), static_cast<double>(item.rows));
  cairo_fill(cr_);
  cairo_restore(cr_);
}

void paint(const Drawing& drawing, cairo_t* cr, Edges edges) {
  Painter painter(cr, edges);
  set_color(cr, drawing.background);
  cairo_paint(cr);
  for (const DrawingItem& item : drawing.items) std::visit(painter, item);
  expect_success(cairo_status(cr));
}

std::string png_bytes(cairo_surface_t* surface) {
  std::string bytes;
  expect_success(cairo_surface_write_to_png_stream(surface, append_bytes, &bytes));
  return bytes;
}

std::string pdf_of(std::span<const Drawing> pages) {
  std::string bytes;
  const Drawing& first = pages.front();
  Surface surface(cairo_pdf_surface_create_for_stream(append_bytes, &bytes, first.width, first.height));
  expect_success(cairo_surface_status(surface.get()));
  cairo_pdf_surface_set_metadata(surface.get(), CAIRO_PDF_METADATA_TITLE, first.title.c_str());
  cairo_pdf_surface_set_metadata(surface.get(), CAIRO_PDF_METADATA_CREATOR, "headlight");
  // An invalid date, which Cairo leaves out: a real one would make two runs differ.
  cairo_pdf_surface_set_metadata(surface.get(), CAIRO_PDF_METADATA_CREATE_DATE, "");
  for (const Drawing& page : pages) {
    cairo_pdf_surface_set_size(surface.get(), page.width, page.height);
    const Cairo cr(cairo_create(surface.get()));
    paint(page, cr.get(), Edges::exact);
    cairo_show_page(cr.get());
  }
  cairo_surface_finish(surface.get());
  expect_success(cairo_surface_status(surface.get()));
  return bytes;
}

}  // namespace

std::string png_of(const Drawing& drawing, double dpi) {
  const double scale = dpi / 72;
  const auto pixels = [&](double points) {
    return std::max(1, static_cast<int>(std::lround(points * scale)));
  };
  const Surface surface(
      cairo_image_surface_create(CAIRO_FORMAT_RGB24, pixels(drawing.width), pixels(drawing.height)));
  expect_success(cairo_surface_status(surface.get()));
  const Cairo cr(cairo_create(surface.get()));
  cairo_scale(cr.get(), scale, scale);
  paint(drawing, cr.get(), Edges::pixels);
  return with_resolution(png_bytes(surface.get()), dpi);
}

std::string png_of(const CellsItem& cells) { return png_bytes(bitmap_of(cells).get()); }

std::string pdf_of(const Drawing& drawing) { return pdf_of(std::span(&drawing, 1)); }

std::string encoded_pages(const std::vector<Drawing>& pages) {
  if (pages.empty()) throw Error(ErrorKind::usage, "draw.pages", "a PDF needs at least one page");
  return pdf_of(std::span(pages));
}

}  // namespace headlight::draw
