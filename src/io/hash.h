// A checksum of 64 bits, by the XXH64 algorithm (Yann Collet), many GB a second. It detects
// accidental damage, not deliberate manipulation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace headlight::io {

class Hash64 {
 public:
  explicit Hash64(std::uint64_t seed = 0) noexcept;
  void update(std::span<const std::byte> bytes) noexcept;
  void update(std::string_view text) noexcept { update(std::as_bytes(std::span(text))); }
  [[nodiscard]] std::uint64_t value() const noexcept;  // of everything so far
  [[nodiscard]] std::string text() const;              // as 16 hexadecimal digits

 private:
  std::uint64_t seed_;
  std::array<std::uint64_t, 4> lanes_{};
  std::array<std::byte, 32> pending_{};
  std::size_t held_ = 0;
  std::uint64_t total_ = 0;
};

[[nodiscard]] std::string hash_text(std::span<const std::byte> bytes);
[[nodiscard]] std::string hash_text(std::string_view text);

}  // namespace headlight::io
