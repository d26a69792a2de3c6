// Byte-level vocabularies write every byte as a printable character: itself where it is one, else one of
// U+0100 and up. " the" is written "Ġthe".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headlight::text {

[[nodiscard]] char32_t character_of(unsigned char byte) noexcept;
[[nodiscard]] std::optional<unsigned char> byte_of(char32_t character) noexcept;

[[nodiscard]] std::string bytes_to_characters(std::string_view bytes);
// Empty for a character that represents no byte.
[[nodiscard]] std::optional<std::string> characters_to_bytes(std::string_view text);

// "<0xE2>" is how byte fallback names a byte.
[[nodiscard]] std::string name_of_byte(unsigned char byte);
[[nodiscard]] std::optional<unsigned char> byte_named(std::string_view token) noexcept;

}  // namespace headlight::text
