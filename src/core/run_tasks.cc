#include "core/run_tasks.h"

#include <algorithm>

#include "core/concat.h"
#include "core/float_mode.h"
#include "headlight/error.h"

namespace headlight {
namespace {

// Set while this thread runs a task: a nested run must not wait for the workers it is one of.
thread_local bool inside_task = false;

}  // namespace

void TaskList::run(Executor& executor, int limit) {
  const DefaultFloatMode float_mode;
  workers_ = static_cast<int>(std::min<std::int64_t>(tasks_, std::min(limit, executor.threads())));
  if (workers_ <= 1 || inside_task) {
    for (std::int64_t n = 0; n < tasks_; ++n) call_(self_, 0, n);
    return;
  }
  executor.run(workers_,
               {[](void* list, int worker) noexcept { static_cast<TaskList*>(list)->take(worker); }, this});
  take(0);  // what the executor's workers have left
  if (error_) std::rethrow_exception(error_);
}

void TaskList::take(int worker) noexcept {
  const DefaultFloatMode float_mode;
  const bool outer = inside_task;
  inside_task = true;
  try {
    if (worker < 0 || worker >= workers_) {
      throw Error(ErrorKind::usage, "context.executor",
                  concat("Executor::run was asked for workers 0 to ", workers_ - 1, " and called work(",
                         worker, ")"));
    }
    for (std::int64_t n; (n = next_.fetch_add(1, std::memory_order_relaxed)) < tasks_;) {
      call_(self_, worker, n);
    }
  } catch (...) {
    // The first one is kept; the executor publishes it to the caller when all workers are back.
    if (!failed_.exchange(true)) error_ = std::current_exception();
    next_.store(tasks_, std::memory_order_relaxed);
  }
  inside_task = outer;
}

}  // namespace headlight
