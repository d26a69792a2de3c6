// The first layers of a speech model (Whisper): two convolutions over frames of audio features, each followed by a
// GELU. The first returns one row per frame, the second one per two frames.
#pragma once

#include "headlight/nn.h"
#include "models/transformer_config.h"

namespace headlight::models {

class SoundReader {
 public:
  struct Saved {
    Tensor columns,
        summed;  // of one convolution: the inputs of its kernel, and its output before the GELU
  };
  using SavedBoth = std::array<Saved, 2>;

  SoundReader() = default;
  SoundReader(const std::string& name, const SoundConfig& config, Index width, DType dtype);
  [[nodiscard]] bool empty() const { return steps_[0].weight.empty(); }
  void collect(Parameters& list);

  // [sequence, band, frame] to [position, width], sequences end to end. Throws Error{usage} for another shape.
  [[nodiscard]] Tensor forward(Context& ctx, ConstTensorView features, SavedBoth& saved) const;
  // Overwrites dx.
  void backward(Context& ctx, const SavedBoth& saved, Tensor dx);

 private:
  struct Step {
    Parameter weight, bias;  // [width, channel, 3], [width]
  };
  [[nodiscard]] Tensor run(Context& ctx, const Step& step, Saved& saved) const;
  Tensor pull_back(Context& ctx, Step& step, const Saved& saved, Tensor dy, bool wants_input);

  SoundConfig config_;
  std::array<Step, 2> steps_;
};

}  // namespace headlight::models
