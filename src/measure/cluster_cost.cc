#include "measure/cluster_cost.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"

namespace headlight::measure {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

// Parses "10Gbit" with one of the units; negative for anything else.
template <std::size_t N>
double read_amount(std::string_view text, const Unit (&units)[N]) {
  double number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || !(number > 0) || number > 1e12) return -1;
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  for (const Unit& known : units)
    if (known.name == unit) return number * known.factor;
  return -1;
}

constexpr double kExchanges = 4;  // of a layer: queries with keys and values, output, gate with up, down

}  // namespace

Link parse_link(std::string_view text) {
  constexpr Unit rates[] = {{"Gbit", 1e9 / 8}, {"Mbit", 1e6 / 8}, {"GB", 1e9}, {"MB", 1e6}};
  constexpr Unit times[] = {{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
  const std::size_t slash = std::min(text.find('/'), text.size());
  const double rate = read_amount(text.substr(0, slash), rates),
               time = slash < text.size() ? read_amount(text.substr(slash + 1), times) : -1;
  if (rate <= 0 || time <= 0)
    throw Error(ErrorKind::usage, "plan.link",
                concat("--link: \"", escaped(text, 40),
                       "\"; need bandwidth per second and latency, as 10Gbit/50us, 200MB/2us or 1Gbit/1ms"));
  return {time, rate};
}

Rates parse_rates(std::string_view text) {
  constexpr Unit flops[] = {{"GFLOP", 1e9}, {"TFLOP", 1e12}};
  constexpr Unit reads[] = {{"GB", 1e9}, {"TB", 1e12}};
  const std::size_t slash = std::min(text.find('/'), text.size());
  const Rates rates{read_amount(text.substr(0, slash), flops),
                    slash < text.size() ? read_amount(text.substr(slash + 1), reads) : -1};
  if (rates.flops <= 0 || rates.read <= 0)
    throw Error(ErrorKind::usage, "plan.rates",
                concat("--rates: \"", escaped(text, 40),
                       "\"; need products and memory per second, as 500GFLOP/20GB or 2TFLOP/200GB"));
  return rates;
}

double gather_seconds(const Link& link, int ranks, double own_bytes) {
  constexpr double kOverhead = 0.1;  // of the latency: the time of the sender for one message
  return ranks > 1 ? link.latency + (ranks - 1) * (own_bytes / link.bandwidth + kOverhead * link.latency) : 0;
}

Cost token_cost(const DecoderCost& model, const Rates& rates, const Link& link, int ranks, double context) {
  Cost cost;
  cost.compute = (model.matrix_bytes / ranks + context * model.cache_bytes) / rates.read;
  cost.transfer =
      static_cast<double>(model.layers) * ((kExchanges - 1) * gather_seconds(link, ranks, 0) +
                                           gather_seconds(link, ranks, 4 * model.sent_numbers / ranks));
  return cost;
}

Cost prompt_cost(const DecoderCost& model, const Rates& rates, const Link& link, int ranks, double tokens) {
  Cost cost;
  cost.compute =
      (2 * model.parameters * tokens / ranks + model.attention_flops * tokens * tokens / 2) / rates.flops;
  cost.transfer = static_cast<double>(model.layers) *
                  ((kExchanges - 1) * gather_seconds(link, ranks, 0) +
                   gather_seconds(link, ranks, 4 * model.sent_numbers * tokens / ranks));
  return cost;
}

double memory_per_rank(const DecoderCost& model, int ranks, double context) {
  return model.matrix_bytes / ranks + model.table_bytes + context * model.cache_bytes;
}

Cost step_cost(double seconds, double parameters, const Link& link, int ranks) {
  return {seconds / ranks, 2 * gather_seconds(link, ranks, 4 * parameters / ranks)};
}

Cost head_exchange_cost(double seconds, double exchanged, const Link& link, int ranks) {
  return {seconds / ranks, 4 * gather_seconds(link, ranks, exchanged / 4 / ranks / ranks)};
}

Cost ring_cost(double seconds, double keys, const Link& link, int ranks) {
  const double compute = seconds / ranks;
  const double moving = ranks > 1 ? (ranks - 1) * link.seconds(keys / ranks) : 0;
  return {compute, std::max(0.0, moving - compute * (ranks - 1) / ranks)};
}

int head_ranks(Index kv_heads, int ranks) {
  int count = static_cast<int>(std::min<Index>(ranks, std::max<Index>(1, kv_heads)));
  while (ranks % count != 0) --count;
  return count;
}

Cost sequence_cost(SequenceLayout layout, const SequenceCost& call, const Rates& rates, const Link& link,
                   int ranks) {
  const double seconds = call.flops / rates.flops, all = 2 * call.q_bytes + 2 * call.k_bytes;
  const auto heads = static_cast<double>(call.kv_heads);
  if (layout == SequenceLayout::heads) {
    const double busy = std::min<double>(ranks, heads);
    Cost cost = head_exchange_cost(seconds, all, link.in_parts(std::ceil(heads / busy)), ranks);
    cost.compute = seconds / busy;
    return cost;
  }
  if (layout == SequenceLayout::ring)
    return ring_cost(seconds, 2 * call.k_bytes, link.in_parts(heads), ranks);
  // Neighbours exchange what one place of the ring has; each then sends its heads around.
  const int columns = head_ranks(call.kv_heads, ranks), places = ranks / columns;
  const Link parts = link.in_parts(std::ceil(heads / columns));
  const Cost exchange = head_exchange_cost(0, all / places, parts, columns);
  Cost cost = ring_cost(seconds / columns, 2 * call.k_bytes / columns, parts, places);
  cost.transfer += exchange.transfer;
  return cost;
}

double sequence_memory(SequenceLayout layout, const SequenceCost& call, int ranks) {
  const auto heads = static_cast<double>(call.kv_heads);
  const double q = call.q_bytes / heads, k = call.k_bytes / heads;  // of one key head
  const double own = (2 * call.q_bytes + 2 * call.k_bytes) / ranks;
  // A tensor of the heads of a round, on its way out and in.
  const auto messages = [&](double columns) { return 2 * q * std::min(columns, heads) / ranks; };
  const auto turning = [&](double places) {
    return (4 * k + 2 * q) / places;
  };  // two shards of k and v, two of out
  if (layout == SequenceLayout::heads) return own + 2 * q + 2 * k + messages(ranks);
  if (layout == SequenceLayout::ring) return own + turning(ranks);
  const int columns = head_ranks(call.kv_heads, ranks), places = ranks / columns;
  return own + (2 * q + 2 * k) / places + messages(columns) + turning(places);
}

}  // namespace headlight::measure
