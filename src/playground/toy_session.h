// The playground of one server: one run at a time on a separate thread, its frames, and commands from any thread. The
// run continues while pages come and go; it stops when no page has requested frames for a while, or at the time limit.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "playground/toy_run.h"

namespace headlight::playground {

enum class ToyState { running, paused, finished, stopped, failed };
[[nodiscard]] std::string_view name_of(ToyState state) noexcept;

struct ToyLimits {
  std::chrono::milliseconds training{60'000};  // of one run, pauses not counted
  std::chrono::milliseconds grace{20'000};     // without a connected page
  std::chrono::milliseconds between{150};      // two frames: evaluating one takes time from training
  double memory = 256e6;                       // bytes
};

// The state of a run for observers.
struct ToyRecord {
  int id = 0;
  ToySettings settings;
  ToyState state = ToyState::running;
  std::string reason = {};  // why it stopped or failed
  std::int64_t step = 0;
  double seconds = 0;  // of training
  Index parameters = 0;
  std::vector<ToyCase> probes = {};   // the first is the task's own
  std::vector<ToyFrame> frames = {};  // thinned out when there are many
  std::size_t dropped =
      0;  // number of times frames were dropped: if it changes, all frames must be read again
  [[nodiscard]] bool is_over() const noexcept {
    return state != ToyState::running && state != ToyState::paused;
  }
};

class ToySession {
 public:
  explicit ToySession(int threads, const ToyLimits& limits = {});
  ~ToySession();
  ToySession(const ToySession&) = delete;
  ToySession& operator=(const ToySession&) = delete;

  // Returns the run's id. Throws Error{usage} for settings that do not fit together, Error{resource} while another run
  // is in progress or when it would take too much memory.
  int start(const ToySettings& settings);
  // The newest three runs, the oldest first, without frames.
  [[nodiscard]] std::vector<ToyRecord> runs() const;
  // The frames from number `after` on, as soon as there is one or the state differs from `known`; else what there is after
  // `wait`. Requests keep a run alive. Throws Error{usage} for a run that is not kept.
  [[nodiscard]] ToyRecord frames(int id, std::size_t after, ToyState known, std::chrono::milliseconds wait,
                                 const std::function<bool()>& left);

  // Commands for the run of this id, which must be the newest. Throw Error{usage}.
  void pause(int id);
  void resume(int id);
  void step(int id, std::int64_t steps);  // pauses, then computes that many
  void stop(int id);
  void set_probe(int id, std::string_view text);
  [[nodiscard]] ToyAblation without(int id, const std::vector<HeadPlace>& heads);
  void save(int id, const std::string& parent, const std::string& name);

 private:
  using Clock = std::chrono::steady_clock;
  using Command = std::function<void(ToyRun&)>;
  void work(const std::stop_token& token, ToySettings settings);
  void train(const std::stop_token& token, ToyRun& run);
  void add_frame(ToyRun& run, double loss);
  void end(ToyState state, std::string reason);
  [[nodiscard]] ToyRecord& newest(int id);
  void ask(int id, const Command& command);  // executed by the run's thread, between two steps
  bool do_commands(std::unique_lock<std::mutex>& lock, ToyRun& run);

  int threads_;
  ToyLimits limits_;
  std::mutex starting_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<ToyRecord> records_;  // the newest last
  std::deque<std::function<void(ToyRun*)>> commands_;
  std::int64_t allowed_ = 0;  // steps to run while paused
  Clock::time_point watched_ = {};
  int next_id_ = 1;
  std::jthread thread_;
};

}  // namespace headlight::playground
