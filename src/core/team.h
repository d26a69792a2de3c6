// How drivers share work with the other processes of a Context's team, if it has one.
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "headlight/context.h"
#include "headlight/team.h"
#include "headlight/tensor.h"

namespace headlight {

using Bytes = std::vector<std::byte>;

// The team that divides this kind of work; null: this process does all of it. Null also inside an item, which one
// process computes alone.
[[nodiscard]] Team* team_of(const Context& ctx, Together together) noexcept;

// While one exists, calls with this Context work on a part of a batch's tokens: those of this process in its team of items.
class TokenScope {
 public:
  TokenScope(Context& ctx, Index tokens);
  ~TokenScope();
  TokenScope(const TokenScope&) = delete;
  TokenScope& operator=(const TokenScope&) = delete;

 private:
  std::shared_ptr<Executor> executor_;
};
struct TokenShare {
  Team* team = nullptr;
  Index begin = 0, end = 0;  // of all tokens, those of this process: as SequenceTeam divides them
};
// Null: calls are on all tokens.
[[nodiscard]] const TokenShare* tokens_of(const Context& ctx) noexcept;

// While one exists, this process computes alone what its team would divide, because the others compute something else.
class AloneScope {
 public:
  explicit AloneScope(Context& ctx);
  ~AloneScope();
  AloneScope(const AloneScope&) = delete;
  AloneScope& operator=(const AloneScope&) = delete;

 private:
  bool* within_item_ = nullptr;
};

// Items of work, dealt out in turn. Results are handed out in the order of the items, to every process: sums then have the
// bits of one process.
//
//   SharedItems items(ctx, [&](std::span<const std::byte> result) { total += value_of<double>(result); });
//   for (const Text& text : texts) items.add([&] { return bytes_of(measure(ctx, text)); });
//   items.finish();
class SharedItems {
 public:
  using Absorb = std::function<void(std::span<const std::byte> result)>;
  SharedItems(Context& ctx, Absorb absorb);
  ~SharedItems();
  SharedItems(const SharedItems&) = delete;
  SharedItems& operator=(const SharedItems&) = delete;

  // The next item: computed here when it is this process's.
  void add(const std::function<Bytes()>& compute);
  // Waits for the items of the other processes. Not called while an exception propagates.
  void finish();

 private:
  void exchange();

  Absorb absorb_;
  Team* team_;
  bool* within_item_ = nullptr;  // of the executor
  std::int64_t items_ = 0;       // of this round
  std::vector<Bytes> mine_;
};

template <class T>
[[nodiscard]] Bytes bytes_of(const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto* first = reinterpret_cast<const std::byte*>(&value);
  return {first, first + sizeof(T)};
}
template <class T>
[[nodiscard]] Bytes bytes_of(const std::vector<T>& values) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}
template <class T>
[[nodiscard]] T value_of(std::span<const std::byte> bytes) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}
template <class T>
[[nodiscard]] std::vector<T> values_of(std::span<const std::byte> bytes) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

}  // namespace headlight
