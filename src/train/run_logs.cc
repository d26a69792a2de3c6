#include "train/run_logs.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <filesystem>

#include "io/json_writer.h"
#include "train/event_file.h"

namespace headlight::train {
namespace {

constexpr const char* kColumns[] = {"loss",   "smoothed",   "learning_rate",  "gradient_norm", "tokens",
                                    "epochs", "valid_loss", "valid_accuracy", "valid_bleu",    "link_loss"};

double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Keeps the existing part of an optional file, which may have been removed.
std::uint64_t kept(const std::string& path, std::uint64_t bytes) {
  std::error_code absent;
  const auto size = std::filesystem::file_size(path, absent);
  return absent ? 0 : std::min<std::uint64_t>(size, bytes);
}

}  // namespace

RunLogs::RunLogs(const RunFolder& folder, const TrainingState& progress, bool tensorboard, Listener& listener)
    : listener_(listener),
      metrics_(folder.file("metrics.jsonl"), progress.metrics_bytes),
      timing_(folder.file("timing.jsonl"), kept(folder.file("timing.jsonl"), ~std::uint64_t{0})),
      table_(folder.file("metrics.csv"), kept(folder.file("metrics.csv"), progress.table_bytes)),
      samples_(folder.file("samples.jsonl"), kept(folder.file("samples.jsonl"), progress.samples_bytes)) {
  if (progress.step > 0 && metrics_.hash() != progress.metrics_hash)
    listener.on_notice("metrics.jsonl has changed since the checkpoint; the log has a gap or an edited line");
  if (table_.bytes() == 0) {
    std::string header = "step";
    for (const char* name : kColumns) header += fmt::format(",{}", name);
    (void)table_.append(header);
  }
  if (!tensorboard) return;
  const std::string events = folder.file(kEventFile);
  events_.emplace(events, kept(events, progress.events_bytes));
  if (events_->bytes() == 0) (void)events_->append_bytes(event_file_start(wall_time()));
}

void RunLogs::write(std::int64_t step, const std::string& json, const std::vector<Number>& numbers) {
  const bool written = metrics_.append(json);
  if (!written && !told_of_full_disk_)
    listener_.on_notice("metrics.jsonl cannot be written at the moment; its lines are kept in memory");
  told_of_full_disk_ = !written;
  std::string row = fmt::format("{}", step);
  for (const char* column : kColumns) {
    row += ',';
    for (const Number& number : numbers)
      if (std::string_view(number.name) == column && std::isfinite(number.value))
        row += fmt::format("{}", number.value);
  }
  (void)table_.append(row);
  if (!events_) return;
  const double now = wall_time();
  for (const Number& number : numbers)
    (void)events_->append_bytes(scalar_event(now, step, number.name, static_cast<float>(number.value)));
}

void RunLogs::step(const StepReport& r, std::int64_t tokens) {
  io::JsonWriter w;
  w.begin_object().field("step", r.step).field("loss", r.loss).field("smoothed", r.smoothed);
  w.field("learning_rate", r.learning_rate).field("gradient_norm", r.gradient_norm);
  w.field("tokens", tokens).field("epochs", r.epochs);
  std::vector<Number> numbers = {{"loss", r.loss},
                                 {"smoothed", r.smoothed},
                                 {"learning_rate", r.learning_rate},
                                 {"gradient_norm", r.gradient_norm},
                                 {"tokens", static_cast<double>(tokens)},
                                 {"epochs", r.epochs}};
  if (r.links > 0) {
    w.field("link_loss", r.linked);
    numbers.push_back({"link_loss", r.linked});
  }
  write(r.step, w.end_object().take(), numbers);
}

void RunLogs::evaluation(const Evaluation& e) {
  io::JsonWriter w;
  w.begin_object().field("step", e.step).field("valid_loss", e.loss).field("valid_accuracy", e.accuracy);
  std::vector<Number> numbers = {{"valid_loss", e.loss}, {"valid_accuracy", e.accuracy}};
  if (e.bleu) {
    w.field("valid_bleu", *e.bleu);
    numbers.push_back({"valid_bleu", *e.bleu});
  }
  write(e.step, w.field("best", e.best).end_object().take(), numbers);
}

void RunLogs::sample(std::int64_t step, const Sample& sample) {
  io::JsonWriter w;
  w.begin_object().field("step", step).field("prompt", sample.prompt).field("text", sample.text);
  (void)samples_.append(w.end_object().take());
}

// Optional: lines are lost if the disk is full.
void RunLogs::timing(std::int64_t step, double seconds, double tokens, double flops) {
  io::JsonWriter w;
  w.begin_object().field("step", step).field("seconds", io::decimals(seconds, 4));
  w.field("tokens_per_second", io::decimals(tokens / seconds, 1));
  w.field("gflops", io::decimals(flops / seconds * 1e-9, 2)).end_object();
  (void)timing_.append(w.take());
}

void RunLogs::flush(TrainingState& progress) {
  metrics_.flush();
  progress.metrics_bytes = metrics_.bytes();
  progress.metrics_hash = metrics_.hash();
  progress.table_bytes = table_.bytes();
  progress.samples_bytes = samples_.bytes();
  progress.events_bytes = events_ ? events_->bytes() : 0;
}

}  // namespace headlight::train
