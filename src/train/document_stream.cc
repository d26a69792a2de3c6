#include "train/document_stream.h"

#include <algorithm>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "io/json.h"
#include "text/lines.h"

namespace headlight::train {
namespace {

[[noreturn]] void refuse_documents(const std::string& path, const std::string& what) {
  throw Error(ErrorKind::input, "data.form", concat(escaped(path), ": ", what));
}

}  // namespace

bool is_jsonl(const std::string& path) { return path.ends_with(".jsonl") || path.ends_with(".jsonl.gz"); }

std::string jsonl_field(std::string_view line, const std::string& field, const std::string& path,
                        std::size_t number) {
  const io::Json json = io::Json::parse(line, concat(path, " line ", number));
  const io::Json* at = &json;
  for (std::size_t begin = 0; at != nullptr && begin <= field.size();) {
    const std::size_t end = std::min(field.find('.', begin), field.size());
    at = at->find(std::string_view(field).substr(begin, end - begin));
    begin = end + 1;
  }
  if (at == nullptr || !at->is(io::Json::Kind::text)) {
    std::string found;
    for (const std::string& key : json.keys()) found += concat(found.empty() ? "" : ", ", escaped(key, 40));
    refuse_documents(
        path, concat("line ", number, ": has no text \"", escaped(field, 60), "\"; its fields are: ", found,
                     "\n  data.field, data.source_field and data.target_field say which to read."));
  }
  return at->text();
}

DocumentStream::DocumentStream(const std::string& path, DocumentRules rules)
    : path_(path), rules_(std::move(rules)), jsonl_(is_jsonl(path)), pieces_(path) {}

// Every byte is counted, hashed and checked once, as it comes.
bool DocumentStream::read_more() {
  if (ended_) return false;
  if (begin_ > 0) {
    waiting_.erase(0, begin_);
    checked_ -= begin_;
    searched_ -= std::min(searched_, begin_);
    begin_ = 0;
  }
  const std::size_t before = waiting_.size();
  ended_ = !pieces_.append_to(waiting_);
  hash_.update(std::string_view(waiting_).substr(before));
  bytes_ += waiting_.size() - before;
  while (checked_ < waiting_.size()) {
    const std::size_t length = utf8_length(std::string_view(waiting_).substr(checked_));
    constexpr std::size_t kLongest = 4;  // bytes of a character that may continue in the next piece
    if (length == 0 && !ended_ && waiting_.size() - checked_ < kLongest) break;
    if (length == 0)
      refuse_documents(path_, concat("is not UTF-8 (byte ", bytes_ - (waiting_.size() - checked_), ")"));
    checked_ += length;
  }
  if (ended_ && bytes_ == 0) refuse_documents(path_, "is empty");
  return !ended_;
}

std::string DocumentStream::take(std::size_t end, std::size_t skip) {
  std::string text = waiting_.substr(begin_, end - begin_);
  begin_ = std::min(waiting_.size(), end + skip);
  searched_ = begin_;
  return text;
}

bool DocumentStream::next(Document& document) {
  document.whole = true;
  if (jsonl_) return next_line(document);
  return rules_.separator.empty() ? next_piece(document) : next_part(document);
}

bool DocumentStream::next_line(Document& document) {
  for (;;) {
    const std::size_t end = waiting_.find('\n', searched_);
    if (end == std::string::npos) {
      searched_ = waiting_.size();
      if (read_more()) continue;
      if (begin_ == waiting_.size()) return false;
    }
    const std::string line = take(std::min(end, waiting_.size()), 1);
    ++line_;
    if (text::trimmed(line).empty()) continue;
    document.text = jsonl_field(line, rules_.field, path_, line_);
    if (!document.text.empty()) return true;
  }
}

bool DocumentStream::next_part(Document& document) {
  const std::size_t longest = rules_.separator.size();
  for (;;) {
    const std::size_t end = waiting_.find(rules_.separator, searched_);
    if (end == std::string::npos) {
      // A separator may begin in this block and end in the next.
      searched_ = std::max(begin_, waiting_.size() - std::min(waiting_.size(), longest - 1));
      if (read_more()) continue;
      if (begin_ == waiting_.size()) return false;
    }
    const std::string part = take(std::min(end, waiting_.size()), longest);
    document.text = text::trimmed(part);
    if (!document.text.empty()) return true;
  }
}

bool DocumentStream::next_piece(Document& document) {
  // Larger than the unit of the UTF-8 check, so that texts are split between characters and all returned text was checked.
  while (checked_ - begin_ <= rules_.piece && read_more()) {}
  const std::size_t left = waiting_.size() - begin_;
  if (left == 0) return false;
  if (ended_ && left <= rules_.piece) {
    document.text = take(waiting_.size(), 0);
    return true;
  }
  // After the last complete line; without one, between two characters.
  std::size_t end = waiting_.rfind('\n', begin_ + rules_.piece - 1);
  if (end != std::string::npos && end >= begin_) {
    ++end;
  } else {
    end = begin_ + rules_.piece;
    while (end > begin_ + 1 && (static_cast<unsigned char>(waiting_[end]) & 0xC0U) == 0x80U) --end;
  }
  document.text = take(end, 0);
  document.whole = ended_ && begin_ == waiting_.size();
  return true;
}

}  // namespace headlight::train
