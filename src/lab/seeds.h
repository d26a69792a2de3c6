// Claims of five tutorials on attention, row by row, each with a command that shows it and a test that checks it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::lab {

struct LabOptions;  // src/lab/experiment.h

// holds: recomputed and right. illustrative: a number invented for a picture. corrected: wrong, or only true with an
// additional condition. definition: the meaning of a word; nothing is computed.
enum class Verdict : std::uint8_t { holds, illustrative, corrected, definition };
[[nodiscard]] std::string_view name_of(Verdict verdict) noexcept;

struct Found {
  bool right = false;
  std::string text;  // the result, in one line
};

struct SeedRow {
  int number;
  std::string_view where;  // "1, why scale"
  std::string_view claim;  // in Headlight's words
  Verdict verdict;
  std::string_view command;  // command that shows it: arguments of headlight, or a page of the documentation
  std::string_view line;     // expected text in its output
  std::string_view test;     // function that checks it
  Found (*check)();          // null: only the document's page
  // Used instead of `check` by rows that train or run a model.
  Found (*experiment)(const LabOptions& options) = nullptr;
};

[[nodiscard]] const std::vector<SeedRow>& seed_rows();  // 1 … 57

}  // namespace headlight::lab
