// Heads zeroed, scaled, or patched with their output for another sentence, and single links cut.
#pragma once

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "headlight/effects.h"
#include "headlight/trace.h"
#include "inspect/recorder.h"

namespace headlight::inspect {

using headlight::Change;
using headlight::name_of;
using headlight::TokenLink;

// Head outputs z of one run: [token, head, dim] for each layer of each part.
using HeadOutputs = std::map<std::pair<Part, int>, Tensor>;

// Records the first sequence's z of every layer, without changing the run.
class OutputRecorder : public Intervention {
 public:
  void on_heads(const AttentionEvent& event, TensorView z) override;
  [[nodiscard]] HeadOutputs& outputs() noexcept { return outputs_; }

 private:
  HeadOutputs outputs_;
};

// Averages z over all tokens of all observed runs: [1, head, dim] for each layer. Does not change the runs.
class OutputMeans : public Intervention {
 public:
  void on_heads(const AttentionEvent& event, TensorView z) override;
  [[nodiscard]] HeadOutputs means() const;
  [[nodiscard]] Index tokens(Part part) const;

 private:
  struct Sum {
    std::vector<double> values;
    Index heads = 0, dim = 0, tokens = 0;
  };
  std::map<std::pair<Part, int>, Sum> sums_;
};

struct ChangePlan {
  Change change = Change::zero;
  Part part = Part::decoder;
  std::vector<HeadPlace> heads = {};
  double factor = 1;                     // of scale
  const HeadOutputs* outputs = nullptr;  // for mean and patch; must outlive the plan
  std::vector<Range> queries = {};       // only at these tokens; empty: at all
  std::vector<TokenLink> links = {};     // to cut
};

// Applies the plan to every sequence of a run. Tokens for which a patch has no output are left unchanged.
class Ablation : public Intervention {
 public:
  // Throws Error{usage} if the plan is incomplete.
  explicit Ablation(ChangePlan plan);
  [[nodiscard]] ConstTensorView mask(const AttentionPlace& place) override;
  void on_heads(const AttentionEvent& event, TensorView z) override;
  [[nodiscard]] bool reads_keys() const override { return plan_.change == Change::cut_weight; }
  [[nodiscard]] const ChangePlan& plan() const noexcept { return plan_; }

 private:
  [[nodiscard]] bool concerns(Index position) const;
  void change_row(const AttentionEvent& event, Index head, Index token, TensorView z) const;
  void cut_weights(const AttentionEvent& event, Index head, TensorView z) const;

  ChangePlan plan_;
  Tensor mask_;
};

// All heads of a part, by layer, then by head.
[[nodiscard]] std::vector<HeadPlace> all_heads(Index layers, Index heads);

}  // namespace headlight::inspect
