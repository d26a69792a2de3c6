#include "models/head.h"

#include <algorithm>
#include <cstring>

#include "core/call_scope.h"
#include "nn/drive.h"
#include "nn/matmul.h"
#include "nn/stored_product.h"

namespace headlight::models {
namespace {

// Bytes of logits that exist at a time.
constexpr Index kChunkBytes = Index{64} << 20;

// The rows of x with a target; x itself if all have one.
struct Counted {
  std::vector<Index> rows;
  std::vector<std::int32_t> targets;
  Tensor gathered;
  ConstTensorView x;

  Counted(const ConstTensorView& all, std::span<const std::int32_t> wanted) : x(all) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i] == kIgnored) continue;
      rows.push_back(static_cast<Index>(i));
      targets.push_back(wanted[i]);
    }
    if (everything()) return;
    gathered = Tensor::uninitialized({static_cast<Index>(rows.size()), all.dim(1)}, all.dtype());
    const std::size_t bytes = static_cast<std::size_t>(all.dim(1)) * size_of(all.dtype());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto* from =
          all.as<std::byte>() + rows[i] * all.stride(0) * static_cast<Index>(size_of(all.dtype()));
      std::memcpy(gathered.as<std::byte>() + i * bytes, from, bytes);
    }
    x = gathered;
  }
  [[nodiscard]] bool everything() const { return static_cast<Index>(rows.size()) == x.dim(0); }
  // Copies the rows back to their positions; the others are zero.
  [[nodiscard]] Tensor scattered(Tensor dx, Index total) const {
    if (gathered.empty()) return dx;
    Tensor all({total, dx.dim(1)}, dx.dtype());
    const std::size_t bytes = static_cast<std::size_t>(dx.dim(1)) * size_of(dx.dtype());
    for (std::size_t i = 0; i < rows.size(); ++i)
      std::memcpy(all.as<std::byte>() + static_cast<std::size_t>(rows[i]) * bytes,
                  dx.as<std::byte>() + i * bytes, bytes);
    return all;
  }
};

void scale(Context& ctx, double factor, Tensor& x) {
  nn::with_type(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto& kernels = kernels::element_kernels_for(ctx.target()).of<T>();
    kernels.scaled(static_cast<T>(factor), x.as<T>(), nullptr, x.as<T>(), x.shape().elements());
  });
}

void add(Loss& loss, const nn::CrossEntropy& part) {
  loss.sum += part.sum;
  loss.plain += part.plain;
  loss.targets += part.targets;
  loss.correct += part.correct;
}

}  // namespace

void make_grads(const Parameters& parameters) {
  for (Parameter* parameter : parameters) {
    if (!parameter->stored.empty()) {
      throw Error(ErrorKind::usage, "model.stored",
                  concat("\"", parameter->name,
                         "\" was loaded for inference; load the model with its own weights ", "to train it"));
    }
    if (parameter->trained) (void)nn::grad_of(*parameter);
  }
}

struct Head::Saved {
  Tensor wide, active;  // of the masked-token head
  nn::Norm::Saved norm;
};

Head::Head(const TransformerConfig& config) : config_(config) {
  const TransformerConfig& c = config_;
  if (c.head.absent) return;
  if (c.head.masked) {
    transform = nn::Linear(
        "head.transform",
        {.in = c.width, .out = c.table_width(), .bias = c.head.masked->bias, .weights = c.weights}, c.dtype);
    transform_norm = nn::Norm("head.norm", c.head.masked->norm, c.dtype);
  }
  if (c.head.narrowed)
    narrowing =
        nn::Linear("head.narrowing",
                   {.in = c.width, .out = c.table_width(), .bias = false, .weights = c.weights}, c.dtype);
  if (!c.head.tied)
    projection = nn::Linear("head.projection",
                            {.in = c.table_width(), .out = c.vocabulary, .bias = false, .weights = c.weights},
                            c.dtype);
  if (c.head.bias) bias = {"head.bias", Tensor({c.vocabulary}, c.dtype), {}, false};
  if (c.head.fixed_bias) bias = {"head.bias", Tensor({1, c.vocabulary}, c.dtype), {}, false, false};
}

