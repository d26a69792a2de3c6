// Resources of a computation: threads, a SIMD target, and scratch memory that is reused between calls.
// A Context serves one thread at a time; threads that compute at the same time need one Context each, which may
// share their workers. Results do not depend on the number of threads.
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

// Precision of activations multiplied with quantised or 16-bit parameters (StoredMatrix).
//   exact    f32.
//   rounded  faster. Activations multiplied with Q8_0 are rounded to 16-bit integers, those multiplied with the other block
//            types of GGUF files to 8-bit integers, with a scale for each block of 32: errors of at most 2^-16 and 1/254 of
//            the largest number of the block. On a CPU with AMX, products of more than a few rows (prompts) keep 16
//            significant bits of 24 instead. Where a CPU lacks the instructions, products of many rows are exact.
enum class Activations { exact, rounded };
// Precision of the products of training: dense f32 layers, and attention on 16-bit inputs.
//   exact    f32; 16-bit inputs of attention are widened.
//   rounded  dense layers, on a CPU with AMX: both operands keep 16 significant bits of 24.
//   bf16     on a CPU that multiplies bf16 (AVX-512 or AMX): dense layers round both operands to bf16 (8 significant bits)
//            and sum in f32; attention on bf16 and f16 inputs, forward and backward, does the same with AVX-512 and keeps
//            its scores, log-sum-exps and returned weights in f32.
// Other CPUs compute exactly.
enum class Products { exact, rounded, bf16 };

// Provides the threads. By default a Context has its own pool; an application with its own threads (OpenMP, TBB, a
// server's pool) derives from this class. Results do not depend on the assignment of tasks to threads.
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
  // The work of one worker: takes tasks until none is left. Never throws.
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
  [[nodiscard]] virtual int threads() const noexcept = 0;  // workers that can run at once, at least 1
  // Calls work(n) for some or all n in 0 … workers - 1, each at most once, on any threads, concurrently or one after
  // another; returns when all have returned. The caller runs the remaining tasks. Contexts that share an Executor
  // call this from several threads at once.
  virtual void run(int workers, Work work) = 0;
};

struct ContextOptions {
  int threads = 0;  // 0: one per core available to this process, or all of `executor`
  SimdTarget target = SimdTarget::automatic;  // automatic: the best for this CPU
  Activations activations = Activations::exact;
  Products products = Products::exact;
  std::shared_ptr<Executor> executor = nullptr;  // null: a pool of `threads` threads, owned by this Context
  std::size_t scratch_limit = 0;                 // bytes; a call that needs more throws. 0: no limit
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

  // To share: Context other({.executor = context.executor()}). A call that finds a shared pool busy runs on its
  // own thread.
  [[nodiscard]] const std::shared_ptr<Executor>& executor() const noexcept { return executor_; }

  [[nodiscard]] std::size_t scratch_bytes() const noexcept;  // currently held
  void release_scratch();                                    // frees all of it; the next call allocates again

  // Internal.
  [[nodiscard]] TaskRunner pool() noexcept;
  // Page-aligned memory of one worker (or of all: kShared, kRows), valid until the next request of
  // the same slot. Throws Error{resource} when memory runs out or the limit is reached.
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
  std::atomic<const void*> user_{nullptr};  // the thread that is in a call
  std::uint64_t calls_ = 0;                 // number of calls: a slot remembers the last one that used it
};

// The Context of free functions without a Context argument: one per calling thread, all cores. They share one
// thread pool; a call that finds it busy runs on its own thread.
[[nodiscard]] Context& default_context();

}  // namespace headlight

#pragma GCC visibility pop
