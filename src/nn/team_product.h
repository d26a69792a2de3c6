// Products with stored matrices that the processes of a team share.
#pragma once

#include <functional>
#include <span>

#include "headlight/team.h"
#include "nn/packed_product.h"

namespace headlight::nn {

using MultiplyHere = std::function<void(std::span<const Factor>)>;

// Each process multiplies some columns of every factor and sends the results to the others. An element of y is computed by
// one process, exactly as without a team, so bits do not depend on the number of processes. All processes compute small factors.
void multiply_in_team(Team& team, Index rows, Index depth, std::span<const Factor> factors,
                      const MultiplyHere& multiply);

// For those who divide products in another way.
[[nodiscard]] bool is_shared(const Team& team, const Factor& factor, Index depth);
[[nodiscard]] Range share_of(Index columns, int rank, int size);  // columns of a factor that a rank computes
[[nodiscard]] Factor part_of(const Factor& factor, Range columns);
// In this process, on the threads of ctx. In stored_product.cc.
void multiply_factors(Context& ctx, const ConstTensorView& x, std::span<const Factor> factors);
[[nodiscard]] kernels::StoredRows rows_of(const StoredMatrix& matrix);

}  // namespace headlight::nn
