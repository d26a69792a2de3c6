// Reads requests of the page strictly: every field must be known, of the right type and within its limits.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "io/json.h"
#include "serve/api.h"
#include "serve/figures.h"
#include "serve/http_head.h"
#include "serve/payload.h"

namespace headlight::serve {

struct BadRequest {
  std::string why;  // fixed text, without any part of the request
};

// A JSON object with only these fields. Absent fields are "" and 0.
[[nodiscard]] io::Json parse_object(std::string_view body, std::span<const std::string_view> fields);
[[nodiscard]] std::string text_field(const io::Json& json, std::string_view key);  // a short one: a name
[[nodiscard]] Index integer_field(const io::Json& json, std::string_view key);     // from 0
[[nodiscard]] double number_field(const io::Json& json, std::string_view key, double most);  // from 0

// Only digits, at most nine.
[[nodiscard]] std::optional<Index> parse_count(std::string_view text);
[[nodiscard]] std::optional<Part> parse_part(std::string_view text);

// A query's fields.
class Fields {
 public:
  explicit Fields(std::string_view query);
  [[nodiscard]] std::string text(std::string_view name, std::string_view otherwise) const;
  [[nodiscard]] Index integer(std::string_view name) const;
  [[nodiscard]] Range range(std::string_view name) const;  // BEGIN:END; none when it is not given

 private:
  [[nodiscard]] const std::string* find(std::string_view name) const;
  Pairs pairs_;
};

[[nodiscard]] RunRequest parse_run(std::string_view body, const std::string& first_model);
// `most`: the largest "count"; 1 if the field is missing.
[[nodiscard]] models::SamplingOptions parse_sampling(std::string_view body, Index most = 1);
[[nodiscard]] FileRequest parse_figure(std::string_view query);
[[nodiscard]] MapWindow parse_window(std::string_view query);
[[nodiscard]] std::vector<HeadPlace> parse_heads(std::string_view text);  // 4.0,5.1; none: no heads

}  // namespace headlight::serve
