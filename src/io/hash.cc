#include "io/hash.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace headlight::io {
namespace {

constexpr std::uint64_t kPrime1 = 0x9E3779B185EBCA87U, kPrime2 = 0xC2B2AE3D27D4EB4FU,
                        kPrime3 = 0x165667B19E3779F9U, kPrime4 = 0x85EBCA77C2B2AE63U,
                        kPrime5 = 0x27D4EB2F165667C5U;
static_assert(std::endian::native == std::endian::little);

template <class T>
std::uint64_t word(const std::byte* from) noexcept {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

std::uint64_t round(std::uint64_t lane, std::uint64_t input) noexcept {
  return std::rotl(lane + input * kPrime2, 31) * kPrime1;
}

}  // namespace

Hash64::Hash64(std::uint64_t seed) noexcept
    : seed_(seed), lanes_{seed + kPrime1 + kPrime2, seed + kPrime2, seed, seed - kPrime1} {}

void Hash64::update(std::span<const std::byte> bytes) noexcept {
  total_ += bytes.size();
  const auto absorb = [this](const std::byte* stripe) {
    for (std::size_t i = 0; i < 4; ++i) lanes_[i] = round(lanes_[i], word<std::uint64_t>(stripe + 8 * i));
  };
  if (held_ > 0) {
    const std::size_t taken = std::min(bytes.size(), pending_.size() - held_);
    if (taken > 0) std::memcpy(pending_.data() + held_, bytes.data(), taken);
    held_ += taken;
    bytes = bytes.subspan(taken);
    if (held_ < pending_.size()) return;
    absorb(pending_.data());
    held_ = 0;
  }
  while (bytes.size() >= pending_.size()) {
    absorb(bytes.data());
    bytes = bytes.subspan(pending_.size());
  }
  if (!bytes.empty()) std::memcpy(pending_.data(), bytes.data(), bytes.size());
  held_ = bytes.size();
}

std::uint64_t Hash64::value() const noexcept {
  std::uint64_t hash = seed_ + kPrime5;
  if (total_ >= pending_.size()) {
    hash = std::rotl(lanes_[0], 1) + std::rotl(lanes_[1], 7) + std::rotl(lanes_[2], 12) +
           std::rotl(lanes_[3], 18);
    for (const std::uint64_t lane : lanes_) hash = (hash ^ round(0, lane)) * kPrime1 + kPrime4;
  }
  hash += total_;
  const std::byte* at = pending_.data();
  const std::byte* const end = at + held_;
  for (; at + 8 <= end; at += 8)
    hash = std::rotl(hash ^ round(0, word<std::uint64_t>(at)), 27) * kPrime1 + kPrime4;
  if (at + 4 <= end) {
    hash = std::rotl(hash ^ (word<std::uint32_t>(at) * kPrime1), 23) * kPrime2 + kPrime3;
    at += 4;
  }
  for (; at < end; ++at)
    hash = std::rotl(hash ^ (std::to_integer<std::uint64_t>(*at) * kPrime5), 11) * kPrime1;
  hash = (hash ^ (hash >> 33)) * kPrime2;
  hash = (hash ^ (hash >> 29)) * kPrime3;
  return hash ^ (hash >> 32);
}

std::string Hash64::text() const {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(16, '0');
  std::uint64_t rest = value();
  for (std::size_t i = 16; i-- > 0; rest >>= 4) text[i] = kDigits[rest & 15];
  return text;
}

std::string hash_text(std::span<const std::byte> bytes) {
  Hash64 hash;
  hash.update(bytes);
  return hash.text();
}
std::string hash_text(std::string_view text) { return hash_text(std::as_bytes(std::span(text))); }

}  // namespace headlight::io
