// The vocabulary: tokens by id and ids by token. Ids may have gaps; memory is proportional to the tokens' bytes
// and the largest id, which add() keeps near the number of tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/tokenizer.h"

namespace headlight::text {

// A quick 64-bit hash of short texts; the same on every machine of one byte order.
[[nodiscard]] std::uint64_t hash_of(std::string_view text) noexcept;

class TokenTable {
 public:
  enum class Added { yes, token_taken, id_taken, id_too_large };

  // Changes nothing unless it returns true. Ids are refused when negative or far beyond the number of
  // tokens announced by reserve(), which also makes room.
  Added add(std::string_view token, TokenId id);
  void reserve(std::size_t tokens, std::size_t bytes = 0);

  [[nodiscard]] std::optional<TokenId> find(std::string_view token) const noexcept;
  [[nodiscard]] bool has(TokenId id) const noexcept {
    return id >= 0 && id < size() && places_[static_cast<std::size_t>(id)].present;
  }
  // Empty for a gap.
  [[nodiscard]] std::string_view token(TokenId id) const noexcept {
    if (!has(id)) return {};
    const Place& place = places_[static_cast<std::size_t>(id)];
    return std::string_view(bytes_).substr(place.begin, place.length);
  }
  // One more than the largest id.
  [[nodiscard]] TokenId size() const noexcept { return static_cast<TokenId>(places_.size()); }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }

 private:
  struct Place {
    std::uint64_t begin = 0;
    std::uint32_t length = 0;
    bool present = false;
  };
  void grow();
  [[nodiscard]] std::size_t slot_of(std::string_view token) const noexcept;

  std::string bytes_;
  std::vector<Place> places_;
  std::vector<std::int32_t> slots_;  // ids, -1 for none; a power of two, at most half full
  std::size_t count_ = 0;
  std::size_t announced_ = 0;
};

}  // namespace headlight::text
