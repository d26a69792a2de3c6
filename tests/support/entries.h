// The public functions that compute, read from the headers: tests that go through all of them find out when one is new.
#pragma once

#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace headlight::testing {

// "Class::function" or "function" for everything in a header that is given a Context to compute on, private members
// apart.
inline std::set<std::string> functions_on_a_context(const std::string& header) {
  std::ostringstream all;
  all << std::ifstream(header).rdbuf();
  const std::string text = std::regex_replace(all.str(), std::regex("//[^\n]*"), "");
  const std::regex place(
      "(^|\n)(?:(?:class|struct) (\\w+)[^;{]*\\{|(\\};)|( public:)|( private:)|( protected:))");
  const std::regex entry("(\\w+)\\(\\s*Context& ctx");
  std::set<std::string> found;
  for (auto match = std::sregex_iterator(text.begin(), text.end(), entry); match != std::sregex_iterator();
       ++match) {
    std::string owner;
    bool hidden = false;
    const std::string before = text.substr(0, static_cast<std::size_t>(match->position()));
    for (auto at = std::sregex_iterator(before.begin(), before.end(), place); at != std::sregex_iterator();
         ++at) {
      if ((*at)[2].matched) owner = (*at)[2].str() + "::";
      if ((*at)[3].matched) owner.clear();
      hidden = (*at)[5].matched || (*at)[6].matched;
    }
    if (!hidden) found.insert(owner + (*match)[1].str());
  }
  return found;
}

}  // namespace headlight::testing
