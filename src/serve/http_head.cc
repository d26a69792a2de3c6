#include "serve/http_head.h"

#include <algorithm>

#include "core/escape.h"

namespace headlight::serve {
namespace {

constexpr std::string_view kTokenMarks = "!#$%&'*+-.^_`|~";

bool is_alnum(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_token_char(char c) { return is_alnum(c) || kTokenMarks.find(c) != std::string_view::npos; }
bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_char);
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

HttpHead refused(HttpHead head, int status, std::string_view why) {
  head.status = status;
  head.why = why;
  head.keep_alive = false;
  return head;
}

// Only digits; empty for anything else and for numbers out of range.
std::optional<std::size_t> length_of(std::string_view text) {
  if (text.empty() || text.size() > 15) return std::nullopt;
  std::size_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<std::size_t>(c - '0');
  }
  return value;
}

// Checks METHOD SP TARGET SP HTTP/1.1. Returns the status of an error, or 0.
int read_request_line(std::string_view line, HttpHead& head) {
  const std::size_t first = line.find(' '), last = line.rfind(' ');
  if (first == std::string_view::npos || last == first) return 400;
  const std::string_view method = line.substr(0, first), target = line.substr(first + 1, last - first - 1),
                         version = line.substr(last + 1);
  if (!is_token(method) || method.size() > 32) return 400;
  if (version.size() != 8 || !version.starts_with("HTTP/") || version[6] != '.') return 400;
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return 505;
  head.http_1_0 = version == "HTTP/1.0";
  if (target.size() > kLongestTarget) return 414;
  if (target.empty() || target[0] != '/') return 400;
  for (const char c : target)
    if (c <= ' ' || static_cast<unsigned char>(c) >= 127) return 400;
  head.method = method;
  const std::size_t mark = target.find('?');
  head.path = target.substr(0, mark);
  head.query = mark == std::string_view::npos ? "" : target.substr(mark + 1);
  return 0;
}

int read_header(std::string_view line, HttpHead& head) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) return 400;
  const std::string_view value = trimmed(line.substr(colon + 1));
  for (const char c : value)
    if ((static_cast<unsigned char>(c) < ' ' && c != '\t') || c == 127) return 400;
  head.headers.emplace_back(lower(line.substr(0, colon)), std::string(value));
  return 0;
}

// Number of bytes that follow. Rejects two lengths, or a length and chunks, because they allow request smuggling.
HttpHead with_body(HttpHead head) {
  const std::size_t lengths = head.count("content-length");
  if (head.count("transfer-encoding") > 0) {
    if (lengths > 0)
      return refused(std::move(head), 400, "Content-Length and chunked encoding exclude each other");
    const bool chunked = lower(*head.header("transfer-encoding")) == "chunked";
    return refused(std::move(head), chunked ? 413 : 400, "the body needs Content-Length");
  }
  if (lengths > 1) return refused(std::move(head), 400, "two lengths");
  if (lengths == 1) {
    const auto length = length_of(*head.header("content-length"));
    if (!length) return refused(std::move(head), 400, "the length is not a number");
    if (*length > kLongestBody) return refused(std::move(head), 413, "the body is too long");
    head.body = *length;
  }
  return head;
}

}  // namespace

std::optional<std::string_view> HttpHead::header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (key == name) return value;
  return std::nullopt;
}

std::size_t HttpHead::count(std::string_view name) const {
  return static_cast<std::size_t>(
      std::count_if(headers.begin(), headers.end(), [&](const auto& h) { return h.first == name; }));
}

HttpHead parse_head(std::string_view bytes) {
  HttpHead head;
  if (bytes.size() > kLongestHead) return refused(std::move(head), 431, "the head is too long");
  if (!bytes.ends_with("\r\n\r\n")) return refused(std::move(head), 400, "the request head is incomplete");
  bytes.remove_suffix(2);
  bool is_first = true;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find("\r\n");
    const std::string_view line = bytes.substr(0, end);
    bytes.remove_prefix(end + 2);
    if (line.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos)
      return refused(std::move(head), 400, "a line end or zero byte inside a line");
    if (const int status = is_first ? read_request_line(line, head) : 0; status != 0)
      return refused(std::move(head), status, "the request line");
    if (!is_first) {
      if (line.size() > kLongestLine || head.headers.size() >= kMostHeaders)
        return refused(std::move(head), 431, "too many or too long headers");
      if (const int status = read_header(line, head); status != 0)
        return refused(std::move(head), status, "a header");
    }
    is_first = false;
  }
  if (is_first) return refused(std::move(head), 400, "the request line");
  const std::string connection = lower(head.header("connection").value_or(""));
  head.keep_alive =
      head.http_1_0 ? connection == "keep-alive" : connection.find("close") == std::string::npos;
  head.expects_continue = lower(head.header("expect").value_or("")) == "100-continue";
  return with_body(std::move(head));
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::optional<Pairs> parse_query(std::string_view query) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
  };
  const auto decoded = [&](std::string_view text) -> std::optional<std::string> {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '%') {
        out += text[i] == '+' ? ' ' : text[i];
        continue;
      }
      if (i + 2 >= text.size() || digit(text[i + 1]) < 0 || digit(text[i + 2]) < 0) return std::nullopt;
      out += static_cast<char>(16 * digit(text[i + 1]) + digit(text[i + 2]));
      i += 2;
    }
    if (!is_utf8(out) || out.find('\0') != std::string::npos) return std::nullopt;
    return out;
  };
  Pairs pairs;
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(query.size(), end + 1));
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const auto key = decoded(pair.substr(0, equals));
    const auto value = decoded(pair.substr(std::min(pair.size(), equals + 1)));
    if (!key || !value || key->empty()) return std::nullopt;
    if (std::any_of(pairs.begin(), pairs.end(), [&](const auto& p) { return p.first == *key; }))
      return std::nullopt;
    pairs.emplace_back(*key, *value);
  }
  return pairs;
}

}  // namespace headlight::serve
