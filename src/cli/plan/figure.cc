#include "cli/plan/figure.h"

#include <functional>

#include "draw/arrange.h"
#include "draw/curves.h"

namespace headlight::cli {
namespace {

using Value = std::function<double(const PlanRow&)>;

class Chart {
 public:
  Chart(const std::string& title, const char* y_label, const std::vector<PlanRow>& rows) : rows_(rows) {
    chart_.title = title;
    chart_.x_label = "processes";
    chart_.y_label = y_label;
    chart_.x_axis = chart_.y_axis = draw::AxisKind::logarithmic;
    chart_.name_best = false;
    for (const PlanRow& row : rows) chart_.x_ticks.push_back(row.ranks);
  }
  Chart& add(const char* label, const Value& value) {
    draw::Curve curve{.label = label, .points = {}, .color = draw::curve_color(next_++), .strong = true};
    for (const PlanRow& row : rows_) curve.points.push_back({static_cast<double>(row.ranks), value(row)});
    chart_.curves.push_back(std::move(curve));
    return *this;
  }
  // What division without any sending would give.
  Chart& add_ideal(const Value& value) {
    draw::Curve curve{
        .label = "divided without sending", .points = {}, .color = draw::curve_color(next_++), .guide = true};
    const PlanRow& first = rows_.front();
    for (const PlanRow& row : rows_)
      curve.points.push_back({static_cast<double>(row.ranks), value(first) * first.ranks / row.ranks});
    chart_.curves.push_back(std::move(curve));
    return *this;
  }
  [[nodiscard]] draw::Drawing picture() const { return draw::draw_curves(chart_); }

 private:
  const std::vector<PlanRow>& rows_;
  draw::CurveChart chart_;
  std::size_t next_ = 0;
};

draw::Drawing decoder_figure(const std::string& title, const std::vector<PlanRow>& rows) {
  Chart time(title, "seconds", rows), memory("Memory of a process", "gigabytes", rows);
  time.add("a token", [](const PlanRow& row) { return row.token.seconds(); })
      .add("of it sending", [](const PlanRow& row) { return row.token.transfer; })
      .add("the prompt", [](const PlanRow& row) { return row.prompt.seconds(); })
      .add("of it sending", [](const PlanRow& row) { return row.prompt.transfer; });
  memory.add("matrices, table and cache", [](const PlanRow& row) { return 1e-9 * row.memory; });
  return draw::below_each_other({time.picture(), memory.picture()});
}

draw::Drawing sequence_figure(const std::string& title, const std::vector<PlanRow>& rows) {
  Chart time(title, "seconds, all layers", rows), memory("Memory of a process, one layer", "gigabytes", rows);
  const char* names[] = {"heads", "ring", "hybrid"};
  for (std::size_t n = 0; n < 3; ++n) {
    time.add(names[n], [n](const PlanRow& row) { return row.attention[n].cost.seconds(); });
    memory.add(names[n], [n](const PlanRow& row) { return 1e-9 * row.attention[n].memory; });
  }
  time.add_ideal([](const PlanRow& row) { return row.attention[1].cost.compute; });
  return draw::below_each_other({time.picture(), memory.picture()});
}

}  // namespace

draw::Drawing plan_figure(const std::string& title, const std::vector<PlanRow>& rows) {
  return rows.front().attention.empty() ? decoder_figure(title, rows) : sequence_figure(title, rows);
}

}  // namespace headlight::cli
