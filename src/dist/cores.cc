// Assigns the cores of a machine to its ranks.
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>

#include "core/concat.h"
#include "headlight/dist.h"

namespace headlight::dist {
namespace {

// The machine's name and the cores that a process may run on.
struct Place {
  std::array<char, 256> host{};
  cpu_set_t cores{};
  [[nodiscard]] bool operator==(const Place& other) const {
    return host == other.host && CPU_EQUAL(&cores, &other.cores) != 0;
  }
};

Place own_place() {
  Place place;
  (void)::gethostname(place.host.data(), place.host.size() - 1);
  CPU_ZERO(&place.cores);
  (void)::sched_getaffinity(0, sizeof(place.cores), &place.cores);
  return place;
}

int topology(int cpu, const char* name) {
  int number = 0;
  std::ifstream(concat("/sys/devices/system/cpu/cpu", cpu, "/topology/", name)) >> number;
  return number;
}

}  // namespace

void divide_cores(Group& group) {
  const Place mine = own_place();
  std::vector<Place> places;
  for (const auto& bytes : group.all_gather(std::as_bytes(std::span(&mine, 1)))) {
    std::memcpy(&places.emplace_back(), bytes.data(), sizeof(Place));
  }
  std::size_t together = 0, before = 0;  // ranks on the same cores, and those of them with a lower number
  for (std::size_t r = 0; r < places.size(); ++r) {
    if (!(places[r] == mine)) continue;
    ++together;
    before += r < static_cast<std::size_t>(group.rank()) ? 1 : 0;
  }
  std::vector<std::array<int, 3>> cores;  // by socket, then by core: hyperthreads of a core stay together
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &mine.cores))
      cores.push_back({topology(cpu, "physical_package_id"), topology(cpu, "core_id"), cpu});
  if (together < 2 || cores.empty()) return;
  std::sort(cores.begin(), cores.end());
  const std::size_t begin = before * cores.size() / together;
  const std::size_t end = std::max(begin + 1, (before + 1) * cores.size() / together);
  cpu_set_t share;
  CPU_ZERO(&share);
  for (std::size_t i = begin; i < end; ++i) CPU_SET(cores[i][2], &share);
  (void)::sched_setaffinity(0, sizeof(share), &share);  // if refused, the rank keeps the cores it has
}

}  // namespace headlight::dist
