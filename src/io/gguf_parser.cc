#include "io/gguf_parser.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"

namespace headlight::io {

static_assert(std::endian::native == std::endian::little, "files are little-endian and memory-mapped");

namespace {

constexpr std::size_t kShown = 80;             // bytes of a name in a message
constexpr std::size_t kAtOnce = 64 << 10;      // bytes of the first read
constexpr std::uint64_t kSmallestValue = 14;   // a length, a letter, a type, a byte
constexpr std::uint64_t kSmallestTensor = 25;  // a length, a letter, a rank, a type, an offset
constexpr std::uint64_t kTextLength = 8;

// Bytes of one value; 0 for strings and arrays, which store their length.
std::uint64_t size_of(GgufType type) {
  constexpr std::uint64_t kSizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return kSizes[static_cast<std::uint32_t>(type)];
}
bool exists(std::uint32_t type) { return type <= static_cast<std::uint32_t>(GgufType::f64); }

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace

void GgufParser::refuse(const char* code, const std::string& what) const {
  const std::size_t line = std::min(what.find('\n'), what.size());  // hints follow
  throw Error(
      ErrorKind::input, concat("gguf.", code),
      concat(escaped(source_.name()), ": ", what.substr(0, line), " (byte ", at_, ")", what.substr(line)));
}

// Ensures that the next `bytes` are in the private copy, which grows as the file is read.
void GgufParser::fetch(std::uint64_t bytes) {
  if (bytes > left())
    refuse("cut", concat("the header is cut off: needs ", bytes, " bytes more, has ", left()));
  const std::uint64_t wanted = at_ + bytes, have = to_.header_.size();
  if (wanted <= have) return;
  if (wanted > kMaxGgufHeader)
    refuse("header", concat("the header is longer than ", kMaxGgufHeader, " bytes"));
  const std::uint64_t size =
      std::min(source_.size(), std::max<std::uint64_t>(wanted, std::max<std::uint64_t>(2 * have, kAtOnce)));
  to_.header_.resize(static_cast<std::size_t>(size));
  source_.read(have, std::span(to_.header_).subspan(static_cast<std::size_t>(have)));
}

template <class T>
T GgufParser::number() {
  fetch(sizeof(T));
  T value;
  std::memcpy(&value, to_.header_.data() + at_, sizeof value);
  at_ += sizeof value;
  return value;
}

GgufParser::Range GgufParser::skip(std::uint64_t bytes) {
  fetch(bytes);
  const Range range{static_cast<std::size_t>(at_), static_cast<std::size_t>(bytes)};
  at_ += bytes;
  return range;
}

GgufParser::Range GgufParser::text(std::uint64_t limit, const char* code, const char* what) {
  const auto length = number<std::uint64_t>();
  if (length > left())
    refuse("text", concat(what, " claims ", length, " bytes, the file has ", left(), " more"));
  if (length > limit) refuse(code, concat(what, " of ", length, " bytes is too long (limit ", limit, ")"));
  return skip(length);
}

std::string_view GgufParser::view(Range range) const {
  return {reinterpret_cast<const char*>(to_.header_.data()) + range.begin, range.size};
}
std::string GgufParser::quoted(Range range) const { return concat("\"", escaped(view(range), kShown), "\""); }

void GgufParser::read_start() {
  constexpr std::uint64_t kStart = 4 + 4 + 8 + 8;
  if (source_.size() == 0) refuse("magic", "is empty");
  if (view(skip(std::min<std::uint64_t>(4, source_.size()))) != "GGUF")
    refuse("magic", "is not a GGUF file: it does not start with \"GGUF\"");
  if (source_.size() < kStart)
    refuse("cut", concat("is shorter than a header's ", kStart, " bytes (", source_.size(), ")"));
  const auto version = number<std::uint32_t>();
  if (version != 2 && version != 3) {
    const std::uint32_t swapped = __builtin_bswap32(version);
    if (swapped >= 1 && swapped <= 3)
      refuse("version", "is a big-endian GGUF file; only little-endian ones are supported");
    refuse("version", concat("is GGUF version ", version, "; versions 2 and 3 are supported"));
  }
  to_.version_ = version;
  tensor_count_ = number<std::uint64_t>();
  value_count_ = number<std::uint64_t>();
  const auto check = [&](std::uint64_t count, std::uint64_t smallest, const char* what) {
    if (count > left() / smallest)
      refuse("count", concat("claims ", count, " ", what, ", but only ", left(), " bytes follow"));
  };
  check(value_count_, kSmallestValue, "values");
  check(tensor_count_, kSmallestTensor, "tensors");
}

// The items of a list, each visited if that is more than counting bytes.
GgufParser::Range GgufParser::read_items(Value& value) {
  const auto item = number<std::uint32_t>();
  value.count = number<std::uint64_t>();
  if (!exists(item)) refuse("list", concat("value ", quoted(value.key), " is a list of unknown type ", item));
  value.item = static_cast<GgufType>(item);
  if (value.item == GgufType::list)
    refuse("nested", concat("value ", quoted(value.key), " is an array of arrays, which is not supported"));
  const std::uint64_t each = value.item == GgufType::text ? kTextLength : size_of(value.item);
  if (value.count > left() / each) {
    refuse("list", concat("value ", quoted(value.key), " claims ", value.count, " items, but only ", left(),
                          " bytes follow"));
  }
  if (value.item != GgufType::text) return skip(value.count * each);
  Range all{static_cast<std::size_t>(at_), 0};
  for (std::uint64_t i = 0; i < value.count; ++i) (void)text(kMaxGgufHeader, "text", "a text of a list");
  all.size = static_cast<std::size_t>(at_) - all.begin;
  return all;
}

void GgufParser::read_value() {
  Value value;
  value.key = text(kMaxGgufKey, "key", "a key");
  if (value.key.size == 0) refuse("key", "a key is empty");
  if (!is_utf8(view(value.key))) refuse("key", concat("key ", quoted(value.key), " is not UTF-8"));
  const auto type = number<std::uint32_t>();
  if (!exists(type)) refuse("type", concat("value ", quoted(value.key), " has the unknown type ", type));
  value.type = static_cast<GgufType>(type);
  if (value.type == GgufType::text) value.bytes = text(kMaxGgufHeader, "text", "a text");
  else if (value.type == GgufType::list) value.bytes = read_items(value);
  else value.bytes = skip(size_of(value.type));
  const GgufType inner = value.type == GgufType::list ? value.item : value.type;
  if (inner == GgufType::boolean) {
    for (const char c : view(value.bytes))
      if (c != 0 && c != 1)
        refuse("boolean", concat("value ", quoted(value.key), " has a boolean that is neither 0 nor 1"));
  }
  values_.push_back(value);
}

void GgufParser::read_tensor() {
  Place place;
  place.name = text(kMaxGgufTensorName, "tensor_name", "a tensor's name");
  const auto tensor = [&] { return concat("tensor ", quoted(place.name)); };
  if (place.name.size == 0) refuse("tensor_name", "a tensor's name is empty");
  if (!is_utf8(view(place.name))) refuse("tensor_name", concat(tensor(), ": its name is not UTF-8"));
  const auto rank = number<std::uint32_t>();
  if (rank > kMaxRank) refuse("dims", concat(tensor(), " has ", rank, " axes; at most ", kMaxRank, " exist"));
  GgufTensor& t = place.tensor;
  t.shape.rank = static_cast<int>(rank);
  t.elements = 1;
  for (std::uint32_t i = 0; i < rank; ++i) {
    const auto n = number<std::uint64_t>();
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (n == 0 || n > kMost) refuse("dims", concat(tensor(), " has an axis of length ", n));
    if (__builtin_mul_overflow(t.elements, n, &t.elements) || t.elements > kMost)
      refuse("dims", concat(tensor(), " has too many elements (size overflow)"));
    // The file counts from the innermost axis.
    t.shape.dims[rank - 1 - i] = static_cast<Index>(n);
  }
  const auto type = number<std::uint32_t>();
  t.type = find_block_type(type);
  if (t.type == nullptr) t.type = &unknown_type(type);
  t.bytes = whole_bytes(place);
  t.begin = number<std::uint64_t>();
  places_.push_back(place);
}

// A type that is newer than this program, or was removed: it has a name and a position, but cannot be read.
const BlockType& GgufParser::unknown_type(std::uint32_t id) {
  for (const Gguf::UnknownType& known : to_.unknown_)
    if (known.type.id == id) return known.type;
  Gguf::UnknownType& made = to_.unknown_.emplace_back();
  made.name = concat("type ", id);
  made.type = {.name = made.name, .id = id};
  return made.type;
}

std::uint64_t GgufParser::whole_bytes(const Place& place) {
  const GgufTensor& t = place.tensor;
  if (t.type->bytes == 0) return 0;  // checked by check_ranges()
  const auto row = static_cast<std::uint64_t>(t.shape.rank == 0 ? 1 : t.shape[t.shape.rank - 1]);
  if (row % t.type->elements != 0) {
    refuse("row", concat("tensor ", quoted(place.name), " has rows of ", row, ", which ", t.type->name,
                         " cannot hold: its blocks have ", t.type->elements));
  }
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(t.elements / t.type->elements, std::uint64_t{t.type->bytes}, &bytes))
    refuse("size", concat("tensor ", quoted(place.name), " is too large (size overflow)"));
  if (bytes > source_.size()) {
    refuse("data", concat("tensor ", quoted(place.name), " has ", bytes, " bytes, the file only ",
                          source_.size(), "\n  The file is damaged or incomplete."));
  }
  return bytes;
}

void GgufParser::set_alignment() {
  for (const Value& value : values_) {
    if (view(value.key) != "general.alignment") continue;
    if (value.type != GgufType::u32)
      refuse("alignment", concat("general.alignment is of type ", name_of(value.type), ", not u32"));
    std::uint32_t alignment = 0;
    std::memcpy(&alignment, to_.header_.data() + value.bytes.begin, sizeof alignment);
    if (!std::has_single_bit(alignment) || alignment > kMaxGgufAlignment) {
      refuse("alignment",
             concat("general.alignment is ", alignment, "; need a power of two up to ", kMaxGgufAlignment));
    }
    to_.alignment_ = alignment;
  }
}

// Every range is inside the data section, and no two overlap.
void GgufParser::check_ranges() {
  const std::uint64_t begin = (at_ + to_.alignment_ - 1) / to_.alignment_ * to_.alignment_;
  to_.data_begin_ = begin;
  if (places_.empty()) return;
  if (begin > source_.size()) refuse("data", "has tensors but no data");
  const std::uint64_t there = source_.size() - begin;
  const std::vector<std::uint32_t> order = sorted_by(places_, [](const Place& p) { return p.tensor.begin; });
  // A tensor of an unknown type extends to the next one.
  std::uint64_t next = there;
  for (auto i = order.rbegin(); i != order.rend(); ++i) {
    GgufTensor& t = places_[*i].tensor;
    if (t.type->bytes == 0) t.bytes = next - std::min(t.begin, next);
    next = t.begin;
  }
  for (const Place& place : places_) {
    const GgufTensor& t = place.tensor;
    const auto tensor = [&] { return concat("tensor ", quoted(place.name)); };
    if (t.begin % to_.alignment_ != 0)
      refuse("offset", concat(tensor(), " begins at byte ", t.begin,
                              " of the data, which is not a multiple of ", to_.alignment_));
    if (t.begin > there)
      refuse("offset", concat(tensor(), " begins at byte ", t.begin, " of ", there, " bytes of data"));
    if (t.bytes > there - t.begin) {
      refuse("data", concat(tensor(), " needs ", t.bytes, " bytes from byte ", t.begin,
                            " of the data, which has ", there, "\n  The file is damaged or incomplete."));
    }
  }
  std::uint64_t filled = 0;
  for (const std::uint32_t i : order) {
    const GgufTensor& t = places_[i].tensor;
    if (t.begin < filled)
      refuse("overlap", concat("tensor ", quoted(places_[i].name), " overlaps another one"));
    filled = t.begin + t.bytes;
  }
}

// The private copy no longer moves from here on, so names and values may point into it.
void GgufParser::settle() {
  const auto check_twice = [&](const auto& list, const auto& name, const char* code, const char* what) {
    std::vector<std::uint32_t> order = sorted_by(list, name);
    for (std::size_t i = 1; i < order.size(); ++i)
      if (name(list[order[i]]) == name(list[order[i - 1]]))
        refuse(code, concat(what, "\"", escaped(name(list[order[i]]), kShown), "\" occurs twice"));
    return order;
  };
  to_.values_.reserve(values_.size());
  for (const Value& v : values_) {
    to_.values_.push_back(
        {view(v.key), v.type, v.item, v.count, std::span(to_.header_).subspan(v.bytes.begin, v.bytes.size)});
  }
  to_.tensors_.reserve(places_.size());
  for (Place& place : places_) {
    place.tensor.name = view(place.name);
    to_.tensors_.push_back(place.tensor);
  }
  to_.values_by_key_ = check_twice(
      to_.values_, [](const GgufValue& v) { return v.key; }, "key_twice", "key ");
  to_.tensors_by_name_ = check_twice(
      to_.tensors_, [](const GgufTensor& t) { return t.name; }, "tensor_twice", "tensor ");
}

void GgufParser::run() {
  read_start();
  for (std::uint64_t i = 0; i < value_count_; ++i) read_value();
  set_alignment();
  for (std::uint64_t i = 0; i < tensor_count_; ++i) read_tensor();
  check_ranges();
  settle();
}

}  // namespace headlight::io
