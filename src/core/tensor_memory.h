// Where tensors get their memory: the system, or what a TensorRecycler of this thread has kept.
#pragma once

#include <cstddef>

namespace headlight {

// At least `bytes`, which becomes how many there are: give_memory() wants the same number. Null: there is none.
[[nodiscard]] std::byte* take_memory(std::size_t& bytes) noexcept;
[[nodiscard]] std::size_t kept_memory() noexcept;  // bytes that wait for this thread to use them again
void give_memory(std::byte* memory, std::size_t bytes) noexcept;

}  // namespace headlight
