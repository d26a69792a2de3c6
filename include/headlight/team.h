// The interface of processes that compute together. dist::Group implements it with MPI.
//
//   headlight::dist::Group group = headlight::dist::Group::world();          // mpirun -n 4 program
//   headlight::Context ctx({.executor = headlight::team_executor(group, headlight::Together::items)});
//   const headlight::Evaluation result = headlight::evaluate(ctx, model, documents);   // the same on all four
//
// Every process makes the same calls with the same arguments, and gets the result of one process, bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "headlight/context.h"

#pragma GCC visibility push(default)

namespace headlight {

class Team {
 public:
  Team() = default;
  virtual ~Team() = default;
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  [[nodiscard]] virtual int rank() const noexcept = 0;  // 0 … size() - 1
  [[nodiscard]] virtual int size() const noexcept = 0;
  // Whether another thread of this process may make these calls while this one computes; never two at once.
  [[nodiscard]] virtual bool overlaps() const noexcept { return false; }
  // Collective: every process makes these calls, in the same order.
  // Gathers the bytes of every rank, by rank. Sizes may differ.
  [[nodiscard]] virtual std::vector<std::vector<std::byte>> all_gather(std::span<const std::byte> mine) = 0;
  // Sends parts[r] to rank r and receives its bytes in from[r]. Sizes must match on both sides.
  virtual void all_to_all(std::span<const std::span<const std::byte>> parts,
                          std::span<const std::span<std::byte>> from) = 0;

 protected:
  Team(Team&&) = default;
  Team& operator=(Team&&) = default;
};

// What the processes of a team divide among them.
// items: texts, batches of a training step. Each process has the whole model.
// products: the matrices of a model that is run: each process reads and multiplies some rows of every matrix.
enum class Together : std::uint8_t { items, products };

// A pool of `threads` threads (0: one per core available to this process) for a Context of this process. The team must
// outlive it.
[[nodiscard]] std::shared_ptr<Executor> team_executor(Team& team, Together together, int threads = 0);

}  // namespace headlight

#pragma GCC visibility pop
