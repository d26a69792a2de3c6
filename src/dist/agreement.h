// Before a tensor is sent, all ranks compare what they were asked. A refusal of one rank, or a difference between two, is
// thrown by all of them with the same text: no rank waits for one that has given up.
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

  // What must be the same everywhere.
  template <class Value>
  void add(const char* name, const Value& value) {
    if constexpr (std::is_floating_point_v<Value>)
      lines_.push_back(
          {name, concat(value, " (bits ", std::bit_cast<std::uint64_t>(static_cast<double>(value)), ")")});
    else lines_.push_back({name, concat(value)});
  }

  // A local check. What it throws is kept for settle(); later checks are then left out.
  template <class Check>
  void check(const Check& check) {
    if (refusal_) return;
    try {
      check();
    } catch (const Error& error) { refusal_ = error; }
  }

  // Numbers of all ranks, as many on each: result[rank][n].
  [[nodiscard]] std::vector<std::vector<Index>> share(std::span<const Index> mine);

  // Collective: returns when every rank has passed its checks and all added the same; else all throw.
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
