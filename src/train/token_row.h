// The tokens of a corpus as one row, in memory or in files.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "train/token_file.h"

namespace headlight::train {

// Tokens in a row: in memory, or parts of files one after the other.
class TokenRow {
 public:
  TokenRow() = default;
  TokenRow(std::vector<TokenId> ids) : ids_(std::move(ids)) {}  // NOLINT: implicit on purpose
  void append(std::shared_ptr<const TokenFile> file, Index begin, Index end);
  // Splits off the tokens from `first` on.
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
