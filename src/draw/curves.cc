#include "draw/curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

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

struct Range {
  double low = INFINITY, high = -INFINITY;
  void add(double x) {
    low = std::min(low, x);
    high = std::max(high, x);
  }
  [[nodiscard]] bool empty() const { return low > high; }
};

class Chart {
 public:
  Chart(const CurveChart& chart, PictureFormat format)
      : chart_(chart), canvas_(format, chart.width, chart.height) {
    for (const Curve& curve : chart.curves) {
      curves_.push_back(curve);
      curves_.back().points = thinned(curve.points);
    }
  }

  std::string draw() {
    find_ranges();
    canvas_.fill(kPaper);
    canvas_.text({left_, 24}, chart_.title, {.size = 15, .color = kInk, .bold = true});
    draw_legend();
    draw_axes();
    canvas_.begin_clip({left_, top_}, width() + 6, height() + 1);
    for (const bool strong : {false, true}) {
      for (const Curve& curve : curves_)
        if (curve.strong == strong) draw_curve(curve);
    }
    canvas_.end_clip();
    for (const Curve& curve : curves_)
      if (curve.strong) name_best(curve);
    return canvas_.finish();
  }

 private:
  [[nodiscard]] double width() const { return chart_.width - left_ - right_; }
  [[nodiscard]] double height() const { return chart_.height - top_ - bottom_; }
  [[nodiscard]] double x_of(double x) const { return left_ + (x - x_.low) / (x_.high - x_.low) * width(); }
  [[nodiscard]] double y_of(double y) const { return top_ + (y_.high - y) / (y_.high - y_.low) * height(); }

  // A loss begins far above where it soon is. The first steps may leave the picture at its top, or the rest
  // would be a flat line at its bottom.
  void find_ranges() {
    for (const Curve& curve : curves_)
      for (const Point& p : curve.points) x_.add(p.x);
    if (x_.empty()) throw Error(ErrorKind::input, "draw.curves", "plot: there is not a single point to draw");
    x_.low = std::min(0.0, x_.low);
    if (x_.high <= x_.low) x_.high = x_.low + 1;
    const double settled = x_.low + 0.03 * (x_.high - x_.low);
    Range all;
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
    const std::vector<double> ys = ticks(y_.low, y_.high, 6), xs = ticks(x_.low, x_.high, 8);
    const double y_step = ys.size() > 1 ? ys[1] - ys[0] : 1, x_step = xs.size() > 1 ? xs[1] - xs[0] : 1;
    for (const double y : ys) {
      canvas_.line({left_, y_of(y)}, {left_ + width(), y_of(y)}, {.color = kGrid, .width = 1});
      canvas_.text({left_ - 8, y_of(y)}, tick_text(y, y_step),
                   {.size = 11, .color = kSoft, .anchor = Anchor::right});
    }
    const double base = top_ + height();
    canvas_.line({left_, base}, {left_ + width(), base}, {.color = kSoft, .width = 1});
    for (const double x : xs) {
      canvas_.line({x_of(x), base}, {x_of(x), base + 4}, {.color = kSoft, .width = 1});
      canvas_.text({x_of(x), base + 14}, tick_text(x, x_step),
                   {.size = 11, .color = kSoft, .anchor = Anchor::middle});
    }
    canvas_.text({left_ + width() / 2, chart_.height - 12}, chart_.x_label,
                 {.size = 11.5, .color = kInk, .anchor = Anchor::middle});
    canvas_.text({16, top_ + height() / 2}, chart_.y_label,
                 {.size = 11.5, .color = kInk, .anchor = Anchor::middle, .rotation = 90});
  }

  void draw_curve(const Curve& curve) {
    std::vector<Point> points;
    for (const Point& p : curve.points) points.push_back({x_of(p.x), y_of(p.y)});
    canvas_.path(
        points.data(), points.size(),
        {.color = curve.color, .width = curve.strong ? 2.2 : 1.3, .alpha = curve.strong ? 1.0 : 0.55});
    if (!curve.strong || points.size() > 60) return;
    for (const Point& p : points) {
      canvas_.dot(p, 3.4, kPaper);
      canvas_.dot(p, 2.6, curve.color);
    }
  }

  void name_best(const Curve& curve) {
    if (curve.points.empty()) return;
    const auto better = [&](const Point& a, const Point& b) {
      return chart_.higher_is_better ? a.y > b.y : a.y < b.y;
    };
    const Point best = *std::min_element(curve.points.begin(), curve.points.end(), better);
    const Point at{x_of(best.x), y_of(best.y)};
    canvas_.dot(at, 4.6, kPaper);
    canvas_.dot(at, 3.6, curve.color);
    const std::string text = fmt::format("{:.3f}", best.y);
    const TextStyle style{.size = 11, .color = curve.color, .bold = true, .anchor = Anchor::middle};
    const double half = canvas_.text_width(text, style) / 2;
    // Above the curve, unless that is where the others are: a name on top of its own line cannot be read.
    const double x = std::clamp(at.x, left_ + half, left_ + width() + right_ - half - 4);
    double y = at.y + (chart_.higher_is_better ? -13 : 13);
    if (y > top_ + height() - 7) y = at.y - 13;
    while (std::any_of(names_.begin(), names_.end(), [&](const Point& p) {
      return std::abs(p.y - y) < 13 && std::abs(p.x - x) < 2 * half + 6;
    }))
      y -= 13;
    names_.push_back({x, y});
    canvas_.box({x - half - 2, y - 7}, 2 * half + 4, 14, kPaper, 0.8);
    canvas_.text({x, y}, text, style);
  }

  // Right of the title when there is room for it in one line, else in rows below.
  void draw_legend() {
    const TextStyle style{.size = 11, .color = kInk};
    constexpr double kSample = 22, kGap = 18;
    double x = left_, y = 46;
    for (const Curve& curve : curves_) {
      const double need = kSample + 6 + canvas_.text_width(curve.label, style);
      if (x > left_ && x + need > chart_.width - right_) x = left_, y += 17;
      const LineStyle line{
          .color = curve.color, .width = curve.strong ? 2.2 : 1.3, .alpha = curve.strong ? 1.0 : 0.55};
      canvas_.line({x, y}, {x + kSample, y}, line);
      if (curve.strong) canvas_.dot({x + kSample / 2, y}, 2.6, curve.color);
      canvas_.text({x + kSample + 6, y}, curve.label, style);
      x += need + kGap;
    }
    top_ = y + 20;
  }

  const CurveChart& chart_;
  std::vector<Curve> curves_;
  Canvas canvas_;
  Range x_, y_;
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

std::string draw_curves(const CurveChart& chart, PictureFormat format) { return Chart(chart, format).draw(); }

}  // namespace headlight::draw
