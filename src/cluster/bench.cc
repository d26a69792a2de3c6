#include "cluster/bench.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/model_places.h"
#include "cli/terminal.h"
#include "core/concat.h"
#include "headlight/version.h"
#include "inspect/loaded_model.h"
#include "measure/cluster_cost.h"
#include "measure/machine.h"
#include "measure/memory.h"
#include "measure/model_runs.h"
#include "measure/timing.h"
#include "measure/train_steps.h"
#include "measure/workloads.h"
#include "models/transformer.h"
#include "train/gradient_tree.h"

namespace headlight::cluster {
namespace {

using cli::print;
using measure::now_seconds;

constexpr Index kTokens = 16384, kHeads = 16, kDim = 64;  // of the attention

class DistBench {
 public:
  explicit DistBench(dist::Group& group) : group_(group), busy_(std::min(group.size(), cores())) {}

  void print_heading() {
    print(fmt::format("headlight {}, {}; {} processes of one thread\n", kVersion,
                      measure::title(measure::describe_machine()), group_.size()));
    measure_link();
    print(fmt::format("link: {:.1f} us, {:.2f} GB/s\n\n{:<44}{:>12}{:>12}{:>10}{:>12}{:>11}{:>11}\n",
                      1e6 * link_.latency, 1e-9 * link_.bandwidth, "", "one", "together", "ratio",
                      "predicted", "memory", "each"));
  }

  void attention() {
    Context ctx({.threads = 1});
    const AttentionOptions options{.visible = Visibility::causal()};
    double one = 0;
    const double whole_mb = memory_mb([&] {
      const bool runs = group_.rank() == 0;
      Inputs all(runs ? kTokens : 0);
      one = time(2, [&] {
        if (runs) attention_forward(ctx, all.q, all.k, all.v, options, {.out = all.out});
      });
    });
    const auto run = [&](const dist::SequenceParallel& how, const char* name, const measure::Cost& cost) {
      double together = 0;
      const double mb = memory_mb([&] {
        Inputs mine(dist::Shards{kTokens, group_.size(), how.layout}.size(group_.rank()));
        together = time(
            2, [&] { dist::attention_forward(ctx, group_, mine.q, mine.k, mine.v, options, how, mine.out); });
      });
      line(concat("attention, 16,384 tokens causal, ", name), one, together, cost.seconds(), whole_mb, mb);
      return together;
    };
    const int ranks = group_.size();
    const double divided = one * ranks / busy_;  // so that the cost of a rank is that of a core
    const double bytes = 4.0 * kHeads * kTokens * kDim;
    const measure::SequenceCost call{
        .flops = divided, .q_bytes = bytes, .k_bytes = bytes, .kv_heads = kHeads};
    const auto predicted = [&](measure::SequenceLayout layout) {
      return measure::sequence_cost(layout, call, {1, 1}, link_, ranks);
    };
    run({.method = dist::Method::heads}, "heads", predicted(measure::SequenceLayout::heads));
    const double ring = run({.method = dist::Method::ring, .layout = dist::Layout::zigzag}, "ring",
                            predicted(measure::SequenceLayout::ring));
    if (ranks > 2 && ranks % 2 == 0) {
      const measure::Link parts = link_.in_parts(kHeads / 2);
      measure::Cost cost = measure::ring_cost(divided / 2, bytes, parts, ranks / 2);
      cost.transfer += measure::head_exchange_cost(0, 8 * bytes / ranks, parts, 2).transfer;
      run({.method = dist::Method::hybrid, .layout = dist::Layout::zigzag, .head_ranks = 2}, "hybrid", cost);
    }
    // Of a ring that hides all of the shorter behind the longer, the ratio is 1.
    const double compute = divided / ranks,
                 transfer = (ranks - 1) * link_.in_parts(kHeads).seconds(2 * bytes / ranks);
    print(fmt::format("  ring: computing {:.1f} ms, sending {:.1f} ms; {:.2f} x the longer of them\n",
                      1e3 * compute, 1e3 * transfer, ring / std::max(compute, transfer)));
  }

