#include "draw/curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "draw/typesetter.h"
#include "headlight/error.h"

namespace headlight::draw {
namespace {

constexpr Rgb kInk = {38, 38, 44}, kSoft = {120, 120, 128}, kGrid = {232, 232, 236}, kPaper = {255, 255, 255};
constexpr std::size_t kMostPoints = 1500;  // more cannot be seen, and make vector files large

// Means of neighbours, when there are more points than anybody can see.
std::vector<Point> thinned(const std::vector<Point>& points) {
  std::vector<Point> finite;
  for (const Point& p : points)
    if (std::isfinite(p.x) && std::isfinite(p.y)) finite.push_back(p);
  if (finite.size() <= kMostPoints) return finite;
  std::vector<Point> result;
  for (std::size_t i = 0; i < kMostPoints; ++i) {
    const std::size_t begin = i * finite.size() / kMostPoints, end = (i + 1) * finite.size() / kMostPoints;
    Point mean;
    for (std::size_t k = begin; k < end; ++k) mean.x += finite[k].x, mean.y += finite[k].y;
    const auto count = static_cast<double>(end - begin);
    result.push_back({mean.x / count, mean.y / count});
  }
  return result;
}

// Mixed with the paper, as if one could see through it.
Rgb faded(Rgb color, double alpha) {
  const auto mix = [alpha](std::uint8_t ink, std::uint8_t paper) {
    return static_cast<std::uint8_t>(std::lround(alpha * ink + (1 - alpha) * paper));
  };
  return {mix(color.r, kPaper.r), mix(color.g, kPaper.g), mix(color.b, kPaper.b)};
}

struct Extent {
  double low = INFINITY, high = -INFINITY;
  void add(double x) {
    low = std::min(low, x);
    high = std::max(high, x);
  }
  [[nodiscard]] bool empty() const { return low > high; }
};

class Chart {
 public:
  explicit Chart(const CurveChart& chart) : chart_(chart) {
    for (const Curve& curve : chart.curves) {
      curves_.push_back(curve);
      curves_.back().points = thinned(curve.points);
    }
  }

  Drawing draw() {
    find_extents();
    drawing_.width = chart_.width;
    drawing_.height = chart_.height;
    drawing_.background = kPaper;
    drawing_.title = chart_.title;
    const TextLook heading{.size = 15, .color = kInk, .bold = true};
    text({left_, 24}, typesetter_.fitted(chart_.title, heading, chart_.width - left_ - right_), heading);
    draw_legend();
    draw_axes();
    for (const bool strong : {false, true}) {
      for (const Curve& curve : curves_)
        if (curve.strong == strong) draw_curve(curve);
    }
    for (const Curve& curve : curves_)
      if (curve.strong) name_best(curve);
    return std::move(drawing_);
  }

 private:
  [[nodiscard]] double width() const { return chart_.width - left_ - right_; }
  [[nodiscard]] double height() const { return chart_.height - top_ - bottom_; }
  [[nodiscard]] double x_of(double x) const { return left_ + (x - x_.low) / (x_.high - x_.low) * width(); }
  [[nodiscard]] double y_of(double y) const { return top_ + (y_.high - y) / (y_.high - y_.low) * height(); }

  // y is the middle of the line of text.
  void text(Point at, const std::string& words, const TextLook& look, Anchor anchor = Anchor::left,
            double degrees = 0) {
    const double drop = look.size * kCapHeight / 2;
    if (degrees == 0) at.y += drop;
    else at.x += drop;
    drawing_.add(TextItem{at, words, look, anchor, degrees});
  }
  void line(Point from, Point to, Rgb color, double width) {
    drawing_.add(LineItem{{from, to}, color, width});
  }
  // A disc is a ring without a hole.
  void dot(Point at, double radius, Rgb color) {
    constexpr int kCorners = 24;
    LineItem ring{{}, color, radius};
    for (int i = 0; i <= kCorners + 1; ++i) {
      const double angle = 2 * std::numbers::pi * i / kCorners;
      ring.points.push_back({at.x + radius / 2 * std::cos(angle), at.y + radius / 2 * std::sin(angle)});
    }
    drawing_.add(std::move(ring));
  }

