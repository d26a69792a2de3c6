#include "core/tensor_memory.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <vector>

#include "headlight/tensor.h"

namespace headlight {

struct TensorRecycler::Shelves {
  std::map<std::size_t, std::vector<std::byte*>> by_size;
  ~Shelves() {
    for (auto& [bytes, shelf] : by_size)
      for (std::byte* memory : shelf) std::free(memory);
  }
};

namespace {
thread_local TensorRecycler::Shelves* shelves_in_use = nullptr;
thread_local std::size_t system_allocations = 0;

// Rounded up to one of eight sizes between two powers of two. Batches of sentences are never of the same
// length twice: without this, every step would find its sizes missing and leave its own behind.
std::size_t shelf_size(std::size_t bytes) noexcept {
  constexpr std::size_t kSmallest = 4096;
  if (bytes <= kSmallest) return bytes;
  const auto grain = std::bit_width(bytes - 1) - 4;  // as a power of two
  return (((bytes - 1) >> grain) + 1) << grain;
}

}  // namespace

TensorRecycler::TensorRecycler() : outer_(shelves_in_use), shelves_(std::make_unique<Shelves>()) {
  shelves_in_use = shelves_.get();
}
TensorRecycler::~TensorRecycler() { shelves_in_use = outer_; }
std::size_t TensorRecycler::allocations() noexcept { return system_allocations; }
std::size_t kept_memory() noexcept {
  std::size_t total = 0;
  if (shelves_in_use != nullptr)
    for (const auto& [bytes, shelf] : shelves_in_use->by_size) total += bytes * shelf.size();
  return total;
}

namespace {
thread_local int untouched = 0;
}
UntouchedTensors::UntouchedTensors() noexcept { ++untouched; }
UntouchedTensors::~UntouchedTensors() { --untouched; }
bool UntouchedTensors::wanted() noexcept { return untouched > 0; }

namespace {
// Large pieces ask for large pages: half the time that memory takes can be the search for small ones.
std::byte* take_pages(std::size_t bytes) noexcept {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  constexpr std::size_t kLargePage = std::size_t{2} << 20;
  if (bytes >= kLargePage && bytes <= SIZE_MAX / 2) {
    void* memory = std::aligned_alloc(kLargePage, (bytes + kLargePage - 1) / kLargePage * kLargePage);
    if (memory != nullptr) (void)::madvise(memory, bytes / kLargePage * kLargePage, MADV_HUGEPAGE);
    return static_cast<std::byte*>(memory);
  }
#endif
  return static_cast<std::byte*>(std::aligned_alloc(64, bytes));
}
}  // namespace

std::byte* take_memory(std::size_t& bytes) noexcept {
  bytes = shelf_size(bytes);
  if (shelves_in_use != nullptr) {
    // Rather a piece of up to twice the size than another piece: what is kept stays near what is needed.
    auto& by_size = shelves_in_use->by_size;
    for (auto shelf = by_size.lower_bound(bytes); shelf != by_size.end() && shelf->first / 2 <= bytes;
         ++shelf) {
      if (shelf->second.empty()) continue;
      std::byte* memory = shelf->second.back();
      shelf->second.pop_back();
      bytes = shelf->first;
      return memory;
    }
    // None is large enough. One that is only a little too small is given back for it: sizes that creep up must not
    // leave a trail.
    for (auto shelf = by_size.lower_bound(bytes); shelf != by_size.begin();) {
      --shelf;
      if (shelf->first < bytes / 2) break;
      if (shelf->second.empty()) continue;
      std::free(shelf->second.back());
      shelf->second.pop_back();
      break;
    }
  }
  ++system_allocations;
  return take_pages(bytes);
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
