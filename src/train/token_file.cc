#include "train/token_file.h"

#include <algorithm>
#include <cstring>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"

namespace headlight::train {
namespace {

// At the end of the file, because its numbers are known only then.
struct Footer {
  std::uint64_t width = 4, tokens = 0, documents = 0, text_bytes = 0;
  char text_hash[16] = {};
  char magic[16] = {};
};
constexpr std::uint64_t kRoundTo = 8;

std::uint64_t rounded(std::uint64_t bytes) { return (bytes + kRoundTo - 1) / kRoundTo * kRoundTo; }

[[noreturn]] void refuse_token_file(const std::string& path, const std::string& what) {
  throw Error(ErrorKind::input, "tokens.form",
              concat(escaped(path), ": ", what,
                     "\n"
                     "  Delete it; it is created again from the text."));
}

}  // namespace

TokenWriter::TokenWriter(const std::string& path, Index vocabulary)
    : path_(path), outputs_(io::Existing::replace), width_(vocabulary <= (1 << 16) ? 2 : 4) {
  outputs_.reserve(path);
}

void TokenWriter::add(std::span<const TokenId> ids) {
  for (const TokenId id : ids) {
    const auto bits = static_cast<std::uint32_t>(id);
    for (std::uint64_t byte = 0; byte < width_; ++byte)
      buffer_.push_back(static_cast<std::byte>(bits >> (8 * byte)));
  }
  tokens_ += ids.size();
  if (buffer_.size() >= (std::size_t{1} << 20)) flush();
}

void TokenWriter::finish(const DataFile& text) {
  if (ends_.empty() || ends_.back() != tokens_) end_document();
  buffer_.resize(buffer_.size() + rounded(tokens_ * width_) - tokens_ * width_);
  flush();
  outputs_.write(path_, std::as_bytes(std::span(ends_)));
  Footer footer{.width = width_, .tokens = tokens_, .documents = ends_.size(), .text_bytes = text.bytes};
  std::memcpy(footer.text_hash, text.hash.data(), std::min(text.hash.size(), sizeof footer.text_hash));
  std::memcpy(footer.magic, kTokenFormat.data(), sizeof footer.magic);
  outputs_.write(path_, std::as_bytes(std::span(&footer, 1)));
  outputs_.commit();
}

void TokenWriter::flush() {
  outputs_.write(path_, buffer_);
  buffer_.clear();
}

TokenFile::TokenFile(const std::string& path) : source_(std::make_unique<const io::File>(path)) {
  Footer footer;
  if (source_.size() < sizeof footer) refuse_token_file(path, "is not a token file");
  source_.read(source_.size() - sizeof footer, std::as_writable_bytes(std::span(&footer, 1)));
  const std::uint64_t most = source_.size();
  const bool good = std::string_view(footer.magic, sizeof footer.magic) == kTokenFormat &&
                    (footer.width == 2 || footer.width == 4) && footer.tokens <= most &&
                    footer.documents <= most &&
                    rounded(footer.tokens * footer.width) + footer.documents * 8 + sizeof footer == most;
  if (!good) refuse_token_file(path, "is not a token file, or is truncated");
  width_ = footer.width;
  tokens_ = static_cast<Index>(footer.tokens);
  documents_ = static_cast<Index>(footer.documents);
  text_ = {path, footer.text_bytes, std::string(footer.text_hash, sizeof footer.text_hash)};
  try {
    mapped_ = source_.mapped(0, source_.size()).data();
  } catch (const Error&) {
    // Limits the address space; the data read is the same.
  }
}

void TokenFile::copy_bytes(std::uint64_t offset, std::span<std::byte> to) const {
  if (mapped_ == nullptr) return source_.read(offset, to);
  (void)source_.mapped(offset, to.size());  // refuses a file that has become shorter
  std::memcpy(to.data(), mapped_ + offset, to.size());
}

Index TokenFile::document_end(Index number) const {
  std::uint64_t end = 0;
  copy_bytes(rounded(static_cast<std::uint64_t>(tokens_) * width_) + static_cast<std::uint64_t>(number) * 8,
             std::as_writable_bytes(std::span(&end, 1)));
  return static_cast<Index>(end);
}

void TokenFile::read(Index first, std::span<TokenId> to) const {
  if (to.empty()) return;
  const auto offset = static_cast<std::uint64_t>(first) * width_;
  if (width_ == sizeof(TokenId)) return copy_bytes(offset, std::as_writable_bytes(to));
  std::vector<std::uint16_t> narrow(to.size());
  copy_bytes(offset, std::as_writable_bytes(std::span(narrow)));
  std::copy(narrow.begin(), narrow.end(), to.begin());
}

}  // namespace headlight::train
