#include "io/npy_header.h"

#include <charconv>
#include <string_view>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"

namespace headlight::io {
namespace {

// Parses the dictionary: exactly the three known keys, each once.
class Reader {
 public:
  Reader(std::string_view text, const std::string& name, std::uint64_t begin)
      : text_(text), name_(name), begin_(begin) {}

  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(ErrorKind::input, "npy.header",
                concat(escaped(name_), ": ", what, " (header byte ", begin_ + at_, ")"));
  }

  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\n\r").find(text_[at_]) != std::string_view::npos)
      ++at_;
  }
  bool accept(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) refuse(concat("the header is damaged: expected '", c, "'"));
  }
  bool accept_word(std::string_view word) {
    skip_space();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  std::string_view string() {
    skip_space();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') refuse("the header is damaged: expected a quoted text");
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) refuse("the header is damaged: a quoted text does not end");
    const std::string_view value = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return value;
  }
  Index size() {
    skip_space();
    Index value = 0;
    const char* first = text_.data() + at_;
    const auto [end, problem] = std::from_chars(first, text_.data() + text_.size(), value);
    if (problem == std::errc::result_out_of_range) refuse("an axis is longer than memory can be");
    if (problem != std::errc() || value < 0) refuse("the shape is damaged: expected a size of 0 or more");
    at_ += static_cast<std::size_t>(end - first);
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // as Python 2 wrote it
    return value;
  }
  void expect_end() {
    skip_space();
    if (at_ != text_.size()) refuse("the header is damaged: text after the dictionary");
  }

 private:
  std::string_view text_;
  const std::string& name_;
  std::uint64_t begin_;
  std::size_t at_ = 0;
};

Shape read_shape(Reader& in) {
  Shape shape;
  in.expect('(');
  bool comma = false;
  while (!in.accept(')')) {
    if (shape.rank > 0 && !comma) in.refuse("the shape is damaged: expected ',' or ')'");
    if (shape.rank == kMaxRank) in.refuse(concat("more than ", kMaxRank, " axes"));
    shape.dims[static_cast<std::size_t>(shape.rank++)] = in.size();
    comma = in.accept(',');
  }
  if (shape.rank == 1 && !comma) in.refuse("the shape is damaged: one axis is written (N,)");
  return shape;
}

void read_descr(Reader& in, NpyHeader& header) {
  if (in.accept('[')) in.refuse("arrays of records are not supported");
  const std::string_view descr = in.string();
  const std::string_view type = descr.substr(descr.empty() ? 0 : 1);
  const char order = descr.empty() ? '\0' : descr[0];
  struct Known {
    std::string_view type;
    DType dtype;
  };
  constexpr Known known[] = {{"f2", DType::f16}, {"f4", DType::f32}, {"f8", DType::f64},
                             {"i4", DType::i32}, {"i8", DType::i64}, {"b1", DType::boolean}};
  for (const Known& k : known) {
    const bool ordered = order == '<' || order == '>' || order == '=';
    if (k.type != type || !(ordered || (order == '|' && k.dtype == DType::boolean))) continue;
    header.dtype = k.dtype;
    header.swapped = order == '>';
    return;
  }
  in.refuse(
      concat("elements of type '", escaped(descr, 20), "' are not supported; f2, f4, f8, i4, i8 and b1 are"));
}

void read_dictionary(Reader& in, NpyHeader& header) {
  bool descr = false, fortran = false, shape = false;
  in.expect('{');
  while (!in.accept('}')) {
    const std::string_view key = in.string();
    in.expect(':');
    bool* seen = key == "descr"           ? &descr
                 : key == "fortran_order" ? &fortran
                 : key == "shape"         ? &shape
                                          : nullptr;
    if (seen == nullptr) in.refuse(concat("the header has an unknown entry '", escaped(key, 20), "'"));
    if (*seen) in.refuse(concat("the header has '", key, "' twice"));
    *seen = true;
    if (seen == &descr) read_descr(in, header);
    else if (seen == &shape) header.shape = read_shape(in);
    else if (in.accept_word("True")) header.fortran = true;
    else if (!in.accept_word("False"))
      in.refuse("the header is damaged: fortran_order is neither True nor False");
    if (!in.accept(',')) {
      in.expect('}');
      break;
    }
  }
  in.expect_end();
  if (!descr || !fortran || !shape) in.refuse("the header lacks 'descr', 'fortran_order' or 'shape'");
}

[[noreturn]] void refuse(const std::string& name, const char* code, const std::string& what) {
  throw Error(ErrorKind::input, code, concat(escaped(name), ": ", what));
}

// An axis of length 0 makes the array empty, but the other axes must still be valid.
void check_size(NpyHeader& header, std::uint64_t file_size, const std::string& name) {
  std::uint64_t bytes = size_of(header.dtype);
  bool none = false;
  for (int axis = 0; axis < header.shape.rank; ++axis) {
    const auto length = static_cast<std::uint64_t>(header.shape[axis]);
    none = none || length == 0;
    if (length != 0 && (__builtin_mul_overflow(bytes, length, &bytes) || bytes > (std::uint64_t{1} << 62))) {
      refuse(name, "npy.overflow",
             concat("size overflow: ", header.shape.text(), " is larger than memory can be"));
    }
  }
  if (none) bytes = 0;
  header.elements = bytes / size_of(header.dtype);
  const std::uint64_t present = file_size - header.data_begin;
  if (bytes != present) {
    refuse(name, "npy.size",
           concat(name_of(header.dtype), " ", header.shape.text(), " needs ", bytes,
                  " bytes of data, the file has ", present,
                  present < bytes ? " (cut off?)" : " (extra bytes after the array)"));
  }
}

}  // namespace

NpyHeader parse_npy_header(std::span<const std::byte> start, std::uint64_t file_size,
                           const std::string& name) {
  constexpr std::string_view magic = "\x93NUMPY";
  const std::string_view text(reinterpret_cast<const char*>(start.data()), start.size());
  if (text.substr(0, magic.size()) != magic.substr(0, text.size()) || text.empty()) {
    refuse(name, "npy.magic", "is not a .npy file (the first bytes are not \\x93NUMPY)");
  }
  const auto byte = [&](std::size_t i) { return std::to_integer<std::uint64_t>(start[i]); };
  if (start.size() < 8)
    refuse(name, "npy.short", concat("the file ends inside the header (", file_size, " bytes)"));
  const std::uint64_t major = byte(6), minor = byte(7);
  if (major < 1 || major > 3 || minor != 0) {
    refuse(name, "npy.version",
           concat("version ", major, ".", minor, " is unknown; 1.0, 2.0 and 3.0 are read"));
  }
  const std::size_t begin = major == 1 ? 10 : 12;
  if (start.size() < begin)
    refuse(name, "npy.short", concat("the file ends inside the header (", file_size, " bytes)"));
  std::uint64_t length = 0;
  for (std::size_t i = begin; i-- > 8;) length = (length << 8) | byte(i);
  if (length > file_size - begin) {
    refuse(name, "npy.short",
           concat("a header of ", length, " bytes does not fit (the file has ", file_size, ")"));
  }
  if (length > kMaxNpyHeader)
    refuse(name, "npy.header",
           concat("a header of ", length, " bytes is above the limit of ", kMaxNpyHeader));

  NpyHeader header;
  Reader in(text.substr(begin, static_cast<std::size_t>(length)), name, begin);
  read_dictionary(in, header);
  header.data_begin = begin + length;
  check_size(header, file_size, name);
  return header;
}

}  // namespace headlight::io
