// From three loops to the library's kernel: the same attention four times, each rung timed on this machine and compared
// with the first. One head, 512 tokens of width 64, causal, float32.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <vector>

#include "13_kernel_rungs.h"
#include "headlight/headlight.h"

using namespace rungs;

// Rung 4: the library, on one thread: tiles of queries and keys, and vector registers filled.
void library(const Problem& p) {
  static headlight::Context context({.threads = 1});
  const headlight::Shape shape{1, 1, kTokens, kWidth};
  const headlight::AttentionOptions causal{.visible = headlight::Visibility::causal()};
  headlight::attention_forward(context, headlight::ConstTensorView(p.q, shape),
                               headlight::ConstTensorView(p.k, shape), headlight::ConstTensorView(p.v, shape),
                               causal, headlight::TensorView(p.out, shape));
}

// Milliseconds of the fastest of three calls.
double time_of(void (*rung)(const Problem&), const Problem& problem) {
  double best = INFINITY;
  for (int i = 0; i < 3; ++i) {
    const auto start = std::chrono::steady_clock::now();
    rung(problem);
    best = std::min(
        best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

int main() {
  const std::size_t size = kTokens * kWidth;
  std::vector<float> q(size), k(size), v(size), first(size), out(size);
  for (std::size_t i = 0; i < size; ++i) {  // smooth numbers between -1 and 1
    const auto x = static_cast<float>(i);
    q[i] = std::sin(0.37F * x), k[i] = std::sin(0.73F * x + 1), v[i] = std::sin(0.11F * x + 2);
  }
  const double reference = time_of(three_loops, {q.data(), k.data(), v.data(), first.data()});
  std::printf("three loops  %7.2f ms\n", reference);
  bool agree = true;
  const struct {
    const char* name;
    void (*rung)(const Problem&);
  } rungs[] = {{"one pass", one_pass}, {"tiles", tiles}, {"library", library}};
  for (const auto& [name, rung] : rungs) {
    const double time = time_of(rung, {q.data(), k.data(), v.data(), out.data()});
    float gap = 0;
    for (std::size_t i = 0; i < size; ++i) gap = std::max(gap, std::abs(out[i] - first[i]));
    agree = agree && gap < 1e-5F;
    std::printf("%-11s  %7.2f ms  %6.1f times as fast, largest difference %.1e\n", name, time,
                reference / time, gap);
  }
  std::printf("%s\n", agree ? "all rungs agree" : "the rungs differ");
  return agree ? 0 : 1;
}
