#include "train/gradient_tree.h"

#include <algorithm>

#include "core/run_tasks.h"
#include "core/team.h"

namespace headlight::train {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 16;  // numbers that one task adds

// to += from
void add_numbers(Context& ctx, std::vector<float>& to, const std::vector<float>& from) {
  const auto tasks = static_cast<Index>((to.size() + kPiece - 1) / kPiece);
  run_tasks(ctx, tasks, ctx.threads(), [&](int, Index task) {
    const std::size_t begin = static_cast<std::size_t>(task) * kPiece,
                      end = std::min(begin + kPiece, to.size());
    for (std::size_t i = begin; i < end; ++i) to[i] += from[i];
  });
}

}  // namespace

Range batches_of(Index batches, int rank, int size) {
  return {batches * rank / size, batches * (rank + 1) / size};
}

// Merges two neighbours of the same size if the tree has a node above them.
void GradientTree::push(std::vector<Node>& nodes, Node node) const {
  while (!nodes.empty() && nodes.back().size == node.size && nodes.back().begin % (2 * node.size) == 0) {
    Node lower = std::move(nodes.back());
    nodes.pop_back();
    if (!lower.numbers.empty()) add_numbers(ctx_, lower.numbers, node.numbers);
    lower.size *= 2;
    node = std::move(lower);
  }
  nodes.push_back(std::move(node));
}

std::vector<GradientTree::Node> GradientTree::shapes_of(Range batches) {
  std::vector<Node> nodes;
  for (Index batch = batches.begin; batch < batches.end; ++batch) {
    Node node{batch};
    while (!nodes.empty() && nodes.back().size == node.size && nodes.back().begin % (2 * node.size) == 0) {
      node = {nodes.back().begin, 2 * node.size};
      nodes.pop_back();
    }
    nodes.push_back(node);
  }
  return nodes;
}

void GradientTree::add(Index batch) {
  if (batches_ == 1) return;  // already the gradient of the step
  Node node{batch};
  node.numbers.resize(adam_.numbers({0, adam_.pieces()}));
  float* to = node.numbers.data();
  adam_.each_piece({0, adam_.pieces()}, [&](AdamW::State& state, Range range) {
    float* grad = state.parameter->grad.as<float>();
    to = std::copy(grad + range.begin, grad + range.end, to);
    std::fill(grad + range.begin, grad + range.end, 0.0F);
  });
  push(nodes_, std::move(node));
}

// Every process sends each other process a slice of its sums and adds the slices it receives, in the order of the tree.
void GradientTree::exchange(Team& team) {
  const int size = team.size(), mine = team.rank();
  const std::size_t own = adam_.numbers(adam_.own_pieces(size, mine));
  std::vector<std::vector<float>> out(static_cast<std::size_t>(size)), in(static_cast<std::size_t>(size));
  std::vector<std::span<const std::byte>> parts;
  std::vector<std::span<std::byte>> from;
  std::size_t first = 0;
  for (int rank = 0; rank < size; ++rank) {
    const std::size_t count = adam_.numbers(adam_.own_pieces(size, rank));
    std::vector<float>& part = out[static_cast<std::size_t>(rank)];
    for (const Node& node : nodes_) {
      const float* numbers = node.numbers.data() + first;
      part.insert(part.end(), numbers, numbers + count);
    }
    first += count;
    parts.push_back(std::as_bytes(std::span(part)));
    std::vector<float>& got = in[static_cast<std::size_t>(rank)];
    got.resize(shapes_of(batches_of(batches_, rank, size)).size() * own);
    from.push_back(std::as_writable_bytes(std::span(got)));
  }
  team.all_to_all(parts, from);
  out.clear();
  nodes_.clear();
  for (int rank = 0; rank < size; ++rank) {
    const float* at = in[static_cast<std::size_t>(rank)].data();
    for (Node& node : shapes_of(batches_of(batches_, rank, size))) {
      node.numbers.assign(at, at + own);
      at += own;
      push(nodes_, std::move(node));
    }
  }
}

void GradientTree::finish() {
  Team* const team = team_of(ctx_, Together::items);
  if (batches_ == 1) return;
  if (team != nullptr) exchange(*team);
  while (nodes_.size() > 1) {  // a number of batches that is not a power of two leaves a few nodes
    const Node upper = std::move(nodes_.back());
    nodes_.pop_back();
    add_numbers(ctx_, nodes_.back().numbers, upper.numbers);
  }
  const float* at = nodes_.front().numbers.data();
  const Range pieces =
      team != nullptr ? adam_.own_pieces(team->size(), team->rank()) : Range{0, adam_.pieces()};
  adam_.each_piece(pieces, [&](AdamW::State& state, Range range) {
    std::copy_n(at, range.size(), state.parameter->grad.as<float>() + range.begin);
    at += range.size();
  });
  nodes_.clear();
}

}  // namespace headlight::train
