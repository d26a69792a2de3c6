// headlight doctor: reports the machine's features and peak, and checks the kernels on it.
#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/json_output.h"
#include "cli/terminal.h"
#include "headlight/version.h"
#include "io/json_writer.h"
#include "kernels/matrix_unit.h"
#include "measure/check.h"
#include "measure/limits.h"
#include "measure/machine.h"

namespace headlight::cli {
namespace {

struct Limits {
  int threads = 1;
  measure::PeakSample peak;
  double gbs = 0;
};

struct Findings {
  measure::Machine machine;
  SimdTarget target = SimdTarget::automatic;
  bool matrix_unit = false, bf16_products = false;
  std::vector<Limits> limits;
  std::size_t read_bytes = 0;
  std::vector<measure::CheckResult> checks;
};

std::string listed(const std::vector<SimdTarget>& targets) {
  std::string text;
  for (const SimdTarget target : targets)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", name_of(target));
  return text;
}

std::vector<Limits> measure_limits(const measure::Machine& machine, std::size_t& read_bytes) {
  const measure::ReadBandwidth memory;
  read_bytes = memory.bytes();
  std::vector<Limits> limits;
  for (const int threads : {1, machine.cores}) {
    if (!limits.empty() && threads == 1) break;
    limits.push_back({threads, measure::fma_peak(threads), memory.measure(threads, 5)});
  }
  return limits;
}

std::string machine_text(const Findings& f) {
  const auto gigabytes = [](std::size_t bytes) { return static_cast<double>(bytes) * 1e-9; };
  std::string text = fmt::format("headlight {}, {}\n\n", kVersion, measure::title(f.machine));
  text += fmt::format("memory         {:.1f} GB, {:.1f} GB free; pages of {} bytes\n",
                      gigabytes(f.machine.memory), gigabytes(f.machine.available), f.machine.page_size);
  text += fmt::format("SIMD targets   compiled: {}; on this CPU: {}; in use: {}\n",
                      listed(measure::compiled_targets()), listed(supported_targets()), name_of(f.target));
  text += fmt::format(
      "matrix unit    {}\n",
      f.matrix_unit ? "AMX: prompts of models in 16 and 8 bits, and train.products = \"rounded\"" : "none");
  text += fmt::format("bf16 products  {}\n",
                      !f.bf16_products ? "none"
                      : f.matrix_unit
                          ? "on the matrix unit: train.products = \"bf16\"; attention with Products::bf16"
                          : "AVX-512: train.products = \"bf16\"; attention with Products::bf16");
  for (const Limits& limit : f.limits) {
    text += fmt::format("{:<14} {:.1f} GFLOP/s f32 multiply-add ({} loop), {:.1f} GB/s memory read ({} MB)\n",
                        limit.threads == 1 ? "1 thread" : fmt::format("{} threads", limit.threads),
                        limit.peak.gflops, limit.peak.loop, limit.gbs, f.read_bytes >> 20);
  }
  return text + "\n";
}

std::string checks_text(const Findings& f) {
  std::string text = fmt::format("kernels compared with the float64 reference, {} cases each\n\n",
                                 measure::check_cases().size());
  text += fmt::format("{:<8} {:<6} {:>8} {:>6}  {:<32} {:>11}  {:<9}\n", "target", "dtype", "worst E",
                      "limit", "in case", "weights sum", "same bits");
  for (const measure::CheckResult& check : f.checks) {
    text += fmt::format("{:<8} {:<6} {:>8.2f} {:>6.0f}  {:<32} {:>11}  {:<9} {}\n", name_of(check.target),
                        name_of(check.dtype), check.worst_error, check.limit, check.worst_case,
                        check.worst_row_sum <= 1 ? "1" : "wrong", check.same_bits ? "yes" : "no",
                        check.good() ? "✓" : "✗");
  }
  for (const measure::CheckResult& check : f.checks) {
    if (!check.good())
      text += fmt::format("\n✗ {} {}: {}\n", name_of(check.target), name_of(check.dtype), check.failure);
  }
  text +=
      "\nE: error of the output in rounding units, scaled for length and size of the scores; the worst case "
      "is\n"
      "named. weights sum: 1 if the weights of each row sum to 1 within rounding. same bits: on one and on\n"
      "several threads, with and without weights.\n";
  return text;
}

// Measured values: four digits are more than enough; two runs differ before that.
io::Rounded measured(double value) { return io::significant(value, 4); }

std::vector<std::string_view> names_of(const std::vector<SimdTarget>& targets) {
  std::vector<std::string_view> names;
  for (const SimdTarget target : targets) names.push_back(name_of(target));
  return names;
}

std::string to_json(const Findings& f) {
  io::JsonWriter w;
  w.begin_object(io::JsonLayout::lines).field("version", kVersion).field("cores", f.machine.cores);
  w.field("page_size", f.machine.page_size).field("memory", f.machine.memory);
  w.field("targets_compiled", names_of(measure::compiled_targets()));
  w.field("targets_supported", names_of(supported_targets())).field("target", name_of(f.target));
  w.field("matrix_unit", f.matrix_unit).field("bf16_products", f.bf16_products);
  w.key("peak_gflops").begin_object();
  for (const Limits& limit : f.limits) w.field(std::to_string(limit.threads), measured(limit.peak.gflops));
  w.end_object().key("dram_gbs").begin_object();
  for (const Limits& limit : f.limits) w.field(std::to_string(limit.threads), measured(limit.gbs));
  w.end_object().key("checks").begin_list(io::JsonLayout::lines);
  for (const measure::CheckResult& check : f.checks) {
    w.begin_object().field("target", name_of(check.target)).field("dtype", name_of(check.dtype));
    w.field("cases", check.cases).field("worst_error", measured(check.worst_error));
    w.field("limit", check.limit).field("same_bits", check.same_bits).field("good", check.good());
    w.end_object();
  }
  return w.end_list().end_object().take_line();
}

void run(const JsonTarget& target) {
  JsonOutput json(target);
  Findings f;
  f.machine = measure::describe_machine();
  f.target = Context({.threads = 1}).target();
  f.matrix_unit = kernels::matrix_kernels_for(f.target) != nullptr;
  f.bf16_products = kernels::bf16_kernels_for(f.target) != nullptr;
  f.limits = measure_limits(f.machine, f.read_bytes);
  if (!target.to_stdout()) print(machine_text(f));
  f.checks = measure::check_kernels(supported_targets());
  if (!target.to_stdout()) print(checks_text(f));
  json.write(to_json(f));
  for (const measure::CheckResult& check : f.checks) {
    if (check.good()) continue;
    throw Error(ErrorKind::numeric, "doctor.check",
                fmt::format("doctor: {} kernels give wrong results on this machine: {} {}",
                            name_of(check.target), name_of(check.dtype), check.failure));
  }
  if (!target.to_stdout()) print("\nall checks passed\n");
}

}  // namespace

void add_doctor(CLI::App& program) {
  CLI::App* command = add_command(program, {.name = "doctor",
                                            .what = "Show CPU features and check the kernels",
                                            .usage = "headlight doctor [--json FILE]",
                                            .examples = "  headlight doctor\n"
                                                        "  headlight doctor --json -\n"});
  const auto target = std::make_shared<JsonTarget>();
  add_json(*command, *target);
  keep_alive(*command, target);
  on_run(*command, [target] { run(*target); });
}

}  // namespace headlight::cli
