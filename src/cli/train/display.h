// Progress of a training run: a bar on a terminal, plain lines elsewhere.
#pragma once

#include <atomic>
#include <string>

#include "cli/terminal.h"
#include "train/trainer.h"

namespace headlight::cli {

struct DisplayStyle {
  bool moving = false;  // a terminal: one line that is written over
  bool color = false;
  bool unicode = true;
  int width = 80;
  bool to_error = false;  // standard output is reserved for JSON
};

// Values derived from several steps.
struct Pace {
  double tokens_per_second = 0;
  double peak_share = 0;  // share of the machine's FMA peak; 0: unknown
  double seconds_left = 0;
};

[[nodiscard]] std::string short_count(double x);  // "812", "12.3k", "1.5M"
// One line without an end, never wider than the style.
[[nodiscard]] std::string moving_line(const train::StepReport& report, const Pace& pace,
                                      const DisplayStyle& style);
[[nodiscard]] std::string plain_line(const train::StepReport& report, const Pace& pace);

class TrainDisplay : public train::Listener {
 public:
  // `peak` in FLOP/s, 0 when not known; a plain line every `log_every` steps.
  TrainDisplay(const DisplayStyle& style, double peak, std::int64_t log_every);
  ~TrainDisplay() override;

  void on_step(const train::StepReport& report) override;
  void on_evaluation(const train::Evaluation& evaluation) override;
  void on_sample(std::int64_t step, const train::Sample& sample) override;
  void on_notice(const std::string& text) override;
  // A permanent line, above the bar.
  void say(const std::string& line);
  // From now on a failed write to standard output does not throw: the display stops, and a closed pipe sets
  // `stop` to SIGPIPE. Hours of training must not depend on a reader.
  void never_fail(std::atomic<int>& stop) { stop_ = &stop; }

 private:
  void clear();
  void write(std::string_view text);

  DisplayStyle style_;
  double peak_;
  std::int64_t log_every_;
  double tokens_ = 0, flops_ = 0, seconds_ = 0;  // decaying sums over the last steps
  double shown_at_ = -1;
  bool shown_ = false;
  std::atomic<int>* stop_ = nullptr;
  bool silent_ = false;
};

}  // namespace headlight::cli
