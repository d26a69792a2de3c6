// The colour scales, 0xrrggbb. Terminal, figures and page all use these tables.
#pragma once

#include <array>
#include <cstdint>

namespace headlight::draw {

using PackedTable = std::array<std::uint32_t, 256>;

extern const PackedTable kWeightLight, kWeightDark;  // 0 … 1: pale to navy, charcoal to yellow
extern const PackedTable kViridisLight, kViridisDark, kMagmaLight, kMagmaDark, kGreyLight, kGreyDark;
extern const PackedTable kSignedLight, kSignedDark;  // -1 … 1: blue to orange; entries 127 and 128 are zero

}  // namespace headlight::draw
