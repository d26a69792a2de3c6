// Parses a GGUF file from its first byte to the end of its list of tensors. One pass, no recursion: memory and
// time are proportional to the size of the header, whatever its fields claim.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "io/gguf.h"
#include "io/source.h"

namespace headlight::io {

// Indices of `list` sorted by name.
template <class List, class Name>
std::vector<std::uint32_t> sorted_by(const List& list, const Name& name) {
  std::vector<std::uint32_t> order(list.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return name(list[a]) < name(list[b]); });
  return order;
}

class GgufParser {
 public:
  explicit GgufParser(Gguf& to) : to_(to), source_(*to.source_) {}
  void run();

 private:
  struct Range {
    std::size_t begin = 0, size = 0;
  };
  struct Value {
    Range key, bytes;
    GgufType type = GgufType::u8, item = GgufType::u8;
    std::uint64_t count = 1;
  };
  struct Place {
    Range name;
    GgufTensor tensor;
  };

  [[noreturn]] void refuse(const char* code, const std::string& what) const;
  [[nodiscard]] std::uint64_t left() const { return source_.size() - at_; }
  void fetch(std::uint64_t bytes);
  template <class T>
  T number();
  Range skip(std::uint64_t bytes);
  Range text(std::uint64_t limit, const char* code, const char* what);
  [[nodiscard]] std::string_view view(Range range) const;
  [[nodiscard]] std::string quoted(Range range) const;

  void read_start();
  void read_value();
  Range read_items(Value& value);
  void read_tensor();
  [[nodiscard]] const BlockType& unknown_type(std::uint32_t id);
  [[nodiscard]] std::uint64_t whole_bytes(const Place& place);
  void set_alignment();
  void settle();
  void check_ranges();

  Gguf& to_;
  const Source& source_;
  std::uint64_t at_ = 0;
  std::uint64_t tensor_count_ = 0, value_count_ = 0;
  std::vector<Value> values_;
  std::vector<Place> places_;
};

}  // namespace headlight::io
