// What a computation runs on: how many threads, which SIMD target, and the scratch memory it reuses
// from call to call. Two threads that compute at the same time use two Contexts. Results do not
// depend on the number of threads.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

namespace headlight {
class ThreadPool;  // src/core/thread_pool.h; not exported
}

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

struct ContextOptions {
  int threads = 0;                            // 0: one per core that this process may use
  SimdTarget target = SimdTarget::automatic;  // automatic: the best this CPU has
  Activations activations = Activations::exact;
  Products products = Products::exact;
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

  // For the library's own drivers.
  [[nodiscard]] ThreadPool& pool() const noexcept { return *pool_; }
  // Page-aligned memory of one worker (or of all: kShared, kRows), kept until the next request of
  // the same slot. Throws Error{resource} when the machine has no more.
  static constexpr int kShared = -1, kRows = -2;
  [[nodiscard]] std::byte* scratch(int worker, std::size_t bytes);
  [[nodiscard]] std::size_t scratch_bytes() const noexcept;  // held now, over all slots

 private:
  explicit Context(std::shared_ptr<ThreadPool> pool);
  friend Context& default_context();

  struct [[gnu::visibility("hidden")]] Slot;
  int threads_;
  SimdTarget target_;
  Activations activations_ = Activations::exact;
  Products products_ = Products::exact;
  std::shared_ptr<ThreadPool> pool_;
  std::vector<Slot> slots_;
};

// The Context of the free functions that take none: one per calling thread, all cores. They share one
// pool of threads; a call that finds it busy computes on its own thread.
[[nodiscard]] Context& default_context();

}  // namespace headlight

#pragma GCC visibility pop
