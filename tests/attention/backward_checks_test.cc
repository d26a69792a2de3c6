// Every refusal of a backward call: its code and its words.
#include <memory>

#include "attention/good_call.h"

namespace headlight {
namespace {

// A good backward call, with gradients of everything.
struct BackwardCall {
  std::unique_ptr<GoodCall> c = std::make_unique<GoodCall>();
  AttentionSaved saved{c->q, c->k, c->v, ConstTensorView(c->at(3), {2, 4, 3, 6}),
                       ConstTensorView(c->at(4), {2, 4, 3})};
  ConstTensorView dout{c->at(5), {2, 4, 3, 6}};
  AttentionGrads grads{TensorView(c->at(6), {2, 4, 3, 8}), TensorView(c->at(7), {2, 2, 5, 8}),
                       TensorView(c->at(8), {2, 2, 5, 6}), TensorView(c->at(9), {4, 1, 5}),
                       TensorView(c->at(10), {4})};

  BackwardCall() {
    c->options.bias = ConstTensorView(c->at(11), {4, 1, 5});
    c->options.sinks = ConstTensorView(c->at(12), {4});
  }
  void run() const {
    const Problem p = check_call("attention_backward", saved.q, saved.k, saved.v, c->options);
    check_backward("attention_backward", p, saved, dout, grads);
  }
};

TEST(BackwardChecks, RefuseWhatIsWrong) {
  EXPECT_NO_THROW(BackwardCall().run());
  const auto refused = [](auto spoil, const char* code, const char* text) {
    BackwardCall b;
    spoil(b);
    expect_code([&] { b.run(); }, code, text);
  };
  using B = BackwardCall;
  refused([](B& b) { b.saved.v = {}; }, "attention.rank", "attention_backward: v is empty");
  refused([](B& b) { b.saved.out = {}; }, "attention.out", "out is not given; need f32 [2, 4, 3, 6]");
  refused(
      [](B& b) {
        b.saved.out = ConstTensorView(b.c->at(3), {2, 4, 3, 8});
      },
      "attention.out", "out is f32 [2, 4, 3, 8]; need f32 [2, 4, 3, 6]");
  refused([](B& b) { b.saved.lse = {}; }, "attention.lse", "lse is not given");
  refused([](B& b) { b.dout = {}; }, "attention.dout", "dout is not given; need f32 [2, 4, 3, 6]");
  refused(
      [](B& b) {
        b.dout = ConstTensorView(b.c->at(5), DType::bf16, {2, 4, 3, 6});
      },
      "attention.dout", "dout is bf16 [2, 4, 3, 6]; need f32");
  refused(
      [](B& b) {
        b.dout = ConstTensorView(b.c->at(5), DType::f32, {2, 4, 3, 6}, {0, 0, 0, 0});
      },
      "attention.stride", "dout has stride 0 on its last axis");
  refused(
      [](B& b) {
        b.dout = ConstTensorView(nullptr, DType::f32, {2, 4, 3, 6});
      },
      "attention.null", "dout");
  refused(
      [](B& b) {
        b.grads.dq = TensorView(b.c->at(6), {2, 4, 3, 6});
      },
      "attention.grads", "dq is f32 [2, 4, 3, 6]; need f32 [2, 4, 3, 8]");
  refused(
      [](B& b) {
        b.grads.dk = TensorView(b.c->at(7), {2, 4, 5, 8});
      },
      "attention.grads", "need f32 [2, 2, 5, 8]");
  refused(
      [](B& b) {
        b.grads.dv = TensorView(b.c->at(8), DType::f16, {2, 2, 5, 6});
      },
      "attention.grads", "dv is f16 [2, 2, 5, 6]; need f32");
  refused(
      [](B& b) {
        b.grads.dv = TensorView(b.c->at(8), DType::f32, {2, 2, 5, 6}, {120, 60, 12, 2});
      },
      "attention.stride", "dv has stride 2 on its last axis");
  refused(
      [](B& b) {
        b.grads.dk = TensorView(b.c->at(7), DType::f32, {2, 2, 5, 8}, {80, 0, 8, 1});
      },
      "attention.overlap", "two elements to one address");
  refused(
      [](B& b) {
        b.grads.dbias = TensorView(b.c->at(9), {1, 4, 1, 5});
      },
      "attention.grads", "dbias is f32 [1, 4, 1, 5]; need f32 [4, 1, 5]");
  refused(
      [](B& b) {
        b.grads.dbias = TensorView(b.c->at(9), DType::f64, {4, 1, 5});
      },
      "attention.grads", "dbias is f64");
  refused([](B& b) { b.c->options.bias = {}; }, "attention.grads", "dbias is given but options.bias is not");
  refused(
      [](B& b) {
        b.grads.dsinks = TensorView(b.c->at(10), {1, 4});
      },
      "attention.grads", "dsinks is f32 [1, 4]; need f32 [4]");
  refused([](B& b) { b.c->options.sinks = {}; }, "attention.grads",
          "dsinks is given but options.sinks is not");
  refused(
      [](B& b) {
        b.grads.dq = TensorView(b.c->at(0), {2, 4, 3, 8});
      },
      "attention.overlap", "dq overlaps q");
  refused(
      [](B& b) {
        b.grads.dv = TensorView(b.c->at(5), {2, 2, 5, 6});
      },
      "attention.overlap", "dv overlaps dout");
  refused(
      [](B& b) {
        b.grads.dv = TensorView(b.c->at(3), {2, 2, 5, 6});
      },
      "attention.overlap", "dv overlaps out");
  refused([](B& b) { b.grads.dsinks = TensorView(b.c->at(4), {4}); }, "attention.overlap",
          "dsinks overlaps lse");
  refused(
      [](B& b) {
        b.grads.dbias = TensorView(b.c->at(11), {4, 1, 5});
      },
      "attention.overlap", "dbias overlaps bias");
  refused(
      [](B& b) {
        b.grads.dv = TensorView(b.c->at(7) + 8, {2, 2, 5, 6});
      },
      "attention.overlap", "dv overlaps dk");
}

TEST(BackwardChecks, AcceptSomeGradientsAndThoseOfOneProjection) {
  BackwardCall some;
  some.grads = {};
  EXPECT_NO_THROW(some.run()) << "nothing asked for";
  some.grads.dv = TensorView(some.c->at(8), {2, 2, 5, 6});
  EXPECT_NO_THROW(some.run());
  // dq, dk and dv side by side, as the gradient of one packed projection has them.
  BackwardCall packed;
  packed.saved.k = ConstTensorView(packed.c->at(1), {2, 4, 3, 8});
  packed.saved.v = ConstTensorView(packed.c->at(2), {2, 4, 3, 8});
  packed.saved.out = packed.dout = ConstTensorView(packed.c->at(3), {2, 4, 3, 8});
  packed.c->options.bias = packed.c->options.sinks = {};
  const auto third = [&](int n) {
    return TensorView(packed.c->at(6) + 32 * n, DType::f32, {2, 4, 3, 8}, {288, 8, 96, 1});
  };
  packed.grads = {third(0), third(1), third(2)};
  EXPECT_NO_THROW(packed.run());
}

}  // namespace
}  // namespace headlight
