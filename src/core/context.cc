#include "headlight/context.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <new>
#include <thread>

#include "core/concat.h"
#include "core/thread_pool.h"
#include "headlight/error.h"

namespace headlight {
namespace {

constexpr int kMaxThreads = 1024;

struct Name {
  SimdTarget target;
  std::string_view text;
};
constexpr std::array<Name, 6> kNames = {{{SimdTarget::automatic, "auto"},
                                         {SimdTarget::scalar, "scalar"},
                                         {SimdTarget::sse4, "sse4"},
                                         {SimdTarget::avx2, "avx2"},
                                         {SimdTarget::avx512, "avx512"},
                                         {SimdTarget::neon, "neon"}}};

bool cpu_has(SimdTarget target) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool sse4 = __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("sse4.2") &&
                    __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("aes");
  const bool avx2 = sse4 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512cd");
  switch (target) {
    case SimdTarget::sse4: return sse4;
    case SimdTarget::avx2: return avx2;
    case SimdTarget::avx512: return avx512;
    case SimdTarget::scalar: return true;
    default: return false;
  }
#elif defined(__aarch64__)
  return target == SimdTarget::neon;
#else
  return target == SimdTarget::scalar;
#endif
}

// Cores this process may use, which under taskset or in a container is less than the machine has.
int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace

std::string_view name_of(SimdTarget target) noexcept {
  for (const Name& name : kNames) {
    if (name.target == target) return name.text;
  }
  return "unknown";
}

SimdTarget parse_simd_target(std::string_view text) {
  for (const Name& name : kNames) {
    if (name.text == text) return name.target;
  }
  throw Error(
      ErrorKind::usage, "context.target",
      concat("SIMD target \"", text, "\" is unknown; targets are auto, scalar, sse4, avx2, avx512, neon"));
}

std::vector<SimdTarget> supported_targets() {
  std::vector<SimdTarget> found;
  for (const SimdTarget target :
       {SimdTarget::avx512, SimdTarget::avx2, SimdTarget::sse4, SimdTarget::neon, SimdTarget::scalar}) {
    if (cpu_has(target)) found.push_back(target);
  }
  return found;
}

struct Context::Slot {
  struct Free {
    void operator()(std::byte* p) const noexcept { std::free(p); }
  };
  std::unique_ptr<std::byte, Free> memory;
  std::size_t bytes = 0;
};

Context::Context(const ContextOptions& options)
    : threads_(options.threads),
      target_(options.target),
      activations_(options.activations),
      products_(options.products) {
  if (threads_ < 0 || threads_ > kMaxThreads) {
    throw Error(
        ErrorKind::usage, "context.threads",
        concat("Context: ", threads_, " threads; need 1 to ", kMaxThreads, ", or 0 for one per core"));
  }
  if (threads_ == 0) threads_ = usable_cores();
  if (target_ == SimdTarget::automatic) target_ = supported_targets().front();
  if (!cpu_has(target_)) {
    throw Error(ErrorKind::usage, "context.target",
                concat("Context: this CPU cannot run SIMD target ", name_of(target_), "; its best is ",
                       name_of(supported_targets().front())));
  }
  pool_ = ThreadPool::make(threads_);
  slots_.resize(static_cast<std::size_t>(threads_) + 2);
}

Context::Context(std::shared_ptr<ThreadPool> pool)
    : threads_(pool->threads()), target_(supported_targets().front()), pool_(std::move(pool)) {
  slots_.resize(static_cast<std::size_t>(threads_) + 2);
}

Context::~Context() = default;

std::byte* Context::scratch(int worker, std::size_t bytes) {
  Slot& slot = slots_[static_cast<std::size_t>(worker + 2)];
  if (slot.bytes < bytes) {
    slot.memory.reset();
    slot.bytes = 0;
    const std::size_t rounded = (bytes + 4095) / 4096 * 4096;
    if (rounded < bytes)
      throw Error(ErrorKind::resource, "context.memory", concat("scratch of ", bytes, " bytes"));
    slot.memory.reset(static_cast<std::byte*>(std::aligned_alloc(4096, rounded)));
    if (!slot.memory) {
      throw Error(ErrorKind::resource, "context.memory",
                  concat("attention: no memory for ", bytes, " bytes of scratch"));
    }
    slot.bytes = rounded;
  }
  return slot.memory.get();
}

std::size_t Context::scratch_bytes() const noexcept {
  std::size_t sum = 0;
  for (const Slot& slot : slots_) sum += slot.bytes;
  return sum;
}

Context& default_context() {
  static const auto shared = ThreadPool::make(usable_cores());
  thread_local Context context(shared);
  return context;
}

}  // namespace headlight
