#include "io/safetensors_header.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"

namespace headlight::io {
namespace {

constexpr std::size_t kShown = 80;  // bytes of a name in a message

struct Type {
  std::string_view name;
  int bits;
};
constexpr std::array<Type, 21> kTypes = {
    {{"BOOL", 8},    {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6},     {"U8", 8},          {"I8", 8},
     {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"I16", 16},
     {"U16", 16},    {"F16", 16},    {"BF16", 16},   {"I32", 32},        {"U32", 32},        {"F32", 32},
     {"F64", 64},    {"I64", 64},    {"U64", 64}}};

// The subset of JSON that headers use: objects, strings, lists of whole numbers.
class Reader {
 public:
  Reader(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  [[noreturn]] void refuse(const std::string& what) const { refuse(code_, what); }
  [[noreturn]] void refuse(const char* code, const std::string& what) const {
    throw Error(ErrorKind::input, concat("safetensors.", code),
                concat(escaped(name_), ": ", what, " (header byte ", at_, ")"));
  }
  // The tensor that errors refer to from here on.
  void about(const char* code) { code_ = code; }
  void skip_space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }
  bool accept(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (accept(c)) return;
    if (at_ >= text_.size()) refuse("json", concat("the header is cut off: expected '", c, "'"));
    const bool deeper = text_[at_] == '[' || text_[at_] == '{';
    refuse(deeper ? "depth" : code_,
           concat("the header is damaged: expected '", c, "', found '",
                  escaped(text_.substr(at_, std::max<std::size_t>(1, utf8_length(text_.substr(at_))))), "'"));
  }
  [[nodiscard]] bool at_end() {
    skip_space();
    return at_ == text_.size();
  }

  std::string string() {
    expect('"');
    std::string value;
    for (;;) {
      if (at_ >= text_.size()) refuse("json", "the header is cut off inside a text");
      const char c = text_[at_];
      if (c == '"') break;
      if (c == '\\') {
        read_escape(value);
        continue;
      }
      const std::size_t length = utf8_length(text_.substr(at_));
      if (static_cast<unsigned char>(c) < 0x20)
        refuse("text", "a text has a control character that is not escaped");
      if (length == 0) refuse("text", "the header is not UTF-8");
      value.append(text_.substr(at_, length));
      at_ += length;
    }
    ++at_;
    return value;
  }

  // A size or an offset: only digits, without sign, fraction, exponent or leading zero.
  std::uint64_t whole_number() {
    skip_space();
    const std::size_t first = at_;
    std::uint64_t value = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      const auto digit = static_cast<std::uint64_t>(text_[at_] - '0');
      constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
      if (value > (kMost - digit) / 10) refuse("a number is too large for a file size");
      value = value * 10 + digit;
    }
    const bool more =
        at_ < text_.size() && std::string_view(".eE+-xXnNiI").find(text_[at_]) != std::string_view::npos;
    if (at_ == first || more) refuse("expected a whole number of 0 or more");
    if (text_[first] == '0' && at_ > first + 1) refuse("a number has a leading zero");
    return value;
  }

 private:
  unsigned hex4() {
    unsigned value = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = at_ < text_.size() ? text_[at_] : '\0';
      if (c >= '0' && c <= '9') value = value * 16 + static_cast<unsigned>(c - '0');
      else if (c >= 'a' && c <= 'f') value = value * 16 + static_cast<unsigned>(c - 'a' + 10);
      else if (c >= 'A' && c <= 'F') value = value * 16 + static_cast<unsigned>(c - 'A' + 10);
      else refuse("text", "a text has a damaged \\u escape");
    }
    return value;
  }

