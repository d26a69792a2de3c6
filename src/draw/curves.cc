#include "draw/curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "draw/typesetter.h"
#include "headlight/error.h"

namespace headlight::draw {
namespace {

constexpr Rgb kInk = {38, 38, 44}, kSoft = {120, 120, 128}, kGrid = {232, 232, 236}, kPaper = {255, 255, 255};
constexpr std::size_t kMostPoints = 1500;  // more cannot be seen, and make vector files large

// Points within the axes; neighbouring points are averaged if there are more points than pixels.
Curve thinned(const Curve& curve, const Axis& x, const Axis& y) {
  Curve kept = curve;
  kept.points.clear();
  kept.spread.clear();
  const bool with_spread = curve.spread.size() == curve.points.size();
  for (std::size_t i = 0; i < curve.points.size(); ++i) {
    if (!x.takes(curve.points[i].x) || !y.takes(curve.points[i].y)) continue;
    kept.points.push_back(curve.points[i]);
    if (with_spread) kept.spread.push_back(curve.spread[i]);
  }
  if (kept.points.size() <= kMostPoints) return kept;
  const std::vector<Point> all = std::exchange(kept.points, {});
  kept.spread.clear();
  for (std::size_t i = 0; i < kMostPoints; ++i) {
    const std::size_t begin = i * all.size() / kMostPoints, end = (i + 1) * all.size() / kMostPoints;
    Point mean;
    for (std::size_t k = begin; k < end; ++k) mean.x += all[k].x, mean.y += all[k].y;
    const auto count = static_cast<double>(end - begin);
    kept.points.push_back({mean.x / count, mean.y / count});
  }
  return kept;
}

// Mixed with the background, as if it were transparent.
Rgb faded(Rgb color, double alpha) {
  const auto mix = [alpha](std::uint8_t ink, std::uint8_t paper) {
    return static_cast<std::uint8_t>(std::lround(alpha * ink + (1 - alpha) * paper));
  };
  return {mix(color.r, kPaper.r), mix(color.g, kPaper.g), mix(color.b, kPaper.b)};
}

class Chart {
 public:
  explicit Chart(const CurveChart& chart) : chart_(chart) {
    x_.kind = chart.x_axis;
    y_.kind = chart.y_axis;
    for (const Curve& curve : chart.curves) curves_.push_back(thinned(curve, x_, y_));
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
    if (chart_.name_best) name_bests();
    return std::move(drawing_);
  }

 private:
  [[nodiscard]] double width() const { return chart_.width - left_ - right_; }
  [[nodiscard]] double height() const { return chart_.height - top_ - bottom_; }
  [[nodiscard]] double x_of(double x) const { return left_ + x_.place(x) * width(); }
  [[nodiscard]] double y_of(double y) const { return top_ + (1 - y_.place(y)) * height(); }

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

  void find_extents() {
    for (const Curve& curve : curves_)
      for (const Point& p : curve.points) x_.add(p.x);
    if (x_.empty()) throw Error(ErrorKind::input, "draw.curves", "plot: there are no points to draw");
    if (x_.kind == AxisKind::linear) x_.low = std::min(0.0, x_.low);
    if (x_.high <= x_.low) x_.high = x_.low + 1;
    if (x_.kind == AxisKind::logarithmic) {
      const double room = 0.03 * (x_.high - x_.low);
      x_.low -= room;
      x_.high += room;
    }
    find_heights();
  }

  // A loss starts far above its later values. The first steps may leave the picture at the top, because the rest
  // would otherwise be a flat line at the bottom.
  void find_heights() {
    Axis all = y_;
    for (const Curve& curve : curves_) {
      for (const Point& p : curve.points) {
        all.add(p.y);
        if (x_.place(p.x) >= 0.03 || curve.strong || y_.kind == AxisKind::logarithmic) y_.add(p.y);
      }
      for (const Interval& bar : curve.spread)
        for (const double end : {bar.low, bar.high})
          if (y_.takes(end)) y_.add(end);
    }
    if (y_.empty()) y_ = all;
    if (y_.high - y_.low < 1e-9) y_.high = y_.low + std::max(1e-9, std::abs(y_.low) * 0.1);
    const double room = 0.06 * (y_.high - y_.low);
    const bool not_negative = y_.kind == AxisKind::linear && all.low >= 0;
    y_.low -= room;
    y_.high += room;
    if (not_negative) y_.low = std::max(0.0, y_.low);
  }

  void draw_axes() {
    const TextLook number{.size = kCurveLetters, .color = kSoft}, name{.size = 11.5, .color = kInk};
    for (const AxisTick& y : y_.numbers(6)) {
      line({left_, y_of(y.value)}, {left_ + width(), y_of(y.value)}, kGrid, 1);
      text({left_ - 8, y_of(y.value)}, y.text, number, Anchor::right);
    }
    const double base = top_ + height();
    line({left_, base}, {left_ + width(), base}, kSoft, 1);
    std::vector<AxisTick> xs;
    for (const double x : chart_.x_ticks)
      if (x_.takes(x)) xs.push_back({x, power_text(x)});
    for (const AxisTick& x : xs.empty() ? x_.numbers(8) : xs) {
      line({x_of(x.value), base}, {x_of(x.value), base + 4}, kSoft, 1);
      text({x_of(x.value), base + 14}, x.text, number, Anchor::middle);
    }
    text({left_ + width() / 2, chart_.height - 12}, chart_.x_label, name, Anchor::middle);
    text({16, top_ + height() / 2}, chart_.y_label, name, Anchor::middle, 90);
  }

