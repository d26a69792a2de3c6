// Tokens in a file: a corpus larger than memory, tokenized once. Windows of it are read when needed.
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

// Ends every file. A change of layout or of encoding needs a new value.
inline constexpr std::string_view kTokenFormat = "headlight token1";

class TokenFile {
 public:
  // Throws Error{input} if it is no token file, or is truncated.
  explicit TokenFile(const std::string& path);

  [[nodiscard]] Index size() const noexcept { return tokens_; }
  [[nodiscard]] const DataFile& text() const noexcept { return text_; }  // its source, without a path
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

// Writes a token file; only the tokens of one document are in memory. The file is renamed when it is complete.
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
