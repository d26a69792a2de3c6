// Where tensors get their memory: the system, or what a TensorRecycler of this thread has kept.
#pragma once

#include <cstddef>

namespace headlight {

[[nodiscard]] std::byte* take_memory(std::size_t bytes) noexcept;  // null when there is none
void give_memory(std::byte* memory, std::size_t bytes) noexcept;

}  // namespace headlight
