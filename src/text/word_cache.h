// A cache of encoded words: texts repeat their words, and a lookup costs less than encoding.
// A cache serves one thread at a time: encode() borrows one from the pool.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/word_model.h"

namespace headlight::text {

class WordCache {
 public:
  static constexpr std::size_t kLongestWord = 256;  // bytes

  WordCache();
  // The word's tokens, from the cache or from the model. Valid until the next call.
  [[nodiscard]] std::span<const Piece> pieces(std::string_view word, const WordModel& model);

 private:
  struct Entry {
    std::uint64_t hash = 0;
    std::uint32_t key = 0, key_size = 0, first = 0, count = 0;
  };
  // The slot of this word, or the free slot for it.
  [[nodiscard]] std::size_t slot_of(std::string_view word, std::uint64_t hash) const;
  void make_room();

  std::vector<std::uint32_t> slots_;  // index of an entry + 1, 0 for none; at most half of them are used
  std::vector<Entry> entries_;
  std::string keys_;
  std::vector<Piece> pieces_;
  std::vector<Piece> long_word_;
};

class WordCachePool {
 public:
  class Lease {
   public:
    Lease(WordCachePool& pool, std::unique_ptr<WordCache> cache) : pool_(pool), cache_(std::move(cache)) {}
    ~Lease() { pool_.give(std::move(cache_)); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    WordCache& operator*() const noexcept { return *cache_; }

   private:
    WordCachePool& pool_;
    std::unique_ptr<WordCache> cache_;
  };
  [[nodiscard]] Lease borrow();

 private:
  void give(std::unique_ptr<WordCache> cache) noexcept;

  std::mutex mutex_;
  std::vector<std::unique_ptr<WordCache>> idle_;
};

}  // namespace headlight::text
