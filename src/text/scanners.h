// The split patterns of well-known tokenizers, as hand-written scanners. Each returns the end of the match that
// starts at `at`; together the matches cover the text. Time is linear: no position is read more
// often than a fixed number of times.
#pragma once

#include <cstdint>
#include <string_view>

namespace headlight::text {

// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
std::uint32_t scan_gpt2(std::string_view text, std::uint32_t at, std::uint32_t end);

// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
std::uint32_t scan_llama3(std::string_view text, std::uint32_t at, std::uint32_t end);
// The same with single numbers.
std::uint32_t scan_qwen2(std::string_view text, std::uint32_t at, std::uint32_t end);

}  // namespace headlight::text