  // One batch per process; in the run without a team, rank 0 learns from all of them.
  void training() {
    models::Transformer model(models::gpt_config(measure::kGptStep));
    model.initialize(1);
    train::AdamW adam(model.parameters(), {});
    const models::Batch batch = made_up_batch();
    const auto step = [&](Context& ctx, Index batches) {
      train::GradientTree gradient(ctx, adam, batches);
      for (Index n = gradient.mine().begin; n < gradient.mine().end; ++n) {
        models::LearnOptions options{.scale = 1.0 / static_cast<double>(batches * batch.input.size())};
        if (n + 1 == gradient.mine().end)
          options.ready = [&](const Parameters& done) { gradient.ready(done); };
        (void)model.learn(ctx, batch, options);
        gradient.add(n);
      }
      gradient.finish();
      (void)adam.gradient_norm(ctx);
      adam.step(ctx, 1e-4);
    };
    const Index batches = group_.size();
    Context alone({.threads = 1}), ctx({.executor = team_executor(group_, Together::items, 1)});
    const double one = time(5, [&] {
      if (group_.rank() == 0) step(alone, batches);
    });
    const double together = time(5, [&] { step(ctx, batches); });
    const auto parameters = static_cast<double>(adam.numbers({0, adam.pieces()}));
    line("GPT training step, 12 M parameters", one, together,
         measure::step_cost(one * group_.size() / busy_, parameters, link_, group_.size()).seconds());
  }

  // Compared with as many threads in one process: both share the memory bandwidth.
  void decoding(const std::string& path) {
    constexpr std::int64_t context = 16;
    std::unique_ptr<measure::ModelRun> run;
    double one = 0, together = 0;
    // Before one process reads the whole file.
    const double mb = memory_mb([&] {
      run = measure::load_model_run(inspect::find_model(path, cli::model_places()));
      Context ctx(
          {.activations = Activations::rounded, .executor = team_executor(group_, Together::products, 1)});
      together = time(12, [&] { (void)run->decode(ctx, context); });
    });
    {
      const AllCores cores;
      Context threads({.threads = group_.size(), .activations = Activations::rounded});
      one = time(12, [&] {
        if (group_.rank() == 0) (void)run->decode(threads, context);
      });
    }
    const measure::DecoderCost cost = run->cost();
    const double sending = measure::token_cost(cost, {1, 1}, link_, group_.size(), 0).transfer;
    line("decoding, against threads of one process", one, together, one + sending,
         1e-6 * (cost.matrix_bytes + cost.table_bytes), mb);
    print(fmt::format("  model: {:.0f} MB of matrices, {:.0f} MB of embeddings\n", 1e-6 * cost.matrix_bytes,
                      1e-6 * cost.table_bytes));
  }

 private:
  struct Inputs {
    explicit Inputs(Index tokens) : q({1, kHeads, tokens, kDim}), k(q.shape()), v(q.shape()), out(q.shape()) {
      measure::fill_normal(q, 1);
      measure::fill_normal(k, 2);
      measure::fill_normal(v, 3);
    }
    Tensor q, k, v, out;
  };

  // While one exists, new threads may run on every core of the machine.
  class AllCores {
   public:
    AllCores() {
      (void)::sched_getaffinity(0, sizeof(before_), &before_);
      cpu_set_t all;
      CPU_ZERO(&all);
      for (int core = 0; core < ::sysconf(_SC_NPROCESSORS_ONLN) && core < CPU_SETSIZE; ++core)
        CPU_SET(core, &all);
      (void)::sched_setaffinity(0, sizeof(all), &all);
    }
    ~AllCores() { (void)::sched_setaffinity(0, sizeof(before_), &before_); }
    AllCores(const AllCores&) = delete;
    AllCores& operator=(const AllCores&) = delete;

   private:
    cpu_set_t before_{};
  };

