// Documents of text files one after the other; the file is never in memory as a whole.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/gzip.h"
#include "io/hash.h"
#include "train/checkpoint.h"

namespace headlight::train {

// Whether every line of the file is a document in JSON, by the file name: FILE.jsonl or FILE.jsonl.gz.
[[nodiscard]] bool is_jsonl(const std::string& path);
// A text in one line of JSON: a field, or a nested one ("translation.en"). Error{input} with the line's number.
[[nodiscard]] std::string jsonl_field(std::string_view line, const std::string& field,
                                      const std::string& path, std::size_t number);

struct DocumentRules {
  std::string separator = {};  // between documents; empty: a file is one
  std::string field = "text";  // of .jsonl files
  // The most bytes of a text without separator that are returned together, split at a line end. Encoding them takes about 30
  // times as much memory, on every thread.
  std::size_t piece = 1U << 20;
};

class DocumentStream {
 public:
  // Throws Error{file} when it cannot be opened.
  DocumentStream(const std::string& path, DocumentRules rules);

  struct Document {
    std::string text;
    bool whole = true;  // false: more of the same document follows
  };
  // The next document that is not empty; false at the end. Error{input} for invalid UTF-8 and for an empty file.
  bool next(Document& document);

  [[nodiscard]] double share_read() const noexcept { return pieces_.share_read(); }  // of the file, 0 to 1
  // Size and checksum of the file, after the last document.
  [[nodiscard]] DataFile facts() const { return {path_, bytes_, hash_.text()}; }

 private:
  bool read_more();
  bool next_line(Document& document);
  bool next_part(Document& document);
  bool next_piece(Document& document);
  [[nodiscard]] std::string take(std::size_t end, std::size_t skip);

  std::string path_;
  DocumentRules rules_;
  bool jsonl_;
  io::TextPieces pieces_;
  std::string waiting_;       // read, but not returned yet
  std::size_t begin_ = 0;     // bytes of it that were returned
  std::size_t checked_ = 0;   // bytes checked as UTF-8
  std::size_t searched_ = 0;  // no separator begins before this byte
  std::uint64_t bytes_ = 0;
  io::Hash64 hash_;
  std::size_t line_ = 0;
  bool ended_ = false;
};

}  // namespace headlight::train
