// Writes SVG directly: text stays text, which can be searched, copied and read aloud, and cells stay cells.
#include <fmt/core.h>

#include "core/escape.h"
#include "draw/drawing_writers.h"
#include "draw/typesetter.h"

namespace headlight::draw {
namespace {

// Up to three digits after the point, and no zeros at the end.
std::string number(double x) {
  std::string text = fmt::format("{:.3f}", x);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string hex(Rgb c) { return fmt::format("#{:02x}{:02x}{:02x}", c.r, c.g, c.b); }

// XML allows neither control characters nor broken UTF-8; both are replaced.
std::string xml(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const bool bad = length == 0 || (length == 1 && static_cast<unsigned char>(text[0]) < 0x20) ||
                     text.substr(0, length) == "\uFFFE" || text.substr(0, length) == "\uFFFF";
    const std::string_view character = text.substr(0, std::max<std::size_t>(1, length));
    text.remove_prefix(character.size());
    if (bad) out += "\uFFFD";
    else if (character == "&") out += "&amp;";
    else if (character == "<") out += "&lt;";
    else if (character == ">") out += "&gt;";
    else if (character == "\"") out += "&quot;";
    else out += character;
  }
  return out;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t k) {
      return i + k < bytes.size() ? static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i + k])) : 0U;
    };
    const std::uint32_t bits = byte(0) << 16 | byte(1) << 8 | byte(2);
    for (std::size_t k = 0; k < 4; ++k)
      out += i + k > bytes.size() ? '=' : digits[bits >> (18 - 6 * k) & 63U];
  }
  return out;
}

class SvgWriter {
 public:
  void operator()(const RectangleItem& item) { rectangle(item.box, item.fill, item.alpha); }

  void operator()(const DotItem& item) {
    out_ += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\"/>\n", number(item.center.x),
                        number(item.center.y), number(item.radius), hex(item.fill));
  }

  void operator()(const ClipItem& item) {
    if (clipped_) out_ += "</g>\n";
    clipped_ = item.box.has_value();
    if (!clipped_) return;
    ++clips_;
    out_ += fmt::format(
        "<clipPath id=\"clip{0}\"><rect x=\"{1}\" y=\"{2}\" width=\"{3}\" height=\"{4}\"/></clipPath>\n"
        "<g clip-path=\"url(#clip{0})\">\n",
        clips_, number(item.box->x), number(item.box->y), number(item.box->width), number(item.box->height));
  }

  void operator()(const LineItem& item) {
    out_ += "<polyline points=\"";
    for (const Point& point : item.points) out_ += fmt::format("{},{} ", number(point.x), number(point.y));
    if (!item.points.empty()) out_.pop_back();
    out_ += fmt::format("\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\"",
                        hex(item.color), number(item.width));
    if (item.alpha < 1) out_ += fmt::format(" stroke-opacity=\"{}\"", number(item.alpha));
    if (!item.dashes.empty()) {
      out_ += " stroke-dasharray=\"";
      for (const double dash : item.dashes) out_.append(number(dash)).append(" ");
      out_.back() = '"';
    }
    out_ += "/>\n";
  }

  void operator()(const CellsItem& item) {
    if (item.bitmap) {
      out_ += fmt::format(
          "<image x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" preserveAspectRatio=\"none\" "
          "style=\"image-rendering:pixelated\" href=\"data:image/png;base64,{}\"/>\n",
          number(item.box.x), number(item.box.y), number(item.box.width), number(item.box.height),
          base64(png_of(item)));
      return;
    }
    out_ += "<g shape-rendering=\"crispEdges\">\n";
    for (Index row = 0; row < item.rows; ++row) {
      for (Index column = 0; column < item.columns; ++column) {
        const auto& color = item.colors[static_cast<std::size_t>(row * item.columns + column)];
        if (color) rectangle(cell_box(item, row, column, 0.25), *color);
      }
    }
    out_ += "</g>\n";
  }

  void operator()(const HatchItem& item) {
    out_ += "<path d=\"";
    for (const Box& box : item.boxes) {
      for (const Segment& line : hatch_lines(box, item.distance)) {
        out_ += fmt::format("M{} {}L{} {}", number(line.from.x), number(line.from.y), number(line.to.x),
                            number(line.to.y));
      }
    }
    out_ += fmt::format("\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"/>\n", hex(item.color),
                        number(item.width));
  }

  void operator()(const TextItem& item) {
    if (item.text.empty()) return;
    out_ += "<text";
    if (item.degrees != 0) {
      out_ += fmt::format(" transform=\"translate({} {}) rotate({})\"", number(item.at.x), number(item.at.y),
                          number(-item.degrees));
    } else {
      out_ += fmt::format(" x=\"{}\" y=\"{}\"", number(item.at.x), number(item.at.y));
    }
    if (item.anchor != Anchor::left) {
      out_ += fmt::format(" text-anchor=\"{}\"", item.anchor == Anchor::middle ? "middle" : "end");
    }
    // With another font, the text is stretched to the reserved length.
    out_ += fmt::format(
        " font-size=\"{}\" fill=\"{}\"{} textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\">{}</text>\n",
        number(item.look.size), hex(item.look.color), item.look.bold ? " font-weight=\"bold\"" : "",
        number(typesetter_.width(item.text, item.look)), xml(item.text));
  }

  [[nodiscard]] std::string take() {
    if (clipped_) out_ += "</g>\n";
    return std::move(out_);
  }

 private:
  void rectangle(const Box& box, Rgb fill, double alpha = 1) {
    out_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"", number(box.x),
                        number(box.y), number(box.width), number(box.height), hex(fill));
    if (alpha < 1) out_ += fmt::format(" fill-opacity=\"{}\"", number(alpha));
    out_ += "/>\n";
  }
  std::string out_;
  bool clipped_ = false;
  int clips_ = 0;
  Typesetter typesetter_;
};

}  // namespace

std::string svg_of(const Drawing& drawing) {
  SvgWriter writer;
  for (const DrawingItem& item : drawing.items) std::visit(writer, item);
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}mm\" height=\"{1}mm\" viewBox=\"0 0 {2} {3}\" "
      "role=\"img\" "
      "font-family=\"{4}, Verdana, sans-serif\" xml:space=\"preserve\">\n<title>{5}</title>\n"
      "<rect width=\"{2}\" height=\"{3}\" fill=\"{6}\"/>\n{7}</svg>\n",
      number(drawing.width / kPointsPerMillimetre), number(drawing.height / kPointsPerMillimetre),
      number(drawing.width), number(drawing.height), kFontFamily, xml(drawing.title), hex(drawing.background),
      writer.take());
}

}  // namespace headlight::draw
