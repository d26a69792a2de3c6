#include "serve/view_address.h"

#include <string_view>

#include "core/concat.h"

namespace headlight::serve {
namespace {

constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~";

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (kPlain.find(c) != std::string_view::npos) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
  return out;
}

}  // namespace

std::string view_address(const ViewPlace& place) {
  std::string out;
  const auto add = [&](std::string_view key, const std::string& value) {
    out += concat(out.empty() ? "" : "&", key, "=", value);
  };
  if (!place.model.empty()) add("m", percent_encoded(place.model));
  if (!place.text.empty()) add("t", percent_encoded(place.text));
  if (!place.second.empty()) add("b", percent_encoded(place.second));
  if (!place.target.empty()) add("u", percent_encoded(place.target));
  if (place.part) add("p", std::string(name_of(*place.part)));
  if (place.layer >= 0 && place.head >= 0) add("h", concat(place.layer, ".", place.head));
  if (place.queries.size() > 0) {
    std::string list;
    for (Index i = place.queries.begin; i < place.queries.end; ++i)
      list += concat(list.empty() ? "" : ",", i);
    add("q", list);
  }
  return out;
}

std::string shell_quoted(const std::string& text) {
  if (!text.empty() && text.find_first_not_of(concat(kPlain, "/:=,@+")) == std::string::npos) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace headlight::serve
