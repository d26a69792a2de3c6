#include "measure/memory.h"

#include <malloc.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "core/concat.h"
#include "headlight/attention.h"
#include "measure/workloads.h"

namespace headlight::measure {
namespace {

constexpr std::array<MemoryCase, 2> kCases = {{
    {.name = "memory_forward_16384", .length = 16384, .dim = 64, .limit_mb = 64},
    {.name = "memory_train_32768", .length = 32768, .dim = 64, .train = true, .limit_mb = 200},
}};

// Linux records the highest resident size and resets it on request.
bool forget_peak() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;
  return file.good();
}

double peak_mb() {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) * 1024e-6;
  }
  return 0;
}

}  // namespace

std::string MemoryCase::shape_text() const {
  return concat("B1 H1 L", length, " D", dim, " causal", train ? " forward+backward" : "");
}

std::span<const MemoryCase> memory_cases() { return kCases; }

PeakMemory::PeakMemory() {
#if defined(__GLIBC__)
  ::malloc_trim(0);  // memory freed by earlier work would hide new allocations
#endif
  told_ = forget_peak();
  before_ = peak_mb();
}

std::optional<double> PeakMemory::grown_mb() const {
  if (!told_ || before_ <= 0) return std::nullopt;
  return std::max(0.0, peak_mb() - before_);
}

MemoryResult measure_memory(const MemoryCase& what, int threads, SimdTarget target) {
  const PeakMemory peak;
  const Workload workload{
      .name = what.name, .length = what.length, .dim = what.dim, .causal = true, .train = what.train};
  {
    Context context({.threads = threads, .target = target});
    WorkloadData data(workload);
    attention_forward(context, data.q(), data.k(), data.v(), data.options(), data.outputs());
    if (what.train) attention_backward(context, data.saved(), data.dout(), data.options(), data.grads());
  }
  const double tensor = static_cast<double>(what.length * what.dim) * sizeof(float) * 1e-6,
               lse = static_cast<double>(what.length) * sizeof(float) * 1e-6;
  MemoryResult result{
      .what = what, .threads = threads, .tensors_mb = what.train ? 8 * tensor + lse : 4 * tensor};
  result.grown_mb = peak.grown_mb();
  return result;
}

}  // namespace headlight::measure
