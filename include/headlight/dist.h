// Several processes (MPI). A Group is a Team (headlight/team.h), and so shares out texts, training batches and the matrices of
// models. For sequences that one process should not hold alone, each rank has a shard of the tokens; together they
// compute the attention of the whole sequence, forward and backward.
//
//   headlight::dist::Group group = headlight::dist::Group::world();
//   const headlight::dist::Shards shards{.length = 4096, .ranks = group.size()};
//   // q, k, v: [batch, head, shards.size(group.rank()), dim], the tokens of shards.runs(group.rank())
//   headlight::dist::attention_forward(ctx, group, q, k, v, options, {}, out, lse);
//
// Started by `mpirun -n 4 program`. All functions that take a Group are collective: every rank calls them, in the same order.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/attention.h"
#include "headlight/context.h"
#include "headlight/error.h"
#include "headlight/sequence_team.h"
#include "headlight/tensor.h"

#pragma GCC visibility push(default)

namespace headlight::dist {

// An Error that names the rank it arose on; its text begins with "rank 2 of 4: ".
class RankError : public Error {
 public:
  RankError(ErrorKind kind, std::string_view code, const std::string& message, int rank, bool everywhere);

  [[nodiscard]] int rank() const noexcept { return rank_; }
  // True: every rank of the group throws this error with this text, no rank waits for another, and the group can be used
  // again. False: this rank alone failed; the others may be waiting for it, so the job must end (see run()).
  [[nodiscard]] bool everywhere() const noexcept { return everywhere_; }

 private:
  int rank_;
  bool everywhere_;
};

struct GroupOptions {
  // Seconds without any progress of a transfer after which a peer counts as lost: longer than the longest computation
  // between two transfers. mpirun itself ends the job at once when a process dies.
  double timeout = 600;
};

// The processes that compute together. Move only. The group that started MPI ends it.
class Group : public SequenceTeam {
 public:
  // All processes of mpirun; without mpirun a group of one. Starts MPI unless the program has.
  [[nodiscard]] static Group world(const GroupOptions& options = {});
  // The processes of the program's own communicator: MPI_Comm_c2f(comm). It is duplicated.
  [[nodiscard]] static Group of_communicator(int fortran_handle, const GroupOptions& options = {});
  // The ranks that pass the same colour, in the order of their ranks in this group.
  [[nodiscard]] Group split(int colour);

  Group(Group&&) noexcept;
  Group& operator=(Group&&) noexcept;
  ~Group() override;

  [[nodiscard]] int rank() const noexcept override;
  [[nodiscard]] int size() const noexcept override;
  // Whether transfers go on in the background while this process computes (MPI_THREAD_SERIALIZED or more).
  [[nodiscard]] bool overlaps() const noexcept override;

  void barrier();
  void all_to_all(std::span<const std::span<const std::byte>> parts,
                  std::span<const std::span<std::byte>> from) override;
  [[nodiscard]] std::vector<std::vector<std::byte>> all_gather(std::span<const std::byte> mine) override;
  // dist::attention_forward() and dist::attention_backward() of contiguous shards, by the automatic method.
  void attend(Context& ctx, ConstTensorView q, ConstTensorView k, ConstTensorView v,
              const AttentionOptions& options, TensorView out, TensorView lse) override;
  void attend_backward(Context& ctx, const AttentionSaved& saved, ConstTensorView dout,
                       const AttentionOptions& options, const AttentionGrads& grads) override;
  // Element by element ((rank 0 + rank 1) + rank 2) + …, on every rank. Contiguous f32 or f64, the same shape everywhere.
  void sum(TensorView values);

  // Simulates a slower network: from now on, a message counts as received no sooner than over a link of this latency
  // (seconds) and bandwidth (bytes per second). Call it with the same values on every rank.
  void emulate_link(double latency, double bandwidth);

  // Prints the text once and ends all processes of the job with exit code `code`.
  [[noreturn]] void abort(const std::string& text, int code);

  struct [[gnu::visibility("hidden")]] State;  // src/dist/group.h
  [[nodiscard]] State& state() noexcept { return *state_; }

