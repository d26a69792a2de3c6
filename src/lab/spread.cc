#include "lab/spread.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/concat.h"
#include "draw/text.h"

namespace headlight::lab {

Spread spread_of(std::span<const double> numbers) {
  Spread s;
  s.count = numbers.size();
  if (numbers.empty()) return s;
  std::vector<double> sorted(numbers.begin(), numbers.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t half = sorted.size() / 2;
  s.low = sorted.front();
  s.high = sorted.back();
  s.median = sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  for (const double x : sorted) s.mean += x / static_cast<double>(s.count);
  double squares = 0;
  for (const double x : sorted) squares += (x - s.mean) * (x - s.mean);
  if (s.count > 1) s.deviation = std::sqrt(squares / static_cast<double>(s.count - 1));
  return s;
}

std::string plus_minus(const Spread& s, int decimals) {
  return fmt::format("{:.{}f} ± {:.{}f}", s.mean, decimals, s.deviation, decimals);
}

std::string with_range(const Spread& s, int decimals) {
  return fmt::format("{:.{}f} ({:.{}f} … {:.{}f})", s.mean, decimals, s.low, decimals, s.high, decimals);
}

void write(io::JsonWriter& w, const Spread& s) {
  w.begin_object().field("mean", rounded(s.mean)).field("deviation", rounded(s.deviation));
  w.field("low", rounded(s.low)).field("high", rounded(s.high)).field("runs", s.count).end_object();
}

std::vector<io::Rounded> rounded(std::span<const double> numbers) {
  std::vector<io::Rounded> out;
  for (const double x : numbers) out.push_back(rounded(x));
  return out;
}

std::string table_text(const TableRow& heading, const std::vector<TableRow>& rows, int indent) {
  std::vector<int> widths;
  const auto measure = [&](const TableRow& row) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], draw::display_width(row[i]));
  };
  measure(heading);
  for (const TableRow& row : rows) measure(row);
  std::string out;
  const auto write = [&](const TableRow& row) {
    std::string line(static_cast<std::size_t>(indent), ' ');
    for (std::size_t i = 0; i < row.size(); ++i)
      line += i == 0 ? draw::left_aligned(row[i], widths[i]) : "  " + draw::right_aligned(row[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  };
  if (!heading.empty()) write(heading);
  for (const TableRow& row : rows) write(row);
  return out;
}

std::string with_note(const std::string& table, std::string_view note, int width) {
  return concat(table, "\n", draw::wrapped(note, width, 0), "\n");
}

}  // namespace headlight::lab
