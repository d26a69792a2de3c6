// Products with stored matrices that the processes of a team share.
#pragma once

#include <functional>
#include <span>

#include "headlight/team.h"
#include "nn/packed_product.h"

namespace headlight::nn {

using MultiplyHere = std::function<void(std::span<const Factor>)>;

// Each process multiplies some columns of every factor and hands them to the others. An element of y is computed by one
// process, as it would be alone: bits do not depend on how many there are. Small factors are computed by all.
void multiply_in_team(Team& team, Index rows, Index depth, std::span<const Factor> factors,
                      const MultiplyHere& multiply);

}  // namespace headlight::nn