const Parameter& Head::table(const nn::Embedding& embedding) const {
  return projection.empty() ? embedding.weight : projection.weight;
}

Index Head::chunk_rows() const {
  const Index bytes = config_.vocabulary * static_cast<Index>(size_of(config_.dtype));
  return std::max<Index>(64, kChunkBytes / bytes / 64 * 64);
}

// The right factor of the product with the table: x itself, or a new tensor.
Tensor Head::prepare(Context& ctx, ConstTensorView x, Saved* saved) const {
  if (!narrowing.empty()) {
    Tensor narrow = narrowing.forward(ctx, x);
    scale(ctx, config_.head.scale, narrow);
    return narrow;
  }
  if (transform.empty()) {
    Tensor copy = Tensor::uninitialized({x.dim(0), x.dim(1)}, x.dtype());
    const std::size_t bytes = static_cast<std::size_t>(x.dim(1)) * size_of(x.dtype());
    for (Index r = 0; r < x.dim(0); ++r)
      std::memcpy(copy.as<std::byte>() + static_cast<std::size_t>(r) * bytes,
                  x.as<std::byte>() + r * x.stride(0) * static_cast<Index>(size_of(x.dtype())), bytes);
    scale(ctx, config_.head.scale, copy);
    return copy;
  }
  Tensor wide = transform.forward(ctx, x);
  Tensor active = Tensor::uninitialized(wide.shape(), wide.dtype());
  nn::activate(ctx, config_.head.masked->activation, wide, active);
  Tensor y = transform_norm.forward(ctx, active, saved != nullptr ? &saved->norm : nullptr);
  if (saved != nullptr) saved->wide = std::move(wide), saved->active = std::move(active);
  return y;
}

void Head::project(Context& ctx, const nn::Embedding& embedding, ConstTensorView x, TensorView logits) const {
  ConstTensorView add = {};
  if (!bias.value.empty())
    add = ConstTensorView(bias.value.view().data(), config_.dtype, {config_.vocabulary});
  const StoredMatrix& stored = table(embedding).stored;
  if (!stored.empty()) {
    const nn::StoredFactor factor{stored, logits, add};
    return nn::multiply_stored(ctx, x, std::span(&factor, 1));
  }
  nn::multiply(
      ctx,
      {.a = x, .b = table(embedding).value, .c = logits, .b_form = nn::MatrixForm::transposed, .bias = add});
}

void Head::project_back(Context& ctx, nn::Embedding& embedding, ConstTensorView x, ConstTensorView dlogits,
                        TensorView dx) {
  Parameter& weight = projection.empty() ? embedding.weight : projection.weight;
  nn::multiply(ctx, {.a = dlogits, .b = weight.value, .c = dx});
  if (weight.trained)
    nn::multiply(ctx, {.a = dlogits,
                       .b = x,
                       .c = nn::grad_of(weight),
                       .a_form = nn::MatrixForm::transposed,
                       .accumulate = true});
  if (bias.value.empty() || !bias.trained) return;
  nn::with_type(dlogits.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto& kernels = kernels::element_kernels_for(ctx.target()).of<T>();
    const nn::BlockSums<T> sums(ctx, dlogits.dim(0), config_.vocabulary, 1);
    nn::for_row_blocks(ctx, dlogits.dim(0), config_.vocabulary, [&](Index block, Index first, Index rows) {
      sums.clear(block);
      kernels.sum_rows(dlogits.as<T>() + first * dlogits.stride(0), dlogits.stride(0), rows,
                       config_.vocabulary, sums.of(block, 0));
    });
    sums.finish(kernels, 0, nn::grad_of(bias).as<T>());
  });
}

