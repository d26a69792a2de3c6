#include "text/word_cache.h"

namespace headlight::text {
namespace {

constexpr std::size_t kSlots = std::size_t{1} << 17, kMostEntries = kSlots / 2;
constexpr std::size_t kMostBytes = std::size_t{4} << 20;  // of words, and as many of tokens
constexpr std::size_t kMostIdle = 16;

}  // namespace

WordCache::WordCache() : slots_(kSlots) {}

void WordCache::clear() {
  slots_.assign(kSlots, 0);
  entries_.clear();
  keys_.clear();
  pieces_.clear();
}

std::span<const Piece> WordCache::pieces(std::string_view word, const WordModel& model) {
  if (word.size() > kLongestWord) {
    long_word_.clear();
    model.encode(word, long_word_);
    return long_word_;
  }
  const std::uint64_t hash = hash_of(word);
  std::size_t slot = static_cast<std::size_t>(hash) & (kSlots - 1);
  for (; slots_[slot] != 0; slot = (slot + 1) & (kSlots - 1)) {
    const Entry& entry = entries_[slots_[slot] - 1];
    if (entry.hash == hash && std::string_view(keys_).substr(entry.key, entry.key_size) == word)
      return {pieces_.data() + entry.first, entry.count};
  }
  // Full: start again. Common words are back at once.
  if (entries_.size() >= kMostEntries || keys_.size() > kMostBytes ||
      pieces_.size() * sizeof(Piece) > kMostBytes) {
    clear();
    slot = static_cast<std::size_t>(hash) & (kSlots - 1);
  }
  const std::size_t first = pieces_.size();
  try {
    model.encode(word, pieces_);
  } catch (...) {
    pieces_.resize(first);
    throw;
  }
  entries_.push_back({hash, static_cast<std::uint32_t>(keys_.size()), static_cast<std::uint32_t>(word.size()),
                      static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(pieces_.size() - first)});
  keys_ += word;
  slots_[slot] = static_cast<std::uint32_t>(entries_.size());
  return {pieces_.data() + first, pieces_.size() - first};
}

WordCachePool::Lease WordCachePool::borrow() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<WordCache> cache = std::move(idle_.back());
      idle_.pop_back();
      return {*this, std::move(cache)};
    }
  }
  return {*this, std::make_unique<WordCache>()};
}

void WordCachePool::give(std::unique_ptr<WordCache> cache) noexcept {
  const std::lock_guard lock(mutex_);
  if (idle_.size() >= kMostIdle) return;
  try {
    idle_.push_back(std::move(cache));
  } catch (...) {  // no memory to keep it: it goes
  }
}

}  // namespace headlight::text
