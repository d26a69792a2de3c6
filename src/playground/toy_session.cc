#include "playground/toy_session.h"

#include <algorithm>
#include <cmath>
#include <future>

#include "core/concat.h"
#include "headlight/error.h"

namespace headlight::playground {
namespace {

constexpr std::size_t kRuns = 3;           // runs that are kept: as many as a preset has
constexpr std::size_t kMostFrames = 1024;  // of one run
constexpr std::chrono::milliseconds kLook{50};
constexpr std::int64_t kMoments = 50;  // frames of a whole run, at least, however fast it is

[[noreturn]] void refuse(const char* code, const std::string& what) {
  throw Error(ErrorKind::usage, code, what);
}

}  // namespace

std::string_view name_of(ToyState state) noexcept {
  switch (state) {
    case ToyState::running: return "running";
    case ToyState::paused: return "paused";
    case ToyState::finished: return "finished";
    case ToyState::stopped: return "stopped";
    case ToyState::failed: return "failed";
  }
  return "";
}

ToySession::ToySession(int threads, const ToyLimits& limits) : threads_(threads), limits_(limits) {}

ToySession::~ToySession() {
  thread_.request_stop();
  changed_.notify_all();
}

int ToySession::start(const ToySettings& settings) {
  const std::lock_guard one(starting_);
  check(settings);
  if (memory_of(settings) > limits_.memory)
    throw Error(ErrorKind::resource, "playground.memory",
                concat("this model would take about ", std::lround(memory_of(settings) / 1e6),
                       " MB to train; the limit is ", std::lround(limits_.memory / 1e6),
                       " MB\nChoose fewer layers or a smaller width."));
  {
    const std::lock_guard lock(mutex_);
    if (!records_.empty() && !records_.back().is_over())
      throw Error(ErrorKind::resource, "playground.busy", "a run is in progress; stop it first");
  }
  if (thread_.joinable()) {
    thread_.request_stop();
    changed_.notify_all();
    thread_.join();
  }
  const std::lock_guard lock(mutex_);
  records_.push_back({.id = next_id_++, .settings = settings});
  if (records_.size() > kRuns) records_.pop_front();
  for (const std::function<void(ToyRun*)>& command : commands_)
    command(nullptr);  // of the old run, whose thread has ended
  commands_.clear();
  allowed_ = 0;
  watched_ = Clock::now();
  thread_ = std::jthread([this, settings](const std::stop_token& token) { work(token, settings); });
  return records_.back().id;
}

void ToySession::work(const std::stop_token& token, ToySettings settings) {
  try {
    Context ctx({.threads = threads_});
    const TensorRecycler recycler;
    ToyRun run(ctx, settings);
    {
      const std::lock_guard lock(mutex_);
      records_.back().parameters = run.parameters();
      records_.back().probes.push_back(run.task().unseen_case(0));
    }
    train(token, run);
    // The model stays available for queries until the next run.
    std::unique_lock lock(mutex_);
    while (!token.stop_requested()) {
      if (!do_commands(lock, run)) changed_.wait_for(lock, kLook);
    }
    // Answers commands that are still waiting.
    while (!commands_.empty()) (void)do_commands(lock, run);
  } catch (const std::exception& error) { end(ToyState::failed, error.what()); }
}

void ToySession::train(const std::stop_token& token, ToyRun& run) {
  add_frame(run, NAN);
  Clock::time_point shown = Clock::now();
  double seconds = 0;
  while (!run.finished()) {
    {
      std::unique_lock lock(mutex_);
      (void)do_commands(lock, run);
      ToyRecord& record = records_.back();
      if (token.stop_requested() || record.is_over()) break;
      if (Clock::now() - watched_ > limits_.grace) {
        lock.unlock();
        return end(ToyState::stopped, "no page was connected");
      }
      if (record.state == ToyState::paused && allowed_ == 0) {
        changed_.wait_for(lock, kLook);
        continue;
      }
    }
    const Clock::time_point begin = Clock::now();
    run.step();
    const Clock::time_point done = Clock::now();
    seconds += std::chrono::duration<double>(done - begin).count();
    bool single = false;
    {
      const std::lock_guard lock(mutex_);
      records_.back().seconds = seconds;
      records_.back().step = run.steps();
      if (records_.back().state == ToyState::paused && allowed_ > 0) single = --allowed_ == 0;
    }
    const bool due = run.steps() % std::max<std::int64_t>(1, run.settings().steps / kMoments) == 0;
    if (single || due || run.finished() || done - shown >= limits_.between) {
      shown = done;
      add_frame(run, run.take_loss());
    }
    if (seconds * 1000 > static_cast<double>(limits_.training.count()) && !run.finished())
      return end(ToyState::stopped,
                 concat("the time limit of ", limits_.training.count() / 1000, " s is reached"));
  }
  if (run.finished()) end(ToyState::finished, "");
}

void ToySession::add_frame(ToyRun& run, double loss) {
  ToyFrame frame;
  ToyCase probe;
  {
    const std::lock_guard lock(mutex_);
    frame.probe = records_.back().probes.size() - 1;
    frame.seconds = records_.back().seconds;
    probe = records_.back().probes.back();
  }
  frame.step = run.steps();
  frame.loss = loss;
  frame.accuracy = run.accuracy();
  frame.look = run.look(probe);
  {
    const std::lock_guard lock(mutex_);
    ToyRecord& record = records_.back();
    record.frames.push_back(std::move(frame));
    if (record.frames.size() > kMostFrames) {  // drops every second frame of the older half
      std::vector<ToyFrame> kept;
      for (std::size_t i = 0; i < record.frames.size(); ++i)
        if (i % 2 == 0 || i + 1 == record.frames.size()) kept.push_back(std::move(record.frames[i]));
      record.dropped += record.frames.size() - kept.size();
      record.frames = std::move(kept);
    }
  }
  changed_.notify_all();
}

void ToySession::end(ToyState state, std::string reason) {
  {
    const std::lock_guard lock(mutex_);
    if (!records_.back().is_over()) {
      records_.back().state = state;
      records_.back().reason = std::move(reason);
    }
    if (state == ToyState::failed)  // the thread ends, so these will not run
      for (std::function<void(ToyRun*)>& command : commands_) command(nullptr);
    if (state == ToyState::failed) commands_.clear();
  }
  changed_.notify_all();
}

bool ToySession::do_commands(std::unique_lock<std::mutex>& lock, ToyRun& run) {
  if (commands_.empty()) return false;
  const std::function<void(ToyRun*)> command = std::move(commands_.front());
  commands_.pop_front();
  lock.unlock();
  command(&run);
  lock.lock();
  return true;
}

ToyRecord& ToySession::newest(int id) {
  if (records_.empty() || records_.back().id != id)
    refuse("playground.run", "this run has ended and its model was dropped; train it again");
  return records_.back();
}

void ToySession::ask(int id, const Command& command) {
  std::promise<void> done;
  {
    const std::lock_guard lock(mutex_);
    const ToyRecord& record = newest(id);
    if (record.state == ToyState::failed) refuse("playground.failed", "this run failed: " + record.reason);
    watched_ = Clock::now();
    commands_.push_back([&](ToyRun* run) {
      try {
        if (run == nullptr) refuse("playground.failed", "this run failed");
        command(*run);
        done.set_value();
      } catch (...) { done.set_exception(std::current_exception()); }
    });
  }
  changed_.notify_all();
  done.get_future().get();
}

std::vector<ToyRecord> ToySession::runs() const {
  const std::lock_guard lock(mutex_);
  std::vector<ToyRecord> list;
  for (const ToyRecord& record : records_) {
    ToyRecord copy = record;
    copy.frames.clear();
    list.push_back(std::move(copy));
  }
  return list;
}

ToyRecord ToySession::frames(int id, std::size_t after, ToyState known, std::chrono::milliseconds wait,
                             const std::function<bool()>& left) {
  const Clock::time_point end = Clock::now() + wait;
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto found =
        std::find_if(records_.begin(), records_.end(), [&](const ToyRecord& r) { return r.id == id; });
    if (found == records_.end()) refuse("playground.run", "this run is no longer kept");
    watched_ = Clock::now();
    const bool fresh = found->frames.size() + found->dropped > after || found->state != known;
    if (fresh || Clock::now() >= end || left()) {
      ToyRecord copy = *found;
      // Frames are numbered as if none had been dropped; after dropping some, all are sent again.
      const std::size_t first = after >= found->dropped ? after - found->dropped : 0;
      copy.frames.erase(copy.frames.begin(), copy.frames.begin() + static_cast<std::ptrdiff_t>(
                                                                       std::min(first, copy.frames.size())));
      return copy;
    }
    changed_.wait_for(lock, kLook);
  }
}