  // The style of a curve, in the picture and in its legend.
  [[nodiscard]] static LineItem sample(const Curve& curve) {
    LineItem line{{}, curve.strong ? curve.color : faded(curve.color, 0.55), curve.strong ? 2.2 : 1.3};
    if (curve.guide) line.dashes = {5, 4};
    return line;
  }

  // Clips the line where it leaves the picture.
  void draw_curve(const Curve& curve) {
    LineItem line = sample(curve);
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
    for (std::size_t i = 0; i < curve.spread.size(); ++i) draw_spread(curve, i);
    if (!curve.strong || curve.points.size() > 60) return;
    for (const Point& p : curve.points) {
      dot({x_of(p.x), y_of(p.y)}, 3.4, kPaper);
      dot({x_of(p.x), y_of(p.y)}, 2.6, curve.color);
    }
  }

  // Ends without a position on the axis stop at its border.
  void draw_spread(const Curve& curve, std::size_t point) {
    const Interval& bar = curve.spread[point];
    const auto end = [&](double y, double border) {
      return y_.takes(y) ? std::clamp(y_of(y), top_, top_ + height()) : border;
    };
    const double x = x_of(curve.points[point].x), high = end(bar.high, top_),
                 low = end(bar.low, top_ + height());
    const Rgb color = faded(curve.color, 0.7);
    line({x, low}, {x, high}, color, 1.2);
    for (const double y : {low, high}) line({x - 3.5, y}, {x + 3.5, y}, color, 1.2);
  }

  // The best point of each strong curve, with its number.
  void name_bests() {
    const auto better = [&](const Point& a, const Point& b) {
      return chart_.higher_is_better ? a.y > b.y : a.y < b.y;
    };
    std::vector<Name> names;
    for (const Curve& curve : curves_) {
      if (!curve.strong || curve.points.empty()) continue;
      const Point best = *std::min_element(curve.points.begin(), curve.points.end(), better);
      const Point at{x_of(best.x), y_of(best.y)};
      names.push_back({at, fmt::format("{:.3f}", best.y), curve.color});
      dot(at, 4.6, kPaper);
      dot(at, 3.6, curve.color);
    }
    std::vector<Point> taken;
    taken.reserve(2 * names.size());
    for (const Name& name : names) taken.push_back(name.point);
    for (const Name& name : names) write(name, taken);
  }

  struct Name {
    Point point;
    std::string words;
    Rgb color;
  };
  // A curve arrives at its best point from the left, so there is space to the right of it. If another point or number is
  // there, the label goes to the other side, or further away.
  void write(const Name& name, std::vector<Point>& taken) {
    const TextLook look{.size = kCurveLetters, .color = name.color, .bold = true};
    const double half = typesetter_.width(name.words, look) / 2;
    const double x = std::clamp(name.point.x, left_ + half, left_ + width() + right_ - half - 4);
    double step = chart_.higher_is_better ? 13 : -13, y = name.point.y + step;
    const auto covers = [&](const Point& p) {
      return std::abs(p.y - y) < 12.5 && std::abs(p.x - x) < 2 * half + 6;
    };
    const auto outside = [&] { return chart_.higher_is_better ? y < top_ + 7 : y > top_ + height() - 7; };
    while (outside() || std::any_of(taken.begin(), taken.end(), covers)) {
      step = -step;
      if ((step > 0) == chart_.higher_is_better) step += std::copysign(13, step);
      y = name.point.y + step;
    }
    taken.push_back({x, y});
    drawing_.add(RectangleItem{{x - half - 2, y - 7, 2 * half + 4, 14}, kPaper});
    text({x, y}, name.words, look, Anchor::middle);
  }

  // Below the title, in as many rows as it takes.
  void draw_legend() {
    const TextLook look{.size = kCurveLetters, .color = kInk};
    constexpr double kSample = 22, kGap = 18;
    double x = left_, y = 46;
    for (const Curve& curve : curves_) {
      if (curve.label.empty()) continue;  // one of several that share a name
      const std::string words = typesetter_.fitted(curve.label, look, width() - kSample - 6);
      const double need = kSample + 6 + typesetter_.width(words, look);
      if (x > left_ && x + need > chart_.width - right_) x = left_, y += 17;
      LineItem shown = sample(curve);
      shown.points = {{x, y}, {x + kSample, y}};
      drawing_.add(std::move(shown));
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
  Axis x_, y_;
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

Drawing draw_curves(const CurveChart& chart) { return Chart(chart).draw(); }

}  // namespace headlight::draw
