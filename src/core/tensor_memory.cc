#include "core/tensor_memory.h"

#include <cstdlib>
#include <unordered_map>
#include <vector>

#include "headlight/tensor.h"

namespace headlight {

struct TensorRecycler::Shelves {
  std::unordered_map<std::size_t, std::vector<std::byte*>> by_size;
  ~Shelves() {
    for (auto& [bytes, shelf] : by_size)
      for (std::byte* memory : shelf) std::free(memory);
  }
};

namespace {
thread_local TensorRecycler::Shelves* shelves_in_use = nullptr;
thread_local std::size_t system_allocations = 0;
}  // namespace

TensorRecycler::TensorRecycler() : outer_(shelves_in_use), shelves_(std::make_unique<Shelves>()) {
  shelves_in_use = shelves_.get();
}
TensorRecycler::~TensorRecycler() { shelves_in_use = outer_; }
std::size_t TensorRecycler::allocations() noexcept { return system_allocations; }

std::byte* take_memory(std::size_t bytes) noexcept {
  if (shelves_in_use != nullptr) {
    const auto shelf = shelves_in_use->by_size.find(bytes);
    if (shelf != shelves_in_use->by_size.end() && !shelf->second.empty()) {
      std::byte* memory = shelf->second.back();
      shelf->second.pop_back();
      return memory;
    }
  }
  ++system_allocations;
  return static_cast<std::byte*>(std::aligned_alloc(64, bytes));
}

void give_memory(std::byte* memory, std::size_t bytes) noexcept {
  if (shelves_in_use != nullptr) {
    try {
      shelves_in_use->by_size[bytes].push_back(memory);
      return;
    } catch (...) {  // no room for the note that there is room: give it back
    }
  }
  std::free(memory);
}

}  // namespace headlight
