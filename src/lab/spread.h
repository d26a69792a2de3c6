// Repeated measurements, over seeds or repetitions: mean and spread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/json_writer.h"

namespace headlight::lab {

struct Spread {
  double mean = 0, deviation = 0;  // sample deviation (n-1); 0 for a single number
  double low = 0, high = 0, median = 0;
  std::size_t count = 0;
};
[[nodiscard]] Spread spread_of(std::span<const double> numbers);

// "0.932 ± 0.011": mean and deviation.
[[nodiscard]] std::string plus_minus(const Spread& spread, int decimals = 3);
// "0.932 (0.921 … 0.943)": mean, and the least and largest.
[[nodiscard]] std::string with_range(const Spread& spread, int decimals = 3);
// {"mean": …, "deviation": …, "low": …, "high": …, "runs": …}
void write(io::JsonWriter& w, const Spread& spread);
// Numbers in the form of the experiments, with six digits.
[[nodiscard]] inline io::Rounded rounded(double x) { return io::significant(x, 6); }
[[nodiscard]] std::vector<io::Rounded> rounded(std::span<const double> numbers);

// A table as text: columns as wide as needed, the first left-aligned, numbers right-aligned.
using TableRow = std::vector<std::string>;
[[nodiscard]] std::string table_text(const TableRow& heading, const std::vector<TableRow>& rows,
                                     int indent = 2);

// The table, an empty line, and a wrapped note.
[[nodiscard]] std::string with_note(const std::string& table, std::string_view note, int width);

}  // namespace headlight::lab
