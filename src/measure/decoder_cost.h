// The sizes of a model that determine what it costs on several processes.
#pragma once

#include "measure/cluster_cost.h"
#include "models/transformer.h"

namespace headlight::measure {

// With matrices of as many bytes a number; 0: as they are stored.
[[nodiscard]] DecoderCost decoder_cost(models::Transformer& model, double bytes_per_number = 0);

}  // namespace headlight::measure
