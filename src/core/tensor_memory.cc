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

struct TensorRecycler::FreeLists {
  std::map<std::size_t, std::vector<std::byte*>> by_size;
  ~FreeLists() {
    for (auto& [bytes, list] : by_size)
      for (std::byte* memory : list) std::free(memory);
  }
};

namespace {
thread_local TensorRecycler::FreeLists* lists_in_use = nullptr;
thread_local std::size_t system_allocations = 0;

// Rounded up to one of eight sizes between two powers of two. Two batches of sentences rarely have the same
// length: with exact sizes, every step would allocate new memory and keep its own.
std::size_t rounded_size(std::size_t bytes) noexcept {
  constexpr std::size_t kSmallest = 4096;
  if (bytes <= kSmallest) return bytes;
  const auto grain = std::bit_width(bytes - 1) - 4;  // as a power of two
  return (((bytes - 1) >> grain) + 1) << grain;
}

}  // namespace

TensorRecycler::TensorRecycler() : outer_(lists_in_use), lists_(std::make_unique<FreeLists>()) {
  lists_in_use = lists_.get();
}
TensorRecycler::~TensorRecycler() { lists_in_use = outer_; }
std::size_t TensorRecycler::allocations() noexcept { return system_allocations; }
std::size_t kept_memory() noexcept {
  std::size_t total = 0;
  if (lists_in_use != nullptr)
    for (const auto& [bytes, list] : lists_in_use->by_size) total += bytes * list.size();
  return total;
}

namespace {
thread_local int untouched = 0;
}
UntouchedTensors::UntouchedTensors() noexcept { ++untouched; }
UntouchedTensors::~UntouchedTensors() { --untouched; }
bool UntouchedTensors::wanted() noexcept { return untouched > 0; }

namespace {
// Large allocations request huge pages: looking up small pages can take half of the time of a memory access.
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
  bytes = rounded_size(bytes);
  if (lists_in_use != nullptr) {
    // Reuse a piece of up to twice the size rather than allocate another: the memory kept stays close to the memory needed.
    auto& by_size = lists_in_use->by_size;
    for (auto list = by_size.lower_bound(bytes); list != by_size.end() && list->first / 2 <= bytes; ++list) {
      if (list->second.empty()) continue;
      std::byte* memory = list->second.back();
      list->second.pop_back();
      bytes = list->first;
      return memory;
    }
    // None is large enough. Free one that is slightly too small: otherwise slowly growing sizes would leave unused pieces
    // behind.
    for (auto list = by_size.lower_bound(bytes); list != by_size.begin();) {
      --list;
      if (list->first < bytes / 2) break;
      if (list->second.empty()) continue;
      std::free(list->second.back());
      list->second.pop_back();
      break;
    }
  }
  ++system_allocations;
  return take_pages(bytes);
}

void give_memory(std::byte* memory, std::size_t bytes) noexcept {
  if (lists_in_use != nullptr) {
    try {
      lists_in_use->by_size[bytes].push_back(memory);
      return;
    } catch (...) {  // no memory to extend the list: free the piece
    }
  }
  std::free(memory);
}

}  // namespace headlight
