// Text files, plain or compressed by gzip: the first bytes decide, not the name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace headlight::io {

// The whole text. More than `limit` bytes, compressed or not, are Error{input} before they take memory;
// so is a compressed file that is cut, damaged, or followed by something else.
[[nodiscard]] std::string read_text(const std::string& path, std::uint64_t limit = std::uint64_t{4} << 30);

// Decompresses one or more gzip members, one after the other.
[[nodiscard]] std::string gunzip(std::span<const std::byte> bytes, std::uint64_t limit,
                                 const std::string& name);

// One gzip member, as small as it gets. The same bytes for the same text, and no time or name in them.
[[nodiscard]] std::string gzip(std::string_view text);

}  // namespace headlight::io
