// Inputs and results of one attention call, recorded for one query of one head.
#pragma once

#include <optional>

#include "headlight/attention.h"
#include "headlight/head_steps.h"
#include "headlight/trace.h"

namespace headlight::inspect {

class AttentionProbe : public Observer {
 public:
  explicit AttentionProbe(const StepsRequest& request) : request_(request) {}

  void on_attention(const AttentionEvent& event) override;

  bool found = false;
  Tensor x, memory, stream;
  AttentionOptions options;  // after the run, only its numbers are valid: its views dangle
  Index keys = 0, position = 0;
  Range seen;
  double slope = 0;
  std::optional<double> sink;
  Numbers bias, kernel, exact;

 private:
  void reference(const AttentionEvent& event, Index head, Index kv, Index dim);

  StepsRequest request_;
};

}  // namespace headlight::inspect
