// What a computation runs on: threads, a SIMD target, and the scratch memory that is reused from call to
// call. A Context serves one thread at a time; two threads that compute at once use two Contexts, which may
// share their threads. Results do not depend on the number of threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace headlight {
class CallScope;   // src/core/call_scope.h, not exported
class TaskRunner;  // src/core/run_tasks.h, not exported
}  // namespace headlight

#pragma GCC visibility push(default)

namespace headlight {

enum class SimdTarget { automatic, scalar, sse4, avx2, avx512, neon };

[[nodiscard]] std::string_view name_of(SimdTarget target) noexcept;  // "avx2"
[[nodiscard]] SimdTarget parse_simd_target(std::string_view name);   // throws Error
[[nodiscard]] std::vector<SimdTarget> supported_targets();           // on this CPU, best first

// What meets weights that are stored in fewer than 32 bits. Rounded: where the CPU has a matrix unit, many rows are
// multiplied there, with 16 bits of significand in place of 24; else rows beside blocks of 8 bits are rounded to 16 bits,
// with a factor for each block of 32, off by 2^-16 of the block's largest number. Both are faster, and finer than the weights.
enum class Activations { exact, rounded };
// Dense products of f32, which are most of a training step. Rounded: where the CPU has a matrix unit, both sides have 16
// bits of significand in place of 24. bf16: where the CPU multiplies bf16, both sides are rounded to it, 8 bits; sums are
// f32. On a CPU that has neither they are exact.
enum class Products { exact, rounded, bf16 };

// Where the threads come from. Without one a Context has a pool of its own; a program that has threads already (OpenMP,
// TBB, a server's pool) derives from this. Results do not depend on which thread does what.
//
//   class OpenMp : public headlight::Executor {
//     int threads() const noexcept override { return omp_get_max_threads(); }
//     void run(int workers, Work work) override {
//       #pragma omp parallel num_threads(workers)
//       work(omp_get_thread_num());
//     }
//   };
class Executor {
 public:
  // What each worker does: takes tasks until none is left. Never throws.
  class Work {
   public:
    using Call = void (*)(void* state, int worker) noexcept;
    Work(Call call, void* state) noexcept : call_(call), state_(state) {}
    void operator()(int worker) const noexcept { call_(state_, worker); }

   private:
    Call call_;
    void* state_;
  };

  virtual ~Executor() = default;
  [[nodiscard]] virtual int threads() const noexcept = 0;  // workers that can run at the same time, 1 or more
  // Calls work(n) for some or all n in 0 … workers - 1, each number at most once, on any threads, at the same time or in
  // turn; returns when all of them have returned. Tasks that nobody took are done by the caller. Contexts that share an
  // Executor call this from several threads at once.
  virtual void run(int workers, Work work) = 0;
};

struct ContextOptions {
  int threads = 0;  // 0: one per core that this process may use, or all of `executor`
  SimdTarget target = SimdTarget::automatic;  // automatic: the best this CPU has
  Activations activations = Activations::exact;
  Products products = Products::exact;
  std::shared_ptr<Executor> executor = nullptr;  // null: a pool of `threads` threads of this Context's own
  std::size_t scratch_limit = 0;                 // bytes; a call that needs more is refused. 0: none
};

class Context {
 public:
  explicit Context(const ContextOptions& options = {});
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  [[nodiscard]] int threads() const noexcept { return threads_; }
  [[nodiscard]] SimdTarget target() const noexcept { return target_; }
  [[nodiscard]] Activations activations() const noexcept { return activations_; }
  [[nodiscard]] Products products() const noexcept { return products_; }

  // To share: Context other({.executor = context.executor()}). A call that finds a shared pool busy computes on its
  // own thread.
  [[nodiscard]] const std::shared_ptr<Executor>& executor() const noexcept { return executor_; }

  [[nodiscard]] std::size_t scratch_bytes() const noexcept;  // held now
  void release_scratch();                                    // gives all of it back; the next call asks again

  // For the library's own drivers.
  [[nodiscard]] TaskRunner pool() noexcept;
  // Page-aligned memory of one worker (or of all: kShared, kRows), kept until the next request of
  // the same slot. Throws Error{resource} when the machine has no more, or the limit is reached.
  static constexpr int kShared = -1, kRows = -2;
  [[nodiscard]] std::byte* scratch(int worker, std::size_t bytes);

 private:
  friend class CallScope;  // src/core/call_scope.h

  struct [[gnu::visibility("hidden")]] Slot;
  void grow(Slot& slot, std::size_t bytes);

  int threads_;
  SimdTarget target_;
  Activations activations_ = Activations::exact;
  Products products_ = Products::exact;
  std::shared_ptr<Executor> executor_;
  std::size_t scratch_limit_ = 0;
  std::vector<Slot> slots_;
  std::atomic<const void*> user_{nullptr};  // the thread that is inside a call
  std::uint64_t calls_ = 0;                 // how many there were: a slot knows the last one that used it
};

// The Context of the free functions that take none: one per calling thread, all cores. They share one
// pool of threads; a call that finds it busy computes on its own thread.
[[nodiscard]] Context& default_context();

}  // namespace headlight

#pragma GCC visibility pop