  // Of all machines together, those that some rank may run on.
  int cores() {
    struct Place {
      std::array<char, 256> host{};
      cpu_set_t cores{};
    } mine;
    (void)::gethostname(mine.host.data(), mine.host.size() - 1);
    (void)::sched_getaffinity(0, sizeof(mine.cores), &mine.cores);
    std::map<std::string, cpu_set_t> machines;
    for (const auto& bytes : group_.all_gather(std::as_bytes(std::span(&mine, 1)))) {
      Place place;
      std::memcpy(&place, bytes.data(), sizeof(place));
      cpu_set_t& all = machines[place.host.data()];
      CPU_OR(&all, &all, &place.cores);
    }
    int count = 0;
    for (const auto& [host, all] : machines) count += CPU_COUNT(&all);
    return count;
  }

  static models::Batch made_up_batch() {
    models::Batch batch;
    for (Index row = 0; row < measure::kGptStepRows; ++row) {
      std::vector<std::int32_t> ids;
      for (Index i = 0; i < measure::kGptStep.context; ++i)
        ids.push_back(static_cast<std::int32_t>((row * 7919 + i * 104729) % measure::kGptStep.vocabulary));
      batch.input.append(ids);
      batch.targets.insert(batch.targets.end(), ids.begin(), ids.end());
    }
    return batch;
  }

  // The best of several runs that all begin and end together; the first one does not count.
  double time(int runs, const std::function<void()>& run) {
    double best = 1e300;
    for (int i = 0; i <= runs; ++i) {
      group_.barrier();
      const double begin = now_seconds();
      run();
      group_.barrier();
      if (i > 0) best = std::min(best, now_seconds() - begin);
    }
    return best;
  }

  // The most memory that a rank takes for it, its tensors included. 0: the system does not tell.
  double memory_mb(const std::function<void()>& run) {
    const measure::PeakMemory peak;
    run();
    const double mine = peak.grown_mb().value_or(0);
    double most = 0;
    for (const auto& bytes : group_.all_gather(std::as_bytes(std::span(&mine, 1)))) {
      double one = 0;
      std::memcpy(&one, bytes.data(), sizeof(one));
      most = std::max(most, one);
    }
    return most;
  }

  void measure_link() {
    constexpr std::size_t large = std::size_t{4} << 20;
    const auto seconds = [&](std::size_t bytes) {
      const auto ranks = static_cast<std::size_t>(group_.size());
      const std::vector<std::byte> mine(bytes);
      std::vector<std::vector<std::byte>> others(ranks, std::vector<std::byte>(bytes));
      const std::vector<std::span<const std::byte>> parts(ranks, mine);
      const std::vector<std::span<std::byte>> from(others.begin(), others.end());
      return time(20, [&] { group_.all_to_all(parts, from); });
    };
    const double small = seconds(8);
    link_.latency = small / 2;  // one exchange, and the barrier after it
    link_.bandwidth =
        static_cast<double>(large) * (group_.size() - 1) / std::max(1e-9, seconds(large) - small);
  }

  static void line(const std::string& what, double one, double together, double predicted,
                   double whole_mb = 0, double each_mb = 0) {
    print(fmt::format("{:<44}{:>9.1f} ms{:>9.1f} ms{:>8.2f} x{}{}\n", what, 1e3 * one, 1e3 * together,
                      one / together, predicted > 0 ? fmt::format("{:>9.1f} ms", 1e3 * predicted) : "",
                      each_mb > 0 ? fmt::format("{:>8.0f} MB{:>8.0f} MB", whole_mb, each_mb) : ""));
  }

  dist::Group& group_;
  int busy_;  // ranks that compute at the same time
  measure::Link link_;
};

}  // namespace

void run_bench(dist::Group& group, const std::string& model, const std::string& link) {
  if (!link.empty()) {
    const measure::Link slow = measure::parse_link(link);
    group.emulate_link(slow.latency, slow.bandwidth);
  }
  DistBench bench(group);
  bench.print_heading();
  bench.attention();
  bench.training();
  if (!model.empty()) bench.decoding(model);
}

}  // namespace headlight::cluster
