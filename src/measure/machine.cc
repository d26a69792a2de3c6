#include "measure/machine.h"

#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

#include "core/concat.h"

namespace headlight::measure {
namespace {

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// The value of the first line "key ... : value" in a /proc file.
std::string proc_value(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    if (const std::size_t colon = line.find(':'); colon != std::string::npos)
      return trimmed(line.substr(colon + 1));
  }
  return {};
}

// The CPU's name appears in tables and JSON; under a hypervisor it may contain anything.
std::string printable(std::string text) {
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '?';
  }
  return text;
}

std::size_t kilobytes(const std::string& text) {
  std::size_t value = 0;
  std::istringstream(text) >> value;
  return value * 1024;
}

}  // namespace

std::size_t available_memory() { return kilobytes(proc_value("/proc/meminfo", "MemAvailable")); }

Machine describe_machine() {
  Machine machine;
  machine.cpu = printable(proc_value("/proc/cpuinfo", "model name"));
  if (machine.cpu.empty()) machine.cpu = "unknown CPU";
  machine.cores = Context({.threads = 0}).threads();
  machine.page_size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  machine.memory = kilobytes(proc_value("/proc/meminfo", "MemTotal"));
  machine.available = available_memory();
  return machine;
}

std::string title(const Machine& machine) {
  return concat(machine.cpu, ", ", machine.cores, machine.cores == 1 ? " core" : " cores");
}

std::vector<SimdTarget> compiled_targets() {
#if defined(__x86_64__)
  return {SimdTarget::avx512, SimdTarget::avx2, SimdTarget::sse4, SimdTarget::scalar};
#elif defined(__aarch64__)
  return {SimdTarget::neon};
#else
  return {SimdTarget::scalar};
#endif
}

}  // namespace headlight::measure
