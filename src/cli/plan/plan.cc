#include "cli/plan/plan.h"

#include <fmt/format.h>
#include <CLI/App.hpp>

#include <memory>

#include "cli/commands.h"
#include "cli/json_output.h"
#include "cli/model_input.h"
#include "cli/numbers.h"
#include "cli/terminal.h"
#include "cli/text_table.h"
#include "core/concat.h"
#include "core/cpu.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "io/json_writer.h"
#include "measure/cluster_cost.h"
#include "measure/limits.h"
#include "session/state.h"

namespace headlight::cli {
namespace {

constexpr double kReached = 0.8;  // of the FMA peak, by products of many rows (docs/performance.md)

struct PlanSettings {
  std::string model = "en", link = "10Gbit/50us";
  std::vector<Index> ranks = {1, 2, 4, 8, 16};
  Index context = 4096, threads = 0;
  JsonTarget json;
};

struct Row {
  int ranks = 1;
  double memory = 0;
  measure::Cost token, prompt;
};

measure::DecoderCost cost_of(const Model& model) {
  if (model.info().kind != ModelKind::decoder || model.info().recurrent)
    throw Error(
        ErrorKind::usage, "plan.kind",
        concat("the model \"", escaped(model.info().name), "\" is not a decoder; plan knows decoders only"));
  models::Transformer& transformer = *model.state().loaded.model;
  const models::TransformerConfig& config = transformer.config();
  measure::DecoderCost cost;
  cost.layers = static_cast<Index>(config.decoder.size());
  for (const nn::BlockConfig& block : config.decoder) {
    const nn::MultiHeadAttentionConfig& a = block.attention;
    cost.cache_bytes += 4.0 * static_cast<double>(a.kv_heads * (a.head_dim + a.value_dim()));
    cost.attention_flops += 2.0 * static_cast<double>(a.heads * (a.head_dim + a.value_dim()));
  }
  for (const Parameter* parameter : transformer.parameters()) {
    const Shape shape = parameter->shape();
    if (shape.rank != 2) continue;
    const double bytes = parameter->stored.empty() ? 4.0 * static_cast<double>(shape.elements())
                                                   : static_cast<double>(parameter->stored.bytes());
    const bool table = shape[0] == config.vocabulary, tied = table && config.head.tied;
    if (table && !tied && parameter == transformer.parameters().front()) {
      cost.table_bytes += bytes;
      continue;
    }
    cost.matrix_bytes += bytes;
    cost.parameters += static_cast<double>(shape.elements());
    if (!table) cost.sent_numbers += static_cast<double>(shape[0]) / static_cast<double>(cost.layers);
  }
  return cost;
}

std::string seconds_text(double seconds) {
  if (seconds < 1) return fmt::format("{:.1f} ms", 1e3 * seconds);
  return seconds < 120 ? fmt::format("{:.1f} s", seconds) : fmt::format("{:.0f} min", seconds / 60);
}

std::string json(const PlanSettings& s, const Model& model, const measure::Rates& rates,
                 const std::vector<Row>& rows) {
  io::JsonWriter w;
  w.begin_object(io::JsonLayout::lines).field("model", model.info().name).field("context", s.context);
  w.field("gflops", io::decimals(1e-9 * rates.flops, 1)).field("read_gb", io::decimals(1e-9 * rates.read, 2));
  w.field("link", s.link).key("rows").begin_list(io::JsonLayout::lines);
  for (const Row& row : rows) {
    w.begin_object().field("ranks", row.ranks).field("bytes_per_rank", io::decimals(row.memory, 0));
    w.field("token_seconds", io::significant(row.token.seconds(), 6));
    w.field("token_transfer_share", io::significant(row.token.share(), 6));
    w.field("prompt_seconds", io::significant(row.prompt.seconds(), 6));
    w.field("prompt_transfer_share", io::significant(row.prompt.share(), 6)).end_object();
  }
  return w.end_list().end_object().take_line();
}

void run(const PlanSettings& s) {
  JsonOutput output(s.json);
  const measure::Link link = measure::parse_link(s.link);
  const Model model = open_model(s.model);
  const measure::DecoderCost cost = cost_of(model);
  const int threads = s.threads > 0 ? static_cast<int>(s.threads) : usable_cores();
  const measure::Rates rates{kReached * 1e9 * measure::fma_peak(threads).gflops,
                             1e9 * measure::ReadBandwidth().measure(threads)};
  std::vector<Row> rows;
  const auto context = static_cast<double>(s.context);
  for (const Index ranks : s.ranks) {
    const int n = static_cast<int>(ranks);
    rows.push_back({n, measure::memory_per_rank(cost, n, context),
                    measure::token_cost(cost, rates, link, n, context),
                    measure::prompt_cost(cost, rates, link, n, context)});
  }
  output.write(json(s, model, rates, rows));
  if (s.json.to_stdout()) return;
  using Align = TextTable::Align;
  TextTable table(
      {{"processes", Align::right}, {"memory each"}, {"token"}, {"sending"}, {"prompt"}, {"sending"}});
  const Row* best = &rows.front();
  for (const Row& row : rows) {
    table.add({concat(row.ranks), fmt::format("{:.2f} GB", 1e-9 * row.memory),
               seconds_text(row.token.seconds()), fmt::format("{:.0f} %", 100 * row.token.share()),
               seconds_text(row.prompt.seconds()), fmt::format("{:.0f} %", 100 * row.prompt.share())});
    if (row.token.seconds() < best->token.seconds()) best = &row;
  }
  print(fmt::format(
      "{}: {:.2f} GB of matrices, {} layers, context {}; each process {:.0f} GFLOP/s and {:.1f} GB/s as "
      "measured here, link {}\n\n",
      escaped(model.info().name), 1e-9 * cost.matrix_bytes, cost.layers, s.context, 1e-9 * rates.flops,
      1e-9 * rates.read, s.link));
  Page page(PageStyle{});
  table.print(page);
  print(page.text());
  print(fmt::format(
      "\nFastest tokens: {} {}. Rows of matrices are divided; the cache and attention are not.\n"
      "token: time of one generated token. prompt: time to read a prompt of {} tokens. sending: the\n"
      "share of that time in which processes exchange data.\n",
      best->ranks, best->ranks == 1 ? "process" : "processes", s.context));
}

std::vector<Index> read_ranks(const std::string& text) {
  std::vector<Index> ranks;
  for (const std::string& part : split_list(text)) {
    const std::optional<Index> n = parse_integer(part);
    if (!n || *n < 1 || *n > 65536)
      refuse_value("--ranks", text, "numbers from 1 to 65536, separated by commas");
    ranks.push_back(*n);
  }
  return ranks;
}

}  // namespace

void add_plan(CLI::App& program) {
  CLI::App* command = add_command(
      program,
      {.name = "plan",
       .what = "Estimate what a decoder needs on several processes",
       .usage = "headlight plan [--model NAME|PATH] [--ranks LIST] [--link BANDWIDTH/LATENCY] [--context N]",
       .examples = "  headlight plan --model big.gguf --ranks 1,2,4,8 --link 10Gbit/50us\n"
                   "  headlight plan --model llama-1b-bf16 --link 1Gbit/1ms --json\n"
                   "\n"
                   "  The rates of a process are measured here; docs/scaling.md has the formulas.\n"
                   "  mpirun -n 2 headlight bench --dist compares them with measurements.\n"});
  const auto s = std::make_shared<PlanSettings>();
  add_model(*command, s->model);
  add_reader(
      *command, "--ranks", [s](const std::string& text) { s->ranks = read_ranks(text); },
      "Numbers of processes, separated by commas (default: 1,2,4,8,16)")
      ->type_name("LIST");
  add_text(*command, "--link", s->link,
           "Bandwidth per second and latency of the network (default: 10Gbit/50us)")
      ->type_name("RATE/TIME");
  add_count(*command, "--context", s->context, "Tokens of the prompt and in the cache (default: 4096)",
            {1, Index{1} << 40});
  add_json(*command, s->json);
  add_threads(*command, s->threads);
  keep_alive(*command, s);
  on_run(*command, [s] { run(*s); });
}

}  // namespace headlight::cli
