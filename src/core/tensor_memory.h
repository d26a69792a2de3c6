// Where tensors get their memory: the system, or what a TensorRecycler of this thread has kept.
#pragma once

#include <cstddef>

namespace headlight {

// At least `bytes`, which becomes how many there are: give_memory() wants the same number. Null: there is none.
[[nodiscard]] std::byte* take_memory(std::size_t& bytes) noexcept;
[[nodiscard]] std::size_t kept_memory() noexcept;  // bytes that wait for this thread to use them again
void give_memory(std::byte* memory, std::size_t bytes) noexcept;

// While one lives, tensors that this thread makes are not zeroed: for models whose parameters are read from
// files right afterwards, or never.
class UntouchedTensors {
 public:
  UntouchedTensors() noexcept;
  ~UntouchedTensors();
  UntouchedTensors(const UntouchedTensors&) = delete;
  UntouchedTensors& operator=(const UntouchedTensors&) = delete;
  [[nodiscard]] static bool wanted() noexcept;  // does one live?
};

}  // namespace headlight
