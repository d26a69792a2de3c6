#include <fmt/format.h>

#include <algorithm>

#include "io/json_writer.h"
#include "measure/bench.h"

namespace headlight::measure {
namespace {

std::optional<io::Rounded> rounded(const std::optional<double>& value) {
  return value ? std::optional(io::significant(*value, 6)) : std::nullopt;
}

// Bandwidth that could not be measured is 0 in the report and null in the JSON.
void write(io::JsonWriter& w, const std::map<int, double>& values) {
  w.begin_object();
  for (const auto& [threads, value] : values)
    w.field(std::to_string(threads), rounded(value > 0 ? std::optional(value) : std::nullopt));
  w.end_object();
}

std::string cell(const std::optional<double>& value, const char* format) {
  return value ? fmt::format(fmt::runtime(format), *value) : "–";
}

// Pads by characters, not by bytes: the dash of an empty cell has three bytes.
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
  io::JsonWriter w;
  write(w.begin_object(io::JsonLayout::lines).key("peak_gflops"), report.peak_gflops);
  write(w.key("dram_gbs"), report.dram_gbs);
  w.key("targets").begin_object();
  for (const auto& [target, peaks] : report.target_peaks) write(w.key(name_of(target)), peaks);
  w.end_object();
  w.key("buckets").begin_list(io::JsonLayout::lines);
  for (const BucketResult& bucket : report.buckets) {
    w.begin_object().field("name", bucket.workload.name).field("threads", bucket.threads);
    w.field("target", name_of(bucket.target));
    w.field("ms", rounded(bucket.ms)).field("us", rounded(bucket.us));
    w.field("gflops", rounded(bucket.gflops)).field("gbs", rounded(bucket.gbs));
    w.field("percent_of_limit", rounded(bucket.percent_of_limit));
    w.field("ratio_to_unfused", rounded(bucket.ratio_to_unfused));
    w.field("tokens_per_second", rounded(bucket.tokens_per_second)).end_object();
  }
  w.end_list().key("memory").begin_list(io::JsonLayout::lines);
  for (const MemoryResult& memory : report.memory) {
    w.begin_object().field("name", memory.what.name).field("threads", memory.threads);
    w.field("tensors_mb", rounded(memory.tensors_mb)).field("grown_mb", rounded(memory.grown_mb));
    w.field("extra_mb", rounded(memory.extra_mb()));
    w.field("limit_mb", rounded(memory.what.limit_mb)).end_object();
  }
  return w.end_list().end_object().take_line();
}

namespace {

constexpr const char* kBucketColumns =
    "\n% of limit: share of the FMA peak; of the memory bandwidth for decoding. × unfused: time of two BLAS\n"
    "products and a softmax, divided by this time.\n";
constexpr const char* kMemoryColumns =
    "\ngrows by: increase of resident memory, tensors included. stays below: the documented limit.\n";

std::string bucket_table(const BenchReport& report) {
  const bool targets = report.target_peaks.size() > 1;
  const auto target_cell = [&](std::string_view text) {
    return targets ? fmt::format("{:<7} ", text) : std::string();
  };
  const bool models = std::any_of(report.buckets.begin(), report.buckets.end(),
                                  [](const BucketResult& b) { return !b.workload.model.empty(); });
  std::string text = fmt::format("{:<19} {} {}{:>7} {:>13} {:>13} {:>10} {:>10}\n", "bucket",
                                 left("shape", 25), target_cell("target"), "threads", "time", "rate",
                                 "% of limit", models ? "tokens/s" : "× unfused");
  for (const BucketResult& bucket : report.buckets) {
    text += fmt::format("{:<19} {} {}{:>7} {} {} {} {}\n", bucket.workload.name,
                        left(bucket.workload.shape_text(), 25), target_cell(name_of(bucket.target)),
                        bucket.threads, right(time_cell(bucket), 13), right(rate_cell(bucket), 13),
                        right(cell(bucket.percent_of_limit, "{:.1f} %"), 10),
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
  if (!report.buckets.empty()) text += bucket_table(report) + kBucketColumns;
  if (!report.buckets.empty() && !report.memory.empty()) text += "\n";
  if (!report.memory.empty()) text += memory_table(report) + kMemoryColumns;
  return text;
}

}  // namespace headlight::measure