  // A loss begins far above where it soon is. The first steps may leave the picture at its top, or the rest
  // would be a flat line at its bottom.
  void find_extents() {
    for (const Curve& curve : curves_)
      for (const Point& p : curve.points) x_.add(p.x);
    if (x_.empty()) throw Error(ErrorKind::input, "draw.curves", "plot: there is not a single point to draw");
    x_.low = std::min(0.0, x_.low);
    if (x_.high <= x_.low) x_.high = x_.low + 1;
    const double settled = x_.low + 0.03 * (x_.high - x_.low);
    Extent all;
    for (const Curve& curve : curves_) {
      for (const Point& p : curve.points) {
        all.add(p.y);
        if (p.x >= settled || curve.strong) y_.add(p.y);
      }
    }
    if (y_.empty()) y_ = all;
    if (y_.high - y_.low < 1e-9) y_.high = y_.low + std::max(1e-9, std::abs(y_.low) * 0.1);
    const double room = 0.06 * (y_.high - y_.low);
    const bool not_negative = all.low >= 0;
    y_.low -= room;
    y_.high += room;
    if (not_negative) y_.low = std::max(0.0, y_.low);
  }

  void draw_axes() {
    const TextLook number{.size = 11, .color = kSoft}, name{.size = 11.5, .color = kInk};
    const std::vector<double> ys = ticks(y_.low, y_.high, 6), xs = ticks(x_.low, x_.high, 8);
    const double y_step = ys.size() > 1 ? ys[1] - ys[0] : 1, x_step = xs.size() > 1 ? xs[1] - xs[0] : 1;
    for (const double y : ys) {
      line({left_, y_of(y)}, {left_ + width(), y_of(y)}, kGrid, 1);
      text({left_ - 8, y_of(y)}, tick_text(y, y_step), number, Anchor::right);
    }
    const double base = top_ + height();
    line({left_, base}, {left_ + width(), base}, kSoft, 1);
    for (const double x : xs) {
      line({x_of(x), base}, {x_of(x), base + 4}, kSoft, 1);
      text({x_of(x), base + 14}, tick_text(x, x_step), number, Anchor::middle);
    }
    text({left_ + width() / 2, chart_.height - 12}, chart_.x_label, name, Anchor::middle);
    text({16, top_ + height() / 2}, chart_.y_label, name, Anchor::middle, 90);
  }

  // What lies above the picture is cut off where the line crosses its border.
  void draw_curve(const Curve& curve) {
    LineItem line{{}, curve.strong ? curve.color : faded(curve.color, 0.55), curve.strong ? 2.2 : 1.3};
    const auto flush = [&] {
      if (line.points.size() > 1) drawing_.add(line);
      line.points.clear();
    };
    Point before;
    for (std::size_t i = 0; i < curve.points.size(); ++i) {
      const Point at{x_of(curve.points[i].x), y_of(curve.points[i].y)};
      const bool inside = at.y >= top_;
      if (i > 0 && inside != (before.y >= top_)) {
        const double part = (top_ - before.y) / (at.y - before.y);
        line.points.push_back({before.x + part * (at.x - before.x), top_});
      }
      if (inside) line.points.push_back(at);
      else flush();
      before = at;
    }
    flush();
    if (!curve.strong || curve.points.size() > 60) return;
    for (const Point& p : curve.points) {
      dot({x_of(p.x), y_of(p.y)}, 3.4, kPaper);
      dot({x_of(p.x), y_of(p.y)}, 2.6, curve.color);
    }
  }

