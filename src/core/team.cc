#include "core/team.h"

#include "core/cpu.h"
#include "core/thread_pool.h"

namespace headlight {
namespace {

// The threads of this process, and its team. A Context passes its Executor to the Contexts created from
// it, so they belong to the same team.
class TeamExecutor final : public Executor {
 public:
  TeamExecutor(Team& team, Together together, int threads)
      : team_(team), together_(together), pool_(ThreadPool::make(threads == 0 ? usable_cores() : threads)) {}
  [[nodiscard]] int threads() const noexcept override { return pool_->threads(); }
  void run(int workers, Work work) override { pool_->run(workers, work); }

  [[nodiscard]] Team* team(Together together) const noexcept {
    return together == together_ && !within_item_ && team_.size() > 1 ? &team_ : nullptr;
  }
  [[nodiscard]] bool* within_item() noexcept { return &within_item_; }
  [[nodiscard]] TokenShare& tokens() noexcept { return tokens_; }
  [[nodiscard]] const TokenShare& tokens() const noexcept { return tokens_; }

 private:
  Team& team_;
  Together together_;
  std::shared_ptr<ThreadPool> pool_;
  bool within_item_ = false;
  TokenShare tokens_;  // without a team: calls are on all
};

// Items of one process between two exchanges: enough to even out a single long item, few enough
// to keep results of megabytes in memory.
constexpr std::int64_t kRound = 8;

void append_number(Bytes& to, std::uint64_t number) {
  const Bytes bytes = bytes_of(number);
  to.insert(to.end(), bytes.begin(), bytes.end());
}

}  // namespace

std::shared_ptr<Executor> team_executor(Team& team, Together together, int threads) {
  return std::make_shared<TeamExecutor>(team, together, threads);
}

Team* team_of(const Context& ctx, Together together) noexcept {
  const auto* executor = dynamic_cast<const TeamExecutor*>(ctx.executor().get());
  return executor == nullptr ? nullptr : executor->team(together);
}

AloneScope::AloneScope(Context& ctx) {
  auto* executor = dynamic_cast<TeamExecutor*>(ctx.executor().get());
  if (executor == nullptr || *executor->within_item()) return;
  within_item_ = executor->within_item();
  *within_item_ = true;
}

AloneScope::~AloneScope() {
  if (within_item_ != nullptr) *within_item_ = false;
}

TokenScope::TokenScope(Context& ctx, Index tokens) : executor_(ctx.executor()) {
  Team* const team = team_of(ctx, Together::items);
  if (team == nullptr) return;
  const Index size = team->size();
  const auto edge = [&](Index rank) { return tokens / size * rank + tokens % size * rank / size; };
  dynamic_cast<TeamExecutor&>(*executor_).tokens() = {team, edge(team->rank()), edge(team->rank() + 1)};
}

TokenScope::~TokenScope() {
  if (auto* executor = dynamic_cast<TeamExecutor*>(executor_.get())) executor->tokens() = {};
}

const TokenShare* tokens_of(const Context& ctx) noexcept {
  const auto* executor = dynamic_cast<const TeamExecutor*>(ctx.executor().get());
  return executor != nullptr && executor->tokens().team != nullptr ? &executor->tokens() : nullptr;
}

SharedItems::SharedItems(Context& ctx, Absorb absorb)
    : absorb_(std::move(absorb)), team_(team_of(ctx, Together::items)) {
  if (team_ != nullptr) within_item_ = dynamic_cast<TeamExecutor&>(*ctx.executor()).within_item();
}

SharedItems::~SharedItems() {
  if (within_item_ != nullptr) *within_item_ = false;
}

void SharedItems::add(const std::function<Bytes()>& compute) {
  if (team_ == nullptr) return absorb_(compute());
  if (items_++ % team_->size() == team_->rank()) {
    *within_item_ = true;
    mine_.push_back(compute());
    *within_item_ = false;
  }
  if (items_ == kRound * team_->size()) exchange();
}

void SharedItems::finish() {
  if (team_ != nullptr && items_ > 0) exchange();
}

void SharedItems::exchange() {
  Bytes all;
  for (const Bytes& result : mine_) {
    append_number(all, result.size());
    all.insert(all.end(), result.begin(), result.end());
  }
  const std::vector<Bytes> given = team_->all_gather(all);
  std::vector<std::size_t> at(given.size(), 0);
  for (std::int64_t item = 0; item < items_; ++item) {
    const auto rank = static_cast<std::size_t>(item % team_->size());
    const std::span<const std::byte> bytes(given[rank]);
    const auto size = static_cast<std::size_t>(value_of<std::uint64_t>(bytes.subspan(at[rank], 8)));
    absorb_(bytes.subspan(at[rank] + 8, size));
    at[rank] += 8 + size;
  }
  items_ = 0;
  mine_.clear();
}

}  // namespace headlight
