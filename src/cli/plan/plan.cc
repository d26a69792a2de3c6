#include "cli/plan/plan.h"

#include <fmt/format.h>
#include <CLI/App.hpp>

#include <memory>

#include "cli/commands.h"
#include "cli/figures.h"
#include "cli/json_output.h"
#include "cli/model_input.h"
#include "cli/numbers.h"
#include "cli/plan/figure.h"
#include "cli/terminal.h"
#include "cli/text_table.h"
#include "core/concat.h"
#include "core/cpu.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "io/json_writer.h"
#include "io/outputs.h"
#include "measure/cluster_cost.h"
#include "measure/decoder_cost.h"
#include "measure/limits.h"
#include "models/random_model.h"
#include "session/state.h"

namespace headlight::cli {
namespace {

constexpr double kReached = 0.8;  // of the FMA peak, by products of many rows (docs/performance.md)
constexpr double kDpi = 150;

using Row = PlanRow;
using measure::SequenceLayout;

struct PlanSettings {
  std::string model, shape, link = "10Gbit/50us", rates;
  std::vector<Index> ranks = {1, 2, 4, 8, 16};
  Index context = 4096, sequence = 0, threads = 0;
  FigureOptions figures;
  JsonTarget json;
};

constexpr SequenceLayout kLayouts[] = {SequenceLayout::heads, SequenceLayout::ring, SequenceLayout::hybrid};
constexpr const char* kLayoutNames[] = {"heads", "ring", "hybrid"};

// What is planned: the model of a path, or sizes alone.
struct Decoder {
  std::string name;
  measure::DecoderCost cost;
  nn::MultiHeadAttentionConfig attention;  // of the first layer; the others are taken to be like it
};

Decoder decoder_of(const PlanSettings& s) {
  if (!s.shape.empty()) {
    models::TransformerConfig config = models::known_shape(s.shape);
    config.weights = nn::Weights::stored;  // parameters have shapes, and no memory
    models::Transformer model(config);
    return {s.shape + ", bf16", measure::decoder_cost(model, 2), model.config().decoder.front().attention};
  }
  const Model model = open_model(s.model.empty() ? "en" : s.model);
  if (model.info().kind != ModelKind::decoder || model.info().recurrent)
    throw Error(
        ErrorKind::usage, "plan.kind",
        concat("the model \"", escaped(model.info().name), "\" is not a decoder; plan knows decoders only"));
  models::Transformer& transformer = *model.state().loaded.model;
  return {model.info().name, measure::decoder_cost(transformer),
          transformer.config().decoder.front().attention};
}

// Attention of one layer, causal.
measure::SequenceCost sequence_of(const nn::MultiHeadAttentionConfig& a, double tokens) {
  const auto numbers = [&](Index heads, Index dim) {
    return 4.0 * tokens * static_cast<double>(heads * dim);
  };
  return {.flops = static_cast<double>(a.heads * (a.head_dim + a.value_dim())) * tokens * tokens,
          .q_bytes = (numbers(a.heads, a.head_dim) + numbers(a.heads, a.value_dim())) / 2,
          .k_bytes = (numbers(a.kv_heads, a.head_dim) + numbers(a.kv_heads, a.value_dim())) / 2,
          .kv_heads = a.kv_heads};
}

std::string seconds_text(double seconds) {
  if (seconds < 1) return fmt::format("{:.1f} ms", 1e3 * seconds);
  return seconds < 120 ? fmt::format("{:.1f} s", seconds) : fmt::format("{:.0f} min", seconds / 60);
}

std::string json(const PlanSettings& s, const Decoder& decoder, const measure::Rates& rates,
                 const std::vector<Row>& rows) {
  io::JsonWriter w;
  w.begin_object(io::JsonLayout::lines).field("model", decoder.name).field("context", s.context);
  w.field("gflops", io::decimals(1e-9 * rates.flops, 1)).field("read_gb", io::decimals(1e-9 * rates.read, 2));
  w.field("link", s.link).key("rows").begin_list(io::JsonLayout::lines);
  for (const Row& row : rows) {
    w.begin_object().field("ranks", row.ranks).field("bytes_per_rank", io::decimals(row.memory, 0));
    w.field("token_seconds", io::significant(row.token.seconds(), 6));
    w.field("token_transfer_share", io::significant(row.token.share(), 6));
    w.field("prompt_seconds", io::significant(row.prompt.seconds(), 6));
    w.field("prompt_transfer_share", io::significant(row.prompt.share(), 6));
    for (std::size_t n = 0; n < row.attention.size(); ++n) {
      w.key(kLayoutNames[n]).begin_object();
      w.field("seconds", io::significant(row.attention[n].cost.seconds(), 6));
      w.field("transfer_share", io::significant(row.attention[n].cost.share(), 6));
      w.field("bytes_per_rank", io::decimals(row.attention[n].memory, 0)).end_object();
    }
    w.end_object();
  }
  return w.end_list().end_object().take_line();
}

std::vector<Row> rows_of(const PlanSettings& s, const Decoder& decoder, const measure::Rates& rates) {
  const measure::Link link = measure::parse_link(s.link);
  const measure::DecoderCost& cost = decoder.cost;
  const auto context = static_cast<double>(s.context);
  std::vector<Row> rows;
  for (const Index ranks : s.ranks) {
    const int n = static_cast<int>(ranks);
    Row row{n, measure::memory_per_rank(cost, n, context), measure::token_cost(cost, rates, link, n, context),
            measure::prompt_cost(cost, rates, link, n, context)};
    if (s.sequence > 0) {
      const measure::SequenceCost call = sequence_of(decoder.attention, static_cast<double>(s.sequence));
      for (const SequenceLayout layout : kLayouts) {
        measure::Cost all = measure::sequence_cost(layout, call, rates, link, n);
        all.compute *= static_cast<double>(cost.layers);
        all.transfer *= static_cast<double>(cost.layers);
        row.attention.push_back({all, measure::sequence_memory(layout, call, n)});
      }
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

using Align = TextTable::Align;

void print_decoder(const PlanSettings& s, const std::vector<Row>& rows) {
  TextTable table(
      {{"processes", Align::right}, {"memory each"}, {"token"}, {"sending"}, {"prompt"}, {"sending"}});
  const Row* best = &rows.front();
  for (const Row& row : rows) {
    table.add({concat(row.ranks), fmt::format("{:.2f} GB", 1e-9 * row.memory),
               seconds_text(row.token.seconds()), fmt::format("{:.0f} %", 100 * row.token.share()),
               seconds_text(row.prompt.seconds()), fmt::format("{:.0f} %", 100 * row.prompt.share())});
    if (row.token.seconds() < best->token.seconds()) best = &row;
  }
  Page page(PageStyle{});
  table.print(page);
  print(page.text());
  print(fmt::format(
      "\nFastest tokens: {} {}. Rows of matrices are divided; the cache and attention are not.\n"
      "token: time of one generated token. prompt: time to read a prompt of {} tokens. sending: the\n"
      "share of that time in which processes exchange data.\n",
      best->ranks, best->ranks == 1 ? "process" : "processes", s.context));
}

void print_sequence(const PlanSettings& s, const std::vector<Row>& rows) {
  TextTable table({{"processes", Align::right},
                   {"heads"},
                   {"sending"},
                   {"ring"},
                   {"sending"},
                   {"hybrid"},
                   {"sending"},
                   {"memory each"},
                   {"fastest"}});
  for (const Row& row : rows) {
    std::vector<std::string> cells = {concat(row.ranks)};
    std::size_t best = 0;
    for (std::size_t n = 0; n < row.attention.size(); ++n) {
      const measure::Cost& cost = row.attention[n].cost;
      cells.push_back(seconds_text(cost.seconds()));
      cells.push_back(fmt::format("{:.0f} %", 100 * cost.share()));
      if (cost.seconds() < row.attention[best].cost.seconds()) best = n;
    }
    cells.push_back(fmt::format("{:.2f} GB", 1e-9 * row.attention[best].memory));
    cells.emplace_back(kLayoutNames[best]);
    table.add(cells);
  }
  print(fmt::format("\nAttention over one sequence of {} tokens, all layers, forward\n\n", s.sequence));
  Page page(PageStyle{});
  table.print(page);
  print(page.text());
}

void run(const PlanSettings& s) {
  JsonOutput output(s.json);
  io::Outputs outputs(s.json.existing());
  reserve_figures(outputs, s.figures);
  (void)measure::parse_link(s.link);
  measure::Rates rates;
  if (!s.rates.empty()) rates = measure::parse_rates(s.rates);
  if (!s.model.empty() && !s.shape.empty())
    throw Error(ErrorKind::usage, "plan.shape", "--model and --shape both say what to plan for; give one");
  const Decoder decoder = decoder_of(s);
  if (s.rates.empty()) {
    const int threads = s.threads > 0 ? static_cast<int>(s.threads) : usable_cores();
    rates = {kReached * 1e9 * measure::fma_peak(threads).gflops,
             1e9 * measure::ReadBandwidth().measure(threads)};
  }
  const std::vector<Row> rows = rows_of(s, decoder, rates);
  const std::string about = fmt::format(
      "{}: {:.2f} GB of matrices, {} layers; each process {:.0f} GFLOP/s and {:.1f} GB/s{}, link {}",
      escaped(decoder.name), 1e-9 * decoder.cost.matrix_bytes, decoder.cost.layers, 1e-9 * rates.flops,
      1e-9 * rates.read, s.rates.empty() ? " as measured here" : "", s.link);
  if (s.figures.any()) {
    const std::string title = s.sequence > 0
                                  ? fmt::format("{}: attention over {} tokens", decoder.name, s.sequence)
                                  : fmt::format("{}: context of {} tokens", decoder.name, s.context);
    write_figures(outputs, s.figures, plan_figure(title, rows), kDpi);
  }
  outputs.commit();
  output.write(json(s, decoder, rates, rows));
  if (s.json.to_stdout()) return;
  print(about + "\n\n");
  print_decoder(s, rows);
  if (s.sequence > 0) print_sequence(s, rows);
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
       .usage = "headlight plan [--model NAME|PATH | --shape NAME] [--ranks LIST] [--link BANDWIDTH/LATENCY] "
                "[--context N] "
                "[--sequence N]",
       .examples = "  headlight plan --model big.gguf --ranks 1,2,4,8 --link 10Gbit/50us\n"
                   "  headlight plan --shape llama-8b --ranks 1,8,64,1024 --sequence 1000000\n"
                   "\n"
                   "  docs/scaling.md has the formulas.\n"
                   "  mpirun -n 2 headlight bench --dist compares them with measurements.\n"});
  const auto s = std::make_shared<PlanSettings>();
  add_model(*command, s->model);
  add_text(*command, "--shape", s->shape,
           "Sizes in place of a model: llama-1b, llama-8b or llama-70b, in bf16")
      ->type_name("NAME");
  add_reader(
      *command, "--ranks", [s](const std::string& text) { s->ranks = read_ranks(text); },
      "Numbers of processes, separated by commas (default: 1,2,4,8,16)")
      ->type_name("LIST");
  add_text(*command, "--link", s->link,
           "Bandwidth per second and latency of the network (default: 10Gbit/50us)")
      ->type_name("RATE/TIME");
  add_count(*command, "--context", s->context, "Tokens of the prompt and in the cache (default: 4096)",
            {1, Index{1} << 40});
  add_count(*command, "--sequence", s->sequence,
            "Also: attention over one sequence of N tokens, shared by the processes", {1, Index{1} << 40});
  add_text(*command, "--rates", s->rates,
           "Products and memory of a process per second, as 500GFLOP/20GB (default: measured here)")
      ->type_name("RATE/RATE");
  add_threads(*command, s->threads);
  add_figures(*command, s->figures, Layout::fixed);
  begin_group(*command, "Output");
  add_json(*command, s->json);
  keep_alive(*command, s);
  on_run(*command, [s] { run(*s); });
}

}  // namespace headlight::cli
