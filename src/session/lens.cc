#include "headlight/lens.h"

#include "core/concat.h"
#include "inspect/predict.h"
#include "models/transformer.h"
#include "session/state.h"

namespace headlight {
namespace {

// One row of [token, width] as [1, width].
ConstTensorView row_of(ConstTensorView x, Index row) {
  const auto bytes = static_cast<std::size_t>(row * x.dim(1)) * size_of(x.dtype());
  return {static_cast<const std::byte*>(x.data()) + bytes, x.dtype(), {1, x.dim(1)}};
}

}  // namespace

std::vector<Prediction> logit_lens(const Run& run, Index position, Index count, Context& ctx,
                                   const Progress& progress) {
  const RunState& state = run.state();
  if (position < 0 || position >= run.positions())
    throw Error(ErrorKind::usage, "lens.position",
                concat("logit_lens: position ", position, " does not exist; the run has ", run.positions(),
                       " positions with logits"));
  const models::Transformer& model = *state.loaded().model;
  const Part part =
      state.input.runs_decoder() || !state.loaded().has(Part::encoder) ? Part::decoder : Part::encoder;
  const models::Stack& stack = model.stack(part);
  const session::RunContext own(state, ctx);
  std::vector<Prediction> out;
  for (Index layer = 0; layer < run.model().info().find(part)->layers(); ++layer) {
    progress.check();
    const session::StoredAttention* attention = state.find(part, layer);
    if (attention == nullptr || attention->x().empty())
      throw Error(ErrorKind::usage, "lens.inputs",
                  "logit_lens: the run did not keep the inputs of its layers; attend with keep_inputs");
    // The stream before the final norm is the input of that norm. Models with a norm after each sublayer have no such norm.
    const ConstTensorView stream = attention->event(own).stream;
    Tensor x = session::copy_of(row_of(stream.empty() ? attention->x() : stream, position));
    if (!stack.final_norm.empty()) x = stack.final_norm.forward(own, x);
    const Tensor logits = model.logits_of(own, x);
    out.push_back(inspect::predict({logits.as<float>(), static_cast<std::size_t>(logits.dim(1))}, count,
                                   state.actual_token(position)));
  }
  out.push_back(run.prediction(position, count, ctx));
  return out;
}

}  // namespace headlight
