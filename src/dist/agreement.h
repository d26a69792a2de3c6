// Before a tensor is sent, all ranks compare their arguments. If one rank refuses, or two ranks differ, all of them throw
// the same error, so that no rank waits for one that has given up.
#pragma once

#include <bit>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/concat.h"
#include "headlight/dist.h"

namespace headlight::dist {

class Agreement {
 public:
  Agreement(Group& group, std::string who) : group_(group), who_(std::move(who)) { add("the call", who_); }

  // Adds a value that must be the same on all ranks.
  template <class Value>
  void add(const char* name, const Value& value) {
    if constexpr (std::is_floating_point_v<Value>)
      lines_.push_back(
          {name, concat(value, " (bits ", std::bit_cast<std::uint64_t>(static_cast<double>(value)), ")")});
    else lines_.push_back({name, concat(value)});
  }

  // Runs a local check. Its exception is kept for settle(), and later checks are skipped.
  template <class Check>
  void check(const Check& check) {
    if (refusal_) return;
    try {
      check();
    } catch (const Error& error) { refusal_ = error; }
  }

  // Gathers the numbers of all ranks, equally many on each: result[rank][n].
  [[nodiscard]] std::vector<std::vector<Index>> share(std::span<const Index> mine);

  // Collective: returns if every rank passed its checks and all ranks added the same values; otherwise all ranks throw.
  void settle();

 private:
  struct Line {
    std::string name, value;
  };
  [[noreturn]] void throw_refusal();
  [[noreturn]] void throw_difference();

  Group& group_;
  std::string who_;
  std::vector<Line> lines_;
  std::optional<Error> refusal_;
};

}  // namespace headlight::dist