Tensor Head::logits(Context& ctx, const nn::Embedding& embedding, ConstTensorView x) const {
  const CallScope scope(ctx);
  Tensor prepared;
  if (prepares()) {
    prepared = prepare(ctx, x, nullptr);
    x = prepared;
  }
  Tensor logits = Tensor::uninitialized({x.dim(0), config_.vocabulary}, config_.dtype);
  project(ctx, embedding, x, logits);
  if (config_.head.softcap > 0) {
    nn::with_type(config_.dtype, [&](auto zero) {
      using T = decltype(zero);
      kernels::row_kernels_for(ctx.target())
          .of<T>()
          .softcap(static_cast<T>(config_.head.softcap), logits.as<T>(), logits.shape().elements());
    });
  }
  return logits;
}

Loss Head::evaluate(Context& ctx, const nn::Embedding& embedding, ConstTensorView x,
                    std::span<const std::int32_t> targets) const {
  const CallScope scope(ctx);
  const Counted counted(x, targets);
  Tensor prepared;
  ConstTensorView input = counted.x;
  if (prepares()) {
    prepared = prepare(ctx, input, nullptr);
    input = prepared;
  }
  Loss loss;
  const Index rows = input.dim(0), chunk = chunk_rows();
  Tensor logits = Tensor::uninitialized({std::min(chunk, rows), config_.vocabulary}, config_.dtype);
  for (Index first = 0; first < rows; first += chunk) {
    const Index n = std::min(chunk, rows - first);
    const TensorView part = nn::rows_of(logits.view(), 0, n);
    project(ctx, embedding, nn::rows_of(input, first, n), part);
    add(loss,
        nn::cross_entropy(
            ctx, part,
            std::span(counted.targets).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(n)),
            {.softcap = config_.head.softcap, .ignored = kIgnored, .gradient = false}));
  }
  return loss;
}

Loss Head::learn(Context& ctx, nn::Embedding& embedding, ConstTensorView x,
                 std::span<const std::int32_t> targets, const LearnOptions& options, Tensor& dx) {
  const CallScope scope(ctx);
  const Counted counted(x, targets);
  Saved saved;
  Tensor prepared;
  ConstTensorView input = counted.x;
  if (prepares()) {
    prepared = prepare(ctx, input, &saved);
    input = prepared;
  }
  Loss loss;
  const Index rows = input.dim(0), chunk = chunk_rows();
  Tensor d = Tensor::uninitialized({rows, input.dim(1)}, config_.dtype);
  Tensor logits = Tensor::uninitialized({std::min(chunk, rows), config_.vocabulary}, config_.dtype);
  for (Index first = 0; first < rows; first += chunk) {
    const Index n = std::min(chunk, rows - first);
    const TensorView part = nn::rows_of(logits.view(), 0, n);
    const ConstTensorView from = nn::rows_of(input, first, n);
    project(ctx, embedding, from, part);
    add(loss,
        nn::cross_entropy(
            ctx, part,
            std::span(counted.targets).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(n)),
            {.scale = options.scale,
             .label_smoothing = options.label_smoothing,
             .softcap = config_.head.softcap,
             .ignored = kIgnored}));
    project_back(ctx, embedding, from, part, nn::rows_of(d.view(), first, n));
  }
  if (!transform.empty()) {
    transform_norm.backward(ctx, saved.active, saved.norm, d, d);
    nn::activate_backward(ctx, config_.head.masked->activation, saved.wide, d, d);
    d = transform.backward(ctx, counted.x, d);
  } else if (prepares()) {
    scale(ctx, config_.head.scale, d);
    if (!narrowing.empty()) d = narrowing.backward(ctx, counted.x, d);
  }
  dx = counted.scattered(std::move(d), x.dim(0));
  return loss;
}

void Head::collect(Parameters& list) {
  transform.collect(list);
  transform_norm.collect(list);
  narrowing.collect(list);
  projection.collect(list);
  if (!bias.value.empty()) list.push_back(&bias);
}

}  // namespace headlight::models
