#include "text/word_cache.h"

namespace headlight::text {
namespace {

// A cache starts small, because most texts are: clearing the largest takes longer than encoding a sentence.
constexpr std::size_t kFirstSlots = std::size_t{1} << 8, kMostSlots = std::size_t{1} << 17;
constexpr std::size_t kMostBytes = std::size_t{4} << 20;  // of words, and as many of tokens
constexpr std::size_t kMostIdle = 16;

}  // namespace

WordCache::WordCache() : slots_(kFirstSlots) {}

std::size_t WordCache::slot_of(std::string_view word, std::uint64_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = static_cast<std::size_t>(hash) & mask;
  for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
    const Entry& entry = entries_[slots_[slot] - 1];
    if (entry.hash == hash && std::string_view(keys_).substr(entry.key, entry.key_size) == word) break;
  }
  return slot;
}

// If half of the slots are used, their number doubles; a full cache is emptied, and common words return at once.
void WordCache::make_room() {
  const bool crowded = entries_.size() >= slots_.size() / 2;
  if ((crowded && slots_.size() == kMostSlots) || keys_.size() > kMostBytes ||
      pieces_.size() * sizeof(Piece) > kMostBytes) {
    slots_.assign(slots_.size(), 0);
    entries_.clear();
    keys_.clear();
    pieces_.clear();
  } else if (crowded) {
    slots_.assign(2 * slots_.size(), 0);
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const std::string_view word = std::string_view(keys_).substr(entries_[i].key, entries_[i].key_size);
      slots_[slot_of(word, entries_[i].hash)] = static_cast<std::uint32_t>(i + 1);
    }
  }
}

std::span<const Piece> WordCache::pieces(std::string_view word, const WordModel& model) {
  if (word.size() > kLongestWord) {
    long_word_.clear();
    model.encode(word, long_word_);
    return long_word_;
  }
  const std::uint64_t hash = hash_of(word);
  if (const std::uint32_t found = slots_[slot_of(word, hash)]; found != 0) {
    const Entry& entry = entries_[found - 1];
    return {pieces_.data() + entry.first, entry.count};
  }
  make_room();
  const std::size_t first = pieces_.size();
  try {
    model.encode(word, pieces_);
  } catch (...) {
    pieces_.resize(first);
    throw;
  }
  const std::size_t key = keys_.size();
  keys_ += word;  // before its entry: an entry always has its word
  entries_.push_back({hash, static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(word.size()),
                      static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(pieces_.size() - first)});
  slots_[slot_of(word, hash)] = static_cast<std::uint32_t>(entries_.size());
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
  } catch (...) {  // not enough memory to keep it
  }
}

}  // namespace headlight::text
