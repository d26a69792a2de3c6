#include "train/run_metrics.h"

#include <fmt/format.h>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "io/gzip.h"
#include "io/json.h"

namespace headlight::train {

const std::vector<Metric>& metrics() {
  static const std::vector<Metric> list = {
      {"loss", "loss (nats per token)", "smoothed", "valid_loss"},
      {"accuracy", "accuracy", "", "valid_accuracy", true},
      {"bleu", "BLEU", "", "valid_bleu", true},
      {"learning-rate", "learning rate", "learning_rate", ""},
      {"gradient-norm", "norm of the gradient", "gradient_norm", ""},
  };
  return list;
}

MetricCurves read_metric(const std::string& folder, const Metric& metric) {
  const std::string path = folder + "/metrics.jsonl";
  const std::string text = io::read_text(path, std::uint64_t{1} << 30);
  std::string_view rest = text;
  MetricCurves curves;
  for (int line = 1; rest.find('\n') != std::string_view::npos; ++line) {
    const std::size_t end = rest.find('\n');
    const io::Json json = io::Json::parse(rest.substr(0, end), fmt::format("{} (line {})", path, line));
    const auto step = static_cast<double>(json.integer("step"));
    const auto add = [&](std::vector<MetricPoint>& points, std::string_view name) {
      if (!name.empty() && json.find(name) != nullptr) points.push_back({step, json.real(name)});
    };
    add(curves.train, metric.train);
    add(curves.valid, metric.valid);
    rest.remove_prefix(end + 1);
  }
  if (curves.train.empty() && curves.valid.empty())
    throw Error(ErrorKind::input, "train.metrics",
                concat(escaped(path), ": has no ", metric.name, " yet; train at least one step",
                       metric.train.empty() ? " with evaluations that measure it" : ""));
  return curves;
}

}  // namespace headlight::train