 private:
  explicit Group(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Sends and receives in progress. Memory must stay where it is until wait() returns.
class Transfers {
 public:
  explicit Transfers(Group& group);
  ~Transfers();  // abandons unfinished ones, after an error
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  // Between the same two ranks, messages with the same tag (0 … 999) arrive in the order in which they were sent.
  void send(int to, std::span<const std::byte> bytes, int tag = 0);
  void receive(int from, std::span<std::byte> bytes, int tag = 0);
  // Progresses them on a separate thread until wait(). This process must not use MPI otherwise meanwhile.
  void run_in_background();
  // Returns when all are done. Throws RankError{peer} when MPI reports an error or nothing moves for the group's timeout.
  void wait();

 private:
  struct [[gnu::visibility("hidden")]] State;
  std::unique_ptr<State> state_;
};

// Checks that all ranks have equal values, given with their names. If two differ, all throw the same RankError, which names the
// rank, the name and both values.
struct Fact {
  std::string name, value;
};
void agree(Group& group, const std::string& who, std::span<const Fact> facts);

// Divides the cores of a machine among its ranks if they may all run on the same cores: each rank then starts as many
// threads as it has cores. Shares keep sockets together. Ranks that mpirun or Slurm has bound are unchanged.
void divide_cores(Group& group);

// Runs body(group) as the main function of a rank. An error that all ranks share is printed once and returned as the exit
// code that the headlight program documents; an error of one rank is printed with its number and ends all.
[[nodiscard]] int run(Group& group, const std::function<void(Group&)>& body);

// How the tokens of a sequence are divided. Contiguous: rank r has one run of length/ranks tokens. Zig-zag: the sequence
// is cut in 2·ranks blocks, rank r has blocks r and 2·ranks-1-r, which balances a causal mask. Lengths that do not divide
// leave shards that differ by one token a block.
enum class Layout { contiguous, zigzag };

struct Shards {
  Index length = 0;
  int ranks = 1;
  Layout layout = Layout::contiguous;

  // Tokens of the whole sequence, in the order in which `rank` holds them: one run, or two (which may be empty).
  [[nodiscard]] std::vector<Range> runs(int rank) const;
  [[nodiscard]] Index size(int rank) const;
  bool operator==(const Shards&) const = default;
};

// heads: ranks exchange tokens for heads (all-to-all) and compute whole heads; the bits are those of one process for any
// number of ranks. ring: keys and values travel; partial results are merged in hop order, which depends on nothing but
// ranks, lengths and layout. hybrid: neighbouring ranks exchange heads, and the keys of these heads travel among ranks of
// different neighbourhoods: fewer hops, and more ranks than heads. automatic: heads when there are as many key heads as
// ranks, else hybrid, which is the ring when no number of ranks above 1 fits.
enum class Method { automatic, heads, ring, hybrid };

struct SequenceParallel {
  Method method = Method::automatic;
  Layout layout = Layout::contiguous;  // of queries and keys
  // hybrid: how many neighbours exchange heads. It divides the number of ranks and is at most the number of key heads.
  int head_ranks = 0;  // 0: the most that fit
  // Key heads that a rank computes at a time. Fewer take less memory beside the shards, and more messages; no bit depends on
  // it. 0: as few as keep messages long.
  int heads_at_once = 0;
  bool overlap = true;  // ring: receive the next shard while this one is computed; no bit depends on it
};

// headlight::attention_forward() on the whole sequence. q, k, v, out and lse are this rank's shards along axis 2, their
// lengths those of Shards; options are those of the whole call, equal on all ranks: lengths, starts, mask and bias count
// all tokens. Dropout drops what one process drops. Every rank checks its arguments and compares them with the others' before
// a tensor is sent; all ranks throw the same error.
void attention_forward(Context& ctx, Group& group, ConstTensorView q, ConstTensorView k, ConstTensorView v,
                       const AttentionOptions& options, const SequenceParallel& how, TensorView out,
                       TensorView lse = {});

// headlight::attention_backward() likewise. dq, dk, dv are this rank's shards; dbias and dsinks have the shape of the whole
// call and are complete on every rank. With Method::heads their bits are those of one process too, except for a dbias that
// is summed over heads.
void attention_backward(Context& ctx, Group& group, const AttentionSaved& saved, ConstTensorView dout,
                        const AttentionOptions& options, const SequenceParallel& how,
                        const AttentionGrads& grads);

}  // namespace headlight::dist

#pragma GCC visibility pop
