#include "lab/seeds.h"

#include <fmt/format.h>

#include <array>

#include "core/concat.h"
#include "draw/text.h"
#include "headlight/error.h"
#include "io/json_writer.h"
#include "lab/experiment.h"

namespace headlight::lab {
namespace {

struct Judged {
  const SeedRow& row;
  Found found;
};

Judged judged(const SeedRow& row, const LabOptions& options) {
  if (row.experiment != nullptr) return {row, row.experiment(options)};
  if (row.check != nullptr) return {row, row.check()};
  if (row.verdict == Verdict::illustrative) return {row, {true, "run the command to see what a model does"}};
  if (row.verdict == Verdict::definition) return {row, {true, "definition only; nothing to compute"}};
  return {row, {true, "run the command to see it"}};
}

// In the form in which it is typed.
std::string command_of(const SeedRow& row) {
  if (row.command.empty() || row.command.starts_with("docs/")) return std::string(row.command);
  return concat("headlight ", row.command);
}

std::string row_text(const Judged& j, const LabOptions& options) {
  std::string out =
      fmt::format("{:>3}  {:<13}{}\n", j.row.number, j.found.right ? name_of(j.row.verdict) : "FAILS",
                  draw::wrapped(j.row.claim, options.width - 2, 18));
  return out + fmt::format("{:18}{}\n", "", draw::wrapped(j.found.text, options.width - 2, 18));
}

std::string full_text(const Judged& j, const LabOptions& options) {
  std::string out = row_text(j, options);
  const auto part = [&](std::string_view label, std::string_view text) {
    if (!text.empty())
      out += fmt::format("     {:<13}{}\n", label, draw::wrapped(text, options.width - 2, 18));
  };
  part("tutorial", j.row.where);
  part("command", command_of(j.row));
  part("prints", j.row.line);
  part("test", j.row.test);
  return out;
}

void write(io::JsonWriter& w, const Judged& j) {
  w.begin_object().field("row", j.row.number).field("where", j.row.where).field("claim", j.row.claim);
  w.field("verdict", name_of(j.row.verdict)).field("right", j.found.right).field("found", j.found.text);
  w.field("command", j.row.command).field("line", j.row.line).field("test", j.row.test).end_object();
}

std::string markdown(const std::vector<Judged>& rows) {
  std::string out =
      "# Tutorial claims, tested\n"
      "\n"
      "The claims of five tutorials on attention, recomputed. `headlight lab seeds` computes this table, "
      "`headlight lab seeds\n"
      "--row 32` shows one row in full, and `headlight lab errata` lists the wrong numbers. A test compares "
      "this page with the program.\n"
      "\n"
      "- **verdict**: *holds* is recomputed and correct; *illustrative* is a number invented for a figure; "
      "*corrected* is wrong, or\n"
      "  true only with the correction given; *definition* has nothing to compute.\n"
      "- **result**: the recomputed numbers.\n"
      "- **command**, **prints**: run the command to see the text in the column *prints*.\n"
      "- **test**: the test that checks the row.\n"
      "\n"
      "| # | tutorial | claim | verdict | result | command | prints | test |\n"
      "|---:|---|---|---|---|---|---|---|\n";
  for (const Judged& j : rows) {
    const auto code = [](std::string_view text) {
      return text.empty() ? std::string("–") : concat("`", text, "`");
    };
    out += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", j.row.number, j.row.where, j.row.claim,
                       name_of(j.row.verdict), j.found.text, code(command_of(j.row)), code(j.row.line),
                       code(j.row.test));
  }
  return out;
}

}  // namespace

std::string_view name_of(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::holds: return "holds";
    case Verdict::illustrative: return "illustrative";
    case Verdict::corrected: return "corrected";
    case Verdict::definition: return "definition";
  }
  return "?";
}

Outcome run_seeds(const LabOptions& options) {
  const std::vector<SeedRow>& rows = seed_rows();
  if (options.row && *options.row > static_cast<Index>(rows.size())) {
    throw Error(ErrorKind::usage, "lab.row",
                concat("--row ", *options.row, ": the rows are 1 to ", rows.size()));
  }
  Outcome out;
  io::JsonWriter w;
  w.begin_list(io::JsonLayout::lines);
  std::vector<Judged> all;
  std::array<int, 4> counts{};
  int failed = 0;
  for (const SeedRow& row : rows) {
    if (options.row && *options.row != row.number) continue;
    tell(options, row.number - 1, static_cast<double>(rows.size()), "computing the rows");
    all.push_back(judged(row, options));
    const Judged& j = all.back();
    out.text += options.row ? full_text(j, options) : row_text(j, options);
    write(w, j);
    ++counts[static_cast<std::size_t>(row.verdict)];
    failed += j.found.right ? 0 : 1;
  }
  out.json = w.end_list().take_line();
  if (!options.row) {
    out.text += fmt::format("\n{} rows: {} hold, {} illustrative, {} corrected, {} definitions; {} fail\n",
                            rows.size(), counts[0], counts[1], counts[2], counts[3], failed);
    out.markdown = markdown(all);
  }
  out.holds = failed == 0;
  return out;
}

}  // namespace headlight::lab
