// Guided attention: a loss on the weights of one encoder head for tokens with a known target, like guided alignment for
// cross-attention (Chen et al. 2016).
#pragma once

#include <span>

#include "headlight/nn.h"
#include "models/trainable.h"
#include "models/transformer_config.h"

namespace headlight::models {

// Throws Error{usage} unless the model is an encoder-decoder of the 2017 form that has this head: its scores must be products
// of queries and keys alone.
void check_guide(const TransformerConfig& config, const Guide& guide);

struct Guiding {
  Guide guide;
  std::span<const Link> links;
  double factor = 0;  // the gradients are those of loss·factor
  double loss = 0;    // is written: the sum of -log(weights of a link's keys)
};

// The part of one layer: adds to the gradients of its query and key projections, and to dx, the gradient of the
// input of the layer.
void learn_links(Context& ctx, nn::MultiHeadAttention& attention, const nn::MultiHeadAttention::Saved& saved,
                 ConstTensorView x, std::span<const Index> starts, Guiding& guiding, TensorView dx);

}  // namespace headlight::models
