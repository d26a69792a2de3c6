#include "cli/ranks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string_view>
#include <thread>

#include "cli/app.h"
#include "cli/launch.h"
#include "cli/terminal.h"
#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "headlight/version.h"
#include "io/file.h"
#include "io/hash.h"
#include "io/outputs.h"

namespace headlight::cli {
namespace {

// Commands use them when they create their Context.
Processes* g_processes = nullptr;
Team* g_team = nullptr;

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorKind::usage, "ranks", what); }

// Ranks above 0 compute and print nothing.
void fall_silent() {
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nowhere < 0) return;
  (void)::dup2(nowhere, STDOUT_FILENO);
  (void)::dup2(nowhere, STDIN_FILENO);
  ::close(nowhere);
  io::write_no_files();
  silence_errors(true);
}

std::string joined(int argc, const char* const* argv) {
  std::string text;
  for (int i = 1; i < argc; ++i) text += concat(i > 1 ? " " : "", argv[i]);
  return text;
}

// An error of all ranks is printed by rank 0, whose exit ends the others before they print it as well.
void wait_for_rank_0(int rank) {
  if (rank > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1500 * std::min(rank, 3)));
}

void start(Processes& processes, const Launch& launch, int argc, const char* const* argv) {
  Team& team = processes.start();
  if (team.size() != launch.size)
    refuse(concat("the environment names ", launch.size, " processes, but MPI found ", team.size(),
                  ": this one was started alone, or by another MPI than the one it was built with\n"
                  "Start all of them with mpirun -n ",
                  launch.size, ", or remove OMPI_* and PMI* from the environment."));
  g_processes = &processes;
  g_team = &team;
  if (team.rank() > 0) fall_silent();
  Context probe({.threads = 1});
  processes.agree({{"version", std::string(kVersion)},
                   {"the SIMD target", std::string(name_of(probe.target()))},
                   {"the command line", joined(argc, argv)}});
  processes.divide_cores();
}

}  // namespace

int with_ranks(Processes* processes, int argc, const char* const* argv, const std::function<int()>& body) {
  const Launch launch = find_launch();
  undo_default_binding();
  if (launch.size == 1) return body();
  int code = 0;
  try {
    if (processes == nullptr) become_mpi_program(launch, argv);
    start(*processes, launch, argc, argv);
    code = body();
  } catch (const Error& error) {  // values that are the same on all ranks
    wait_for_rank_0(launch.rank);
    silence_errors(false);
    print_error(error_text(error.what()));
    code = exit_code(error.kind());
  }
  if (code != 0) std::_Exit(code);  // without MPI_Finalize, so that mpirun ends the others
  g_team = nullptr;
  g_processes = nullptr;
  processes->finish();
  return 0;
}

Team* team() noexcept { return g_team; }
Processes* processes() noexcept { return g_processes; }

void print_rank_error(const std::string& text) noexcept {
  if (text.empty()) return;
  if (g_team == nullptr) return print_error(text);
  wait_for_rank_0(g_team->rank());
  silence_errors(false);
  constexpr std::string_view intro = "error: ";
  const std::string who = concat(intro, "rank ", g_team->rank(), " of ", g_team->size(), ": ");
  const bool named = text.starts_with("error: rank ");  // a RankError names its rank
  print_error(text.starts_with(intro) && !named && g_team->rank() > 0 ? who + text.substr(intro.size())
                                                                      : text);
}

std::string of_rank_0(std::string mine) {
  if (g_team == nullptr) return mine;
  const std::string none;
  const auto all = g_team->all_gather(std::as_bytes(std::span(g_team->rank() == 0 ? mine : none)));
  return {reinterpret_cast<const char*>(all[0].data()), all[0].size()};
}

namespace {

// Enough to detect different files used by mistake, without reading gigabytes.
std::string sample_of(const std::string& path) {
  constexpr std::uint64_t piece = std::uint64_t{1} << 16;
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return "missing";
  if (!S_ISREG(status.st_mode)) return "no file";
  const io::File file(path);
  io::Hash64 hash;
  std::vector<std::byte> bytes(static_cast<std::size_t>(std::min(piece, file.size())));
  for (const std::uint64_t at : {std::uint64_t{0}, file.size() / 2, file.size()}) {
    file.read(std::min(at, file.size() - bytes.size()), bytes);
    hash.update(bytes);
  }
  return concat(file.size(), " bytes, checksum ", hash.text());
}

}  // namespace

void meet_ranks() {
  if (g_processes != nullptr) g_processes->barrier();
}

void check_same(const Facts& facts) {
  if (g_processes != nullptr) g_processes->agree(facts);
}

void check_same_files(const std::vector<std::string>& paths) {
  if (g_processes == nullptr) return;
  Facts facts;
  for (const std::string& path : paths) {
    std::error_code problem;
    std::vector<std::string> files;
    if (std::filesystem::is_directory(path, problem)) {
      for (const auto& entry : std::filesystem::directory_iterator(path, problem))
        if (entry.is_regular_file(problem)) files.push_back(entry.path().string());
      std::sort(files.begin(), files.end());
    } else {
      files.push_back(path);
    }
    facts.emplace_back(concat("the number of files of ", escaped(path)), concat(files.size()));
    for (const std::string& file : files) facts.emplace_back(escaped(file), sample_of(file));
  }
  g_processes->agree(facts);
}

ContextOptions shared(Together together, ContextOptions options) {
  if (team() == nullptr) return options;
  options.executor = team_executor(*team(), together, options.threads);
  return options;
}

void check_command_of_ranks(const std::string& command) {
  if (team() == nullptr) return;
  constexpr std::array<std::string_view, 8> known = {"bench --dist", "evaluate", "generate", "heads",
                                                     "serve",        "show",     "train",    "translate"};
  if (command == "bench") return;  // checks its argument itself
  if (std::find(known.begin(), known.end(), command) != known.end()) return;
  std::string list;
  for (const std::string_view name : known)
    list += concat(list.empty() ? "" : name == known.back() ? " and " : ", ", name);
  refuse(concat(command, ": runs as one process; several can run ", list,
                "\nStart it without mpirun, or with mpirun -n 1."));
}

}  // namespace headlight::cli
