// The kernels of one SIMD target. A Context picks its table once; two Contexts may differ.
#pragma once

#include "headlight/context.h"
#include "kernels/attention_tile.h"
#include "kernels/backward_tile.h"
#include "kernels/elementwise.h"
#include "kernels/row_kernels.h"

namespace headlight::kernels {

// The target must be one that supported_targets() lists.
[[nodiscard]] const KernelTable& kernels_for(SimdTarget target);
[[nodiscard]] const BackwardTable& backward_kernels_for(SimdTarget target);
[[nodiscard]] const ElementTable& element_kernels_for(SimdTarget target);
[[nodiscard]] const RowTable& row_kernels_for(SimdTarget target);

}  // namespace headlight::kernels
