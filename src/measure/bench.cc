#include "measure/bench.h"

#include <algorithm>
#include <limits>
#include <memory>

#include "core/concat.h"
#include "headlight/attention.h"
#include "measure/cblas.h"
#include "measure/limits.h"
#include "measure/machine.h"
#include "measure/timing.h"
#include "measure/train_steps.h"
#include "measure/unfused.h"

namespace headlight::measure {
namespace {

class Bench {
 public:
  explicit Bench(const BenchOptions& options) : options_(options), blas_(Cblas::load()) {
    for (const int threads : options.threads) {
      contexts_[threads] =
          std::make_unique<Context>(ContextOptions{.threads = threads, .target = options.target});
    }
    if (blas_) report_.cblas = blas_->name();
  }

  BenchReport run(const std::function<void(const BenchStep&)>& progress) {
    const int count =
        static_cast<int>(options_.workloads.size() * options_.threads.size() + options_.memory.size());
    int number = 0;
    // Memory first: nothing else has taken and returned any yet.
    for (const MemoryCase& what : options_.memory) {
      if (progress) progress({what.name, options_.threads.back(), ++number, count});
      report_.memory.push_back(measure_memory(what, options_.threads.back(), options_.target));
      if (!report_.memory.back().grown_mb)
        report_.notes.push_back(concat(what.name, ": this system does not tell a process its peak memory"));
    }
    if (options_.workloads.empty()) return std::move(report_);
    measure_bandwidth();
    for (const Workload& workload : options_.workloads) {
      const auto with_each = [&](auto& data) {
        for (const int threads : options_.threads) {
          if (progress) progress({workload.name, threads, ++number, count});
          report_.buckets.push_back(measure(data, threads));
        }
      };
      if (!workload.step.empty()) {
        memory_.reset();
        StepData data{workload, make_train_step(workload.name)};
        with_each(data);
      } else if (workload.cache) {
        DecodeData data(workload, *contexts_.begin()->second);
        with_each(data);
      } else {
        memory_.reset();
        WorkloadData data(workload);
        with_each(data);
      }
    }
    state_shares();
    return std::move(report_);
  }

 private:
  void measure_bandwidth() {
    memory_ = std::make_unique<ReadBandwidth>();
    const ReadBandwidth& memory = *memory_;
    report_.dram_bytes = memory.bytes();
    for (const int threads : options_.threads) sample_bandwidth(threads);
    if (memory.bytes() < ReadBandwidth::kWanted) {
      report_.notes.push_back(concat("memory is short: bandwidth was measured on ", memory.bytes() >> 20,
                                     " MB instead of ", ReadBandwidth::kWanted >> 20, " MB"));
    }
  }

  void sample_bandwidth(int threads) {
    if (!memory_) memory_ = std::make_unique<ReadBandwidth>();
    double& best = report_.dram_gbs[threads];
    best = std::max(best, memory_->measure(threads));
  }

  // The clock of a shared machine wanders, so the peak is sampled around every bucket; shares are of
  // the best sample of the run.
  void sample_peak(int threads) {
    const PeakSample sample = fma_peak(threads);
    double& best = report_.peak_gflops[threads];
    if (sample.gflops <= best) return;
    best = sample.gflops;
    report_.peak_loop = sample.loop;
  }

  BucketResult measure(WorkloadData& data, int threads) {
    const Workload& workload = data.workload();
    BucketResult result{.workload = workload, .threads = threads};
    Context& context = *contexts_.at(threads);
    const AttentionOptions options = data.options();
    const AttentionOutputs outputs = data.outputs();
    sample_peak(threads);
    const Timing fused = time_call([&] {
      attention_forward(context, data.q(), data.k(), data.v(), options, outputs);
      if (workload.train) attention_backward(context, data.saved(), data.dout(), options, data.grads());
    });
    sample_peak(threads);
    if (workload.tiny) {
      result.us = fused.best * 1e6;
    } else {
      result.ms = fused.best * 1e3;
      result.gflops = workload.flops() / fused.best * 1e-9;
    }
    if (const auto unfused = time_unfused(data, threads)) result.ratio_to_unfused = *unfused / fused.best;
    return result;
  }

