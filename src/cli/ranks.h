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

// The MPI functions of the program. Only headlight-mpi has them (src/cluster): linking to MPI would make every start of the
// program slower and add a dependency to its package. Under mpirun, headlight replaces itself by headlight-mpi.
class Processes {
 public:
  virtual ~Processes() = default;
  virtual Team& start() = 0;  // joins the other processes; call it before all others
  virtual void agree(const Facts& facts) = 0;
  virtual void barrier() = 0;
  virtual void divide_cores() = 0;
  // bench --dist; without a model its rows are left out. link: "1Gbit/1ms" to emulate, or empty.
  virtual void bench(const std::string& model, const std::string& link) = 0;
  virtual void finish() = 0;  // collective, after a successful run
};

// Runs the program: alone, or as one of several processes when mpirun, mpiexec or srun has started it so. `body` returns
// the exit code of the program. Throws Error{usage} when the processes cannot work together.
[[nodiscard]] int with_ranks(Processes* processes, int argc, const char* const* argv,
                             const std::function<int()>& body);

// Null: this process is alone.
[[nodiscard]] Team* team() noexcept;
// Null when team() is.
[[nodiscard]] Processes* processes() noexcept;
// Options of a Context whose work the processes share; unchanged if there is only one.
[[nodiscard]] ContextOptions shared(Together together, ContextOptions options);
// Rank 0's value, on every rank.
[[nodiscard]] std::string of_rank_0(std::string mine);
// Prints an error message once: that of rank 0, or that of the only rank with an error, with its number.
void print_rank_error(const std::string& text) noexcept;
// Turns print_error() off or on: another process of the team prints the same errors. Defined in terminal.cc.
void silence_errors(bool silent) noexcept;
// Every rank waits for all others.
void meet_ranks();
// Throws Error{input} on all ranks if a value differs, naming the rank and both values. Collective.
void check_same(const Facts& facts);
// Checks that all ranks have the same files, by name, size and a sample of their bytes. Collective.
void check_same_files(const std::vector<std::string>& paths);
// Throws Error{usage} unless the command supports several processes.
void check_command_of_ranks(const std::string& command);

}  // namespace headlight::cli
