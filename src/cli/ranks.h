// The processes that mpirun started beside this one. All run the same command; rank 0 alone reads standard input, prints
// and writes files.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "headlight/context.h"
#include "headlight/team.h"

namespace headlight::cli {

// Runs the program: alone, or as one of several processes when mpirun, mpiexec or srun has started it so. `body` returns
// what the program ends with. Throws Error{usage} when the processes cannot work together.
[[nodiscard]] int with_ranks(int argc, const char* const* argv, const std::function<int()>& body);

// Null: this process is alone.
[[nodiscard]] Team* team() noexcept;
// Options of a Context whose work the processes share. Alone: as given.
[[nodiscard]] ContextOptions shared(Together together, ContextOptions options);
// What rank 0 has, on every rank.
[[nodiscard]] std::string of_rank_0(std::string mine);
// An error message once: that of rank 0, or that of the only rank that has one, with its number.
void print_rank_error(const std::string& text) noexcept;
// From now on print_error() prints nothing, or prints again: another process beside this one says the same. In terminal.cc.
void silence_errors(bool silent) noexcept;
// Every rank waits for all others.
void meet_ranks();
// What all ranks must have alike. Throws Error{input}, on all of them, naming the rank and both values. Collective.
void check_same(const std::vector<std::pair<std::string, std::string>>& facts);
// Files that all ranks must have alike, by name, size and a sample of their bytes: a model, or data. Collective.
void check_same_files(const std::vector<std::string>& paths);
// Throws Error{usage} unless the command is one that several processes can run.
void check_command_of_ranks(const std::string& command);

}  // namespace headlight::cli
