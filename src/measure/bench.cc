#include "measure/bench.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <tuple>

#include "core/concat.h"
#include "headlight/attention.h"
#include "measure/cblas.h"
#include "measure/limits.h"
#include "measure/machine.h"
#include "measure/model_runs.h"
#include "measure/timing.h"
#include "measure/train_steps.h"
#include "measure/unfused.h"

namespace headlight::measure {
namespace {

class Bench {
 public:
  explicit Bench(const BenchOptions& options) : options_(options), blas_(Cblas::load()) {
    if (blas_) report_.cblas = blas_->name();
  }

  BenchReport run(const std::function<void(const BenchStep&)>& progress) {
    const int count =
        static_cast<int>(options_.workloads.size() * options_.threads.size() * options_.targets.size() +
                         options_.memory.size());
    int number = 0;
    // Measures memory first, before anything has allocated and freed memory.
    for (const MemoryCase& what : options_.memory) {
      if (progress) progress({what.name, options_.threads.back(), ++number, count});
      report_.memory.push_back(measure_memory(what, options_.threads.back(), options_.targets.front()));
      if (!report_.memory.back().grown_mb)
        report_.notes.push_back(concat(what.name, ": this system does not report peak memory"));
    }
    if (options_.workloads.empty()) return std::move(report_);
    measure_bandwidth();
    for (const Workload& workload : options_.workloads) {
      for (const SimdTarget target : options_.targets) {
        target_ = target;
        run_workload(workload, [&](int threads) {
          if (progress) progress({workload.name, threads, ++number, count});
        });
      }
    }
    state_shares();
    return std::move(report_);
  }

 private:
  // On the current target, with each number of threads.
  template <class Before>
  void run_workload(const Workload& workload, const Before& before) {
    const auto with_each = [&](auto& data) {
      for (const int threads : options_.threads) {
        before(threads);
        report_.buckets.push_back(measure(data, threads));
        report_.buckets.back().target = target_;
      }
    };
    if (!workload.model.empty()) {
      if (options_.targets.size() > 1) model_.reset();  // its cache depends on the target
      ModelData data{workload, model_of(workload)};
      if (data.workload.model == "given" && !can_run(workload)) return;
      with_each(data);
    } else if (!workload.step.empty()) {
      memory_.reset();
      StepData data{workload, make_train_step(workload.name)};
      with_each(data);
    } else if (workload.cache) {
      DecodeData data(workload, context_of(options_.threads.front()));
      with_each(data);
    } else {
      memory_.reset();
      WorkloadData data(workload);
      with_each(data);
    }
  }

  Context& context_of(int threads, Products products = Products::exact) {
    std::unique_ptr<Context>& context = contexts_[{target_, threads, products}];
    if (!context)
      context = std::make_unique<Context>(ContextOptions{
          .threads = threads, .target = target_, .activations = Activations::rounded, .products = products});
    return *context;
  }

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

  // The clock rate of a shared machine varies, so the peak is sampled around every bucket; shares are relative to
  // the best sample of the run.
  void sample_peak(int threads) {
    const PeakSample sample = fma_peak(threads, 5, 0.01, target_);
    double& best = report_.target_peaks[target_][threads];
    if (sample.gflops <= best) return;
    best = sample.gflops;
    report_.peak_loop = sample.loop;
  }

  BucketResult measure(WorkloadData& data, int threads) {
    const Workload& workload = data.workload();
    BucketResult result{.workload = workload, .threads = threads};
    Context& context = context_of(threads, workload.dtype == DType::f32 ? Products::exact : Products::bf16);
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

  // Decoding mostly reads memory, so the limit is the bandwidth, sampled around the bucket and between its runs.
  BucketResult measure(DecodeData& data, int threads) {
    BucketResult result{.workload = data.workload(), .threads = threads};
    Context& context = context_of(threads);
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

  // Each step creates tensors of the same sizes: after the first, none needs memory from the system.
  struct StepData {
    const Workload& workload;
    std::unique_ptr<TrainStep> step;
    TensorRecycler recycler = {};
  };
  BucketResult measure(StepData& data, int threads) {
    BucketResult result{.workload = data.workload, .threads = threads};
    Context& context = context_of(threads);
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
        " tokens/s, ", TensorRecycler::allocations() - before, " tensors allocated while timed"));
    return result;
  }

  // Consecutive workloads share one model; two would not fit into small machines.
  ModelRun* model_of(const Workload& workload) {
    const std::string name = concat(workload.model, " ", workload.stored);
    const bool runs = workload.part == Workload::Part::prefill || workload.part == Workload::Part::decode;
    if (!runs || (workload.model == "given" && options_.model.empty())) return nullptr;
    if (model_ && model_name_ == name) return model_.get();
    model_.reset();
    memory_.reset();
    model_ = workload.model == "given" ? load_model_run(options_.model)
                                       : make_model_run(workload.model, workload.stored);
    model_name_ = name;
    return model_.get();
  }
  bool can_run(const Workload& workload) {
    const bool text = workload.part != Workload::Part::tokenize || !options_.text.empty();
    if (!options_.model.empty() && text) return true;
    report_.notes.push_back(concat(workload.name, ": not run; it needs ",
                                   options_.model.empty() ? "--model PATH" : "--text FILE"));
    return false;
  }

