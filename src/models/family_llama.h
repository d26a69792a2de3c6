// What families that descend from Llama share.
#pragma once

#include "models/families.h"

namespace headlight::models {

[[nodiscard]] TransformerConfig read_llama(const io::Json& json);

}  // namespace headlight::models