  void read_escape(std::string& value) {
    constexpr std::string_view kLetters = "\"\\/bfnrt", kMeaning = "\"\\/\b\f\n\r\t";
    const char c = ++at_ < text_.size() ? text_[at_] : '\0';
    ++at_;
    if (const std::size_t which = kLetters.find(c); c != '\0' && which != std::string_view::npos) {
      value += kMeaning[which];
      return;
    }
    if (c != 'u') refuse("text", "a text has an unknown escape");
    unsigned code = hex4();
    if (code >= 0xD800 && code < 0xDC00 && text_.substr(at_).starts_with("\\u")) {
      at_ += 2;
      const unsigned low = hex4();
      if (low < 0xDC00 || low > 0xDFFF) refuse("text", "a text has half of a surrogate pair");
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    if (code >= 0xD800 && code < 0xE000) refuse("text", "a text has half of a surrogate pair");
    append_utf8(value, code);
  }

  static void append_utf8(std::string& value, unsigned code) {
    const auto tail = [&](unsigned shift) { value += static_cast<char>(0x80U | ((code >> shift) & 0x3FU)); };
    if (code < 0x80) {
      value += static_cast<char>(code);
    } else if (code < 0x800) {
      value += static_cast<char>(0xC0U | (code >> 6));
      tail(0);
    } else if (code < 0x10000) {
      value += static_cast<char>(0xE0U | (code >> 12));
      tail(6), tail(0);
    } else {
      value += static_cast<char>(0xF0U | (code >> 18));
      tail(12), tail(6), tail(0);
    }
  }

  std::string_view text_;
  const std::string& name_;
  const char* code_ = "json";
  std::size_t at_ = 0;
};

std::string quoted(std::string_view name) { return concat("\"", escaped(name, kShown), "\""); }

// Reads "key": of an object; false at its end.
bool next_key(Reader& in, bool& first, std::string& key) {
  if (in.accept('}')) return false;
  if (!first) in.expect(',');
  first = false;
  key = in.string();
  in.expect(':');
  return true;
}

Metadata read_metadata(Reader& in) {
  Metadata metadata;
  in.expect('{');
  bool first = true;
  for (std::string key; next_key(in, first, key); in.about("json")) {
    in.about("metadata");
    metadata.emplace_back(std::move(key), in.string());
  }
  return metadata;
}

std::vector<Index> read_shape(Reader& in, const std::string& tensor) {
  std::vector<Index> shape;
  in.expect('[');
  while (!in.accept(']')) {
    if (!shape.empty()) in.expect(',');
    if (shape.size() == kMaxSafetensorsRank) {
      in.refuse("rank", concat("tensor ", quoted(tensor), " has more than ", kMaxSafetensorsRank, " axes"));
    }
    shape.push_back(static_cast<Index>(in.whole_number()));
  }
  return shape;
}

SafetensorsEntry read_entry(Reader& in, std::string name) {
  SafetensorsEntry entry;
  entry.name = std::move(name);
  in.expect('{');
  bool first = true, dtype = false, shape = false, offsets = false;
  for (std::string key; next_key(in, first, key);) {
    bool* const seen = key == "dtype"          ? &dtype
                       : key == "shape"        ? &shape
                       : key == "data_offsets" ? &offsets
                                               : nullptr;
    if (seen == nullptr)
      in.refuse("field", concat("tensor ", quoted(entry.name), " has the unknown field ", quoted(key)));
    if (*seen) in.refuse("twice", concat("tensor ", quoted(entry.name), " has ", quoted(key), " twice"));
    *seen = true;
    in.about(seen == &dtype ? "field" : seen == &shape ? "shape" : "range");
    if (seen == &dtype) {
      entry.dtype = in.string();
    } else if (seen == &shape) {
      entry.shape = read_shape(in, entry.name);
    } else {
      in.expect('[');
      entry.begin = in.whole_number();
      in.expect(',');
      entry.end = in.whole_number();
      in.expect(']');
    }
    in.about("json");
  }
  const char* missing = !dtype ? "dtype" : !shape ? "shape" : !offsets ? "data_offsets" : nullptr;
  if (missing != nullptr)
    in.refuse("field", concat("tensor ", quoted(entry.name), " lacks \"", missing, "\""));
  return entry;
}

class Checker {
 public:
  Checker(const SafetensorsHeader& header, std::uint64_t data_bytes, const std::string& name)
      : header_(header), data_bytes_(data_bytes), name_(name) {}

  void check() const {
    for (const SafetensorsEntry& entry : header_.entries) check_size(entry);
    check_names();
    check_ranges();
  }

 private:
  [[noreturn]] void refuse(const char* code, const std::string& what) const {
    throw Error(ErrorKind::input, concat("safetensors.", code), concat(escaped(name_), ": ", what));
  }

  static std::string text_of(const std::vector<Index>& shape) {
    std::string text = "[";
    for (const Index n : shape) text += concat(text.size() > 1 ? ", " : "", n);
    return text + "]";
  }