  // Decoding is reading: the limit is memory, sampled around the bucket and between its runs.
  BucketResult measure(DecodeData& data, int threads) {
    BucketResult result{.workload = data.workload(), .threads = threads};
    Context& context = *contexts_.at(threads);
    sample_peak(threads);
    double best = std::numeric_limits<double>::infinity();
    for (int round = 0; round < 4; ++round) {
      sample_bandwidth(threads);
      best = std::min(best, time_call([&] { data.step(context); }, {.min_runs = 7, .min_seconds = 0.2}).best);
    }
    sample_bandwidth(threads);
    result.ms = best * 1e3;
    result.gbs = data.workload().cache_bytes() / best * 1e-9;
    return result;
  }

  // A step makes the same tensors every time around: after the first it takes no memory from the system.
  struct StepData {
    const Workload& workload;
    std::unique_ptr<TrainStep> step;
    TensorRecycler recycler = {};
  };
  BucketResult measure(StepData& data, int threads) {
    BucketResult result{.workload = data.workload, .threads = threads};
    Context& context = *contexts_.at(threads);
    sample_peak(threads);
    data.step->run(context);
    const std::size_t before = TensorRecycler::allocations();
    const Timing timing = time_call([&] { data.step->run(context); }, {.min_runs = 5});
    sample_peak(threads);
    result.ms = timing.best * 1e3;
    result.gflops = data.step->flops() / timing.best * 1e-9;
    report_.notes.push_back(concat(
        data.workload.name, ", ", threads,
        threads == 1 ? " thread: " : " threads: ", static_cast<Index>(data.step->tokens() / timing.best),
        " tokens/s, ", TensorRecycler::allocations() - before, " tensors taken from the system while timed"));
    return result;
  }

  std::optional<double> time_unfused(WorkloadData& data, int threads) {
    if (!blas_ || data.workload().train) return std::nullopt;  // no unfused backward to compare with
    const Workload& workload = data.workload();
    Unfused unfused(*blas_, threads,
                    Unfused::faster_split(workload.batch * workload.heads, workload.flops(), threads));
    const std::size_t needed = unfused.scratch_bytes(workload.length, workload.length);
    if (const std::size_t free = available_memory(); free > 0 && needed > free / 2) {
      report_.notes.push_back(concat(workload.name, ", ", threads, " threads: the unfused path needs ",
                                     needed >> 20, " MB for its scores, too much for this machine"));
      return std::nullopt;
    }
    const AttentionOutputs outputs = data.outputs();
    const Timing timing = time_call(
        [&] { unfused.forward(data.q(), data.k(), data.v(), workload.causal, outputs.out, outputs.weights); },
        {.min_runs = 5, .min_seconds = 0.3});
    return timing.best;
  }

  void state_shares() {
    for (BucketResult& bucket : report_.buckets) {
      const double peak = report_.peak_gflops[bucket.threads], gbs = report_.dram_gbs[bucket.threads];
      if (bucket.gflops && peak > 0) bucket.percent_of_limit = *bucket.gflops / peak * 100;
      if (bucket.gbs && gbs > 0) bucket.percent_of_limit = *bucket.gbs / gbs * 100;
    }
  }

  const BenchOptions& options_;
  std::unique_ptr<Cblas> blas_;
  std::unique_ptr<ReadBandwidth> memory_;
  std::map<int, std::unique_ptr<Context>> contexts_;
  BenchReport report_;
};

}  // namespace

BenchReport run_bench(const BenchOptions& options, const std::function<void(const BenchStep&)>& progress) {
  return Bench(options).run(progress);
}

}  // namespace headlight::measure
