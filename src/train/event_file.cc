#include "train/event_file.h"

#include <array>
#include <bit>

namespace headlight::train {
namespace {

// Castagnoli's polynomial, bits in reverse.
constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t x = byte;
    for (int bit = 0; bit < 8; ++bit) x = (x & 1U) != 0 ? x >> 1 ^ 0x82F63B78U : x >> 1;
    table[byte] = x;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> kTable = make_table();

template <class T>
void put_fixed(std::string& to, T bits) {
  for (unsigned byte = 0; byte < sizeof bits; ++byte) to += static_cast<char>(bits >> (8 * byte) & 0xFFU);
}

void put_varint(std::string& to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) to += static_cast<char>((value & 0x7FU) | 0x80U);
  to += static_cast<char>(value);
}

// The number of a field and its wire type.
enum Wire : std::uint64_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };
void put_key(std::string& to, std::uint64_t field, Wire wire) { put_varint(to, field << 3 | wire); }
void put_bytes(std::string& to, std::uint64_t field, std::string_view value) {
  put_key(to, field, Wire::bytes);
  put_varint(to, value.size());
  to += value;
}

// A checksum of data that includes checksums would be weak, so TFRecord rotates and offsets it.
std::uint32_t masked(std::string_view bytes) noexcept { return std::rotr(crc32c(bytes), 15) + 0xA282EAD8U; }

std::string record(std::string_view event) {
  std::string out;
  put_fixed(out, std::uint64_t{event.size()});
  put_fixed(out, masked(out));
  out += event;
  put_fixed(out, masked(event));
  return out;
}

// Event: 1 wall_time, 2 step, 3 file_version, 5 summary. Summary: 1 value. Value: 1 tag, 2 simple_value.
std::string event_at(double wall_time) {
  std::string event;
  put_key(event, 1, Wire::fixed64);
  put_fixed(event, std::bit_cast<std::uint64_t>(wall_time));
  return event;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) noexcept {
  std::uint32_t x = ~0U;
  for (const char c : bytes) x = x >> 8 ^ kTable[(x ^ static_cast<unsigned char>(c)) & 0xFFU];
  return ~x;
}

std::string event_file_start(double wall_time) {
  std::string event = event_at(wall_time);
  put_bytes(event, 3, "brain.Event:2");
  return record(event);
}

std::string scalar_event(double wall_time, std::int64_t step, std::string_view tag, float value) {
  std::string number, summary, event = event_at(wall_time);
  put_bytes(number, 1, tag);
  put_key(number, 2, Wire::fixed32);
  put_fixed(number, std::bit_cast<std::uint32_t>(value));
  put_bytes(summary, 1, number);
  put_key(event, 2, Wire::varint);
  put_varint(event, static_cast<std::uint64_t>(step));
  put_bytes(event, 5, summary);
  return record(event);
}

}  // namespace headlight::train
