// Pages of one size for the items of a KvCache, shared between items that have the same tokens.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "headlight/tensor.h"

namespace headlight {

struct Page {
  std::byte* data = nullptr;
  Index users = 0;  // items that share it; written only if 1
};

// Memory is allocated in large pieces and kept until the end. Pages that will be filled use huge pages if the system has
// them. The system clears a huge page as a whole, which takes longer than writing a few keys, so pages that are expected to
// stay nearly empty use ordinary ones.
class PagePool {
 public:
  explicit PagePool(Index page_bytes) : page_bytes_(page_bytes) {}
  // After this, `count` calls of take() cannot fail. Throws Error{resource}.
  void reserve(Index count, bool filled);
  [[nodiscard]] Page* take() noexcept;
  void drop(Page* page) noexcept {
    if (--page->users == 0) free_.push_back(page);  // room for all was reserved
  }
  [[nodiscard]] Index in_use() const noexcept { return static_cast<Index>(pages_.size() - free_.size()); }

 private:
  struct Unmap {
    std::size_t bytes = 0;
    void operator()(std::byte* p) const noexcept;
  };
  using Piece = std::unique_ptr<std::byte, Unmap>;
  [[nodiscard]] static Piece map(std::size_t bytes, bool filled);

  Index page_bytes_;
  std::vector<Piece> pieces_;
  std::vector<std::unique_ptr<Page>> pages_;
  std::vector<Page*> free_;
};

}  // namespace headlight
