#include "text/token_table.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace headlight::text {
namespace {

// The sparsest ids that are accepted: a file of n tokens cannot request more than 4·n + 4096 entries.
constexpr std::size_t kSparse = 4, kSlack = 4096;

std::uint64_t mixed(std::uint64_t x) noexcept {
  x ^= x >> 32;
  x *= 0xD6E8FEB86659FD93U;
  x ^= x >> 32;
  return x;
}

}  // namespace

// Words of 8 bytes; the last one overlaps the one before it, so that no length needs a loop over bytes.
std::uint64_t hash_of(std::string_view text) noexcept {
  constexpr std::uint64_t kFactor = 0x9FB21C651E98DF25U;
  const auto load8 = [](const char* at) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    return word;
  };
  const char* at = text.data();
  const std::size_t size = text.size();
  std::uint64_t hash = 0x9E3779B97F4A7C15U ^ size;
  if (size >= 8) {
    for (std::size_t i = 0; i + 8 < size; i += 8) hash = mixed(hash ^ load8(at + i)) * kFactor;
    return mixed((hash ^ load8(at + size - 8)) * kFactor);
  }
  std::uint64_t word = 0;
  if (size >= 4) {
    std::uint32_t low = 0, high = 0;
    std::memcpy(&low, at, 4);
    std::memcpy(&high, at + size - 4, 4);
    word = std::uint64_t{high} << 32 | low;
  } else if (size > 0) {
    const auto byte = [&](std::size_t i) { return std::uint64_t{static_cast<unsigned char>(at[i])}; };
    word = byte(0) << 16 | byte(size / 2) << 8 | byte(size - 1);
  }
  return mixed((hash ^ word) * kFactor);
}

void TokenTable::reserve(std::size_t tokens, std::size_t bytes) {
  announced_ = std::max(announced_, tokens);
  bytes_.reserve(bytes);
  places_.reserve(tokens);
  while (slots_.size() < 2 * tokens) grow();
}

std::size_t TokenTable::slot_of(std::string_view token) const noexcept {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = static_cast<std::size_t>(hash_of(token)) & mask;
  while (slots_[slot] >= 0 && this->token(slots_[slot]) != token) slot = (slot + 1) & mask;
  return slot;
}

void TokenTable::grow() {
  slots_.assign(std::max<std::size_t>(64, 2 * slots_.size()), -1);
  for (TokenId id = 0; id < size(); ++id)
    if (has(id)) slots_[slot_of(token(id))] = id;
}

TokenTable::Added TokenTable::add(std::string_view token, TokenId id) {
  const std::size_t most = kSparse * std::max(announced_, count_ + 1) + kSlack;
  if (id < 0 || static_cast<std::size_t>(id) >= most) return Added::id_too_large;
  if (has(id)) return Added::id_taken;
  if (find(token)) return Added::token_taken;
  if (slots_.size() < 2 * (count_ + 1)) grow();
  if (id >= size()) places_.resize(static_cast<std::size_t>(id) + 1);
  places_[static_cast<std::size_t>(id)] = {bytes_.size(), static_cast<std::uint32_t>(token.size()), true};
  bytes_ += token;
  ++count_;
  slots_[slot_of(token)] = id;
  return Added::yes;
}

std::optional<TokenId> TokenTable::find(std::string_view token) const noexcept {
  if (slots_.empty()) return std::nullopt;
  const std::int32_t id = slots_[slot_of(token)];
  if (id < 0) return std::nullopt;
  return id;
}

}  // namespace headlight::text
