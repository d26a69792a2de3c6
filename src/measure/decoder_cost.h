// The sizes of a model that determine what it costs on several processes.
#pragma once

#include "measure/cluster_cost.h"
#include "models/transformer.h"

namespace headlight::measure {

[[nodiscard]] DecoderCost decoder_cost(models::Transformer& model);

}  // namespace headlight::measure
