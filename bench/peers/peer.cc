#include "peer.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <exception>

#include "measure/timing.h"

namespace headlight::peers {
namespace {

// Peers round differently, none by more than this on normal data; a wrong mask or scale is far above.
constexpr double kSame = 1e-4;

// The first sentence of what a library says: some add a stack.
std::string brief(const std::string& text) {
  return text.substr(0, std::min(text.find('\n'), std::size_t{160}));
}

std::string json_text(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c < ' ' && c >= 0 ? ' ' : c;
  }
  return quoted + "\"";
}

double worst_difference(ConstTensorView a, ConstTensorView b) {
  double worst = 0;
  for (Index i = 0; i < a.dim(0); ++i)
    for (Index h = 0; h < a.dim(1); ++h)
      for (Index t = 0; t < a.dim(2); ++t)
        for (Index d = 0; d < a.dim(3); ++d) {
          const double difference = std::abs(a.at(i, h, t, d) - b.at(i, h, t, d));
          worst = difference <= worst ? worst : difference;  // a NaN counts as worse
        }
  return worst;
}

Tensor expected(measure::WorkloadData& data) {
  Tensor out(data.q().shape());
  Context context;
  attention_forward(context, data.q(), data.k(), data.v(), data.options(), out.view());
  return out;
}

void print_line(const std::string& head, const std::string& rest) {
  fmt::print("{{{}, {}}}\n", head, rest);
  std::fflush(stdout);
}

void time_way(const Way& way, const measure::Workload& workload, const Tensor& truth,
              const std::string& head) {
  if (!way.error.empty()) return print_line(head, "\"error\": " + json_text(way.error));
  way.run();
  if (const double off = worst_difference(truth.view(), way.out); !(off <= kSame)) {
    return print_line(head, fmt::format("\"error\": \"its output differs by {:.2g}\"", off));
  }
  const measure::Timing timing = measure::time_call(way.run);
  const std::string time = workload.tiny ? fmt::format("\"ms\": null, \"us\": {:.6g}", timing.best * 1e6)
                                         : fmt::format("\"ms\": {:.6g}, \"us\": null", timing.best * 1e3);
  print_line(head, time);
}

// Forward passes, and one query on keys in f32. What peers do in a backward pass, or keep in other types, is not the
// same work.
bool is_for_peers(const measure::Workload& w) {
  return !w.train && !w.mixed && (!w.cache || *w.cache == KvType::f32);
}

void run_peer(const std::string& name, const MakePeer& make, const std::vector<std::string>& arguments) {
  int threads = 0;
  const std::string& count = arguments.at(1);
  std::from_chars(count.data(), count.data() + count.size(), threads);
  if (threads < 1) throw Error(ErrorKind::usage, "peer.threads", "the number of threads must be at least 1");
  const std::vector<std::string> wanted = {arguments.at(0)};
  const measure::Workload workload = measure::select_workloads(wanted).front();
  measure::WorkloadData data(workload);
  const std::string bucket = fmt::format("\"name\": \"{}\", \"threads\": {}", workload.name, threads);
  try {
    const Peer peer = make(data, threads, {arguments.begin() + 2, arguments.end()});
    const Tensor truth = expected(data);
    for (const Way& way : peer.ways) {
      const std::string head =
          fmt::format("\"peer\": {}, \"what\": {}, \"version\": {}, {}", json_text(peer.name),
                      json_text(way.what), json_text(peer.version), bucket);
      time_way(way, workload, truth, head);
    }
  } catch (const std::exception& error) {
    print_line(fmt::format("\"peer\": {}, \"what\": \"\", \"version\": \"\", {}", json_text(name), bucket),
               "\"error\": " + json_text(brief(error.what())));
  }
}

}  // namespace

int peer_main(int argc, char** argv, const std::string& name, const MakePeer& make) {
  // Peers that take fresh pages for every call lose half their time to the kernel. Keeping the pages
  // is what a long-running program ends up with, and the fairer comparison.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 0x7FFFFFFF);
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() == 1 && arguments[0] == "--list") {
    for (const measure::Workload& workload : measure::workloads())
      if (is_for_peers(workload)) fmt::print("{}\n", workload.name);
    return 0;
  }
  if (arguments.size() < 2) {
    fmt::print(stderr, "usage: {} WORKLOAD THREADS [OPTIONS] | --list\n", argv[0]);
    return 2;
  }
  try {
    run_peer(name, make, arguments);
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 2;
  }
  return 0;
}

}  // namespace headlight::peers