void ToySession::pause(int id) {
  const std::lock_guard lock(mutex_);
  ToyRecord& record = newest(id);
  if (record.state == ToyState::running) record.state = ToyState::paused;
  allowed_ = 0;
  changed_.notify_all();
}

void ToySession::resume(int id) {
  const std::lock_guard lock(mutex_);
  ToyRecord& record = newest(id);
  if (record.state == ToyState::paused) record.state = ToyState::running;
  watched_ = Clock::now();
  changed_.notify_all();
}

void ToySession::step(int id, std::int64_t steps) {
  const std::lock_guard lock(mutex_);
  ToyRecord& record = newest(id);
  if (record.is_over()) refuse("playground.over", "this run has ended; train again to continue");
  record.state = ToyState::paused;
  allowed_ = steps;
  watched_ = Clock::now();
  changed_.notify_all();
}

void ToySession::stop(int id) {
  const std::lock_guard lock(mutex_);
  ToyRecord& record = newest(id);
  if (!record.is_over()) {
    record.state = ToyState::stopped;
    record.reason = "stopped by request";
  }
  changed_.notify_all();
}

void ToySession::set_probe(int id, std::string_view text) {
  ask(id, [&](ToyRun& run) {
    const ToyCase probe = text.empty() ? run.task().unseen_case(0) : run.task().parse(text);
    {
      const std::lock_guard lock(mutex_);
      records_.back().probes.push_back(probe);
    }
    add_frame(run, NAN);
  });
}

ToyAblation ToySession::without(int id, const std::vector<HeadPlace>& heads) {
  ToyAblation result;
  ask(id, [&](ToyRun& run) {
    ToyCase probe;
    {
      const std::lock_guard lock(mutex_);
      probe = records_.back().probes.back();
    }
    result = run.without(probe, heads);
  });
  return result;
}

void ToySession::save(int id, const std::string& parent, const std::string& name) {
  ask(id, [&](ToyRun& run) { run.save(parent, name); });
}

}  // namespace headlight::playground
