// The state behind the public handles Model and Run.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "headlight/run.h"
#include "inspect/model_run.h"
#include "inspect/recorder.h"
#include "inspect/sides.h"
#include "session/stored_attention.h"

namespace headlight {

struct ModelState {
  inspect::LoadedModel loaded;
  ModelInfo info;

  [[nodiscard]] Part usual_part() const { return loaded.usual_part(); }
};

struct RunState {
  explicit RunState(Model from) : model(std::move(from)) {}

  Model model;
  inspect::ModelInput input;
  TokenizedText source, target, decoder_input;
  std::vector<Part> parts;
  std::vector<std::unique_ptr<session::StoredAttention>> attentions;
  Tensor hidden;
  bool has_logits = false;
  SimdTarget simd = SimdTarget::automatic;
  Activations activations = Activations::exact;

  [[nodiscard]] const inspect::LoadedModel& loaded() const { return model.state().loaded; }
  // Null if it was not kept.
  [[nodiscard]] const session::StoredAttention* find(Part part, Index layer) const noexcept;
  // The token that follows a position (decoder), that is generated at it (encoder-decoder), or that is at
  // it (encoder). -1: unknown.
  [[nodiscard]] TokenId actual_token(Index position) const;
};

namespace session {

// The caller's Context, or one with the arithmetic of the run if the caller's differs: recomputed weights must have the
// bits that the model used.
class RunContext {
 public:
  RunContext(const RunState& run, Context& ctx);
  operator Context&() const { return own_ ? *own_ : given_; }  // NOLINT: implicit on purpose

 private:
  Context& given_;
  std::unique_ptr<Context> own_;
};

// Stops a run on cancellation and forwards all events to another observer.
class CancelObserver : public Observer {
 public:
  explicit CancelObserver(const Progress& progress, Observer* next = nullptr)
      : progress_(progress), next_(next) {}
  void on_attention(const AttentionEvent& event) override {
    progress_.check();
    if (next_ != nullptr) next_->on_attention(event);
  }
  void on_residual(const ResidualEvent& event) override {
    if (next_ != nullptr) next_->on_residual(event);
  }
  void on_experts(const ExpertsEvent& event) override {
    if (next_ != nullptr) next_->on_experts(event);
  }

 private:
  const Progress& progress_;
  Observer* next_;
};

// The tokenized prompt; translates if a translation is needed and not given.
enum class Needs : std::uint8_t { source, target };
[[nodiscard]] inspect::ModelInput input_of(Context& ctx, const ModelState& model, const Prompt& prompt,
                                           Needs needs, const DrawOptions& draw, const Progress& progress);

// attend() for a tokenized prompt.
[[nodiscard]] Run attend_tokens(Context& ctx, const Model& model, inspect::ModelInput input,
                                const AttendOptions& options);

[[nodiscard]] TokenizedText tokenized(const inspect::EncodedText& encoded);
[[nodiscard]] inspect::EncodedText encoded_text(const TokenizedText& text);

// Throw Error{usage} that lists the parts, layers and heads of the run or the model.
void check_part(const Run& run, Part part);
[[nodiscard]] const StoredAttention& attention_of(const Run& run, const Head& head);
void check_head(const ModelInfo& info, const Head& head);
[[nodiscard]] Part part_of(const Run& run, const std::optional<Part>& asked);

// Calls an observer with one layer of a kept run, or with all layers of a part.
void replay(const Run& run, Part part, Index layer, Observer& observer, Context& ctx);
void replay(const Run& run, Part part, Observer& observer, std::string_view what, const Progress& progress,
            Context& ctx);

}  // namespace session
}  // namespace headlight
