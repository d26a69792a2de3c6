// Memory of tensors: from the system, or from the free lists of a TensorRecycler of this thread.
#pragma once

#include <cstddef>

namespace headlight {

// At least `bytes`, which is set to the actual size; pass that to give_memory(). Null: out of memory.
[[nodiscard]] std::byte* take_memory(std::size_t& bytes) noexcept;
[[nodiscard]] std::size_t kept_memory() noexcept;  // bytes in the free lists of this thread
void give_memory(std::byte* memory, std::size_t bytes) noexcept;

// While one exists, tensors that this thread creates are not zeroed: for models whose parameters are read from files
// immediately afterwards, or never.
class UntouchedTensors {
 public:
  UntouchedTensors() noexcept;
  ~UntouchedTensors();
  UntouchedTensors(const UntouchedTensors&) = delete;
  UntouchedTensors& operator=(const UntouchedTensors&) = delete;
  [[nodiscard]] static bool wanted() noexcept;  // whether one exists
};

}  // namespace headlight
