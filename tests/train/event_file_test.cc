// TensorBoard's files, read back by a reader of their own.
#include "train/event_file.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace headlight::train {
namespace {

// Bit by bit, from the polynomial: nothing is shared with the writer.
std::uint32_t plain_crc(std::string_view bytes) {
  std::uint32_t x = 0xFFFFFFFFU;
  for (const char c : bytes) {
    x ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) x = x >> 1 ^ ((x & 1U) != 0 ? 0x82F63B78U : 0);
  }
  return ~x;
}
std::uint32_t unmasked(std::uint32_t masked) {
  const std::uint32_t turned = masked - 0xA282EAD8U;
  return turned >> 17 | turned << 15;
}

class Bytes {
 public:
  explicit Bytes(std::string_view text) : text_(text) {}
  [[nodiscard]] bool empty() const { return text_.empty(); }
  template <class T>
  T fixed() {
    T value{};
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
      if (byte < 0x80) return value;
    }
  }
  std::string_view take(std::size_t n) {
    const std::string_view part = text_.substr(0, n);
    EXPECT_EQ(part.size(), n);
    text_.remove_prefix(n);
    return part;
  }

 private:
  std::string_view text_;
};

struct Event {
  double wall_time = 0;
  std::uint64_t step = 0;
  std::string version, tag;
  std::optional<float> value;
};

void read_message(std::string_view message, int depth, Event& event) {
  Bytes bytes(message);
  while (!bytes.empty()) {
    const std::uint64_t key = bytes.varint(), field = key >> 3;
    switch (key & 7U) {
      case 0: event.step = bytes.varint(); break;
      case 1: event.wall_time = bytes.fixed<double>(); break;
      case 5: event.value = bytes.fixed<float>(); break;
      default: {
        const std::string_view inside = bytes.take(bytes.varint());
        if (depth == 0 && field == 3) event.version = inside;
        else if (depth == 2 && field == 1) event.tag = inside;
        else read_message(inside, depth + 1, event);
      }
    }
  }
}

std::vector<Event> read_events(std::string_view file) {
  std::vector<Event> events;
  for (Bytes bytes(file); !bytes.empty();) {
    const std::string_view length = bytes.take(8);
    std::uint64_t size = 0;
    std::memcpy(&size, length.data(), 8);
    EXPECT_EQ(unmasked(bytes.fixed<std::uint32_t>()), plain_crc(length));
    const std::string_view data = bytes.take(size);
    EXPECT_EQ(unmasked(bytes.fixed<std::uint32_t>()), plain_crc(data));
    read_message(data, 0, events.emplace_back());
  }
  return events;
}

TEST(EventFile, ChecksumsAreThoseOfTheStandard) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);  // RFC 3720's check value
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(plain_crc("123456789"), 0xE3069283U);
}

TEST(EventFile, IsReadBack) {
  const std::string file = event_file_start(1.5) + scalar_event(2.5, 300, "loss", 3.25F) +
                           scalar_event(1e9, 1'000'000'000'000, "valid_loss", -0.5F);
  const std::vector<Event> events = read_events(file);
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0].version, "brain.Event:2");
  EXPECT_EQ(events[0].wall_time, 1.5);
  EXPECT_EQ(events[1].step, 300U);
  EXPECT_EQ(events[1].tag, "loss");
  EXPECT_EQ(events[1].value, 3.25F);
  EXPECT_EQ(events[2].step, 1'000'000'000'000U);
  EXPECT_EQ(events[2].wall_time, 1e9);
  EXPECT_EQ(events[2].tag, "valid_loss");
}

}  // namespace
}  // namespace headlight::train
