#include "inspect/alignment.h"

#include <algorithm>
#include <cmath>

#include "core/concat.h"
#include "headlight/error.h"

namespace headlight::inspect {

std::vector<WordPair> align(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  constexpr std::size_t most = std::size_t{1} << 24;
  const std::size_t n = a.size(), m = b.size(), stride = m + 1;
  if ((n + 1) > most / (m + 1)) {
    throw Error(ErrorKind::resource, "inspect.align",
                concat("texts of ", n, " and ", m, " words are too long to align"));
  }
  // cost[i][j]: cost of aligning the words of a from i with the words of b from j.
  std::vector<std::uint32_t> cost((n + 1) * stride);
  for (std::size_t i = n + 1; i-- > 0;) {
    for (std::size_t j = m + 1; j-- > 0;) {
      if (i == n || j == m) {
        cost[i * stride + j] = static_cast<std::uint32_t>(n - i + m - j);
        continue;
      }
      const std::uint32_t both = cost[(i + 1) * stride + j + 1] + (a[i] == b[j] ? 0 : 1);
      const std::uint32_t one = 1 + std::min(cost[(i + 1) * stride + j], cost[i * stride + j + 1]);
      cost[i * stride + j] = std::min(both, one);
    }
  }
  std::vector<WordPair> words;
  for (std::size_t i = 0, j = 0; i < n || j < m;) {
    const std::uint32_t here = cost[i * stride + j];
    if (i < n && j < m && here == cost[(i + 1) * stride + j + 1] + (a[i] == b[j] ? 0 : 1)) {
      words.push_back({static_cast<Index>(i++), static_cast<Index>(j++)});
    } else if (i < n && (j == m || here == 1 + cost[(i + 1) * stride + j])) {
      words.push_back({static_cast<Index>(i++), -1});
    } else {
      words.push_back({-1, static_cast<Index>(j++)});
    }
  }
  return words;
}

std::vector<std::string> aligned_labels(const std::vector<WordPair>& words, const std::vector<std::string>& a,
                                        const std::vector<std::string>& b) {
  std::vector<std::string> labels;
  for (const WordPair& word : words) {
    const std::string of_a = word.a < 0 ? "" : a[static_cast<std::size_t>(word.a)];
    const std::string of_b = word.b < 0 ? "" : b[static_cast<std::size_t>(word.b)];
    if (word.a < 0) labels.push_back("+ " + of_b);
    else if (word.b < 0) labels.push_back("- " + of_a);
    else labels.push_back(of_a == of_b ? of_a : concat(of_a, " → ", of_b));
  }
  return labels;
}

AttentionMap aligned(const AttentionMap& map, const std::vector<WordPair>& rows,
                     const std::vector<WordPair>& columns, Side side) {
  const auto place = [&](const WordPair& word) { return side == Side::a ? word.a : word.b; };
  AttentionMap out = map;
  out.rows = static_cast<Index>(rows.size());
  out.columns = static_cast<Index>(columns.size());
  out.weights.assign(rows.size() * columns.size(), 0);
  out.visible.assign(out.weights.size(), 0);
  std::size_t cell = 0;
  for (const WordPair& row : rows) {
    for (const WordPair& column : columns) {
      const Index i = place(row), j = place(column);
      if (i >= 0 && j >= 0 && map.sees(i, j)) {
        out.weights[cell] = map.at(i, j);
        out.visible[cell] = 1;
      }
      ++cell;
    }
  }
  if (std::find(out.visible.begin(), out.visible.end(), 0) == out.visible.end()) out.visible.clear();
  return out;
}

double distance(const AttentionMap& a, const AttentionMap& b) {
  double sum = 0;
  for (Index i = 0; i < a.rows; ++i)
    for (Index j = 0; j < a.columns; ++j)
      if (a.sees(i, j) && b.sees(i, j)) sum += std::abs(double{b.at(i, j)} - double{a.at(i, j)});
  return sum;
}

}  // namespace headlight::inspect
