// Runs workloads and reports results as shares of the machine's limits.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "headlight/context.h"
#include "measure/memory.h"
#include "measure/workloads.h"

namespace headlight::measure {

struct BucketResult {
  Workload workload;
  int threads = 1;
  SimdTarget target = SimdTarget::automatic;
  // Fields that do not apply stay empty, and are null in the JSON.
  std::optional<double> ms = {}, us = {}, gflops = {}, gbs = {}, percent_of_limit = {}, ratio_to_unfused = {};
  std::optional<double> tokens_per_second = {};  // of models
};

struct BenchReport {
  std::map<int, double> peak_gflops, dram_gbs;  // by number of threads; the best of this run
  std::map<SimdTarget, std::map<int, double>>
      target_peaks;  // likewise, of each target; peak_gflops is that of the first
  std::vector<BucketResult> buckets;
  std::vector<MemoryResult> memory;  // on the largest number of threads
  std::string peak_loop;             // the instruction set that reached the peak
  std::string cblas;                 // BLAS library of the unfused path; empty: none found
  std::size_t dram_bytes = 0;        // size of the buffer that was read; 0: not enough memory
  std::vector<std::string> notes;    // measurements that failed, with the reason
};

struct BenchOptions {
  std::vector<Workload> workloads;
  std::vector<MemoryCase> memory;
  std::vector<int> threads;
  std::vector<SimdTarget> targets = {SimdTarget::automatic};  // each workload runs on all of them in turn
  std::string model = {}, text = {};  // for workloads of a given model: its path, and a text to tokenize
};

// Called before each bucket is measured.
struct BenchStep {
  std::string_view name;
  int threads;
  int number, count;  // number counts from 1
};

[[nodiscard]] BenchReport run_bench(const BenchOptions& options,
                                    const std::function<void(const BenchStep&)>& progress = {});

// {"peak_gflops": {"1": …}, "dram_gbs": {…}, "buckets": [{"name": …, "threads": …, …}], "memory": […]}
[[nodiscard]] std::string to_json(const BenchReport& report);

// The table as text: a line per bucket, then the lines on memory.
[[nodiscard]] std::string to_table(const BenchReport& report);

}  // namespace headlight::measure
