#include "train/token_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "io/outputs.h"

namespace headlight::train {
namespace {

// At the end of the file, because its numbers are known last.
constexpr std::string_view kMagic = "headlight token1";
struct Footer {
  std::uint64_t width = 4, tokens = 0, documents = 0, text_bytes = 0;
  char text_hash[16] = {};
  char magic[16] = {};
};
constexpr std::uint64_t kRoundTo = 8;

std::uint64_t rounded(std::uint64_t bytes) { return (bytes + kRoundTo - 1) / kRoundTo * kRoundTo; }

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  throw Error(ErrorKind::input, "tokens.form",
              concat(escaped(path), ": ", what,
                     "\n"
                     "  Delete it; it is created again from the text."));
}

// Written as they come, so that only one document is in memory.
class TokenWriter {
 public:
  TokenWriter(const std::string& path, std::uint64_t width) : path_(path), outputs_(io::Existing::replace) {
    footer_.width = width;
    std::memcpy(footer_.magic, kMagic.data(), sizeof footer_.magic);
    outputs_.reserve(path);
  }
  void add(std::span<const TokenId> ids) {
    for (const TokenId id : ids) {
      const auto bits = static_cast<std::uint32_t>(id);
      for (std::uint64_t byte = 0; byte < footer_.width; ++byte)
        buffer_.push_back(static_cast<std::byte>(bits >> (8 * byte)));
    }
    footer_.tokens += ids.size();
    if (buffer_.size() >= (std::size_t{1} << 20)) flush();
  }
  void end_document() { ends_.push_back(footer_.tokens); }
  void finish(const DataFile& text) {
    if (ends_.empty() || ends_.back() != footer_.tokens) end_document();
    buffer_.resize(buffer_.size() + rounded(footer_.tokens * footer_.width) - footer_.tokens * footer_.width);
    flush();
    outputs_.write(path_, std::as_bytes(std::span(ends_)));
    footer_.documents = ends_.size();
    footer_.text_bytes = text.bytes;
    std::memcpy(footer_.text_hash, text.hash.data(), std::min(text.hash.size(), sizeof footer_.text_hash));
    outputs_.write(path_, std::as_bytes(std::span(&footer_, 1)));
    outputs_.commit();
  }

 private:
  void flush() {
    outputs_.write(path_, buffer_);
    buffer_.clear();
  }

  std::string path_;
  io::Outputs outputs_;
  Footer footer_;
  std::vector<std::byte> buffer_;
  std::vector<std::uint64_t> ends_;
};

// What the tokens depend on; the text itself by its size and time of change, or every start would read all of it.
std::string cache_name(const std::string& path, const TokenRules& rules) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) io::fail_file(path, "open", errno);
  std::error_code ignored;
  const std::filesystem::path whole = std::filesystem::weakly_canonical(path, ignored);
  io::Hash64 hash;
  for (const std::string& part :
       {std::string(kMagic), whole.string(), rules.tokenizer_hash, rules.documents.separator,
        rules.documents.field, std::to_string(rules.documents.piece), std::to_string(rules.end.value_or(-1)),
        std::to_string(status.st_size), std::to_string(status.st_mtim.tv_sec),
        std::to_string(status.st_mtim.tv_nsec)}) {
    hash.update(part);
    hash.update(std::string_view("\0", 1));
  }
  return hash.text() + ".tokens";
}

void write_tokens(const std::string& to, const std::string& path, const TokenRules& rules) {
  const bool ends = is_jsonl(path) || !rules.documents.separator.empty();
  if (ends && !rules.end)
    throw Error(ErrorKind::input, "data.special",
                concat("tokenizer: has no end-of-text token (<|endoftext|>, </s>), which the task \"",
                       rules.task, "\" needs"));
  constexpr Index kNarrow = 1 << 16;
  TokenWriter writer(to, rules.tokenizer.size() <= kNarrow ? 2 : 4);
  DocumentStream stream(path, rules.documents);
  for (DocumentStream::Document document; stream.next(document);) {
    writer.add(rules.tokenizer.encode(document.text, SpecialTokens::leave_out));
    if (!document.whole) continue;
    if (ends) writer.add(std::span(&*rules.end, 1));
    writer.end_document();
  }
  writer.finish(stream.facts());
}

}  // namespace

TokenFile::TokenFile(const std::string& path) : source_(std::make_unique<const io::File>(path)) {
  Footer footer;
  if (source_.size() < sizeof footer) refuse(path, "is not a token file");
  source_.read(source_.size() - sizeof footer, std::as_writable_bytes(std::span(&footer, 1)));
  const std::uint64_t most = source_.size();
  const bool good = std::string_view(footer.magic, sizeof footer.magic) == kMagic &&
                    (footer.width == 2 || footer.width == 4) && footer.tokens <= most &&
                    footer.documents <= most &&
                    rounded(footer.tokens * footer.width) + footer.documents * 8 + sizeof footer == most;
  if (!good) refuse(path, "is not a token file, or is truncated");
  width_ = footer.width;
  tokens_ = static_cast<Index>(footer.tokens);
  documents_ = static_cast<Index>(footer.documents);
  text_ = {path, footer.text_bytes, std::string(footer.text_hash, sizeof footer.text_hash)};
  try {
    mapped_ = source_.mapped(0, source_.size()).data();
  } catch (const Error&) {
    // A limit of address space. What is read is the same.
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

std::shared_ptr<const TokenFile> cached_tokens(const std::string& folder, const std::string& path,
                                               const TokenRules& rules, bool* made) {
  const std::string name = concat(folder, "/", cache_name(path, rules));
  std::error_code problem;
  const bool there = std::filesystem::exists(name, problem);
  if (made != nullptr) *made = !there;
  if (!there) {
    std::filesystem::create_directories(folder, problem);
    if (problem) io::fail_file(folder, "write", problem.value());
    write_tokens(name, path, rules);
  }
  return std::make_shared<const TokenFile>(name);
}

void TokenRow::append(std::shared_ptr<const TokenFile> file, Index begin, Index end) {
  if (begin == end) return;
  parts_.push_back({std::move(file), begin, size() + end - begin});
}

TokenRow TokenRow::split_off(Index first) {
  TokenRow rest;
  std::vector<Part> kept;
  Index at = 0;
  for (const Part& part : parts_) {
    const Index cut = std::clamp(first, at, part.row_end);
    rest.append(part.file, part.begin + cut - at, part.begin + part.row_end - at);
    if (cut > at) kept.push_back({part.file, part.begin, cut});
    at = part.row_end;
  }
  parts_ = std::move(kept);
  if (!ids_.empty()) {
    rest.ids_.assign(ids_.begin() + first, ids_.end());
    ids_.resize(static_cast<std::size_t>(first));
  }
  return rest;
}

Index TokenRow::size() const noexcept {
  return parts_.empty() ? static_cast<Index>(ids_.size()) : parts_.back().row_end;
}

void TokenRow::read(Index first, std::span<TokenId> to) const {
  if (parts_.empty()) {
    std::copy_n(ids_.begin() + first, to.size(), to.begin());
    return;
  }
  auto part = std::upper_bound(parts_.begin(), parts_.end(), first,
                               [](Index place, const Part& p) { return place < p.row_end; });
  while (!to.empty()) {
    const Index begin = part == parts_.begin() ? 0 : std::prev(part)->row_end;
    const Index n = std::min(part->row_end - first, static_cast<Index>(to.size()));
    part->file->read(part->begin + first - begin, to.first(static_cast<std::size_t>(n)));
    to = to.subspan(static_cast<std::size_t>(n));
    first += n;
    ++part;
  }
}

}  // namespace headlight::train
