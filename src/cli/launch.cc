#include "cli/launch.h"

#include <sched.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"

namespace headlight::cli {
namespace {

std::optional<int> number_in(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  int number = -1;
  const std::string_view all(text);
  const auto [end, problem] = std::from_chars(all.data(), all.data() + all.size(), number);
  if (problem != std::errc() || end != all.data() + all.size() || number < 0) return std::nullopt;
  return number;
}

}  // namespace

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

void undo_default_binding() {
  const auto given = [](const char* name) { return std::getenv(name) != nullptr; };
  const char* mapping = std::getenv("OMPI_MCA_rmaps_base_mapping_policy");
  const bool chosen = given("OMPI_MCA_hwloc_base_binding_policy") ||
                      (mapping != nullptr && std::string_view(mapping).find(":PE") != std::string_view::npos);
  if (!given("OMPI_MCA_orte_bound_at_launch") || chosen) return;
  cpu_set_t all;
  std::memset(&all, 0xFF, sizeof(all));
  (void)::sched_setaffinity(0, sizeof(all), &all);  // the system keeps those that this process may use
}

void become_mpi_program(const Launch& launch, const char* const* argv) {
  namespace fs = std::filesystem;
  std::error_code problem;
  const fs::path folder = fs::read_symlink("/proc/self/exe", problem).parent_path();
  // build/release/headlight-mpi, then PREFIX/libexec/headlight-mpi.
  for (const fs::path& place : {folder / "headlight-mpi", folder / "../libexec/headlight-mpi"}) {
    if (!fs::exists(place, problem)) continue;
    ::execv(place.c_str(), const_cast<char* const*>(argv));
    throw Error(ErrorKind::usage, "ranks.program",
                concat(escaped(place.lexically_normal().string()),
                       ": cannot be started: ", std::strerror(errno), "\nStart headlight without mpirun."));
  }
  throw Error(
      ErrorKind::usage, "ranks.program",
      concat("started as ", launch.size,
             " processes, but this headlight was built without MPI: headlight-mpi is not in ",
             escaped(folder.string()),
             "\nInstall the package headlight-mpi, or libopenmpi-dev (Debian, Ubuntu) and build again."
             "\nOr start it without mpirun."));
}

}  // namespace headlight::cli
