#include "attention/page_pool.h"

#include <sys/mman.h>

#include "core/concat.h"
#include "headlight/error.h"

namespace headlight {
namespace {

constexpr std::size_t kLargePage = std::size_t{2} << 20;
constexpr Index kPieceBytes = Index{32} << 20;

template <class T>
constexpr T round_up(T n, T to) {
  return (n + to - 1) / to * to;
}

}  // namespace

void PagePool::Unmap::operator()(std::byte* p) const noexcept { ::munmap(p, bytes); }

PagePool::Piece PagePool::map(std::size_t bytes, bool filled) {
  // Without MAP_NORESERVE: memory that the system cannot promise is refused here, not when it is written.
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw Error(ErrorKind::resource, "kv_cache.memory",
                concat("KvCache: no memory for ", bytes, " bytes of pages"));
  }
#ifdef MADV_HUGEPAGE
  // Advice to the kernel: requests huge pages, or declines them where the system uses them for all memory.
  (void)::madvise(memory, bytes, filled ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
#endif
  return {static_cast<std::byte*>(memory), Unmap{bytes}};
}

void PagePool::reserve(Index count, bool filled) {
  const Index missing = count - static_cast<Index>(free_.size());
  if (missing <= 0) return;
  // Pieces double up to a limit, and begin on a large page.
  const Index extra = std::min<Index>(static_cast<Index>(pages_.size()), kPieceBytes / page_bytes_);
  const auto wanted = static_cast<std::size_t>(std::max(missing, extra) * page_bytes_);
  const std::size_t bytes = round_up(wanted, kLargePage);
  Piece piece = map(bytes + kLargePage, filled);
  const auto start = reinterpret_cast<std::uintptr_t>(piece.get());
  std::byte* data = piece.get() + (round_up(start, static_cast<std::uintptr_t>(kLargePage)) - start);
  const std::size_t pages = bytes / static_cast<std::size_t>(page_bytes_);
  std::vector<std::unique_ptr<Page>> fresh;
  for (std::size_t i = 0; i < pages; ++i) {
    fresh.push_back(std::make_unique<Page>(Page{data + i * static_cast<std::size_t>(page_bytes_), 0}));
  }
  pieces_.reserve(pieces_.size() + 1);
  pages_.reserve(pages_.size() + pages);
  free_.reserve(pages_.capacity());
  pieces_.push_back(std::move(piece));
  for (std::size_t i = pages; i-- > 0;) free_.push_back(fresh[i].get());  // lowest address first
  for (std::unique_ptr<Page>& page : fresh) pages_.push_back(std::move(page));
}

Page* PagePool::take() noexcept {
  Page* page = free_.back();
  free_.pop_back();
  page->users = 1;
  return page;
}

}  // namespace headlight
