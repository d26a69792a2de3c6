// Tokens in a file: a corpus that is larger than memory, tokenized once. Windows of it are read where they are needed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/tokenizer.h"
#include "io/outputs.h"
#include "io/source.h"
#include "train/checkpoint.h"

namespace headlight::train {

// Ends every file. Another layout, or another way to tokenize, needs another text.
inline constexpr std::string_view kTokenFormat = "headlight token1";

class TokenFile {
 public:
  // Throws Error{input} if it is not such a file, or is truncated.
  explicit TokenFile(const std::string& path);

  [[nodiscard]] Index size() const noexcept { return tokens_; }
  [[nodiscard]] const DataFile& text() const noexcept {
    return text_;
  }  // what it was made from, without a path
  [[nodiscard]] Index documents() const noexcept { return documents_; }
  [[nodiscard]] Index document_end(Index number) const;  // in tokens
  // Tokens first, first + 1, …
  void read(Index first, std::span<TokenId> to) const;

 private:
  void copy_bytes(std::uint64_t offset, std::span<std::byte> to) const;

  mutable io::Source source_;
  const std::byte* mapped_ = nullptr;  // null: it could not be mapped, and windows are read
  Index tokens_ = 0, documents_ = 0;
  std::uint64_t width_ = 4;  // bytes of a token: 2 where the vocabulary is small
  DataFile text_;
};

// Writes such a file; only the tokens of one document need to be in memory. It appears under its name when it is complete.
class TokenWriter {
 public:
  TokenWriter(const std::string& path, Index vocabulary);
  void add(std::span<const TokenId> ids);
  void end_document() { ends_.push_back(tokens_); }
  void finish(const DataFile& text);

 private:
  void flush();

  std::string path_;
  io::Outputs outputs_;
  std::uint64_t width_, tokens_ = 0;
  std::vector<std::byte> buffer_;
  std::vector<std::uint64_t> ends_;
};

}  // namespace headlight::train