  void check_size(const SafetensorsEntry& entry) const {
    // Only built for a message, because a file may have 100,000 tensors.
    const auto tensor = [&] { return concat("tensor ", quoted(entry.name)); };
    const auto what = [&] { return concat(entry.dtype, " ", text_of(entry.shape)); };
    const int bits = bits_of(entry.dtype);
    if (bits == 0) refuse("dtype", concat(tensor(), " has the unknown type ", quoted(entry.dtype)));
    if (entry.end < entry.begin) {
      refuse("range", concat(tensor(), " ends at byte ", entry.end, ", before it begins at ", entry.begin));
    }
    auto total = static_cast<std::uint64_t>(bits);
    bool overflow = false;
    for (const Index n : entry.shape)
      overflow |= __builtin_mul_overflow(total, static_cast<std::uint64_t>(n), &total);
    if (std::find(entry.shape.begin(), entry.shape.end(), 0) != entry.shape.end()) {
      total = 0;
      overflow = false;
    }
    if (overflow) refuse("overflow", concat(tensor(), ": ", what(), " is too large (size overflow)"));
    if (total % 8 != 0) refuse("size", concat(tensor(), ": ", what(), " does not fill whole bytes"));
    if (total / 8 != entry.end - entry.begin) {
      refuse("size", concat(tensor(), " spans ", entry.end - entry.begin, " bytes, but ", what(), " needs ",
                            total / 8, "\n  The file is damaged or incomplete."));
    }
    if (entry.end > data_bytes_) {
      refuse("cut", concat(tensor(), " ends at byte ", entry.end, " of the data, but the file has ",
                           data_bytes_, "\n  The file is damaged or incomplete."));
    }
  }

  void check_names() const {
    std::vector<std::string_view> names;
    names.reserve(header_.entries.size());
    for (const SafetensorsEntry& entry : header_.entries) names.push_back(entry.name);
    check_twice(names, "tensor ");
    names.clear();
    for (const auto& [key, value] : header_.metadata) names.push_back(key);
    check_twice(names, "metadata ");
  }
  void check_twice(std::vector<std::string_view>& names, std::string_view what) const {
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end()) refuse("twice", concat(what, quoted(*twice), " occurs twice"));
  }

  void check_ranges() const {
    std::vector<std::uint32_t> order(header_.entries.size());
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      const SafetensorsEntry &x = header_.entries[a], &y = header_.entries[b];
      return std::pair(x.begin, x.end) < std::pair(y.begin, y.end);
    });
    std::uint64_t filled = 0;
    for (const std::uint32_t i : order) {
      const SafetensorsEntry& entry = header_.entries[i];
      if (entry.begin < filled)
        refuse("overlap", concat("tensor ", quoted(entry.name), " overlaps another one"));
      if (entry.begin > filled) {
        refuse("hole", concat("bytes ", filled, " to ", entry.begin, " of the data belong to no tensor"));
      }
      filled = entry.end;
    }
    if (filled != data_bytes_) {
      refuse("tail", concat(data_bytes_ - filled, " bytes follow the last tensor"));
    }
  }

  const SafetensorsHeader& header_;
  std::uint64_t data_bytes_;
  const std::string& name_;
};

}  // namespace

int bits_of(std::string_view dtype) noexcept {
  for (const Type& type : kTypes)
    if (type.name == dtype) return type.bits;
  return 0;
}

std::string_view safetensors_type(DType dtype) noexcept {
  switch (dtype) {
    case DType::f32: return "F32";
    case DType::f64: return "F64";
    case DType::f16: return "F16";
    case DType::bf16: return "BF16";
    case DType::i32: return "I32";
    case DType::i64: return "I64";
    case DType::boolean: return "BOOL";
  }
  return "";
}

SafetensorsHeader parse_safetensors_header(std::string_view text, std::uint64_t data_bytes,
                                           const std::string& name) {
  SafetensorsHeader header;
  Reader in(text, name);
  // The format requires '{' as the first byte; spaces are padding at the end.
  if (!text.starts_with('{')) {
    const bool space = text.find_first_not_of(" \t\r\n") != 0 && !text.empty();
    in.refuse(space                              ? "space"
              : text.starts_with("\xEF\xBB\xBF") ? "text"
                                                 : "json",
              "the header does not start with '{'");
  }
  in.expect('{');
  bool first = true, metadata = false;
  for (std::string key; next_key(in, first, key);) {
    if (key != "__metadata__") {
      header.entries.push_back(read_entry(in, std::move(key)));
      continue;
    }
    if (metadata) in.refuse("twice", "\"__metadata__\" occurs twice");
    metadata = true;
    header.metadata = read_metadata(in);
  }
  if (!in.at_end()) in.refuse("unexpected bytes follow the header");
  Checker(header, data_bytes, name).check();
  return header;
}

}  // namespace headlight::io
