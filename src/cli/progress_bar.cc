#include "cli/progress_bar.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "cli/ranks.h"
#include "cli/terminal.h"
#include "draw/text.h"

namespace headlight::cli {

std::string duration_text(double seconds) {
  const auto whole = std::llround(std::clamp(seconds, 0.0, 1e12));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  if (whole < 48 * 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{} d {} h", whole / 86400, whole / 3600 % 24);
}

// One bar for all processes: that of rank 0.
ProgressBar::ProgressBar()
    : visible_(::isatty(STDERR_FILENO) == 1 && (team() == nullptr || team()->rank() == 0)) {}

void ProgressBar::show(std::string_view doing, double done) {
  if (!visible_) return;
  const Clock::time_point now = Clock::now();
  if (doing != doing_) {
    doing_ = doing;
    started_ = now;
  } else if (now - drawn_ < std::chrono::milliseconds(100)) {
    return;
  }
  drawn_ = now;
  std::string line(doing);
  if (done >= 0) {
    constexpr int cells = 24;
    const double part = std::min(done, 1.0), spent = std::chrono::duration<double>(now - started_).count();
    const draw::Glyphs glyphs = output_is_utf8() ? draw::Glyphs::unicode : draw::Glyphs::ascii;
    line +=
        fmt::format("  {} {:3.0f} %", draw::left_aligned(draw::bar(part, cells, glyphs), cells), 100 * part);
    if (part > 0.02 && spent > 0.5) line += fmt::format(", {} left", duration_text(spent / part - spent));
  }
  clear();
  print_error(line);
  shown_ = true;
}

void ProgressBar::clear() noexcept {
  if (shown_) print_error("\r\x1b[K");
  shown_ = false;
}

}  // namespace headlight::cli
