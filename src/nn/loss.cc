#include <vector>

#include "headlight/nn.h"
#include "nn/drive.h"

namespace headlight::nn {
namespace {

void check_targets(const ConstTensorView& logits, std::span<const std::int32_t> targets,
                   const CrossEntropyOptions& options) {
  check_matrix("cross_entropy", "logits", logits, logits.dtype(), logits.dim(1),
               static_cast<Index>(targets.size()));
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (targets[i] != options.ignored && (targets[i] < 0 || targets[i] >= logits.dim(1))) {
      throw Error(ErrorKind::input, "nn.target",
                  concat("cross_entropy: target ", i, " is ", targets[i], "; need a class below ",
                         logits.dim(1), " or ", options.ignored, " for none"));
    }
  }
  if (!(options.label_smoothing >= 0 && options.label_smoothing < 1)) {
    throw Error(ErrorKind::usage, "nn.smoothing",
                concat("cross_entropy: label smoothing of ", options.label_smoothing,
                       "; need at least 0 and below 1"));
  }
}

}  // namespace

CrossEntropy cross_entropy(Context& ctx, TensorView logits, std::span<const std::int32_t> targets,
                           const CrossEntropyOptions& options) {
  const CallScope scope(ctx);
  check_targets(logits, targets, options);
  const Index rows = logits.dim(0), classes = logits.dim(1);
  // A loss per row, added in order.
  std::vector<kernels::LossValue> values(static_cast<std::size_t>(rows));
  with_type(logits.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto& kernels = kernels::row_kernels_for(ctx.target()).of<T>();
    run_tasks(ctx, rows, rows * classes < kSerialElements ? 1 : ctx.threads(), [&](int, Index r) {
      T* row = logits.as<T>() + r * logits.stride(0);
      const std::int32_t target = targets[static_cast<std::size_t>(r)];
      if (target == options.ignored) {
        if (options.gradient) std::memset(row, 0, sizeof(T) * static_cast<std::size_t>(classes));
        return;
      }
      values[static_cast<std::size_t>(r)] =
          kernels.loss({row, classes, target, static_cast<T>(options.label_smoothing),
                        static_cast<T>(options.softcap), static_cast<T>(options.scale), options.gradient});
    });
  });
  CrossEntropy total;
  for (Index r = 0; r < rows; ++r) {
    if (targets[static_cast<std::size_t>(r)] == options.ignored) continue;
    const kernels::LossValue& value = values[static_cast<std::size_t>(r)];
    total.sum += value.smoothed;
    total.plain += value.plain;
    total.targets += 1;
    total.correct += value.correct ? 1 : 0;
  }
  return total;
}

}  // namespace headlight::nn
