// Untrusted JSON as a tree. Strict: one value, UTF-8, unique keys, at most 64 levels deep.
// Accessors throw Error{input} with the name of the file, the key and what was found instead.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::io {

class Json {
 public:
  enum class Kind : std::uint8_t { null, boolean, integer, real, text, list, object };

  // `name` is used in messages: usually the file's path.
  [[nodiscard]] static Json parse(std::string_view bytes, const std::string& name);
  // Refused above `limit` bytes before memory is allocated.
  [[nodiscard]] static Json read(const std::string& path, std::uint64_t limit = 64 << 20);

  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  [[nodiscard]] bool is(Kind kind) const noexcept { return kind_ == kind; }
  [[nodiscard]] const std::string& file() const noexcept { return *name_; }

  // The value; throws unless it has this type. A real may be written as a whole number.
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] std::int64_t integer() const;
  [[nodiscard]] double real() const;
  [[nodiscard]] const std::string& text() const;
  // Items of a list, or an object's values in the order of keys(); empty for anything else.
  [[nodiscard]] std::span<const Json> items() const noexcept { return items_; }
  [[nodiscard]] std::span<const std::string> keys() const noexcept { return keys_; }

  // Entries of an object. find: null when absent (or if this is no object); at: throws when absent.
  [[nodiscard]] const Json* find(std::string_view key) const noexcept;
  [[nodiscard]] const Json& at(std::string_view key) const;
  [[nodiscard]] bool boolean(std::string_view key) const;
  [[nodiscard]] std::int64_t integer(std::string_view key) const;
  [[nodiscard]] double real(std::string_view key) const;
  [[nodiscard]] const std::string& text(std::string_view key) const;
  [[nodiscard]] const Json& list(std::string_view key) const;
  [[nodiscard]] const Json& object(std::string_view key) const;
  // The same with a default for absent entries and null.
  [[nodiscard]] bool boolean_or(std::string_view key, bool otherwise) const;
  [[nodiscard]] std::int64_t integer_or(std::string_view key, std::int64_t otherwise) const;
  [[nodiscard]] double real_or(std::string_view key, double otherwise) const;
  [[nodiscard]] std::string text_or(std::string_view key, std::string_view otherwise) const;

 private:
  friend class JsonBuilder;
  [[noreturn]] void refuse_kind(Kind wanted, std::string_view key) const;

  Kind kind_ = Kind::null;
  union {
    bool boolean_;
    std::int64_t integer_ = 0;
    double real_;
  };
  std::string text_;
  std::vector<Json> items_;
  std::vector<std::string> keys_;
  std::shared_ptr<const std::string> name_;
};

// The text in quotes, escaped as JSON requires.
[[nodiscard]] std::string json_quoted(std::string_view text);

}  // namespace headlight::io
