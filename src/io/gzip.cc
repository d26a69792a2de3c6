#include "io/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <new>
#include <vector>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "io/file.h"

namespace headlight::io {
namespace {

[[noreturn]] void refuse_gzip(const std::string& name, const std::string& what) {
  throw Error(ErrorKind::input, "gzip.form", concat(escaped(name), ": ", what));
}

class Inflater {
 public:
  Inflater() {
    constexpr int kGzipOnly = 15 + 16;  // the largest window, and gzip's own header
    if (::inflateInit2(&stream_, kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { ::inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  z_stream& stream() { return stream_; }

 private:
  z_stream stream_{};
};

}  // namespace

std::string gunzip(std::span<const std::byte> bytes, std::uint64_t limit, const std::string& name) {
  constexpr std::size_t kPiece = std::size_t{1} << 18;
  Inflater inflater;
  z_stream& stream = inflater.stream();
  std::string text;
  std::vector<char> piece(kPiece);
  for (bool ended = false; !ended || !bytes.empty();) {
    if (ended) {  // another member follows
      if (::inflateReset(&stream) != Z_OK) throw std::bad_alloc();
      ended = false;
    }
    const std::size_t given = std::min<std::size_t>(bytes.size(), std::numeric_limits<uInt>::max() / 2);
    stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(given);
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    const int result = ::inflate(&stream, Z_NO_FLUSH);
    bytes = bytes.subspan(given - stream.avail_in);
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    const std::size_t made = piece.size() - stream.avail_out;
    if (made > limit - text.size()) refuse_gzip(name, concat("holds more than ", limit, " bytes of text"));
    text.append(piece.data(), made);
    if (result == Z_STREAM_END) ended = true;
    else if (result == Z_BUF_ERROR || (bytes.empty() && made == 0))
      refuse_gzip(name, "the compressed file is cut off");
    else if (result != Z_OK)
      refuse_gzip(name, concat("the compressed file is damaged at byte ", stream.total_in));
  }
  return text;
}

struct TextPieces::Inflating {
  Inflater inflater;
  std::span<const std::byte> waiting;  // of the current piece
  bool ended = false;                  // a member is complete
};

TextPieces::TextPieces(const std::string& path) : file_(path) {
  std::byte start[2] = {};
  if (file_.size() >= 2) file_.read(0, start);
  if (start[0] == std::byte{0x1F} && start[1] == std::byte{0x8B}) inflating_ = std::make_unique<Inflating>();
}

TextPieces::~TextPieces() = default;

bool TextPieces::read_more() {
  constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;
  if (at_ == file_.size()) return false;
  piece_.resize(static_cast<std::size_t>(std::min(kPiece, file_.size() - at_)));
  file_.read(at_, piece_);
  at_ += piece_.size();
  return true;
}

bool TextPieces::append_to(std::string& text) {
  if (inflating_ == nullptr) {
    if (!read_more()) return false;
    text.append(reinterpret_cast<const char*>(piece_.data()), piece_.size());
    return true;
  }
  constexpr std::size_t kRoom = std::size_t{1} << 20;
  Inflating& state = *inflating_;
  z_stream& stream = state.inflater.stream();
  for (std::size_t before = text.size(); text.size() == before;) {
    if (state.waiting.empty()) {
      if (!read_more()) {
        if (!state.ended) refuse_gzip(file_.path(), "the compressed file is cut off");
        return false;
      }
      state.waiting = piece_;
    }
    if (state.ended && ::inflateReset(&stream) != Z_OK) throw std::bad_alloc();  // another member follows
    state.ended = false;
    text.resize(before + kRoom);
    stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(state.waiting.data()));
    stream.avail_in = static_cast<uInt>(state.waiting.size());
    stream.next_out = reinterpret_cast<Bytef*>(text.data() + before);
    stream.avail_out = static_cast<uInt>(kRoom);
    const int result = ::inflate(&stream, Z_NO_FLUSH);
    state.waiting = state.waiting.last(stream.avail_in);
    text.resize(before + kRoom - stream.avail_out);
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    state.ended = result == Z_STREAM_END;
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
      refuse_gzip(file_.path(), concat("the compressed file is damaged at byte ", stream.total_in));
  }
  return true;
}

std::string gzip(std::string_view text) {
  constexpr int kGzip = 15 + 16, kMemory = 9;
  z_stream stream{};
  if (::deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kGzip, kMemory, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&stream, ::deflateEnd);
  if (text.size() > std::numeric_limits<uInt>::max() / 2)
    throw Error(ErrorKind::resource, "gzip.size", concat(text.size(), " bytes are too many for one member"));
  std::string out(::deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  if (::deflate(&stream, Z_FINISH) != Z_STREAM_END) throw std::bad_alloc();
  out.resize(out.size() - stream.avail_out);
  return out;
}

std::string read_text(const std::string& path, std::uint64_t limit) {
  const std::vector<std::byte> bytes = read_file(path, limit);
  if (bytes.size() >= 2 && bytes[0] == std::byte{0x1F} && bytes[1] == std::byte{0x8B})
    return gunzip(bytes, limit, path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace headlight::io
