// Limits of this machine: f32 multiply-adds in registers, and memory bandwidth. A benchmark
// states its results as a share of these, measured in the same run, because machines differ and the
// clock rate of one machine varies from minute to minute.
#pragma once

#include <cstddef>
#include <memory>

#include "headlight/context.h"

namespace headlight::measure {

struct PeakSample {
  double gflops = 0;
  const char* loop = "";  // the instruction set of the best loop: "avx512", "avx2", "sse2", …
};

// Best of `samples` short register-only loops on `threads` threads at once; each sample lasts about
// `seconds`. For a target: its own vectors, and for AVX-512 also those of AVX2, as the widest are not always the
// fastest. Automatic: the best of the CPU.
[[nodiscard]] PeakSample fma_peak(int threads, int samples = 5, double seconds = 0.01,
                                  SimdTarget target = SimdTarget::automatic);

// A buffer, much larger than the caches, that is read repeatedly.
class ReadBandwidth {
 public:
  static constexpr std::size_t kWanted = std::size_t{512} << 20;

  // Allocates less than `wanted` if memory is short: see bytes().
  explicit ReadBandwidth(std::size_t wanted = kWanted);
  ~ReadBandwidth();
  ReadBandwidth(const ReadBandwidth&) = delete;
  ReadBandwidth& operator=(const ReadBandwidth&) = delete;

  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }  // 0: not enough memory
  // GB/s, best of `passes` over the whole buffer; 0 when there is no buffer.
  [[nodiscard]] double measure(int threads, int passes = 7) const;

 private:
  struct Free {
    void operator()(std::byte* p) const noexcept;
  };
  std::unique_ptr<std::byte, Free> data_;
  std::size_t bytes_ = 0;
};

}  // namespace headlight::measure
