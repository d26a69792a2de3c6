// Tokens in a file: a corpus that is larger than memory, cut into tokens once. Windows of it are read where they are
// needed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headlight/tokenizer.h"
#include "io/source.h"
#include "train/checkpoint.h"
#include "train/document_stream.h"

namespace headlight::train {

class TokenFile {
 public:
  // Throws Error{input} if it is not such a file, or is truncated.
  explicit TokenFile(const std::string& path);

  [[nodiscard]] Index size() const noexcept { return tokens_; }
  [[nodiscard]] const DataFile& text() const noexcept { return text_; }  // what it was made from; no path
  [[nodiscard]] Index documents() const noexcept { return documents_; }
  [[nodiscard]] Index document_end(Index number) const;  // in tokens
  // Tokens first, first + 1, …
  void read(Index first, std::span<TokenId> to) const;

 private:
  void copy_bytes(std::uint64_t offset, std::span<std::byte> to) const;

  mutable io::Source source_;
  const std::byte* mapped_ = nullptr;  // null: there is no room to map it, and windows are read
  Index tokens_ = 0, documents_ = 0;
  std::uint64_t width_ = 4;  // bytes of a token: 2 where the vocabulary is small
  DataFile text_;
};

// How texts become tokens.
struct TokenRules {
  const Tokenizer& tokenizer;
  std::string tokenizer_hash;
  DocumentRules documents = {};
  // Follows every document of files that have a separator or are .jsonl. Error{input} where it is needed and missing.
  std::optional<TokenId> end = std::nullopt;
  std::string task = {};  // for that message
};

// The tokens of a text file: those that `folder` has from an earlier time, when tokenizer, rules, and the file's size and
// time of change are the same; else they are made and kept there. `made`, when given, says which it was.
[[nodiscard]] std::shared_ptr<const TokenFile> cached_tokens(const std::string& folder,
                                                             const std::string& path, const TokenRules& rules,
                                                             bool* made = nullptr);

// Tokens in a row: in memory, or parts of files one after the other.
class TokenRow {
 public:
  TokenRow() = default;
  TokenRow(std::vector<TokenId> ids) : ids_(std::move(ids)) {}  // NOLINT: it is one
  void append(std::shared_ptr<const TokenFile> file, Index begin, Index end);
  // The last tokens from `first` on, which this one then no longer has.
  [[nodiscard]] TokenRow split_off(Index first);

  [[nodiscard]] Index size() const noexcept;
  void read(Index first, std::span<TokenId> to) const;

 private:
  struct Part {
    std::shared_ptr<const TokenFile> file;
    Index begin = 0;    // in the file
    Index row_end = 0;  // in the row
  };
  std::vector<TokenId> ids_;
  std::vector<Part> parts_;  // none: the tokens are in memory
};

}  // namespace headlight::train
