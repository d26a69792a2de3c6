#include "serve/gate.h"

#include <sys/random.h>

#include <algorithm>
#include <array>

#include "core/concat.h"
#include "headlight/error.h"

namespace headlight::serve {
namespace {

constexpr std::array<std::string_view, 3> kOwnNames = {"127.0.0.1", "localhost", "[::1]"};

bool has_json_type(const HttpHead& head) {
  if (head.count("content-type") != 1) return false;
  std::string_view type = *head.header("content-type");
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ')) type.remove_suffix(1);
  return type == "application/json";
}

}  // namespace

std::string random_token() {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
  std::array<unsigned char, 32> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw Error(ErrorKind::resource, "serve.random",
                "the system provides no random numbers for the access token");
  std::string token;
  for (const unsigned char byte : bytes) token += letters[byte % letters.size()];
  return token;
}

bool same_token(std::string_view given, std::string_view token) {
  if (given.size() != token.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < token.size(); ++i)
    difference |= static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(token[i]);
  return difference == 0;
}

std::string Gate::cookie_name() const { return concat("headlight_", port); }

int Gate::check_host(const HttpHead& head) const {
  if (head.count("host") != 1) return 400;
  const std::string_view host = *head.header("host");
  const auto is = [&](std::string_view name) {
    return host == concat(name, ":", port) || (port == 80 && host == name);
  };
  return std::any_of(kOwnNames.begin(), kOwnNames.end(), is) || (!lan.empty() && is(lan)) ? 0 : 403;
}

bool Gate::is_own_origin(std::string_view origin) const {
  const auto is = [&](std::string_view name) { return origin == concat("http://", name, ":", port); };
  return std::any_of(kOwnNames.begin(), kOwnNames.end(), is) || (!lan.empty() && is(lan));
}

bool Gate::knows_token(const HttpHead& head) const {
  if (const auto own = head.header("x-headlight-token"); own && head.count("x-headlight-token") == 1)
    return same_token(*own, token);
  const std::string intro = cookie_name() + "=";
  for (const auto& [name, value] : head.headers) {
    if (name != "cookie") continue;
    for (std::string_view rest = value; !rest.empty();) {
      const std::size_t end = std::min(rest.find(';'), rest.size());
      std::string_view pair = rest.substr(0, end);
      rest.remove_prefix(std::min(rest.size(), end + 1));
      while (pair.starts_with(' ')) pair.remove_prefix(1);
      if (pair.starts_with(intro) && same_token(pair.substr(intro.size()), token)) return true;
    }
  }
  return false;
}

int Gate::refusal(const HttpHead& head) const {
  if (const int status = check_host(head); status != 0) return status;
  if (head.method == "OPTIONS") return 403;
  if (head.method != "GET" && head.method != "HEAD" && head.method != "POST") return 405;
  const auto origin = head.header("origin");
  if (origin && !is_own_origin(*origin)) return 403;
  // Refuses requests from other sites, for browsers that report the origin of a request.
  const auto site = head.header("sec-fetch-site");
  const bool is_foreign = site && *site != "same-origin" && *site != "none";
  if (is_foreign && (head.path.starts_with("/api/") || head.method == "POST")) return 403;
  if (head.method == "POST" && !has_json_type(head)) return 403;
  if (!head.path.starts_with("/api/") || head.path == "/api/v1/health") return 0;
  return knows_token(head) ? 0 : 401;
}

std::string_view status_words(int status) {
  switch (status) {
    case 400: return "the request is malformed";
    case 401: return "the token is missing or wrong: open the link that headlight serve printed";
    case 403: return "only the page of this server may send requests";
    case 404: return "there is no such address";
    case 405: return "this method is not supported";
    case 413: return "the request is too long";
    case 414: return "the address is too long";
    case 431: return "the request head is too long";
    case 503: return "the server is busy; try again in a second";
    case 505: return "only HTTP/1.1 is supported";
    default: return "the request failed";
  }
}

}  // namespace headlight::serve
