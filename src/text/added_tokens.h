// Added tokens: searched in the text first, the longest at the leftmost position, before the rest of the text
// is normalized and split into words.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "text/aligned_text.h"
#include "text/byte_trie.h"
#include "text/parts.h"

namespace headlight::text {

class AddedTokens {
 public:
  // `normalize` returns the form in which tokens marked as normalized are searched.
  AddedTokens(const std::vector<AddedToken>& tokens,
              const std::function<std::string(std::string_view)>& normalize);

  struct Part {
    Range range;
    const AddedToken* token = nullptr;  // null: text between
  };
  enum class Stage { original, normalized };
  // Cuts `text` at the tokens of a stage; parts are not empty and cover the text.
  void find(std::string_view text, Stage stage, std::vector<Part>& parts) const;

  [[nodiscard]] const AddedToken* find(TokenId id) const;
  [[nodiscard]] const AddedToken* find(const std::string& content) const;

 private:
  struct Search {
    void add_start(char byte);
    // The next byte that a token may start with, or the end.
    [[nodiscard]] std::uint32_t next_start(std::string_view text, std::uint32_t at) const noexcept;

    ByteTrie trie;
    std::array<bool, 256> starts{};
    int different = 0;    // of them
    char last_start = 0;  // usually the only one
  };
  void add_match(std::string_view text, Range match, const AddedToken& token, std::uint32_t& done,
                 std::vector<Part>& parts) const;

  std::vector<AddedToken> tokens_;
  Search original_, normalized_;
  std::unordered_map<TokenId, std::size_t> by_id_;
  std::unordered_map<std::string, std::size_t> by_content_;
};

}  // namespace headlight::text
