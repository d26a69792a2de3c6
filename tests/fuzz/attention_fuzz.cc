// Bytes as an attention call. Most inputs become a good call, whose results must be within the limits of
// the reference on some SIMD target; the rest become arguments of any kind, which must be accepted or
// refused with a message, without touching memory.
#include <map>
#include <memory>

#include "attention/problem.h"
#include "fuzz/bytes.h"
#include "support/gradients.h"
#include "support/truth.h"

namespace headlight::testing {
namespace {

Context& context(SimdTarget target, int threads) {
  static std::map<std::pair<SimdTarget, int>, std::unique_ptr<Context>> made;
  auto& ctx = made[{target, threads}];
  if (!ctx) ctx = std::make_unique<Context>(ContextOptions{.threads = threads, .target = target});
  return *ctx;
}

void fuzz_gradients(Context& ctx, const Instance& instance, const Results& forward) {
  const BackwardInputs in(instance);
  const AttentionSaved saved{instance.q.view(), instance.k.view(), instance.v.view(), forward.out.view(),
                             forward.lse.view()};
  const Gradients found(instance, instance.c.dtype);
  attention_backward(ctx, saved, in.dout.view(), instance.options, found.views());
  const GradientTruth truth(instance, in.dout.view(), forward.out.view(), forward.lse.view());
  const Verdict verdict = truth.check(found, instance.c.dtype);
  if (!verdict.problem.empty())
    fail(std::string(name_of(ctx.target())) + ": " + verdict.problem + " " + describe(instance.c));
}

void fuzz_numbers(Bytes& bytes) {
  static const std::vector<SimdTarget> targets = supported_targets();
  const SimdTarget target =
      targets[static_cast<std::size_t>(bytes.below(static_cast<Index>(targets.size())))];
  Context& ctx = context(target, 1 + static_cast<int>(bytes.below(3)));
  // Mostly cases that take a millisecond; some large enough for several tiles.
  const Index most = Index{1} << (bytes.below(8) == 0 ? 15 : 12);
  Case c = draw_case([&](Index n) { return bytes.below(n); }, most);
  // Drawn after all else: what is used up reads as zeros, so older inputs keep their meaning.
  const bool backward = bytes.below(2) == 1;
  if (bytes.below(4) == 1) {
    c.dropout = {.rate = static_cast<double>(bytes.below(256)) / 256,
                 .seed = static_cast<std::uint64_t>(bytes.below(Index{1} << 40)),
                 .layer = static_cast<std::uint64_t>(bytes.below(4))};
  }
  const Instance instance(c);
  const Truth truth(instance);
  const Results found(instance, instance.c.dtype, instance.c.statistics);
  attention_forward(ctx, instance.q.view(), instance.k.view(), instance.v.view(), instance.options,
                    found.views());
  const Verdict verdict = truth.check(found);
  if (!verdict.problem.empty())
    fail(std::string(name_of(target)) + ": " + verdict.problem + " " + describe(instance.c));
  if (backward) fuzz_gradients(ctx, instance, found);
}

alignas(64) std::uint8_t g_memory[4096];  // pointed at, never read: arguments are only looked at

TensorView any_view(Bytes& bytes) {
  const auto rank = static_cast<std::size_t>(bytes.below(3) == 0 ? bytes.below(5) : 4);
  Index dims[kMaxRank], strides[kMaxRank];
  for (std::size_t a = 0; a < rank; ++a) dims[a] = bytes.any();
  for (std::size_t a = 0; a < rank; ++a) strides[a] = bytes.any();
  if (rank == 0) return {};
  const auto dtype = static_cast<DType>(bytes.below(7));
  void* data = bytes.below(8) == 0 ? nullptr : g_memory + bytes.below(64);
  const Shape shape(std::span<const Index>(dims, rank));
  if (bytes.below(2) == 0) return {data, dtype, shape};
  return {data, dtype, shape, Shape(std::span<const Index>(strides, rank))};
}

// A number that may be anything.
double any_number(Bytes& bytes) {
  const Index bits = bytes.any();
  double x = 0;
  std::memcpy(&x, &bits, sizeof x);
  return bytes.below(2) == 0 ? static_cast<double>(bits) : x;
}

std::vector<Index> any_list(Bytes& bytes) {
  std::vector<Index> list(static_cast<std::size_t>(bytes.below(2) == 0 ? 0 : bytes.below(5)));
  for (Index& x : list) x = bytes.any();
  return list;
}

void fuzz_arguments(Bytes& bytes) {
  // Start from a good call, so that later checks are reached; then spoil some arguments.
  const Instance good(draw_case([&](Index n) { return bytes.below(n); }, Index{1} << 10));
  const Results results(good, good.c.dtype, bytes.below(2) == 0);
  ConstTensorView q = good.q.view(), k = good.k.view(), v = good.v.view();
  AttentionOptions options = good.options;
  AttentionOutputs outputs = results.views();
  const std::vector<Index> lists[4] = {any_list(bytes), any_list(bytes), any_list(bytes), any_list(bytes)};
  for (Index n = 1 + bytes.below(4); n > 0; --n) {
    switch (bytes.below(24)) {
      case 0: q = any_view(bytes); break;
      case 1: k = any_view(bytes); break;
      case 2: v = any_view(bytes); break;
      case 3: options.mask = any_view(bytes); break;
      case 4: options.bias = any_view(bytes); break;
      case 5: options.sinks = any_view(bytes); break;
      case 6: options.alibi_slopes = any_view(bytes); break;
      case 7: options.scale = any_number(bytes); break;
      case 8: options.softcap = any_number(bytes); break;
      case 9: options.visible.left = bytes.any(); break;
      case 10: options.visible.right = bytes.any(); break;
      case 11: options.visible.prefix = bytes.any(); break;
      case 12: options.visible.offset = bytes.any(); break;
      case 13: options.q_lengths = lists[0]; break;
      case 14: options.k_lengths = lists[1]; break;
      case 15: options.q_starts = lists[2]; break;
      case 16: options.k_starts = lists[3]; break;
      case 17: outputs.out = any_view(bytes); break;
      case 18: outputs.lse = any_view(bytes); break;
      case 19: outputs.weights = any_view(bytes); break;
      case 20: outputs.topk_index = any_view(bytes); break;
      case 21: outputs.topk_weight = any_view(bytes); break;
      case 22: outputs.received = any_view(bytes); break;
      default: outputs.out = outputs.max = outputs.lse; break;
    }
  }
  // The backward call on the same arguments; drawn last, as in fuzz_numbers.
  AttentionSaved saved{q, k, v, outputs.out, outputs.lse};
  const BackwardInputs in(good);
  const Gradients gradients(good, good.c.dtype);
  ConstTensorView dout = in.dout.view();
  AttentionGrads grads = gradients.views();
  for (Index n = bytes.below(3); n > 0; --n) {
    switch (bytes.below(10)) {
      case 0: saved.out = any_view(bytes); break;
      case 1: saved.lse = any_view(bytes); break;
      case 2: dout = any_view(bytes); break;
      case 3: grads.dq = any_view(bytes); break;
      case 4: grads.dk = any_view(bytes); break;
      case 5: grads.dv = any_view(bytes); break;
      case 6: grads.dbias = any_view(bytes); break;
      case 7: grads.dsinks = any_view(bytes); break;
      case 8: options.dropout.rate = any_number(bytes); break;
      default: grads.dq = TensorView(const_cast<void*>(dout.data()), dout.dtype(), dout.shape()); break;
    }
  }
  try {
    const Problem problem = check_call("attention", q, k, v, options);
    check_outputs("attention", problem, outputs);
    check_backward("attention", problem, saved, dout, grads);
    for (Index s = 0; s < std::min<Index>(problem.sequences, 8); ++s) {
      const Sequence sequence = problem.sequence(s);
      for (Index i = 0; i < std::min<Index>(sequence.q_rows, 8); ++i) {
        const Range keys = problem.keys_for(sequence, i);
        if (keys.begin < 0 || keys.end < keys.begin || keys.end > sequence.k_len)
          fail("keys_for leaves the sequence");
      }
    }
  } catch (const Error& error) {
    const std::string text = error.what();
    if (error.code().rfind("attention.", 0) != 0) fail("code " + error.code());
    check_message(text);
    if (text.rfind("attention: ", 0) != 0) fail("message " + text);
    if (error.kind() != ErrorKind::input && error.kind() != ErrorKind::usage) fail("kind of " + text);
  }
}

}  // namespace
}  // namespace headlight::testing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  headlight::testing::Bytes bytes(data, size);
  if (bytes.below(3) == 0) headlight::testing::fuzz_arguments(bytes);
  else headlight::testing::fuzz_numbers(bytes);
  return 0;
}
