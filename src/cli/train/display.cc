#include "cli/train/display.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>

#include "cli/progress_bar.h"
#include "core/escape.h"
#include "draw/text.h"
#include "headlight/error.h"

namespace headlight::cli {
namespace {

constexpr double kRefresh = 0.1;  // seconds between two updates of the bar
constexpr double kFade = 0.95;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string peak_text(const Pace& pace) {
  return pace.peak_share > 0 ? fmt::format("{:.0f}% of peak", 100 * pace.peak_share) : std::string();
}

std::string colored(std::string text, int color, const DisplayStyle& style) {
  return style.color ? fmt::format("\x1b[38;5;{}m{}\x1b[0m", color, text) : text;
}

std::string bar(double part, int cells, const DisplayStyle& style) {
  const int full = std::clamp(static_cast<int>(part * cells), 0, cells);
  std::string done, rest;
  for (int i = 0; i < full; ++i) done += style.unicode ? "━" : "#";
  for (int i = full; i < cells; ++i) rest += style.unicode ? (style.color ? "━" : "─") : ".";
  return colored(done, 72, style) + colored(rest, 240, style);
}

}  // namespace

std::string short_count(double x) {
  if (x < 1000) return fmt::format("{:.0f}", x);
  if (x < 99950) return fmt::format("{:.1f}k", x / 1e3);
  if (x < 999500) return fmt::format("{:.0f}k", x / 1e3);
  return x < 1e9 ? fmt::format("{:.1f}M", x / 1e6) : fmt::format("{:.1f}G", x / 1e9);
}

std::string moving_line(const train::StepReport& r, const Pace& pace, const DisplayStyle& style) {
  const std::string step = fmt::format("{}/{} ", r.step, r.steps);
  // From most to least important: columns that do not fit are dropped from the end.
  const std::string parts[] = {fmt::format(" loss {:.4f}", r.smoothed),
                               fmt::format("  {} left", duration_text(pace.seconds_left)),
                               fmt::format("  {} tok/s", short_count(pace.tokens_per_second)),
                               pace.peak_share > 0 ? fmt::format("  {}", peak_text(pace)) : std::string(),
                               fmt::format("  lr {:.2e}", r.learning_rate),
                               fmt::format("  |g| {:.2f}", r.gradient_norm),
                               fmt::format("  now {:.4f}", r.loss)};
  constexpr int kBar = 10;
  const int width = style.width - 1;  // a full line would move the cursor to the next one
  std::string tail;
  for (const std::string& part : parts) {
    if (static_cast<int>(step.size() + tail.size() + part.size()) + kBar > width) break;
    tail += part;
  }
  const int cells = std::clamp(width - static_cast<int>(step.size() + tail.size()), 0, 30);
  const double done = static_cast<double>(r.step) / static_cast<double>(std::max<std::int64_t>(r.steps, 1));
  return step + bar(done, cells, style) + tail;
}

std::string plain_line(const train::StepReport& r, const Pace& pace) {
  return fmt::format("step {}/{}  loss {:.4f}  smoothed {:.4f}  lr {:.3e}  |g| {:.3f}  {} tok/s{}{}  {} left",
                     r.step, r.steps, r.loss, r.smoothed, r.learning_rate, r.gradient_norm,
                     short_count(pace.tokens_per_second), pace.peak_share > 0 ? "  " : "", peak_text(pace),
                     duration_text(pace.seconds_left));
}

TrainDisplay::TrainDisplay(const DisplayStyle& style, double peak, std::int64_t log_every)
    : style_(style), peak_(peak), log_every_(log_every) {}

TrainDisplay::~TrainDisplay() {
  if (shown_) print_error("\r\x1b[K");
}

void TrainDisplay::write(std::string_view text) {
  if (silent_) return;
  if (style_.to_error) return print_error(text);
  try {
    print(text);
  } catch (const BrokenPipe&) {
    if (stop_ == nullptr) throw;
    silent_ = true;
    int none = 0;
    stop_->compare_exchange_strong(none, SIGPIPE);
  } catch (const Error&) {  // standard output is a file on a full disk
    if (stop_ == nullptr) throw;
  }
}

void TrainDisplay::clear() {
  if (shown_) write("\r\x1b[K");
  shown_ = false;
}

void TrainDisplay::on_step(const train::StepReport& report) {
  tokens_ = kFade * tokens_ + static_cast<double>(report.tokens);
  flops_ = kFade * flops_ + report.flops;
  seconds_ = kFade * seconds_ + report.seconds;
  const bool last = report.step == report.steps, due = last || report.step % log_every_ == 0;
  if (style_.moving ? !last && now() - shown_at_ < kRefresh : !due) return;
  Pace pace;
  if (seconds_ > 0) {
    pace.tokens_per_second = tokens_ / seconds_;
    if (peak_ > 0) pace.peak_share = flops_ / seconds_ / peak_;
  }
  const double steps =
      (1 - std::pow(kFade, static_cast<double>(report.step))) / (1 - kFade);  // weight of the sums
  pace.seconds_left = seconds_ / steps * static_cast<double>(report.steps - report.step);
  if (!style_.moving) return write(fmt::format("{}\n", plain_line(report, pace)));
  write(fmt::format("\r{}\x1b[K", moving_line(report, pace, style_)));
  shown_ = true;
  shown_at_ = now();
}

void TrainDisplay::on_evaluation(const train::Evaluation& e) {
  const std::string bleu = e.bleu ? fmt::format("  BLEU {:.1f}", *e.bleu) : "";
  say(fmt::format("step {}  valid loss {:.4f}  perplexity {:.2f}  accuracy {:.2f} %{}{}", e.step, e.loss,
                  std::exp(e.loss), 100 * e.accuracy, bleu, e.best ? colored("  best", 72, style_) : ""));
}

void TrainDisplay::on_sample(std::int64_t step, const train::Sample& sample) {
  say(fmt::format("step {}  \"{}\" {} \"{}\"", step, escaped(sample.prompt, 60), style_.unicode ? "→" : "->",
                  escaped(sample.text, 400)));
}

void TrainDisplay::on_notice(const std::string& text) {
  clear();
  print_error(fmt::format("notice: {}\n", escaped(text, 400)));
}

void TrainDisplay::say(const std::string& line) {
  clear();
  write(fmt::format("{}\n", line));
}

}  // namespace headlight::cli
