// The head of an HTTP/1.1 request, parsed strictly: a request that could be parsed in two ways is rejected.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headlight::serve {

inline constexpr std::size_t kLongestHead = std::size_t{64} << 10;
inline constexpr std::size_t kLongestTarget = 8000, kLongestLine = 8000, kMostHeaders = 100;
inline constexpr std::size_t kLongestBody = std::size_t{4} << 20;

struct HttpHead {
  int status = 0;  // 0: well formed; else the status of the answer, after which the connection is closed
  std::string why;
  std::string method, path, query;  // as sent, without '?'
  bool http_1_0 = false;
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::size_t body = 0;                                      // bytes that follow
  bool keep_alive = true;
  bool expects_continue = false;

  [[nodiscard]] std::optional<std::string_view> header(std::string_view name) const;
  [[nodiscard]] std::size_t count(std::string_view name) const;
};

// `bytes` ends with the empty line.
[[nodiscard]] HttpHead parse_head(std::string_view bytes);

// key=value pairs of a query; nothing when it is not well-formed UTF-8 after decoding, or a key occurs twice.
using Pairs = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] std::optional<Pairs> parse_query(std::string_view query);

[[nodiscard]] bool is_utf8(std::string_view text);

}  // namespace headlight::serve
