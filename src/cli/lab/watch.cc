#include "cli/lab/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <list>

#include "cli/app.h"
#include "cli/lab/watch_keys.h"
#include "cli/lab/watch_text.h"
#include "cli/stop_signal.h"
#include "core/concat.h"
#include "draw/arrange.h"
#include "headlight/error.h"
#include "playground/presets.h"
#include "playground/toy_filmstrip.h"

namespace headlight::cli {
namespace {

using Clock = std::chrono::steady_clock;
using playground::ToyFrame;
using playground::ToyRecord;
using playground::ToyRun;
using playground::ToySettings;

constexpr double kFilmstripDpi = 150;
constexpr std::int64_t kMoments = 20;
constexpr std::chrono::milliseconds kRedraw{200},
    kLine{2000};                                 // in place on a terminal; line by line elsewhere
constexpr std::chrono::milliseconds kIdle{200};  // wait for a key while training is paused
constexpr const char* kHelp = "space pauses, s steps, arrows show moments, k removes a head, q ends\n";

void set_all(ToySettings& settings, std::string_view option, const std::vector<std::string>& list) {
  for (const std::string& one : list) {
    const std::size_t equal = one.find('=');
    if (equal == std::string::npos)
      throw Error(ErrorKind::usage, "playground.set",
                  concat(option, " \"", one, "\": need NAME=VALUE, such as layers=1"));
    playground::set(settings, one.substr(0, equal), one.substr(equal + 1));
  }
}

ToySettings settings_of(const WatchOrder& order) {
  ToySettings settings;
  if (!order.preset.empty()) settings = playground::find_preset(order.preset).arms.front().settings;
  set_all(settings, "--set", order.set);
  if (order.seed) settings.seed = static_cast<std::uint64_t>(*order.seed);
  return settings;
}

// Whether lines can be overwritten: a terminal with cursor control.
bool redraws() {
  const char* term = std::getenv("TERM");
  return output_is_terminal() && term != nullptr && std::string_view(term) != "dumb" && *term != '\0';
}

// A run and its moments so far.
class Watched {
 public:
  Watched(Context& ctx, const ToySettings& settings, const std::string& words, std::string name)
      : run_(ctx, settings), name_(std::move(name)) {
    record_.settings = settings;
    record_.probes.push_back(words.empty() ? run_.task().unseen_case(0) : run_.task().parse(words));
    look();
  }

  void step() {
    if (run_.finished()) return;
    const Clock::time_point begin = Clock::now();
    run_.step();
    seconds_ += std::chrono::duration<double>(Clock::now() - begin).count();
    // Enough moments for the filmstrip, however fast the run is; drawn less often.
    if (run_.steps() % std::max<std::int64_t>(1, run_.settings().steps / kMoments) == 0) look();
  }
  // Records the current state of the model as a moment, unless it is recorded already.
  void look() {
    if (!record_.frames.empty() && record_.frames.back().step == run_.steps()) return;
    const double fresh = run_.take_loss();
    if (!std::isnan(fresh)) loss_ = fresh;
    record_.frames.push_back({run_.steps(), seconds_, loss_, run_.accuracy(), 0, run_.look(probe())});
  }
  // `at` counts frames back from the newest.
  [[nodiscard]] std::string text(std::size_t at, bool whole, Color color,
                                 const std::optional<HeadPlace>& without) const {
    const std::size_t last = record_.frames.size() - 1;
    const ToyFrame& frame = record_.frames[last - std::min(at, last)];
    std::string text = concat(name_,
                              name_.empty() ? ""
                              : whole       ? "\n"
                                            : "  ",
                              status_line(run_.settings(), frame));
    if (!whole) return text;
    if (!without) return concat(text, "\n", look_text(run_, probe(), frame.look, color), "\n");
    const playground::ToyAblation out = run_.without(probe(), std::span(&*without, 1));
    return concat(text,
                  fmt::format("without head {}.{}: right on unseen cases {:.0f} % ({:.0f} % with it)\n\n",
                              without->layer, without->head, 100 * out.accuracy, 100 * out.before),
                  look_text(run_, probe(), out.look, color), "\n");
  }

  [[nodiscard]] ToyRun& run() noexcept { return run_; }
  [[nodiscard]] const playground::ToyCase& probe() const { return record_.probes.back(); }
  [[nodiscard]] std::size_t moments() const noexcept { return record_.frames.size(); }
  [[nodiscard]] draw::Drawing filmstrip() const {
    return playground::filmstrip_figure(record_, run_.task(), {});
  }

 private:
  ToyRun run_;
  std::string name_;  // of one of two
  ToyRecord record_;
  double seconds_ = 0, loss_ = NAN;
};

class Screen {
 public:
  explicit Screen(bool redraws) : redraws_(redraws) {}
  void show(const std::string& text) {
    std::string out;
    if (redraws_ && lines_ > 0) out = fmt::format("\x1b[{}A\x1b[J", lines_);
    lines_ = std::count(text.begin(), text.end(), '\n');
    print(out + text);
  }

 private:
  bool redraws_;
  std::ptrdiff_t lines_ = 0;
};

void save_model(ToyRun& run, const std::string& folder) {
  const std::filesystem::path path = std::filesystem::path(folder).lexically_normal();
  const std::string parent = path.parent_path().empty() ? "." : path.parent_path().string();
  std::error_code problem;
  std::filesystem::create_directories(parent, problem);
  run.save(parent, path.filename().string());
  print(fmt::format("Saved. See it: {} serve --model {}\n", program_name(), folder));
}

// Settings changed by keys.
struct Steering {
  bool paused = false, stopped = false;
  std::int64_t allowed = 0;  // steps while paused
  std::size_t back = 0;      // moments before the newest
  std::optional<HeadPlace> without = std::nullopt;

