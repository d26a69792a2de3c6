#include "text/pattern.h"

#include <algorithm>
#include <array>
#include <utility>

#include "text/expression.h"
#include "text/scanners.h"

namespace headlight::text {

std::string_view gpt2_pattern() {
  return R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
}

std::string_view llama3_pattern() {
  return R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
}

std::string_view qwen2_pattern() {
  return R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
}

Finder::Scanner Finder::known(std::string_view expression) {
  static const std::array<std::pair<std::string_view, Scanner>, 3> table = {{
      {gpt2_pattern(), scan_gpt2},
      {llama3_pattern(), scan_llama3},
      {qwen2_pattern(), scan_qwen2},
  }};
  for (const auto& [text, scanner] : table)
    if (text == expression) return scanner;
  return nullptr;
}

Finder::Finder(const Pattern& pattern) {
  if (!pattern.regex) literal_ = pattern.text;
  else if (pattern.text == " {2,}") runs_of_spaces_ = true;
  else if (scanner_ = known(pattern.text); scanner_ == nullptr)
    expression_ = std::make_unique<Expression>(pattern.text);
}
Finder::~Finder() = default;
Finder::Finder(Finder&&) noexcept = default;
Finder& Finder::operator=(Finder&&) noexcept = default;

void Finder::find(std::string_view text, Range within, std::vector<Found>& found) const {
  if (within.size() == 0) return;
  if (expression_) return expression_->find(text, within, found);
  if (scanner_ != nullptr) {
    for (std::uint32_t at = within.begin; at < within.end;) {
      const std::uint32_t end = scanner_(text, at, within.end);
      found.push_back({{at, end}, true});
      at = end;
    }
    return;
  }
  if (runs_of_spaces_) return find_runs_of_spaces(text, within, found);
  if (literal_.empty()) {  // an empty pattern has no matches
    found.push_back({within, false});
    return;
  }
  const std::string_view inside = text.substr(0, within.end);
  std::uint32_t previous = within.begin;
  while (true) {
    const std::size_t at = inside.find(literal_, previous);
    if (at == std::string_view::npos) break;
    const auto begin = static_cast<std::uint32_t>(at);
    if (begin > previous) found.push_back({{previous, begin}, false});
    previous = begin + static_cast<std::uint32_t>(literal_.size());
    found.push_back({{begin, previous}, true});
  }
  if (previous < within.end) found.push_back({{previous, within.end}, false});
}

void Finder::find_runs_of_spaces(std::string_view text, Range within, std::vector<Found>& found) const {
  const std::string_view inside = text.substr(0, within.end);
  std::uint32_t previous = within.begin;
  for (std::size_t at = inside.find("  ", previous); at != std::string_view::npos;
       at = inside.find("  ", previous)) {
    const auto begin = static_cast<std::uint32_t>(at);
    if (begin > previous) found.push_back({{previous, begin}, false});
    previous = static_cast<std::uint32_t>(std::min(inside.find_first_not_of(' ', at), inside.size()));
    found.push_back({{begin, previous}, true});
  }
  if (previous < within.end) found.push_back({{previous, within.end}, false});
}

}  // namespace headlight::text
