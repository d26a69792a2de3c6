// The named workloads ("buckets") of `headlight bench`. Names and shapes are an interface:
// docs/performance.md, tools/bench_diff and the peers' programs use these names.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/attention.h"
#include "headlight/kv_cache.h"

namespace headlight::measure {

struct Workload {
  std::string_view name;
  Index batch = 1, heads = 1, kv_heads = 1, length = 1, dim = 1;
  bool causal = false;
  bool weights = false;                        // all weights returned
  bool train = false;                          // forward, then backward
  std::optional<KvType> cache = std::nullopt;  // one new query per item on a cache of this type
  bool mixed = false;                          // the items' lengths go from 100 to `length` in even steps
  DType dtype = DType::f32;                    // bf16: products of bf16 where the CPU has them
  bool tiny = false;           // overhead of a call: stated in microseconds, not as a share of a limit
  std::string_view step = {};  // description of a training step of train_steps.h or a run of model_runs.h
  // Runs of models: a shape of models/random_model.h, or "given" for the model whose path the options have.
  std::string_view model = {}, stored = {};
  enum class Part : std::uint8_t { prefill, decode, load, tokenize } part = Part::prefill;

  // Two products of 2 flop per multiply-add; softmax is not counted. Causal counts exactly half,
  // so computing scores that are then masked shows as a low rate. Backward counts 2.5 times forward.
  [[nodiscard]] double flops() const;
  // Keys and values that a decoding step must read once, in their stored type.
  [[nodiscard]] double cache_bytes() const;
  [[nodiscard]] Index item_length(Index item) const;
  [[nodiscard]] std::string shape_text() const;  // "B1 H32:8 L1024 D128 causal"
};

// In the order in which they run: short ones first.
[[nodiscard]] std::span<const Workload> workloads();
// Whole training steps; "train" names them all.
[[nodiscard]] std::span<const Workload> step_workloads();

// Whole models; "models" names them all. They only run if `--only` names them, because they take gigabytes.
[[nodiscard]] std::span<const Workload> model_workloads();

// The workloads named in `names`, in the order of workloads() and step_workloads(); all except the models if it is
// empty. Also accepts names of memory_cases(). Throws Error{usage} with all names if one is unknown.
[[nodiscard]] std::vector<Workload> select_workloads(std::span<const std::string> names);

// Inputs, outputs and options of one workload, filled with numbers similar to normal activations.
class WorkloadData {
 public:
  explicit WorkloadData(const Workload& workload);

  [[nodiscard]] const Workload& workload() const noexcept { return workload_; }
  [[nodiscard]] ConstTensorView q() const { return q_; }
  [[nodiscard]] ConstTensorView k() const { return k_; }
  [[nodiscard]] ConstTensorView v() const { return v_; }
  [[nodiscard]] AttentionOutputs outputs();
  [[nodiscard]] AttentionOptions options() const;
  [[nodiscard]] AttentionSaved saved() const { return {q_, k_, v_, out_, lse_}; }
  [[nodiscard]] ConstTensorView dout() const { return dout_; }
  [[nodiscard]] AttentionGrads grads() { return {dq_.view(), dk_.view(), dv_.view()}; }

 private:
  Workload workload_;
  Tensor q_, k_, v_, out_, weights_;
  Tensor lse_, dout_, dq_, dk_, dv_;  // training only
};

// A filled cache and the queries of one decoding step.
class DecodeData {
 public:
  DecodeData(const Workload& workload, const Context& context);

  [[nodiscard]] const Workload& workload() const noexcept { return workload_; }
  void step(Context& context) {
    attention_decode(context, q_, cache_, {.visible = Visibility::causal()}, out_);
  }

 private:
  Workload workload_;
  KvCache cache_;
  Tensor q_, out_;
};

// Fills an f32 tensor with a fixed, roughly normal sequence: the same numbers for the same seed on
// every machine, so that a peer's program can be given the same problem.
void fill_normal(TensorView tensor, std::uint64_t seed);

}  // namespace headlight::measure