  struct ModelData {
    const Workload& workload;
    ModelRun* model;
    TensorRecycler recycler = {};
  };
  BucketResult measure(ModelData& data, int threads) {
    BucketResult result{.workload = data.workload, .threads = threads};
    Context& context = context_of(threads);
    switch (data.workload.part) {
      case Workload::Part::prefill: measure_prefill(*data.model, context, result); break;
      case Workload::Part::decode: measure_decode(*data.model, context, result); break;
      case Workload::Part::load: {
        double best = std::numeric_limits<double>::infinity();
        for (int run = 0; run < 3; ++run) best = std::min(best, time_to_first_token(context, options_.model));
        result.ms = best * 1e3;
        break;
      }
      case Workload::Part::tokenize: {
        const double rate = tokenize_rate(options_.model, options_.text);
        result.ms = static_cast<double>(options_.text.size()) / rate * 1e3;
        result.gbs = rate * 1e-9;
        report_.notes.push_back(concat(data.workload.name, ": ", rate * 1e-6, " MB/s of ",
                                       options_.text.size() >> 10, " KB, on one thread"));
      }
    }
    return result;
  }
  void measure_prefill(ModelRun& model, Context& context, BucketResult& result) {
    double best = std::numeric_limits<double>::infinity(), total = 0;
    for (int run = 0; run < 2 || (total < 2 && run < 50); ++run) {
      if (run < 4) sample_peak(result.threads);
      const double seconds = model.prefill(context);
      best = std::min(best, seconds);
      total += seconds;
    }
    sample_peak(result.threads);
    result.ms = best * 1e3;
    result.gflops = model.flops() / best * 1e-9;
    result.tokens_per_second = static_cast<double>(model.length()) / best;
  }
  // The mean over contexts of the best step for each.
  void measure_decode(ModelRun& model, Context& context, BucketResult& result) {
    double seconds = 0, bytes = 0;
    const Index last = model.length() - 1;
    const Index contexts[] = {std::min<Index>(32, last), last / 2, last};
    for (const Index length : contexts) {
      double best = std::numeric_limits<double>::infinity(), total = 0;
      for (int run = 0; run < 4 || (total < 0.3 && run < 200); ++run) {
        if (run < 16 && run % 4 == 0) sample_bandwidth(result.threads);
        const double once = model.decode(context, length);
        best = std::min(best, once);
        total += once;
      }
      seconds += best / 3;
      bytes += model.bytes(length) / 3;
    }
    result.ms = seconds * 1e3;
    result.gbs = bytes / seconds * 1e-9;
    result.tokens_per_second = 1 / seconds;
  }

  std::optional<double> time_unfused(WorkloadData& data, int threads) {
    if (!blas_ || data.workload().train || data.workload().dtype != DType::f32)
      return std::nullopt;  // no unfused backward pass to compare with, and no 16-bit BLAS
    const Workload& workload = data.workload();
    Unfused unfused(*blas_, threads,
                    Unfused::faster_split(workload.batch * workload.heads, workload.flops(), threads));
    const std::size_t needed = unfused.scratch_bytes(workload.length, workload.length);
    if (const std::size_t free = available_memory(); free > 0 && needed > free / 2) {
      report_.notes.push_back(concat(workload.name, ", ", threads, " threads: the unfused path needs ",
                                     needed >> 20,
                                     " MB for its scores, more than half of the free memory; not measured"));
      return std::nullopt;
    }
    const AttentionOutputs outputs = data.outputs();
    const Timing timing = time_call(
        [&] { unfused.forward(data.q(), data.k(), data.v(), workload.causal, outputs.out, outputs.weights); },
        {.min_runs = 5, .min_seconds = 0.3});
    return timing.best;
  }

  void state_shares() {
    report_.peak_gflops = report_.target_peaks[options_.targets.front()];
    for (BucketResult& bucket : report_.buckets) {
      const double peak = report_.target_peaks[bucket.target][bucket.threads],
                   gbs = report_.dram_gbs[bucket.threads];
      if (bucket.gflops && peak > 0) bucket.percent_of_limit = *bucket.gflops / peak * 100;
      const bool reads = bucket.workload.part != Workload::Part::tokenize;
      if (bucket.gbs && gbs > 0 && reads) bucket.percent_of_limit = *bucket.gbs / gbs * 100;
    }
  }

  const BenchOptions& options_;
  std::unique_ptr<Cblas> blas_;
  std::unique_ptr<ReadBandwidth> memory_;
  std::unique_ptr<ModelRun> model_;
  std::string model_name_;
  SimdTarget target_ = SimdTarget::automatic;  // of the bucket being measured
  std::map<std::tuple<SimdTarget, int, Products>, std::unique_ptr<Context>> contexts_;
  BenchReport report_;
};

}  // namespace

BenchReport run_bench(const BenchOptions& options, const std::function<void(const BenchStep&)>& progress) {
  return Bench(options).run(progress);
}

}  // namespace headlight::measure
