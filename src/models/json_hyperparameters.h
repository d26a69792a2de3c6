// Hyperparameters from config.json. Records which fields were read: a field that would change the computation and was not
// read is an error.
#pragma once

#include <set>
#include <string>

#include "io/json.h"
#include "models/hyperparameters.h"

namespace headlight::models {

class JsonHyperparameters : public Hyperparameters {
 public:
  // Both must outlive this.
  explicit JsonHyperparameters(const io::Json& json, std::span<const KeyDefault> defaults = {})
      : json_(json), defaults_(defaults) {}

  [[nodiscard]] bool gguf() const override { return false; }
  [[nodiscard]] bool has(Key key) const override { return found(key) != nullptr || usual(key).has_value(); }
  [[nodiscard]] Index count(Key key) const override;
  [[nodiscard]] double real(Key key) const override;
  [[nodiscard]] bool flag(Key key) const override;
  [[nodiscard]] std::string text(Key key) const override { return json_.text(name(key)); }
  [[nodiscard]] std::vector<std::int32_t> tokens(Key key) const override;
  [[nodiscard]] std::vector<Index> counts(Key key) const override;
  [[nodiscard]] std::vector<std::string> texts(Key key) const override;
  [[nodiscard]] std::vector<std::string> kinds() const override { return layer_kinds(); }
  [[nodiscard]] std::string entry(Key key, std::string_view field) const override;
  [[nodiscard]] std::vector<std::string> entries(Key key) const override;
  [[nodiscard]] double epsilon(Key key, double otherwise) const override { return real_or(key, otherwise); }
  [[nodiscard]] nn::RopeConfig rope(const RopeRule& rule) const override;
  [[nodiscard]] nn::RopeConfig window_rope(const RopeRule& rule) const override;
  [[nodiscard]] std::vector<Index> windows(Index layers, const WindowRule& rule) const override;
  [[nodiscard]] Error refusal(Key key, const std::string& why) const override {
    return refusal(name(key), why);
  }

  // Throws Error{input} that names the first field that no reader used and that would change results.
  void check_unread() const;

 private:
  [[nodiscard]] const io::Json* find(std::string_view field) const;  // null for null, too
  [[nodiscard]] const io::Json* found(Key key) const;
  [[nodiscard]] std::string_view name(Key key) const;
  [[nodiscard]] Error refusal(std::string_view field, const std::string& why) const;
  using Hyperparameters::refuse;
  [[noreturn]] void refuse(std::string_view field, const std::string& why) const {
    throw refusal(field, why);
  }
  [[nodiscard]] const io::Json* rope_section() const;
  [[nodiscard]] nn::RopeConfig rope_entry(const io::Json& entry, double theta) const;
  [[nodiscard]] std::vector<double> rope_factors(const io::Json& entry, std::string_view field) const;
  void read_longrope(const io::Json& entry, nn::RopeConfig& rope) const;
  void read_scaling(const io::Json& entry, nn::RopeScaling& s) const;
  [[nodiscard]] std::vector<std::string> layer_kinds() const;

  [[nodiscard]] std::optional<double> usual(Key key) const;

  const io::Json& json_;
  std::span<const KeyDefault> defaults_;
  mutable std::set<std::string, std::less<>> asked_;
};

// Token ids: one, a list of them, or none when absent or null.
[[nodiscard]] std::vector<std::int32_t> tokens_of(const io::Json& json, std::string_view field);

}  // namespace headlight::models
