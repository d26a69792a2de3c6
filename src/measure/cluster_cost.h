// Estimates the cost of work on several processes from the rates of one process, the rate of the link between two, and the
// division of the work. `headlight bench --dist` compares it with measurements, `headlight plan` extends it.
#pragma once

#include <string>
#include <string_view>

#include "headlight/tensor.h"

namespace headlight::measure {

// One direction of the link between two processes.
struct Link {
  double latency = 0;    // seconds until a small message arrives
  double bandwidth = 0;  // bytes per second
  [[nodiscard]] double seconds(double bytes) const { return latency + bytes / bandwidth; }
  // Of a message that is sent in parts.
  [[nodiscard]] Link in_parts(double parts) const { return {latency * parts, bandwidth}; }
};
// "10Gbit/50us", "1Gbit/1ms", "200MB/2us". Throws Error{usage}.
[[nodiscard]] Link parse_link(std::string_view text);

// One process, with all its threads.
struct Rates {
  double flops = 0;  // multiplications and additions per second, of products of many rows
  double read = 0;   // bytes of memory per second
};
// "500GFLOP/20GB", "2TFLOP/200GB". Throws Error{usage}.
[[nodiscard]] Rates parse_rates(std::string_view text);

// The sizes of a decoder that determine its cost.
struct DecoderCost {
  double matrix_bytes = 0;  // read for every token
  double table_bytes = 0;   // embeddings, of which a token reads one row
  double parameters = 0;    // numbers that every token is multiplied with
  Index layers = 0;
  double sent_numbers = 0;     // outputs of the products of one token in one layer, which ranks exchange
  double cache_bytes = 0;      // of one token in all layers
  double attention_flops = 0;  // of one token on one key, all layers
};

struct Cost {
  double compute = 0, transfer = 0;  // seconds, one after the other
  [[nodiscard]] double seconds() const { return compute + transfer; }
  [[nodiscard]] double share() const { return seconds() > 0 ? transfer / seconds() : 0; }
};

// A process sends its data to all others over its own link, one after the other; each message takes a tenth of the latency
// from its sender.
[[nodiscard]] double gather_seconds(const Link& link, int ranks, double own_bytes);

// Rows of the matrices on `ranks` processes; each has all of attention and its cache.
[[nodiscard]] Cost token_cost(const DecoderCost& model, const Rates& rates, const Link& link, int ranks,
                              double context);
[[nodiscard]] Cost prompt_cost(const DecoderCost& model, const Rates& rates, const Link& link, int ranks,
                               double tokens);
[[nodiscard]] double memory_per_rank(const DecoderCost& model, int ranks, double context);

// A training step that takes one process `seconds`: batches on `ranks` processes, and one exchange of the gradient and the
// parameters.
[[nodiscard]] Cost step_cost(double seconds, double parameters, const Link& link, int ranks);

// Attention over one sequence that takes one process `seconds`. exchanged: bytes of q, k, v and out; keys: of k and v.
[[nodiscard]] Cost head_exchange_cost(double seconds, double exchanged, const Link& link, int ranks);
[[nodiscard]] Cost ring_cost(double seconds, double keys, const Link& link,
                             int ranks);  // transfer: the time not hidden by computation

// Attention of one layer over one sequence, causal, and how ranks share its tokens.
struct SequenceCost {
  double flops = 0;    // of the whole call
  double q_bytes = 0;  // of q, and of out
  double k_bytes = 0;  // of k, and of v
  Index kv_heads = 1;
};
enum class SequenceLayout { heads, ring, hybrid };
// Key heads are computed one at a time, as for long sequences. Ranks beyond the number of key heads stay idle when heads are
// exchanged. hybrid: as many neighbours exchange heads as divide the ranks and have a key head each.
[[nodiscard]] Cost sequence_cost(SequenceLayout layout, const SequenceCost& call, const Rates& rates,
                                 const Link& link, int ranks);
// Shards of q, k, v and out, and what was exchanged of the head that is computed, with the keys that are on their way.
[[nodiscard]] double sequence_memory(SequenceLayout layout, const SequenceCost& call, int ranks);
[[nodiscard]] int head_ranks(Index kv_heads, int ranks);  // of a hybrid

}  // namespace headlight::measure
