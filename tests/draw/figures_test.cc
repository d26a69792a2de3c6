// Figures: pixels read back and compared with the tables, words found in SVG and PDF, no word on another,
// the same bytes every time.
#include "draw/figures.h"

#include <cairo/cairo.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numbers>

#include "core/concat.h"
#include "draw/typesetter.h"
#include "sample_maps.h"
#include "support/errors.h"
#include "support/subprocess.h"
#include "support/temp_folder.h"

namespace headlight::draw::testing {
namespace {

using headlight::testing::expect_error;
using headlight::testing::run_process;
using headlight::testing::TempFolder;
using ::testing::HasSubstr;
using ::testing::Not;

const FigureStyle kPaper{.width_mm = 85, .font_size = 7};

struct Pixels {
  int width = 0, height = 0, stride = 0;
  std::vector<unsigned char> data;
  [[nodiscard]] Rgb at(double x, double y) const {
    const unsigned char* pixel =
        &data.at(static_cast<std::size_t>(static_cast<int>(y) * stride + 4 * static_cast<int>(x)));
    return {pixel[2], pixel[1], pixel[0]};
  }
};

Pixels pixels_of(const std::string& png) {
  struct Source {
    const std::string& bytes;
    std::size_t at = 0;
  } source{png};
  cairo_surface_t* surface = cairo_image_surface_create_from_png_stream(
      [](void* from, unsigned char* to, unsigned int count) {
        auto& s = *static_cast<Source*>(from);
        if (s.at + count > s.bytes.size()) return CAIRO_STATUS_READ_ERROR;
        std::copy_n(s.bytes.begin() + static_cast<std::ptrdiff_t>(s.at), count, to);
        s.at += count;
        return CAIRO_STATUS_SUCCESS;
      },
      &source);
  EXPECT_EQ(cairo_surface_status(surface), CAIRO_STATUS_SUCCESS);
  cairo_surface_flush(surface);
  Pixels out{cairo_image_surface_get_width(surface),
             cairo_image_surface_get_height(surface),
             cairo_image_surface_get_stride(surface),
             {}};
  const unsigned char* data = cairo_image_surface_get_data(surface);
  out.data.assign(data, data + static_cast<std::ptrdiff_t>(out.stride) * out.height);
  cairo_surface_destroy(surface);
  return out;
}

template <class Item>
std::vector<Item> items(const Drawing& drawing) {
  std::vector<Item> out;
  for (const DrawingItem& item : drawing.items) {
    if (const auto* found = std::get_if<Item>(&item)) out.push_back(*found);
  }
  return out;
}

Drawing figure_of(const WeightMap& map, const FigureStyle& style) {
  return heat_map_figure(std::span(&map, 1), style);
}

std::vector<Drawing> all_figures(const FigureStyle& style) {
  std::vector<std::string> many;
  for (int i = 0; i < 150; ++i) many.push_back(street_words()[static_cast<std::size_t>(i) % 13]);
  const std::vector<std::string> forty(many.begin(), many.begin() + 40);
  std::vector<WeightMap> heads;
  for (unsigned i = 0; i < 12; ++i) {
    heads.push_back(street_map(i % 2 == 0, i + 1));
    heads.back().short_name = concat(i / 4, ".", i % 4);
  }
  WeightMap row = sample_map({"Donaudampfschifffahrt"}, street_words(), false);
  row.visible.assign(13, 1);
  row.visible[4] = 0;
  std::vector<Drawing> out;
  out.push_back(figure_of(street_map(true), style));
  out.push_back(figure_of(mixed_map(), style));
  out.push_back(figure_of(sample_map(forty, forty, true), style));
  out.push_back(figure_of(sample_map(many, many, false), style));
  out.push_back(figure_of(sample_map({"x"}, {"y"}, false), style));
  out.push_back(figure_of(sample_map(forty, {"a", "bc"}, false), style));
  out.push_back(heat_map_figure(std::span(heads).subspan(0, 4), style));
  out.push_back(comparison_figure(heads[0], heads[2], style));
  out.push_back(atlas_figure(heads, 4, style));
  const std::vector<std::string> captions(heads.size(), "induction, duplicate, delimiter");
  out.push_back(atlas_figure(heads, 4, style, captions));
  out.push_back(bars_figure(row, style));
  out.push_back(bars_figure(row, style, 3));
  return out;
}

// Every pixel around the middle of every cell has the table's colour; masked cells have the page's.
void expect_pixels(const WeightMap& map, const FigureStyle& style) {
  const Drawing drawing = figure_of(map, style);
  const Pixels pixels = pixels_of(encoded(drawing, PictureFormat::png, style.dpi));
  const double scale = style.dpi / 72;
  EXPECT_NEAR(pixels.width, style.width_mm / 25.4 * style.dpi, 0.51);
  const CellsItem cells = items<CellsItem>(drawing).at(0);
  const ColorScale colors = style.scale(map.is_signed);
  for (Index i = 0; i < map.rows(); ++i) {
    for (Index j = 0; j < map.columns(); ++j) {
      const double x = (cells.box.x + (static_cast<double>(j) + 0.5) * cells.box.width /
                                          static_cast<double>(map.columns())) *
                       scale;
      const double y = (cells.box.y +
                        (static_cast<double>(i) + 0.5) * cells.box.height / static_cast<double>(map.rows())) *
                       scale;
      if (map.sees(i, j)) {
        for (const double shift : {-2.0, 0.0, 2.0})
          ASSERT_EQ(pixels.at(x + shift, y - shift), colors.color(map.weight(i, j))) << i << "," << j;
      } else {
        ASSERT_FALSE(pixels.at(x, y) == colors.color(0)) << i << "," << j;
      }
    }
  }
}

TEST(FigurePixels, AreTheTables) {
  for (const Theme theme : {Theme::light, Theme::dark}) {
    for (const Transfer transfer : {Transfer::linear, Transfer::square_root, Transfer::logarithm}) {
      FigureStyle style = kPaper;
      style.theme = theme;
      style.transfer = transfer;
      expect_pixels(street_map(false), style);
    }
    FigureStyle style = kPaper;
    style.theme = theme;
    expect_pixels(street_map(true), style);
    expect_pixels(difference(street_map(true), street_map(true, 2)), style);
    style.width_mm = 170;
    style.dpi = 150;
    expect_pixels(street_map(true), style);
  }
}

TEST(FigurePixels, OfABitmap) {
  std::vector<std::string> labels(80, "x");
  FigureStyle style = kPaper;
  style.dpi = 600;
  expect_pixels(sample_map(labels, labels, false), style);
}

TEST(Figures, HoldTheirResolution) {
  const std::string png = encoded(figure_of(street_map(true), kPaper), PictureFormat::png, 300);
  const std::size_t at = png.find("pHYs");
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(png.substr(at + 4, 4), std::string("\0\0\x2e\x23", 4));  // 11,811 pixels per metre
}

// The four corners of a line of text.
std::vector<Point> corners(const Typesetter& typesetter, const TextItem& item) {
  const double width = typesetter.width(item.text, item.look), size = item.look.size;
  const double start = item.anchor == Anchor::left ? 0 : item.anchor == Anchor::middle ? -width / 2 : -width;
  const double c = std::cos(item.degrees * std::numbers::pi / 180),
               s = std::sin(item.degrees * std::numbers::pi / 180);
  std::vector<Point> out;
  // Capitals and half of what hangs below the line: what would be seen to touch.
  for (const auto& [u, v] : {std::pair{start, -0.73 * size},
                             {start + width, -0.73 * size},
                             {start + width, 0.12 * size},
                             {start, 0.12 * size}})
    out.push_back({item.at.x + u * c + v * s, item.at.y - u * s + v * c});
  return out;
}

// Two rectangles are apart when a line along a side of one of them separates them.
bool apart(const std::vector<Point>& a, const std::vector<Point>& b) {
  for (const auto* shape : {&a, &b}) {
    for (std::size_t i = 0; i < 2; ++i) {
      const Point d{(*shape)[i + 1].x - (*shape)[i].x, (*shape)[i + 1].y - (*shape)[i].y};
      const auto range = [&](const std::vector<Point>& points) {
        double low = 1e300, high = -1e300;
        for (const Point& p : points) {
          low = std::min(low, p.x * d.x + p.y * d.y);
          high = std::max(high, p.x * d.x + p.y * d.y);
        }
        return std::pair{low, high};
      };
      const auto [a0, a1] = range(a);
      const auto [b0, b1] = range(b);
      if (a1 <= b0 || b1 <= a0) return true;
    }
  }
  return false;
}

TEST(Figures, NoWordTouchesAnotherOrLeavesThePage) {
  const Typesetter typesetter;
  for (const double width : {50.0, 85.0, 160.0}) {
    for (const double font : {5.0, 7.0, 10.0}) {
      FigureStyle style{.width_mm = width, .font_size = font};
      style.caption =
          "A caption that is long enough to need two lines on a narrow page, and says what is seen.";
      style.title = "A title";
      const std::vector<Drawing> figures = all_figures(style);
      for (std::size_t n = 0; n < figures.size(); ++n) {
        const std::vector<TextItem> texts = items<TextItem>(figures[n]);
        std::vector<std::vector<Point>> boxes;
        for (const TextItem& text : texts) boxes.push_back(corners(typesetter, text));
        for (std::size_t i = 0; i < boxes.size(); ++i) {
          for (const Point& p : boxes[i]) {
            EXPECT_GE(p.x, -0.1) << texts[i].text;
            EXPECT_LE(p.x, figures[n].width + 0.1)
                << texts[i].text << " in figure " << n << " of " << width << " mm";
            EXPECT_GE(p.y, -0.1) << texts[i].text;
            EXPECT_LE(p.y, figures[n].height + 0.1) << texts[i].text;
          }
          for (std::size_t j = 0; j < i; ++j)
            EXPECT_TRUE(apart(boxes[i], boxes[j]))
                << "\"" << texts[i].text << "\" on \"" << texts[j].text << "\" in figure " << n << " of "
                << width << " mm, " << font << " pt";
        }
      }
    }
  }
}

TEST(Figures, TheSameBytesEveryTime) {
  for (const PictureFormat format : {PictureFormat::png, PictureFormat::svg, PictureFormat::pdf}) {
    const std::string bytes = encoded(figure_of(street_map(true), kPaper), format);
    EXPECT_EQ(bytes, encoded(figure_of(street_map(true), kPaper), format));
    for (const char* word : {"CreationDate", "ModDate", "tIME"})
      EXPECT_EQ(bytes.find(word), std::string::npos) << word;
  }
}

TEST(Figures, SvgIsXmlWithTheWordsInIt) {
  TempFolder folder;
  const std::string path = folder.path("figure.svg");
  WeightMap map = mixed_map();
  map.title = "<script>&\"";
  std::ofstream(path, std::ios::binary) << encoded(figure_of(map, kPaper), PictureFormat::svg);
  const auto done = run_process(
      "/usr/bin/python3",
      {.arguments = {"-c",
                     "import sys, xml.etree.ElementTree as e\n"
                     "r = e.parse(sys.argv[1]).getroot()\n"
                     "print(r.get('width'))\n"
                     "for t in r.iter('{http://www.w3.org/2000/svg}text'): print('[' + t.text + ']')",
                     path},
       .environment = {"PATH=/usr/bin:/bin", "PYTHONIOENCODING=utf-8"}});
  EXPECT_EQ(done.code, 0) << done.err;
  for (const char* text : {"85mm", "[猫が]", "[nai\u0308ve]", "[שלום]", "[\\x1b[31m]", "[query (from)]",
                           "[key (to)]", "[weight]", "[<script>&\"]"})
    EXPECT_THAT(done.out, HasSubstr(text));
}

TEST(Figures, SvgCellsAreShapesUpTo64Tokens) {
  std::vector<std::string> labels(64, "x");
  const std::string small = encoded(figure_of(sample_map(labels, labels, false), kPaper), PictureFormat::svg);
  EXPECT_THAT(small, Not(HasSubstr("<image")));
  EXPECT_GT(std::count(small.begin(), small.end(), '\n'), 64 * 64);
  labels.emplace_back("y");
  EXPECT_THAT(encoded(figure_of(sample_map(labels, labels, false), kPaper), PictureFormat::svg),
              HasSubstr("<image"));
}

TEST(Figures, PdfHasTheWordsAndTheSize) {
  if (!std::filesystem::exists("/usr/bin/pdftotext")) GTEST_SKIP() << "needs pdftotext (poppler-utils)";
  TempFolder folder;
  const std::string path = folder.path("figure.pdf");
  std::ofstream(path, std::ios::binary) << encoded(figure_of(street_map(true), kPaper), PictureFormat::pdf);
  const auto words = run_process("/usr/bin/pdftotext", {.arguments = {"-raw", path, "-"}});
  EXPECT_EQ(words.code, 0) << words.err;
  for (const char* text : {"layer 2, head 5", "key (to)", "because", "street", "weight", "not visible"})
    EXPECT_THAT(words.out, HasSubstr(text));
  const auto facts = run_process("/usr/bin/pdfinfo", {.arguments = {path}});
  EXPECT_THAT(facts.out, HasSubstr("Page size:       240.945 x"));
  EXPECT_THAT(facts.out, HasSubstr("Pages:           1"));
}

TEST(Figures, SaysWhatWasPooled) {
  std::vector<std::string> labels(1500, "x");
  WeightMap map = sample_map(labels, labels, false);
  map.weights.assign(map.weights.size(), 0);
  map.weights[777 * 1500 + 1111] = 1;
  const Drawing drawing = figure_of(map, kPaper);
  bool said = false;
  for (const TextItem& text : items<TextItem>(drawing))
    said = said || text.text == "Each cell is the largest of 3×3 weights.";
  EXPECT_TRUE(said);
  const auto cells = items<CellsItem>(drawing).at(0);
  EXPECT_EQ(std::count(cells.colors.begin(), cells.colors.end(), kPaper.scale(false).color(1)), 1);
}

TEST(Figures, RefuseSizesThatMakeNoSense) {
  FigureStyle style;
  style.width_mm = 1;
  expect_error([&] { (void)figure_of(street_map(true), style); }, ErrorKind::usage, "draw.style",
               "figure: width in mm 1 is not between 20 and 2000");
  style = {.font_size = std::nan("")};
  expect_error([&] { (void)figure_of(street_map(true), style); }, ErrorKind::usage, "draw.style",
               "font size in points nan");
  expect_error([&] { (void)encoded(Drawing{.width = 100000, .height = 10}, PictureFormat::png); },
               ErrorKind::resource, "draw.size", "the limit is 30000");
  expect_error([&] { (void)picture_format("figure.jpg"); }, ErrorKind::usage, "draw.format",
               "ends in .png, .svg or .pdf");
  expect_error([&] { (void)heat_map_figure({}, {}); }, ErrorKind::usage, "draw.map", "no map");
}

TEST(Figures, TellWhichWordsHaveNoGlyphs) {
  EXPECT_TRUE(texts_without_glyphs(figure_of(street_map(true), kPaper)).empty());
  const WeightMap map = sample_map({"\U000F1234"}, {"a"}, false);  // private use: no font has it
  EXPECT_EQ(texts_without_glyphs(figure_of(map, kPaper)), std::vector<std::string>{"\U000F1234"});
}

TEST(Typesetter, FitsAndWraps) {
  const Typesetter typesetter;
  const TextLook look{.size = 10};
  EXPECT_NEAR(typesetter.width("mm", look), 2 * typesetter.width("m", look), 0.1);
  EXPECT_NEAR(typesetter.width("word", {.size = 20}), 2 * typesetter.width("word", look), 0.05);
  EXPECT_EQ(typesetter.width("nai\u0308ve", look), typesetter.width("naïve", look));
  EXPECT_EQ(typesetter.fitted("street", look, 100), "street");
  EXPECT_EQ(typesetter.fitted("street", look, 0), "…");
  const std::string cut = typesetter.fitted("because it was", look, 30);
  EXPECT_LE(typesetter.width(cut, look), 30);
  EXPECT_THAT(cut, ::testing::EndsWith("…"));
  for (const std::string& line :
       typesetter.wrapped("The animal didn't cross the street because it was too tired", look, 80))
    EXPECT_LE(typesetter.width(line, look), 80);
  EXPECT_TRUE(typesetter.wrapped("", look, 80).empty());
}

// Panels side by side are narrower than their titles: these go on in a second line, whole.
TEST(Figures, TitlesOfPanelsAreNotCut) {
  WeightMap a = street_map(false), b = street_map(false, 2);
  a.title = b.title = "headlight-en-fr, encoder layer 2, head 5";
  for (const double width : {85.0, 120.0, 160.0, 200.0}) {
    const FigureStyle style{.width_mm = width, .font_size = 10};
    std::string words;
    for (const TextItem& text : items<TextItem>(comparison_figure(a, b, style))) words += text.text + " ";
    EXPECT_THAT(words, HasSubstr(concat("A: ", a.title))) << width << " mm";
    EXPECT_THAT(words, HasSubstr(concat("B: ", b.title))) << width << " mm";
  }
}

}  // namespace
}  // namespace headlight::draw::testing
