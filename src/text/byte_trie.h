// Tokens as a tree of bytes, to find all tokens that a text starts with in one walk.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headlight::text {

class ByteTrie {
 public:
  using Node = std::uint32_t;
  static constexpr Node kRoot = 0, kNowhere = ~Node{0};
  static constexpr std::int32_t kNoValue = -1;

  ByteTrie() : ByteTrie(std::vector<std::pair<std::string, std::int32_t>>()) {}
  // Values are not negative. Of the same key twice, the first in the list counts.
  explicit ByteTrie(std::vector<std::pair<std::string, std::int32_t>> entries);

  [[nodiscard]] Node step(Node node, char byte) const noexcept {
    const auto label = static_cast<unsigned char>(byte);
    if (node == kRoot) return roots_[label];
    const Place& place = places_[node];
    for (Node child = place.first_child, end = child + place.children; child < end; ++child)
      if (labels_[child] >= label) return labels_[child] == label ? child : kNowhere;
    return kNowhere;
  }
  [[nodiscard]] Node walk(Node node, std::string_view bytes) const noexcept {
    for (const char byte : bytes)
      if (node = step(node, byte); node == kNowhere) break;
    return node;
  }
  [[nodiscard]] std::int32_t value(Node node) const noexcept { return places_[node].value; }

 private:
  struct Place {
    Node first_child = 0;
    std::uint32_t children = 0;
    std::int32_t value = kNoValue;
  };
  std::vector<Place> places_;
  std::vector<unsigned char> labels_;  // of each node: the byte that leads to it
  std::vector<Node> roots_;            // the root's children by byte
};

}  // namespace headlight::text
