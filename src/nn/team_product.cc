#include "nn/team_product.h"

#include <algorithm>
#include <vector>

#include "nn/drive.h"

namespace headlight::nn {
namespace {

constexpr Index kLeastBytes = Index{1} << 15;  // less is computed sooner than sent
constexpr Index kUnit = 16;                    // columns that stay together

// For every row, the columns of one rank in all factors, end to end.
template <class Copy>
void each_run(std::span<const Factor> shared, Index rows, int rank, int size, const Copy& copy) {
  for (Index r = 0; r < rows; ++r)
    for (const Factor& f : shared) {
      const Range columns = share_of(f.columns(), rank, size);
      copy(f.y.as<float>() + r * f.y.stride(0) + columns.begin, columns.size());
    }
}

}  // namespace

bool is_shared(const Team& team, const Factor& f, Index depth) {
  const Index bytes = f.w.step * (f.layout == WeightLayout::out_in ? f.columns() : depth);
  return bytes >= kLeastBytes && f.columns() >= kUnit * team.size();
}

Range share_of(Index columns, int rank, int size) {
  const Index units = (columns + kUnit - 1) / kUnit;
  const auto edge = [&](Index n) { return std::min(columns, units * n / size * kUnit); };
  return {edge(rank), edge(rank + 1)};
}

Factor part_of(const Factor& f, Range columns) {
  Factor part = f;
  if (f.layout == WeightLayout::out_in) part.w = f.w.from(columns.begin);
  else part.w.data += columns.begin * block_bytes(f.w.type);
  part.y = columns_of(f.y, columns.begin, columns.size());
  if (!f.bias.empty())
    part.bias =
        ConstTensorView(f.bias.as<float>() + columns.begin, DType::f32, {columns.size()}, {f.bias.stride(0)});
  return part;
}

void multiply_in_team(Team& team, Index rows, Index depth, std::span<const Factor> factors,
                      const MultiplyHere& multiply) {
  const int size = team.size(), mine = team.rank();
  std::vector<Factor> here, shared;
  for (const Factor& f : factors) {
    if (!is_shared(team, f, depth)) {
      here.push_back(f);
      continue;
    }
    shared.push_back(f);
    here.push_back(part_of(f, share_of(f.columns(), mine, size)));
  }
  multiply(here);
  if (shared.empty()) return;
  std::vector<std::vector<float>> numbers(static_cast<std::size_t>(size));
  for (int rank = 0; rank < size; ++rank) {
    Index width = 0;
    for (const Factor& f : shared) width += share_of(f.columns(), rank, size).size();
    numbers[static_cast<std::size_t>(rank)].resize(static_cast<std::size_t>(rows * width));
  }
  std::vector<float> own(numbers[static_cast<std::size_t>(mine)].size());
  float* to = own.data();
  each_run(shared, rows, mine, size, [&](const float* run, Index n) { to = std::copy_n(run, n, to); });
  const std::vector<std::span<const std::byte>> parts(static_cast<std::size_t>(size),
                                                      std::as_bytes(std::span(own)));
  std::vector<std::span<std::byte>> from;
  for (std::vector<float>& of_rank : numbers) from.push_back(std::as_writable_bytes(std::span(of_rank)));
  team.all_to_all(parts, from);
  for (int rank = 0; rank < size; ++rank) {
    if (rank == mine) continue;
    const float* at = numbers[static_cast<std::size_t>(rank)].data();
    each_run(shared, rows, rank, size, [&](float* run, Index n) {
      std::copy_n(at, n, run);
      at += n;
    });
  }
}

}  // namespace headlight::nn
