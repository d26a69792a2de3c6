#include "headlight/context.h"

#include <algorithm>
#include <cstdlib>

#include "core/call_scope.h"
#include "core/concat.h"
#include "core/cpu.h"
#include "core/run_tasks.h"
#include "core/thread_pool.h"
#include "headlight/error.h"

namespace headlight {
namespace {

constexpr int kMaxThreads = 1024;

// Its address identifies the thread.
thread_local char this_thread_is = 0;

int threads_of(const ContextOptions& options) {
  const auto refuse = [](const std::string& found) {
    throw Error(ErrorKind::usage, "context.threads",
                concat("Context: ", found, "; need 1 to ", kMaxThreads, ", or 0 for one per core"));
  };
  if (options.threads < 0 || options.threads > kMaxThreads) refuse(concat(options.threads, " threads"));
  if (options.executor == nullptr) return options.threads == 0 ? usable_cores() : options.threads;
  const int there = options.executor->threads();
  if (there < 1) refuse(concat("an executor of ", there, " threads"));
  return std::min({options.threads == 0 ? there : options.threads, there, kMaxThreads});
}

}  // namespace

struct Context::Slot {
  struct Free {
    void operator()(std::byte* p) const noexcept { std::free(p); }
  };
  std::unique_ptr<std::byte, Free> memory;
  std::size_t bytes = 0;
  std::uint64_t call = 0;  // the call that requested it last

  void release() noexcept {
    memory.reset();
    bytes = 0;
  }
};

Context::Context(const ContextOptions& options)
    : threads_(threads_of(options)),
      target_(options.target),
      activations_(options.activations),
      products_(options.products),
      executor_(options.executor),
      scratch_limit_(options.scratch_limit) {
  if (target_ == SimdTarget::automatic) target_ = supported_targets().front();
  if (!can_run(cpu_features(), target_)) {
    throw Error(ErrorKind::usage, "context.target",
                concat("Context: this CPU cannot run SIMD target ", name_of(target_), "; its best is ",
                       name_of(supported_targets().front())));
  }
  if (executor_ == nullptr) executor_ = ThreadPool::make(threads_);
  slots_.resize(static_cast<std::size_t>(threads_) + 2);
}

Context::~Context() = default;

TaskRunner Context::pool() noexcept { return TaskRunner(*this); }

std::byte* Context::scratch(int worker, std::size_t bytes) {
  // Outside a call, nothing prevents a second thread from requesting the same memory.
  if (user_.load(std::memory_order_relaxed) == nullptr)
    throw Error(ErrorKind::usage, "context.scratch", "Context: scratch memory is requested outside a call");
  Slot& slot = slots_[static_cast<std::size_t>(worker + 2)];
  if (slot.bytes < bytes) grow(slot, bytes);
  slot.call = calls_;
  return slot.memory.get();
}

void Context::grow(Slot& slot, std::size_t bytes) {
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorKind::resource, "context.memory",
                concat("Context: no memory for ", bytes, " bytes of scratch", why));
  };
  slot.release();
  const std::size_t rounded = (bytes + 4095) / 4096 * 4096;
  if (rounded < bytes) refuse("");
  const auto fits = [&] { return scratch_limit_ == 0 || rounded <= scratch_limit_ - scratch_bytes(); };
  if (!fits()) {  // memory of earlier calls is freed first
    for (Slot& other : slots_)
      if (other.call != calls_) other.release();
  }
  if (!fits()) {
    refuse(concat(": this call holds ", scratch_bytes(), " already, and the limit is ", scratch_limit_,
                  "; raise ContextOptions::scratch_limit, or use fewer threads"));
  }
  slot.memory.reset(static_cast<std::byte*>(std::aligned_alloc(4096, rounded)));
  if (!slot.memory) refuse("");
  slot.bytes = rounded;
}

std::size_t Context::scratch_bytes() const noexcept {
  std::size_t sum = 0;
  for (const Slot& slot : slots_) sum += slot.bytes;
  return sum;
}

void Context::release_scratch() {
  const CallScope scope(*this);
  if (!scope.outermost())
    throw Error(ErrorKind::usage, "context.busy", "Context: scratch cannot be released during a call");
  for (Slot& slot : slots_) slot.release();
}

bool CallScope::enter(Context& ctx) {
  const void* const me = &this_thread_is;
  if (ctx.user_.load(std::memory_order_relaxed) == me) return false;
  const void* nobody = nullptr;
  if (!ctx.user_.compare_exchange_strong(nobody, me, std::memory_order_acquire)) {
    throw Error(ErrorKind::usage, "context.busy",
                "Context: another thread is using it; give each thread its own Context\n"
                "  They can share their threads: Context mine({.executor = other.executor()}).");
  }
  ++ctx.calls_;
  return true;
}

Context& default_context() {
  static const auto shared = ThreadPool::make(usable_cores());
  thread_local Context context({.executor = shared});
  return context;
}

}  // namespace headlight
