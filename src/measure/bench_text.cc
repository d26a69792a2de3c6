#include <fmt/format.h>

#include <algorithm>

#include "measure/bench.h"

namespace headlight::measure {
namespace {

std::string json_number(const std::optional<double>& value) {
  return value ? fmt::format("{:.6g}", *value) : "null";
}

// Bandwidth that could not be measured is 0 in the report and null in the JSON.
std::string json_by_threads(const std::map<int, double>& values) {
  std::string text = "{";
  for (const auto& [threads, value] : values) {
    if (text.size() > 1) text += ", ";
    text += fmt::format("\"{}\": {}", threads, json_number(value > 0 ? std::optional(value) : std::nullopt));
  }
  return text + "}";
}

std::string cell(const std::optional<double>& value, const char* format) {
  return value ? fmt::format(fmt::runtime(format), *value) : "–";
}

// Pads by characters seen, not by bytes: the dash of an empty cell has three bytes.
std::string padding(const std::string& text, std::size_t width) {
  std::size_t seen = 0;
  for (const char c : text) seen += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1 : 0;
  return std::string(width > seen ? width - seen : 0, ' ');
}
std::string right(const std::string& text, std::size_t width) { return padding(text, width) + text; }
std::string left(const std::string& text, std::size_t width) { return text + padding(text, width); }

std::string time_cell(const BucketResult& bucket) {
  if (bucket.us) return fmt::format("{:.3f} µs", *bucket.us);
  return bucket.ms ? fmt::format("{:.3f} ms", *bucket.ms) : "–";
}

std::string rate_cell(const BucketResult& bucket) {
  if (bucket.gbs) return fmt::format("{:.1f} GB/s", *bucket.gbs);
  return bucket.gflops ? fmt::format("{:.1f} GFLOP/s", *bucket.gflops) : "–";
}

}  // namespace

std::string to_json(const BenchReport& report) {
  std::string text = fmt::format("{{\n  \"peak_gflops\": {},\n  \"dram_gbs\": {},\n  \"buckets\": [",
                                 json_by_threads(report.peak_gflops), json_by_threads(report.dram_gbs));
  const char* comma = "";
  for (const BucketResult& bucket : report.buckets) {
    text += fmt::format(
        "{}\n    {{\"name\": \"{}\", \"threads\": {}, \"ms\": {}, \"us\": {}, \"gflops\": {}, \"gbs\": {}, "
        "\"percent_of_limit\": {}, \"ratio_to_unfused\": {}, \"tokens_per_second\": {}}}",
        comma, bucket.workload.name, bucket.threads, json_number(bucket.ms), json_number(bucket.us),
        json_number(bucket.gflops), json_number(bucket.gbs), json_number(bucket.percent_of_limit),
        json_number(bucket.ratio_to_unfused), json_number(bucket.tokens_per_second));
    comma = ",";
  }
  text += "\n  ],\n  \"memory\": [";
  comma = "";
  for (const MemoryResult& memory : report.memory) {
    text += fmt::format(
        "{}\n    {{\"name\": \"{}\", \"threads\": {}, \"tensors_mb\": {}, \"grown_mb\": {}, \"extra_mb\": "
        "{}, "
        "\"limit_mb\": {}}}",
        comma, memory.what.name, memory.threads, json_number(memory.tensors_mb), json_number(memory.grown_mb),
        json_number(memory.extra_mb()), json_number(memory.what.limit_mb));
    comma = ",";
  }
  return text + "\n  ]\n}\n";
}

namespace {

std::string bucket_table(const BenchReport& report) {
  const bool models = std::any_of(report.buckets.begin(), report.buckets.end(),
                                  [](const BucketResult& b) { return !b.workload.model.empty(); });
  std::string text = fmt::format("{:<18} {} {:>7} {:>13} {:>13} {:>10} {:>10}\n", "bucket", left("shape", 25),
                                 "threads", "time", "rate", "% of limit", models ? "tokens/s" : "× unfused");
  for (const BucketResult& bucket : report.buckets) {
    text += fmt::format("{:<18} {} {:>7} {} {} {} {}\n", bucket.workload.name,
                        left(bucket.workload.shape_text(), 25), bucket.threads, right(time_cell(bucket), 13),
                        right(rate_cell(bucket), 13), right(cell(bucket.percent_of_limit, "{:.1f} %"), 10),
                        right(bucket.workload.model.empty() ? cell(bucket.ratio_to_unfused, "{:.2f}")
                                                            : cell(bucket.tokens_per_second, "{:.1f}"),
                              10));
  }
  return text;
}

std::string memory_table(const BenchReport& report) {
  std::string text = fmt::format("{:<21} {:<40} {:>7} {:>11} {:>12} {:>12}\n", "memory", "shape", "threads",
                                 "grows by", "the tensors", "stays below");
  for (const MemoryResult& memory : report.memory) {
    text +=
        fmt::format("{:<21} {:<40} {:>7} {} {:>9.1f} MB {:>9.0f} MB\n", memory.what.name,
                    memory.what.shape_text(), memory.threads, right(cell(memory.grown_mb, "{:.1f} MB"), 11),
                    memory.tensors_mb, memory.what.limit_mb);
  }
  return text;
}

}  // namespace

std::string to_table(const BenchReport& report) {
  std::string text;
  if (!report.buckets.empty()) text += bucket_table(report);
  if (!report.buckets.empty() && !report.memory.empty()) text += "\n";
  if (!report.memory.empty()) text += memory_table(report);
  return text;
}

}  // namespace headlight::measure
