// Parallel loops on the threads of a Context: run_tasks() hands out task numbers 0 … tasks-1 in order to free workers
// and returns when all are done. The caller works too.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>

#include "core/call_scope.h"
#include "headlight/context.h"

namespace headlight {

// State that the workers of one run share.
class TaskList {
 public:
  using Call = void (*)(const void* self, int worker, std::int64_t number);
  TaskList(std::int64_t tasks, Call call, const void* self) noexcept
      : tasks_(tasks), call_(call), self_(self) {}
  void run(Executor& executor, int limit);

 private:
  void take(int worker) noexcept;

  std::int64_t tasks_;
  Call call_;
  const void* self_;
  int workers_ = 0;
  std::exception_ptr error_;  // of the task that failed first
  std::atomic<bool> failed_{false};
  alignas(64) std::atomic<std::int64_t> next_{0};  // on its own cache line: the other members are read-only
};

// task(worker, number), in the default floating-point mode. Workers are numbered from 0, and never more than `limit`.
// When a task throws, no further task begins and the caller gets the exception; what other tasks wrote is undefined. A run
// inside a task, or on a pool that another thread uses, takes the calling thread alone.
template <class Task>
void run_tasks(Executor& executor, std::int64_t tasks, int limit, const Task& task) {
  TaskList(
      tasks,
      [](const void* self, int worker, std::int64_t number) {
        (*static_cast<const Task*>(self))(worker, number);
      },
      &task)
      .run(executor, limit);
}

// On the threads of a Context, which belongs to this thread meanwhile.
template <class Task>
void run_tasks(Context& ctx, std::int64_t tasks, int limit, const Task& task) {
  const CallScope scope(ctx);
  run_tasks(*ctx.executor(), tasks, limit, task);
}

class TaskRunner {
 public:
  explicit TaskRunner(Context& ctx) noexcept : ctx_(ctx) {}
  template <class Task>
  void run(std::int64_t tasks, int limit, const Task& task) const {
    run_tasks(ctx_, tasks, limit, task);
  }

 private:
  Context& ctx_;
};

}  // namespace headlight
