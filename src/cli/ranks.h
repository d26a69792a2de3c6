// The processes that mpirun started beside this one. All run the same command; rank 0 alone reads standard input, prints
// and writes files.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "headlight/context.h"
#include "headlight/team.h"

namespace headlight::cli {

using Facts = std::vector<std::pair<std::string, std::string>>;  // name and value

// What the program needs of MPI. Only headlight-mpi has it (src/cluster): linked to MPI, every start of the program would
// take longer, and its package would need MPI. Started by mpirun, headlight becomes headlight-mpi.
class Processes {
 public:
  virtual ~Processes() = default;
  virtual Team& start() = 0;  // joins the other processes; the rest may be called from then on
  virtual void agree(const Facts& facts) = 0;
  virtual void barrier() = 0;
  virtual void divide_cores() = 0;
  // bench --dist; without a model its rows are left out. link: "1Gbit/1ms" to emulate, or empty.
  virtual void bench(const std::string& model, const std::string& link) = 0;
  virtual void finish() = 0;  // in good order: all ranks call it
};

// Runs the program: alone, or as one of several processes when mpirun, mpiexec or srun has started it so. `body` returns
// the exit code of the program. Throws Error{usage} when the processes cannot work together.
[[nodiscard]] int with_ranks(Processes* processes, int argc, const char* const* argv,
                             const std::function<int()>& body);

// Null: this process is alone.
[[nodiscard]] Team* team() noexcept;
// Null when team() is.
[[nodiscard]] Processes* processes() noexcept;
// Options of a Context whose work the processes share. Alone: as given.
[[nodiscard]] ContextOptions shared(Together together, ContextOptions options);
// Rank 0's value, on every rank.
[[nodiscard]] std::string of_rank_0(std::string mine);
// An error message once: that of rank 0, or that of the only rank that has one, with its number.
void print_rank_error(const std::string& text) noexcept;
// Turns off print_error(), or on again: another process of the team prints the same errors. In terminal.cc.
void silence_errors(bool silent) noexcept;
// Every rank waits for all others.
void meet_ranks();
// Checks that a value is the same on all ranks. Throws Error{input} on all, naming the rank and both values. Collective.
void check_same(const Facts& facts);
// Checks that all ranks have the same files, by name, size and a sample of their bytes: a model, or data. Collective.
void check_same_files(const std::vector<std::string>& paths);
// Throws Error{usage} unless the command is one that several processes can run.
void check_command_of_ranks(const std::string& command);

}  // namespace headlight::cli
