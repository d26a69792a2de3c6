#include "train/gradient_tree.h"

#include <algorithm>

#include "core/float_mode.h"
#include "core/run_tasks.h"
#include "core/team.h"

namespace headlight::train {
namespace {

constexpr Index kSections = 8;  // messages that a gradient is sent in while it is computed

void add_numbers(float* to, const float* from, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) to[i] += from[i];
}
// The same on all threads.
void add_numbers(Context& ctx, float* to, const float* from, std::size_t n) {
  constexpr std::size_t piece = std::size_t{1} << 16;
  run_tasks(ctx, static_cast<Index>((n + piece - 1) / piece), ctx.threads(), [&](int, Index task) {
    const std::size_t begin = static_cast<std::size_t>(task) * piece;
    add_numbers(to + begin, from + begin, std::min(piece, n - begin));
  });
}

Range common(Range a, Range b) {
  const Index begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

}  // namespace

Range batches_of(Index batches, int rank, int size) {
  return {batches * rank / size, batches * (rank + 1) / size};
}

GradientTree::GradientTree(Context& ctx, AdamW& adam, Index batches, Divided divided)
    : ctx_(ctx),
      adam_(adam),
      batches_(batches),
      divided_(divided),
      team_(team_of(ctx, Together::items)),
      mine_(team_ != nullptr && divided == Divided::batches
                ? batches_of(batches, team_->rank(), team_->size())
                : Range{0, batches}),
      taken_(adam.pieces()),
      queued_(adam.pieces()) {}

GradientTree::~GradientTree() { end_sender(); }

// Two neighbours of the same size become one where the tree has a node over them.
void GradientTree::push(std::vector<Node>& nodes, Node node) const {
  while (!nodes.empty() && nodes.back().size == node.size && nodes.back().begin % (2 * node.size) == 0) {
    Node lower = std::move(nodes.back());
    nodes.pop_back();
    add_numbers(lower.numbers.data(), node.numbers.data(), lower.numbers.size());
    lower.size *= 2;
    node = std::move(lower);
  }
  nodes.push_back(std::move(node));
}

// What a process has when it has added its batches: nodes without numbers. Parts of batches are one node a process.
std::vector<GradientTree::Node> GradientTree::shapes_of(int rank) const {
  if (divided_ == Divided::tokens) return {{rank}};
  std::vector<Node> nodes;
  const Range batches = batches_of(batches_, rank, team_->size());
  for (Index batch = batches.begin; batch < batches.end; ++batch) push(nodes, {batch});
  return nodes;
}

void GradientTree::add(Index batch) {
  if (batches_ == 1 && team_ == nullptr) return;  // it is the gradient of the step already
  if (!open_) open(batch);
  take({0, taken_});
  if (is_last(batch)) return;
  for (; merges_ > 0; --merges_) {
    Node lower = std::move(nodes_.back());
    nodes_.pop_back();
    lower.size *= 2;
    last_ = std::move(lower);
  }
  nodes_.push_back(std::move(last_));
  open_ = false;
  taken_ = adam_.pieces();
}

// The batch becomes a leaf of the tree, and the sum of some nodes with it.
void GradientTree::open(Index batch) {
  open_ = true;
  last_ = {batch, 1, std::vector<float>(adam_.numbers({0, adam_.pieces()}))};
  Index size = 1;
  for (merges_ = 0; merges_ < nodes_.size(); ++merges_, size *= 2) {
    const Node& lower = nodes_[nodes_.size() - 1 - merges_];
    if (lower.size != size || lower.begin % (2 * size) != 0) break;
  }
}

// From the parameters to the leaf, and on to the node that it becomes a part of.
void GradientTree::take(Range pieces) {
  const std::size_t first = adam_.numbers({0, pieces.begin}), count = adam_.numbers(pieces);
  float* to = last_.numbers.data() + first;
  adam_.each_piece(pieces, [&](AdamW::State& state, Range range) {
    float* grad = state.parameter->grad.as<float>();
    to = std::copy(grad + range.begin, grad + range.end, to);
    std::fill(grad + range.begin, grad + range.end, 0.0F);
  });
  const float* from = last_.numbers.data() + first;
  for (std::size_t n = 0; n < merges_; ++n) {
    float* lower = nodes_[nodes_.size() - 1 - n].numbers.data() + first;
    add_numbers(ctx_, lower, from, count);
    from = lower;
  }
  taken_ = pieces.begin;
}

void GradientTree::ready(const Parameters& parameters) {
  if (team_ == nullptr || !team_->overlaps() || divided_ == Divided::tokens) return;
  const Index first = adam_.first_piece(parameters);
  if (first >= taken_) return;
  if (!open_) open(mine_.end - 1);
  take({first, taken_});
  if ((queued_ - taken_) * kSections < adam_.pieces()) return;
  {
    const std::lock_guard guard(lock_);
    queue_.push_back({taken_, queued_});
  }
  queued_ = taken_;
  if (!sender_.joinable()) sender_ = std::thread([this] { send_in_background(); });
  woken_.notify_one();
}

void GradientTree::send_in_background() {
  const DefaultFloatMode mode;
  while (true) {
    Range pieces;
    {
      std::unique_lock guard(lock_);
      woken_.wait(guard, [&] { return ended_ || !queue_.empty(); });
      if (queue_.empty()) return;
      pieces = queue_.front();
      queue_.erase(queue_.begin());
    }
    try {
      exchange(pieces);
    } catch (...) {
      problem_ = std::current_exception();
      return;
    }
  }
}

// Every process sends each other process a slice of its sums and adds the slices it receives, in the order of the tree.
void GradientTree::exchange(Range pieces) {
  const int size = team_->size(), mine = team_->rank();
  const auto share = [&](int rank) { return common(adam_.own_pieces(size, rank), pieces); };
  const std::size_t own = adam_.numbers(share(mine));
  std::vector<const Node*> done;
  for (std::size_t n = 0; n + merges_ < nodes_.size(); ++n) done.push_back(&nodes_[n]);
  done.push_back(merges_ > 0 ? &nodes_[nodes_.size() - merges_] : &last_);
  std::vector<std::vector<float>> out(static_cast<std::size_t>(size)), in(static_cast<std::size_t>(size));
  std::vector<std::span<const std::byte>> parts;
  std::vector<std::span<std::byte>> from;
  for (int rank = 0; rank < size; ++rank) {
    const std::size_t first = adam_.numbers({0, share(rank).begin}), count = adam_.numbers(share(rank));
    std::vector<float>& part = out[static_cast<std::size_t>(rank)];
    for (const Node* node : done) {
      const float* numbers = node->numbers.data() + first;
      part.insert(part.end(), numbers, numbers + count);
    }
    parts.push_back(std::as_bytes(std::span(part)));
    std::vector<float>& got = in[static_cast<std::size_t>(rank)];
    got.resize(shapes_of(rank).size() * own);
    from.push_back(std::as_writable_bytes(std::span(got)));
  }
  team_->all_to_all(parts, from);
  std::vector<Node> sums;
  for (int rank = 0; rank < size; ++rank) {
    const float* at = in[static_cast<std::size_t>(rank)].data();
    for (Node& node : shapes_of(rank)) {
      node.numbers.assign(at, at + own);
      at += own;
      push(sums, std::move(node));
    }
  }
  for (; sums.size() > 1; sums.pop_back())  // a number of batches that is no power of two leaves a few nodes
    add_numbers(sums[sums.size() - 2].numbers.data(), sums.back().numbers.data(), own);
  const float* at = sums.front().numbers.data();
  adam_.each_piece(share(mine), [&](AdamW::State& state, Range range) {
    std::copy_n(at, range.size(), state.parameter->grad.as<float>() + range.begin);
    at += range.size();
  });
}

// All batches of this process as one node, in last_.
void GradientTree::collapse() {
  nodes_.resize(nodes_.size() - merges_ + (merges_ > 0 ? 1 : 0));
  if (merges_ == 0) nodes_.push_back(std::move(last_));
  for (; nodes_.size() > 1; nodes_.pop_back()) {
    Node& lower = nodes_[nodes_.size() - 2];
    add_numbers(ctx_, lower.numbers.data(), nodes_.back().numbers.data(), lower.numbers.size());
  }
  last_ = std::move(nodes_.front());
  nodes_.clear();
  merges_ = 0;
}

void GradientTree::end_sender() {
  if (!sender_.joinable()) return;
  {
    const std::lock_guard guard(lock_);
    ended_ = true;
  }
  woken_.notify_one();
  sender_.join();
}

void GradientTree::finish() {
  if (batches_ == 1 && team_ == nullptr) return;
  if (team_ == nullptr || divided_ == Divided::tokens) collapse();
  if (team_ != nullptr) {
    end_sender();
    if (problem_) std::rethrow_exception(problem_);
    const DefaultFloatMode mode;
    return exchange({0, queued_});
  }
  const float* at = last_.numbers.data();
  adam_.each_piece({0, adam_.pieces()}, [&](AdamW::State& state, Range range) {
    std::copy_n(at, range.size(), state.parameter->grad.as<float>() + range.begin);
    at += range.size();
  });
}

}  // namespace headlight::train