  void press(WatchKey key, const ToySettings& s, std::size_t moments) {
    switch (key) {
      case WatchKey::pause:
        paused = !paused;
        back = 0;
        break;
      case WatchKey::step:
        paused = true;
        back = 0;
        ++allowed;
        break;
      case WatchKey::back:
        paused = true;
        back = std::min(back + 1, moments - 1);
        without = std::nullopt;  // older moments are pictures; their models are gone
        break;
      case WatchKey::forward: back -= back > 0 ? 1 : 0; break;
      case WatchKey::remove: remove_next(s); break;
      case WatchKey::stop: stopped = true; break;
    }
  }
  // No head, the first, …, the last, no head.
  void remove_next(const ToySettings& s) {
    back = 0;
    if (!without) {
      without = HeadPlace{0, 0};
    } else if (++without->head == s.heads) {
      without->head = 0;
      if (++without->layer == s.layers) without = std::nullopt;
    }
  }
};

class Watching {
 public:
  Watching(const WatchOrder& order, std::list<Watched>& runs)
      : order_(order), runs_(runs), in_place_(redraws()), keys_(in_place_), screen_(in_place_) {}

  // Trains until the end or until stopped. On a terminal the display stays open at the end.
  void go(const std::atomic<int>& stop) {
    show(in_place_);
    while (stop == 0 && !steering_.stopped) {
      const bool over = finished(), idle = over || (steering_.paused && steering_.allowed == 0);
      if (over && !keys_.listens()) break;
      if (over && !was_over_) show(true);
      was_over_ = over;
      const std::vector<WatchKey> pressed = keys_.read(idle ? kIdle : std::chrono::milliseconds(0));
      for (const WatchKey key : pressed) steering_.press(key, first().run().settings(), first().moments());
      const bool single = steering_.allowed > 0;
      if (!over && (!steering_.paused || single)) train(single);
      if (!pressed.empty() || single) show(true);
    }
    for (Watched& one : runs_) one.look();
    steering_.back = 0;
    show(true);
  }

 private:
  Watched& first() { return runs_.front(); }
  [[nodiscard]] bool finished() {
    return std::all_of(runs_.begin(), runs_.end(), [](Watched& one) { return one.run().finished(); });
  }
  void train(bool single) {
    for (Watched& one : runs_) one.step();
    if (single) --steering_.allowed;
    const Clock::time_point now = Clock::now();
    if (!single && now - shown_ < (in_place_ ? kRedraw : kLine)) return;
    for (Watched& one : runs_) one.look();
    show(in_place_);
  }
  void show(bool whole) {
    shown_ = Clock::now();
    std::string text;
    for (Watched& one : runs_)
      text +=
          one.text(steering_.back, whole, order_.color, &one == &first() ? steering_.without : std::nullopt);
    if (keys_.listens()) text += concat(steering_.paused ? "paused. " : "", kHelp);
    screen_.show(text);
  }

  const WatchOrder& order_;
  std::list<Watched>& runs_;
  bool in_place_, was_over_ = false;
  KeyReader keys_;
  Screen screen_;
  Steering steering_;
  Clock::time_point shown_ = {};
};

std::list<Watched> runs_of(Context& ctx, const WatchOrder& order) {
  const ToySettings settings = settings_of(order);
  std::list<Watched> runs;
  if (order.against.empty()) {
    runs.emplace_back(ctx, settings, order.probe, "");
    return runs;
  }
  ToySettings other = settings;
  set_all(other, "--against", order.against);
  if (other == settings)
    throw Error(ErrorKind::usage, "playground.against",
                "--against changes no setting: both runs would be the same");
  if (other.task != settings.task && !order.probe.empty())
    throw Error(ErrorKind::usage, "playground.against",
                "--probe: the two runs have different tasks; leave it out");
  std::string name;
  for (const std::string& one : order.against) name += concat(name.empty() ? "" : ", ", one);
  runs.emplace_back(ctx, settings, order.probe, "as set");
  runs.emplace_back(ctx, other, order.probe, name);
  return runs;
}

}  // namespace

void watch_training(const WatchOrder& order) {
  io::Outputs outputs(order.existing);
  reserve_figures(outputs, order.figures);
  Context ctx({.threads = order.threads});
  const TensorRecycler recycler;
  std::list<Watched> runs = runs_of(ctx, order);
  ToyRun& run = runs.front().run();
  print(fmt::format("{}: {}\n{}; {} parameters. Ctrl-C stops.\nprobe: {}\n\n",
                    playground::name_of(run.settings().task), playground::what_of(run.settings().task),
                    playground::short_text(run.settings()), run.parameters(),
                    run.task().text_of(runs.front().probe().ids)));
  std::atomic<int>& stop = catch_stop_signals();
  Watching(order, runs).go(stop);
  if (order.figures.any()) {
    std::vector<draw::Drawing> filmstrips;
    for (const Watched& one : runs) filmstrips.push_back(one.filmstrip());
    write_figures(outputs, order.figures, draw::below_each_other(std::move(filmstrips)), kFilmstripDpi);
  }
  outputs.commit();
  if (!order.save.empty()) save_model(run, order.save);
  if (stop != 0) throw Stopped{stop};
}

}  // namespace headlight::cli
