#include "cli/ranks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>

#include "cli/app.h"
#include "cli/terminal.h"
#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "headlight/version.h"
#include "io/file.h"
#include "io/hash.h"
#include "io/outputs.h"

#ifdef HEADLIGHT_WITH_DIST
#include "headlight/dist.h"
#endif

namespace headlight::cli {
namespace {

// What the starter of the processes says of them.
struct Launch {
  int rank = 0, size = 1;
};

std::optional<int> number_in(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  int number = -1;
  const std::string_view all(text);
  const auto [end, problem] = std::from_chars(all.data(), all.data() + all.size(), number);
  if (problem != std::errc() || end != all.data() + all.size() || number < 0) return std::nullopt;
  return number;
}

// Open MPI; MPICH and its kin; Slurm with PMIx.
Launch find_launch() {
  constexpr std::array<std::pair<const char*, const char*>, 3> names = {
      {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
       {"PMI_RANK", "PMI_SIZE"},
       {"PMIX_RANK", "SLURM_NTASKS"}}};
  for (const auto& [rank, size] : names) {
    const std::optional<int> r = number_in(rank), n = number_in(size);
    if (r && n && *n > 1) return {*r, *n};
  }
  return {};
}

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorKind::usage, "ranks", what); }

#ifdef HEADLIGHT_WITH_DIST

std::unique_ptr<dist::Group> g_group;  // a command asks for it where it makes its Context

// Ranks above 0 compute and say nothing.
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

// An error that all ranks have is said by rank 0, whose end ends the others before they say it too.
[[noreturn]] void leave(int code) {
  std::_Exit(code);  // without MPI_Finalize: the starter ends the others
}

void wait_for_rank_0() {
  if (g_group->rank() > 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(1500 * std::min(g_group->rank(), 3)));
}

void start(const Launch& launch, int argc, const char* const* argv) {
  g_group = std::make_unique<dist::Group>(dist::Group::world());
  if (g_group->size() != launch.size)
    refuse(concat("the environment names ", launch.size, " processes, but MPI found ", g_group->size(),
                  ": this one was started alone, or by another MPI than the one it was built with\n"
                  "Start all of them with mpirun -n ",
                  launch.size, ", or remove OMPI_* and PMI* from the environment."));
  if (g_group->rank() > 0) fall_silent();
  Context probe({.threads = 1});
  const dist::Fact facts[] = {{"version", std::string(kVersion)},
                              {"the SIMD target", std::string(name_of(probe.target()))},
                              {"the command line", joined(argc, argv)}};
  dist::agree(*g_group, "headlight", facts);
  dist::divide_cores(*g_group);
}

#endif

}  // namespace

#ifdef HEADLIGHT_WITH_DIST

int with_ranks(int argc, const char* const* argv, const std::function<int()>& body) {
  const Launch launch = find_launch();
  if (launch.size == 1) return body();
  int code = 0;
  try {
    start(launch, argc, argv);
    code = body();
  } catch (const dist::RankError& error) {
    wait_for_rank_0();
    silence_errors(false);
    print_error(error_text(error.what()));
    leave(error.kind() == ErrorKind::peer ? 7 : 3);
  } catch (const Error& error) {
    if (launch.rank > 0) std::this_thread::sleep_for(std::chrono::seconds(1));
    print_error(error_text(error.what()));
    leave(2);
  }
  if (code != 0) leave(code);
  g_group.reset();
  return 0;
}

Team* team() noexcept { return g_group.get(); }

void print_rank_error(const std::string& text) noexcept {
  if (text.empty()) return;
  if (g_group == nullptr) return print_error(text);
  wait_for_rank_0();
  silence_errors(false);
  constexpr std::string_view intro = "error: ";
  const std::string who = concat(intro, "rank ", g_group->rank(), " of ", g_group->size(), ": ");
  const bool named = text.starts_with("error: rank ");  // a RankError says it itself
  print_error(text.starts_with(intro) && !named && g_group->rank() > 0 ? who + text.substr(intro.size())
                                                                       : text);
}

std::string of_rank_0(std::string mine) {
  if (g_group == nullptr) return mine;
  const std::string none;
  const auto all = g_group->all_gather(std::as_bytes(std::span(g_group->rank() == 0 ? mine : none)));
  return {reinterpret_cast<const char*>(all[0].data()), all[0].size()};
}

namespace {

// Enough to tell two files apart that people may have by mistake, without reading gigabytes.
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
  if (g_group != nullptr) g_group->barrier();
}

void check_same(const std::vector<std::pair<std::string, std::string>>& facts) {
  if (g_group == nullptr) return;
  std::vector<dist::Fact> all;
  for (const auto& [name, value] : facts) all.push_back({name, value});
  dist::agree(*g_group, "headlight", all);
}

void check_same_files(const std::vector<std::string>& paths) {
  if (g_group == nullptr) return;
  std::vector<dist::Fact> facts;
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
    facts.push_back({concat("the number of files of ", escaped(path)), concat(files.size())});
    for (const std::string& file : files) facts.push_back({escaped(file), sample_of(file)});
  }
  dist::agree(*g_group, "headlight", facts);
}

#else

int with_ranks(int /*argc*/, const char* const* /*argv*/, const std::function<int()>& body) {
  const Launch launch = find_launch();
  if (launch.size == 1) return body();
  if (launch.rank == 0)
    print_error(
        error_text(concat("started as ", launch.size,
                          " processes, but this headlight was built without MPI\n"
                          "Install libopenmpi-dev (Debian, Ubuntu) and build again, or start it without "
                          "mpirun.")));
  return 2;
}

Team* team() noexcept { return nullptr; }
void print_rank_error(const std::string& text) noexcept { print_error(text); }
std::string of_rank_0(std::string mine) { return mine; }
void meet_ranks() {}
void check_same(const std::vector<std::pair<std::string, std::string>>& /*facts*/) {}
void check_same_files(const std::vector<std::string>& /*paths*/) {}

#endif

ContextOptions shared(Together together, ContextOptions options) {
  if (team() == nullptr) return options;
  options.executor = team_executor(*team(), together, options.threads);
  return options;
}

void check_command_of_ranks(const std::string& command) {
  if (team() == nullptr) return;
  constexpr std::array<std::string_view, 7> known = {"bench --dist", "evaluate", "generate", "heads",
                                                     "show",         "train",    "translate"};
  if (command == "bench") return;  // it looks itself
  if (std::find(known.begin(), known.end(), command) != known.end()) return;
  std::string list;
  for (const std::string_view name : known)
    list += concat(list.empty() ? "" : name == known.back() ? " and " : ", ", name);
  refuse(concat(command, ": runs as one process; several can run ", list,
                "\nStart it without mpirun, or with mpirun -n 1."));
}

}  // namespace headlight::cli
