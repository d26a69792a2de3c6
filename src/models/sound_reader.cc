#include "models/sound_reader.h"

#include <cmath>

#include "core/concat.h"
#include "headlight/error.h"
#include "nn/drive.h"
#include "nn/matmul.h"

namespace headlight::models {
namespace {

constexpr Index kTaps = 3;

// A convolution is a product: its kernels as a matrix [width, channel·3].
ConstTensorView matrix(const Tensor& kernels) {
  return {kernels.as<std::byte>(), kernels.dtype(), {kernels.dim(0), kernels.dim(1) * kernels.dim(2)}};
}

// The positions of the frames of several sequences: index (sequence, frame, channel).
template <class T>
struct Frames {
  const T* data;
  Index sequence, frame, channel;  // strides
};

// Row t of a sequence holds the inputs of the kernel around frame t·stride, by channel, with zeros beyond the ends.
template <class T, class From>
void unfold(const Frames<From>& in, Index sequences, Index frames, Index channels, Index stride, T* out) {
  for (Index s = 0; s < sequences; ++s)
    for (Index t = 0; t < frames; t += stride)
      for (Index c = 0; c < channels; ++c)
        for (Index tap = 0; tap < kTaps; ++tap) {
          const Index at = t + tap - 1;
          *out++ = at < 0 || at >= frames
                       ? T{0}
                       : static_cast<T>(in.data[s * in.sequence + at * in.frame + c * in.channel]);
        }
}

// The transpose: adds the gradient of each row to the frames that it was copied from. Both are [frame, channel] by rows.
template <class T>
void fold(const T* columns, Index sequences, Index frames, Index channels, Index stride, T* out) {
  for (Index s = 0; s < sequences; ++s)
    for (Index t = 0; t < frames; t += stride)
      for (Index c = 0; c < channels; ++c)
        for (Index tap = 0; tap < kTaps; ++tap, ++columns)
          if (const Index at = t + tap - 1; at >= 0 && at < frames)
            out[(s * frames + at) * channels + c] += *columns;
}

}  // namespace

SoundReader::SoundReader(const std::string& name, const SoundConfig& config, Index width, DType dtype)
    : config_(config) {
  Index channels = config.bands;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const std::string step = concat(name, ".convolution", i + 1);
    steps_[i].weight = {step + ".weight", Tensor({width, channels, kTaps}, dtype)};
    steps_[i].bias = {step + ".bias", Tensor({width}, dtype), {}, false};
    channels = width;
  }
}

void SoundReader::collect(Parameters& list) {
  for (Step& step : steps_)
    if (!step.weight.empty()) list.insert(list.end(), {&step.weight, &step.bias});
}

Tensor SoundReader::run(Context& ctx, const Step& step, Saved& saved) const {
  const Index rows = saved.columns.dim(0), width = step.bias.value.dim(0);
  saved.summed = Tensor::uninitialized({rows, width}, step.weight.value.dtype());
  nn::multiply(ctx, {.a = saved.columns,
                     .b = matrix(step.weight.value),
                     .c = saved.summed,
                     .b_form = nn::MatrixForm::transposed,
                     .bias = step.bias.value});
  Tensor y = Tensor::uninitialized({rows, width}, saved.summed.dtype());
  nn::activate(ctx, nn::Activation::gelu, saved.summed, y);
  return y;
}

Tensor SoundReader::forward(Context& ctx, ConstTensorView features, SavedBoth& saved) const {
  const Index frames = 2 * config_.positions;
  if (features.rank() != 3 || features.dim(1) != config_.bands || features.dim(2) != frames ||
      features.dtype() != DType::f32)
    throw Error(ErrorKind::usage, "model.sound",
                concat("sound features: got ", name_of(features.dtype()), " ", features.shape().text(),
                       "; need f32 [sequence, ", config_.bands, ", ", frames, "] (bands, then frames)"));
  const Index sequences = features.dim(0), width = steps_[0].bias.value.dim(0);
  const DType dtype = steps_[0].weight.value.dtype();
  Tensor x;
  nn::with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    saved[0].columns = Tensor::uninitialized({sequences * frames, config_.bands * kTaps}, dtype);
    unfold(Frames<float>{features.as<float>(), features.stride(0), features.stride(2), features.stride(1)},
           sequences, frames, config_.bands, 1, saved[0].columns.as<T>());
    x = run(ctx, steps_[0], saved[0]);
    saved[1].columns = Tensor::uninitialized({sequences * config_.positions, width * kTaps}, dtype);
    unfold(Frames<T>{x.as<T>(), frames * width, width, 1}, sequences, frames, width, 2,
           saved[1].columns.as<T>());
  });
  return run(ctx, steps_[1], saved[1]);
}

Tensor SoundReader::pull_back(Context& ctx, Step& step, const Saved& saved, Tensor dy, bool wants_input) {
  nn::activate_backward(ctx, nn::Activation::gelu, saved.summed, dy, dy, &step.bias);
  const TensorView grad = nn::grad_of(step.weight);
  const Shape flat{grad.dim(0), grad.dim(1) * grad.dim(2)};
  nn::multiply(ctx, {.a = dy,
                     .b = saved.columns,
                     .c = TensorView(grad.as<std::byte>(), grad.dtype(), flat),
                     .a_form = nn::MatrixForm::transposed,
                     .accumulate = true});
  if (!wants_input) return {};
  Tensor columns = Tensor::uninitialized(saved.columns.shape(), dy.dtype());
  nn::multiply(ctx, {.a = dy, .b = matrix(step.weight.value), .c = columns});
  return columns;
}

void SoundReader::backward(Context& ctx, const SavedBoth& saved, Tensor dx) {
  const Index rows = saved[0].columns.dim(0), frames = 2 * config_.positions, width = dx.dim(1);
  const Tensor columns = pull_back(ctx, steps_[1], saved[1], std::move(dx), true);
  Tensor inner({rows, width}, columns.dtype());
  nn::with_type(columns.dtype(), [&](auto zero) {
    using T = decltype(zero);
    fold(columns.as<T>(), rows / frames, frames, width, 2, inner.as<T>());
  });
  (void)pull_back(ctx, steps_[0], saved[0], std::move(inner), false);
}

}  // namespace headlight::models