  void name_best(const Curve& curve) {
    if (curve.points.empty()) return;
    const auto better = [&](const Point& a, const Point& b) {
      return chart_.higher_is_better ? a.y > b.y : a.y < b.y;
    };
    const Point best = *std::min_element(curve.points.begin(), curve.points.end(), better);
    const Point at{x_of(best.x), y_of(best.y)};
    dot(at, 4.6, kPaper);
    dot(at, 3.6, curve.color);
    const std::string words = fmt::format("{:.3f}", best.y);
    const TextLook look{.size = 11, .color = curve.color, .bold = true};
    const double half = typesetter_.width(words, look) / 2;
    const double x = std::clamp(at.x, left_ + half, left_ + width() + right_ - half - 4);
    // Where a curve comes from is above its lowest point and below its highest one, but further left: beside it is room.
    double y = at.y + (chart_.higher_is_better ? 13 : -13);
    const auto taken = [&](const Point& p) {
      return std::abs(p.y - y) < 13 && std::abs(p.x - x) < 2 * half + 6;
    };
    while (std::any_of(names_.begin(), names_.end(), taken)) y += chart_.higher_is_better ? 13 : -13;
    names_.push_back({x, y});
    drawing_.add(RectangleItem{{x - half - 2, y - 7, 2 * half + 4, 14}, kPaper});
    text({x, y}, words, look, Anchor::middle);
  }

  // Below the title, in as many rows as it takes.
  void draw_legend() {
    const TextLook look{.size = 11, .color = kInk};
    constexpr double kSample = 22, kGap = 18;
    double x = left_, y = 46;
    for (const Curve& curve : curves_) {
      const std::string words = typesetter_.fitted(curve.label, look, width() - kSample - 6);
      const double need = kSample + 6 + typesetter_.width(words, look);
      if (x > left_ && x + need > chart_.width - right_) x = left_, y += 17;
      line({x, y}, {x + kSample, y}, curve.strong ? curve.color : faded(curve.color, 0.55),
           curve.strong ? 2.2 : 1.3);
      if (curve.strong) dot({x + kSample / 2, y}, 2.6, curve.color);
      text({x + kSample + 6, y}, words, look);
      x += need + kGap;
    }
    top_ = y + 20;
  }

  const CurveChart& chart_;
  std::vector<Curve> curves_;
  Drawing drawing_;
  Typesetter typesetter_;
  Extent x_, y_;
  std::vector<Point> names_;
  double left_ = 64, right_ = 24, top_ = 66, bottom_ = 46;
};

}  // namespace

Rgb curve_color(std::size_t number) {
  constexpr std::array<Rgb, 8> kColors = {{{0, 114, 178},
                                           {213, 94, 0},
                                           {0, 158, 115},
                                           {204, 121, 167},
                                           {86, 140, 190},
                                           {230, 159, 0},
                                           {90, 90, 90},
                                           {150, 110, 60}}};
  return kColors[number % kColors.size()];
}

std::vector<double> ticks(double low, double high, int count) {
  std::vector<double> result;
  if (!(high > low) || !std::isfinite(high - low) || count < 1) return result;
  const double raw = (high - low) / count, power = std::pow(10, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw) {
      step = factor * power;
      break;
    }
  }
  const double first = std::ceil(low / step - 1e-9), last = std::floor(high / step + 1e-9);
  for (double i = first; i <= last; ++i) result.push_back(i * step + 0.0);
  return result;
}

std::string tick_text(double value, double step) {
  if (std::abs(value) < step * 1e-6) return "0";
  if (step >= 1000 && std::fmod(std::abs(value) + step * 1e-6, 1000) < step * 1e-3)
    return fmt::format("{:.0f}k", value / 1000);
  const int digits = std::max(0, static_cast<int>(std::ceil(-std::log10(step) - 1e-9)));
  return fmt::format("{:.{}f}", value, digits);
}

Drawing draw_curves(const CurveChart& chart) { return Chart(chart).draw(); }

}  // namespace headlight::draw
