// An untrusted regular expression, run by PCRE2 with limits.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/pattern.h"

namespace headlight::text {

class Finder::Expression {
 public:
  explicit Expression(const std::string& pattern);
  ~Expression();
  Expression(const Expression&) = delete;
  Expression& operator=(const Expression&) = delete;

  void find(std::string_view text, Range within, std::vector<Found>& found) const;

 private:
  struct Compiled;
  std::string pattern_;
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace headlight::text
