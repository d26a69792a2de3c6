// Settings by dotted name, read strictly: each key must be read by some part of the program, with a type and a range.
// They come from TOML or from `--set a.b=value`.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "train/checkpoint.h"

namespace headlight::train {

struct WholeRange {
  std::int64_t least = 0, most = std::numeric_limits<std::int32_t>::max();
};
struct RealRange {
  double least = 0, most = std::numeric_limits<double>::max();
};

class Settings {
 public:
  // Throw Error{input} that names the file and the line, or Error{usage} for a bad `--set`.
  [[nodiscard]] static Settings parse(std::string_view toml, const std::string& name);
  [[nodiscard]] static Settings read(const std::string& path);
  // "model.width=256", "data.train=[\"a.txt\"]", "model.kind=gru": a word needs no quotes,
  // and "model.heads=" removes a setting.
  void set(const std::string& assignment);

  // The value of a key, or its default. Error{input} for the wrong type or range.
  std::int64_t whole(const std::string& key, std::int64_t otherwise, const WholeRange& range = {});
  std::optional<std::int64_t> maybe_whole(const std::string& key, const WholeRange& range = {});
  double real(const std::string& key, double otherwise, const RealRange& range = {});
  bool boolean(const std::string& key, bool otherwise);
  std::optional<bool> maybe_boolean(const std::string& key);
  std::string text(const std::string& key, const std::string& otherwise);
  // One of `choices`; the first one when absent and not `required`.
  std::string choice(const std::string& key, const std::vector<std::string>& choices, bool required = false);
  std::vector<std::string> texts(const std::string& key);                          // a list, or a single text
  std::vector<double> reals(const std::string& key, const RealRange& range = {});  // a list of numbers
  [[nodiscard]] bool has(const std::string& key) const { return values_.count(key) > 0; }

  // Throws for unknown keys, and names the closest known one.
  void finish() const;
  // Every key that was read, with its value, in order.
  [[nodiscard]] const Facts& facts() const noexcept { return facts_; }
  [[nodiscard]] std::vector<std::string> defaulted() const;  // keys that were not set
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  // "RECIPE.toml: KEY: WHAT", for checks between settings.
  [[noreturn]] void refuse(const std::string& key, const std::string& what) const;

 private:
  using Value =
      std::variant<std::int64_t, double, bool, std::string, std::vector<std::string>, std::vector<double>>;
  friend class SettingsReader;
  const Value* ask(const std::string& key);
  void check_range(const std::string& key, double number, const RealRange& range) const;
  void note(const std::string& key, std::string value) { facts_.emplace_back(key, std::move(value)); }

  std::string name_;
  std::map<std::string, Value> values_;
  std::vector<std::string> known_;
  Facts facts_;
};

}  // namespace headlight::train
