// headlight compute as a user runs it: numbers, shapes and files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "headlight/headlight.h"
#include "io/json.h"
#include "support/npy_files.h"
#include "support/subprocess.h"
#include "support/temp_folder.h"

namespace headlight::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class Compute : public ::testing::Test {
 protected:
  // q, k, v with the given leading axes, e.g. {2, 4} for batch and heads.
  void given(const Shape& q, const Shape& k, const Shape& v, DType dtype = DType::f32) {
    save_npy(at("q.npy"), noise(q, 1, dtype));
    save_npy(at("k.npy"), noise(k, 2, dtype));
    save_npy(at("v.npy"), noise(v, 3, dtype));
  }
  [[nodiscard]] std::string at(const std::string& name) const { return folder_.path(name); }
  [[nodiscard]] std::vector<std::string> arguments(std::vector<std::string> more) const {
    std::vector<std::string> all = {"compute", "--q",       at("q.npy"), "--k",        at("k.npy"),
                                    "--v",     at("v.npy"), "-o",        at("out.npy")};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  Finished run(std::vector<std::string> more = {}) const { return run_program(arguments(std::move(more))); }
  void expect_ok(std::vector<std::string> more = {}) const {
    const Finished done = run(std::move(more));
    ASSERT_EQ(done.code, 0) << done.err;
    EXPECT_EQ(done.out, "");
    EXPECT_EQ(done.err, "");
  }
  [[nodiscard]] Tensor file(const std::string& name) const { return load_npy(at(name)); }

  TempFolder folder_;
};

void expect_near(const Tensor& found, const Tensor& expected, double tolerance) {
  ASSERT_EQ(found.shape(), expected.shape());
  const Index n = found.shape().elements();
  const ConstTensorView a(found.as<std::byte>(), found.dtype(), {n}),
      b(expected.as<std::byte>(), expected.dtype(), {n});
  for (Index i = 0; i < n; ++i) {
    if (a.at(i) == b.at(i)) continue;  // infinities
    EXPECT_NEAR(a.at(i), b.at(i), tolerance) << "element " << i;
  }
}

// What the library says for rank-4 arrays, in float64.
struct Expected {
  Tensor out, lse, max, entropy, weights, topk_index, topk_weight, received;
};
Expected expected(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options,
                  Index top = 3) {
  const Tensor q64 = Tensor(q.shape(), DType::f64);
  const auto wide = [](const Tensor& t) {
    Tensor result(t.shape(), DType::f64);
    const Index n = t.shape().elements();
    const ConstTensorView from(t.as<std::byte>(), t.dtype(), {n});
    for (Index i = 0; i < n; ++i) result.as<double>()[i] = from.at(i);
    return result;
  };
  const Index batch = q.dim(0), heads = q.dim(1), queries = q.dim(2), keys = k.dim(2);
  const auto make = [](const Shape& shape) { return Tensor(shape, DType::f64); };
  Expected e{make({batch, heads, queries, v.dim(3)}), make({batch, heads, queries}),
             make({batch, heads, queries}),           make({batch, heads, queries}),
             make({batch, heads, queries, keys}),     Tensor({batch, heads, queries, top}, DType::i64),
             make({batch, heads, queries, top}),      make({batch, heads, keys})};
  AttentionOutputs o;
  o.out = e.out, o.lse = e.lse, o.max = e.max, o.entropy = e.entropy, o.weights = e.weights;
  o.topk_index = e.topk_index, o.topk_weight = e.topk_weight, o.received = e.received;
  const Tensor a = wide(q), b = wide(k), c = wide(v);
  reference::attention(a, b, c, options, o);
  return e;
}

TEST_F(Compute, EveryResultOfOneCall) {
  given({2, 4, 5, 8}, {2, 2, 7, 8}, {2, 2, 7, 3});
  expect_ok({"--causal", "--lse", at("lse.npy"), "--max", at("max.npy"), "--entropy", at("entropy.npy"),
             "--weights", at("weights.npy"), "--topk", "3", "--topk-index", at("ti.npy"), "--topk-weight",
             at("tw.npy"), "--received", at("received.npy"), "--threads", "2"});
  const Expected e = expected(file("q.npy"), file("k.npy"), file("v.npy"), {.visible = Visibility::causal()});
  EXPECT_EQ(file("out.npy").dtype(), DType::f32);
  EXPECT_EQ(file("ti.npy").dtype(), DType::i64);
  expect_near(file("out.npy"), e.out, 1e-6);
  expect_near(file("lse.npy"), e.lse, 1e-6);
  expect_near(file("max.npy"), e.max, 1e-6);
  expect_near(file("entropy.npy"), e.entropy, 1e-6);
  expect_near(file("weights.npy"), e.weights, 1e-6);
  expect_near(file("ti.npy"), e.topk_index, 0);
  expect_near(file("tw.npy"), e.topk_weight, 1e-6);
  expect_near(file("received.npy"), e.received, 1e-6);
  EXPECT_EQ(folder_.entries(), 3 + 8);
}

TEST_F(Compute, NamesItsFilesAsJson) {
  given({5, 8}, {7, 8}, {7, 3});
  const Finished done = run({"--weights", at("weights.npy"), "--dtype", "bf16", "--json"});
  ASSERT_EQ(done.code, 0) << done.err;
  const io::Json json = io::Json::parse(done.out, "output");
  const auto results = json.list("results").items();
  ASSERT_EQ(results.size(), 2U);
  for (const io::Json& result : results) {
    const Tensor written = load_npy(result.text("file"));
    EXPECT_EQ(result.text("dtype"), name_of(written.dtype()));
    const auto shape = result.list("shape").items();
    ASSERT_EQ(static_cast<int>(shape.size()), written.shape().rank);
    for (std::size_t i = 0; i < shape.size(); ++i)
      EXPECT_EQ(shape[i].integer(), written.dim(static_cast<int>(i))) << result.text("name");
  }
  EXPECT_EQ(results[0].text("name"), "out");
  EXPECT_EQ(results[1].text("name"), "weights");
}

TEST_F(Compute, OutputsDropTheAxesThatTheInputsDrop) {
  const std::vector<std::string> all = {"--force",   "--lse",        at("lse.npy"), "--weights",
                                        at("w.npy"), "--received",   at("r.npy"),   "--topk",
                                        "2",         "--topk-index", at("t.npy")};
  given({3, 5, 8}, {3, 7, 8}, {3, 7, 2});
  expect_ok(all);
  EXPECT_EQ(file("out.npy").shape(), (Shape{3, 5, 2}));
  EXPECT_EQ(file("lse.npy").shape(), (Shape{3, 5}));
  EXPECT_EQ(file("w.npy").shape(), (Shape{3, 5, 7}));
  EXPECT_EQ(file("r.npy").shape(), (Shape{3, 7}));
  given({5, 8}, {7, 8}, {7, 2});
  expect_ok(all);
  EXPECT_EQ(file("out.npy").shape(), (Shape{5, 2}));
  EXPECT_EQ(file("lse.npy").shape(), (Shape{5}));
  EXPECT_EQ(file("w.npy").shape(), (Shape{5, 7}));
  EXPECT_EQ(file("r.npy").shape(), (Shape{7}));
  EXPECT_EQ(file("t.npy").shape(), (Shape{5, 2}));
}

TEST_F(Compute, VisibilityOptionsMeanWhatTheLibraryMeans) {
  given({1, 1, 6, 4}, {1, 1, 9, 4}, {1, 1, 9, 4}, DType::f64);
  constexpr Index all = Visibility::kUnbounded;
  struct Case {
    std::vector<std::string> arguments;
    Visibility visible;
  };
  for (const Case& c :
       {Case{{}, {}}, Case{{"--causal"}, {.right = 0}}, Case{{"--window", "2,1"}, {.left = 2, .right = 1}},
        Case{{"--window", "inf,0"}, {.right = 0}}, Case{{"--window", "0,inf"}, {.left = 0, .right = all}},
        Case{{"--causal", "--window", "3,5"}, {.left = 3, .right = 0}},
        Case{{"--prefix", "4"}, {.prefix = 4}},
        Case{{"--causal", "--offset", "0"}, {.right = 0, .offset = 0}},
        Case{{"--causal", "--offset", "-4"}, {.right = 0, .offset = -4}},
        Case{{"--causal", "--offset=-4"}, {.right = 0, .offset = -4}}}) {
    for (const char* implementation : {"fast", "reference"}) {
      std::vector<std::string> more = c.arguments;
      more.insert(more.end(), {"--force", "--impl", implementation, "--lse", at("lse.npy")});
      expect_ok(more);
      // A prefix with --causal would hide itself: Visibility gives the prefix the last word.
      const Expected e = expected(file("q.npy"), file("k.npy"), file("v.npy"), {.visible = c.visible});
      expect_near(file("out.npy"), e.out, 1e-13);
      expect_near(file("lse.npy"), e.lse, 1e-13);
    }
  }
}

TEST_F(Compute, PrefixWithCausalKeepsThePrefixVisible) {
  given({6, 4}, {6, 4}, {6, 4}, DType::f64);
  expect_ok({"--prefix", "3"});
  const Tensor alone = file("out.npy");
  expect_ok({"--prefix", "3", "--causal", "--force"});
  expect_near(file("out.npy"), alone, 0);
}

TEST_F(Compute, ScoreOptions) {
  given({2, 4, 5, 8}, {2, 4, 5, 8}, {2, 4, 5, 8}, DType::f64);
  const Tensor slopes = noise({4}, 7, DType::f64), sinks = noise({4}, 8, DType::f16);
  save_npy(at("slopes.npy"), slopes);
  save_npy(at("sinks.npy"), sinks);
  const Tensor lengths = Tensor::from(std::vector<double>{2, 5}, {2}, DType::i32);
  save_npy(at("kl.npy"), lengths);
  const Tensor longer = Tensor::from(std::vector<double>{4, 5}, {2}, DType::i64);
  save_npy(at("ql.npy"), longer);
  expect_ok({"--scale", "-2.5e-1", "--softcap", "0.5", "--alibi", at("slopes.npy"), "--sinks",
             at("sinks.npy"), "--k-lengths", at("kl.npy"), "--q-lengths", at("ql.npy"), "--lse",
             at("lse.npy")});
  const std::vector<Index> k_lengths = {2, 5}, q_lengths = {4, 5};
  Tensor sinks64({4}, DType::f64);
  for (Index h = 0; h < 4; ++h) sinks64.as<double>()[h] = sinks.at(h);
  AttentionOptions options;
  options.scale = -0.25;
  options.softcap = 0.5;
  options.alibi_slopes = slopes;
  options.sinks = sinks64.view();
  options.q_lengths = q_lengths;
  options.k_lengths = k_lengths;
  const Expected e = expected(file("q.npy"), file("k.npy"), file("v.npy"), options);
  expect_near(file("out.npy"), e.out, 1e-13);
  expect_near(file("lse.npy"), e.lse, 1e-13);
}

TEST_F(Compute, MaskAndBiasBroadcastAsInNumPy) {
  given({2, 3, 4, 8}, {2, 3, 5, 8}, {2, 3, 5, 8}, DType::f64);
  for (const Shape& shape :
       {Shape{5}, Shape{4, 5}, Shape{4, 1}, Shape{3, 1, 5}, Shape{2, 1, 4, 5}, Shape{2, 3, 4, 5}, Shape{1}}) {
    Tensor mask(shape, DType::boolean);
    for (Index i = 0; i < shape.elements(); ++i) mask.as<std::uint8_t>()[i] = (i * 7 + 1) % 3 != 0;
    const Tensor bias = noise(shape, 9, DType::f32);
    save_npy(at("mask.npy"), mask);
    save_npy(at("bias.npy"), bias);
    expect_ok({"--force", "--mask", at("mask.npy"), "--bias", at("bias.npy")});
    AttentionOptions options;
    options.mask = mask.view();
    options.bias = bias;
    expect_near(file("out.npy"), expected(file("q.npy"), file("k.npy"), file("v.npy"), options).out, 1e-13);
  }
}

TEST_F(Compute, MaskOfTwoAxesForInputsOfTwo) {
  given({4, 8}, {5, 8}, {5, 8});
  Tensor mask({4, 5}, DType::boolean);
  for (Index i = 0; i < 4; ++i) mask.as<std::uint8_t>()[i * 5 + i] = 1;  // each query sees one key
  save_npy(at("mask.npy"), mask);
  expect_ok({"--mask", at("mask.npy")});
  const Tensor out = file("out.npy"), v = file("v.npy");
  for (Index i = 0; i < 4; ++i)
    EXPECT_EQ(out.at(i, Index{3}), v.at(i, Index{3}));  // one key: its value, exactly
}

TEST_F(Compute, Dtypes) {
  given({3, 4}, {3, 4}, {3, 4}, DType::f64);
  const Tensor q = file("q.npy");
  expect_ok();
  EXPECT_EQ(file("out.npy").dtype(), DType::f64);
  const Tensor exact = file("out.npy");
  struct Case {
    const char* name;
    DType written, statistic;
    double tolerance;
  };
  for (const Case& c : {Case{"f32", DType::f32, DType::f32, 1e-6}, Case{"f16", DType::f16, DType::f32, 2e-3},
                        Case{"bf16", DType::f32, DType::f32, 2e-2}, Case{"f64", DType::f64, DType::f64, 0}}) {
    expect_ok({"--force", "--dtype", c.name, "--lse", at("lse.npy")});
    EXPECT_EQ(file("out.npy").dtype(), c.written) << c.name;
    EXPECT_EQ(file("lse.npy").dtype(), c.statistic) << c.name;
    expect_near(file("out.npy"), exact, c.tolerance);
  }
  expect_ok({"--force", "--dtype", "bf16"});
  const Tensor out = file("out.npy");
  for (Index i = 0; i < 12; ++i)
    EXPECT_EQ(out.as<std::uint32_t>()[i] & 0xFFFFU, 0U);  // bf16 values, written as f32

  save_npy(at("k.npy"), noise({3, 4}, 2, DType::f32));
  const Finished mixed = run({"--force"});
  EXPECT_EQ(mixed.code, 3);
  EXPECT_THAT(mixed.err, HasSubstr("k.npy: k is f32 but q ("));
  EXPECT_THAT(mixed.err, HasSubstr("--dtype converts"));
  expect_ok({"--force", "--dtype", "f32"});
}

TEST_F(Compute, GradientsOfEveryInput) {
  given({2, 4, 5, 8}, {2, 2, 7, 8}, {2, 2, 7, 3}, DType::f64);
  save_npy(at("g.npy"), noise({2, 4, 5, 3}, 4, DType::f64));
  save_npy(at("bias.npy"), noise({4, 1, 7}, 5));
  save_npy(at("sinks.npy"), noise({4}, 6, DType::f16));
  const Tensor q = file("q.npy"), k = file("k.npy"), v = file("v.npy"), dout = file("g.npy"),
               bias = file("bias.npy"), sinks16 = file("sinks.npy");
  Tensor sinks({4}, DType::f64);
  for (Index h = 0; h < 4; ++h) sinks.as<double>()[h] = sinks16.at(h);
  AttentionOptions options;
  options.visible = Visibility::causal();
  options.softcap = 2;
  options.bias = bias;
  options.sinks = sinks.view();
  options.dropout = {.rate = 0.3, .seed = 12};
  Tensor out({2, 4, 5, 3}, DType::f64), lse({2, 4, 5}, DType::f64), dq(q.shape(), DType::f64),
      dk(k.shape(), DType::f64), dv(v.shape(), DType::f64), dbias({4, 1, 7}, DType::f64),
      dsinks({4}, DType::f64);
  reference::attention(q, k, v, options, {.out = out, .lse = lse});
  reference::attention_backward({q, k, v, out, lse}, dout, options, {dq, dk, dv, dbias, dsinks});
  for (const char* implementation : {"fast", "reference"}) {
    expect_ok(
        {"--force",      "--impl",    implementation,  "--causal",   "--softcap",  "2",          "--bias",
         at("bias.npy"), "--sinks",   at("sinks.npy"), "--dropout",  "0.3",        "--seed",     "12",
         "--dout",       at("g.npy"), "--dq",          at("dq.npy"), "--dk",       at("dk.npy"), "--dv",
         at("dv.npy"),   "--dbias",   at("db.npy"),    "--dsinks",   at("ds.npy"), "--threads",  "2"});
    expect_near(file("out.npy"), out, 1e-13);
    expect_near(file("dq.npy"), dq, 1e-13);
    expect_near(file("dk.npy"), dk, 1e-13);
    expect_near(file("dv.npy"), dv, 1e-13);
    expect_near(file("db.npy"), dbias, 1e-13);
    expect_near(file("ds.npy"), dsinks, 1e-13);
  }
  EXPECT_EQ(folder_.entries(), 6 + 6);
}

TEST_F(Compute, GradientsNeedNoOutputFile) {
  given({5, 8}, {7, 8}, {7, 3});
  save_npy(at("g.npy"), noise({5, 3}, 4));
  const Finished done = run_program({"compute", "--q", at("q.npy"), "--k", at("k.npy"), "--v", at("v.npy"),
                                     "--dout", at("g.npy"), "--dv", at("dv.npy"), "--dtype", "bf16"});
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(file("dv.npy").shape(), (Shape{7, 3}));
  EXPECT_EQ(file("dv.npy").dtype(), DType::f32);
  EXPECT_EQ(folder_.entries(), 4 + 1);
}

TEST_F(Compute, GradientsAreRefusedByName) {
  given({5, 8}, {7, 8}, {7, 3});
  save_npy(at("g.npy"), noise({5, 4}, 4));
  save_npy(at("g64.npy"), noise({5, 3}, 4, DType::f64));
  save_npy(at("g3.npy"), noise({1, 5, 3}, 4));
  const std::vector<std::string> dq = {"--dq", at("dq.npy"), "--dout"};
  for (const auto& [name, says] : {std::pair{"g.npy", "dout is f32 [1, 1, 5, 4]; need f32 [1, 1, 5, 3]"},
                                   {"g64.npy", "dout is f64 but q ("},
                                   {"g3.npy", "need the same number of axes"}}) {
    std::vector<std::string> more = dq;
    more.push_back(at(name));
    const Finished done = run(more);
    EXPECT_EQ(done.code, 3) << done.err;
    EXPECT_THAT(done.first_error_line(), StartsWith("error: " + at(name) + ": "));
    EXPECT_THAT(done.err, HasSubstr(says));
  }
  for (const auto& [more, says] :
       {std::pair<std::vector<std::string>, const char*>{{"--dq", at("dq.npy")}, "--dout with --dq"},
        {{"--dout", at("g.npy")}, "One of --dq"},
        {{"--dout", at("g.npy"), "--dbias", at("b.npy")}, "--bias with --dbias"},
        {{"--dout", at("g.npy"), "--dsinks", at("s.npy")}, "--sinks with --dsinks"},
        {{"--dout", at("g.npy"), "--dq", at("out.npy")}, "out.npy"},
        {{"--dropout", "1"}, "less than 1"},
        {{"--dropout", "-0.1"}, "less than 1"},
        {{"--dropout", "nan"}, "--dropout"},
        {{"--seed", "-1"}, "--seed"}}) {
    const Finished done = run(more);
    EXPECT_EQ(done.code, 2) << done.err;
    EXPECT_THAT(done.err, HasSubstr(says));
  }
  const Finished none = run_program({"compute", "--q", at("q.npy"), "--k", at("k.npy"), "--v", at("v.npy")});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("--out is required"));
  EXPECT_EQ(folder_.entries(), 6);
}

TEST_F(Compute, DropoutIsTheSameForTheSameSeed) {
  given({5, 8}, {7, 8}, {7, 3}, DType::f64);
  const auto out_of = [&](std::vector<std::string> more) {
    more.push_back("--force");
    expect_ok(std::move(more));
    return file("out.npy");
  };
  const Tensor plain = out_of({}), zero = out_of({"--dropout", "0", "--seed", "3"}),
               one = out_of({"--dropout", "0.5", "--seed", "1"}),
               again = out_of({"--dropout", "0.5", "--seed", "1"}),
               two = out_of({"--dropout", "0.5", "--seed", "2"});
  expect_near(zero, plain, 0);
  expect_near(again, one, 0);
  double differs = 0;
  for (Index i = 0; i < 15; ++i) differs += std::abs(one.as<double>()[i] - two.as<double>()[i]);
  EXPECT_GT(differs, 0.01);
}

TEST_F(Compute, EmptyArraysAreFine) {
  given({0, 4}, {3, 4}, {3, 4});
  expect_ok();
  EXPECT_EQ(file("out.npy").shape(), (Shape{0, 4}));
  given({2, 4}, {0, 4}, {0, 3});
  expect_ok({"--force", "--lse", at("lse.npy")});
  EXPECT_EQ(file("out.npy").at(Index{1}, Index{2}), 0);
  EXPECT_EQ(file("lse.npy").at(Index{0}), -INFINITY);
}

TEST_F(Compute, InputsAreRefusedByName) {
  given({2, 12, 4, 8}, {2, 5, 4, 8}, {2, 5, 4, 8});
  const Finished heads = run();
  EXPECT_EQ(heads.code, 3);
  EXPECT_THAT(heads.err, HasSubstr("k.npy: attention: k has 5 heads but q has 12"));
  EXPECT_THAT(heads.err, HasSubstr("\n  q is [2, 12, 4, 8], k is [2, 5, 4, 8]"));

  given({4, 8}, {4, 8}, {4, 8});
  save_npy(at("float.npy"), noise({4, 4}, 1));
  save_npy(at("int.npy"), Tensor({4, 8}, DType::i32));
  save_npy(at("three.npy"), noise({1, 4, 8}, 1));
  save_npy(at("one.npy"), noise({8}, 1));
  std::ofstream(at("text.npy")) << "hello";
  struct Case {
    std::vector<std::string> arguments;
    std::string file, says;
  };
  for (const Case& c : {Case{{"--mask", at("float.npy")}, "float.npy", "bool"},
                        Case{{"--bias", at("three.npy")}, "three.npy", "broadcasts"},
                        Case{{"--sinks", at("float.npy")}, "float.npy", "one per query head"},
                        Case{{"--k-lengths", at("float.npy")}, "float.npy", "need i32 or i64"},
                        Case{{"--mask", at("text.npy")}, "text.npy", "not a .npy file"}}) {
    const Finished done = run(c.arguments);
    EXPECT_EQ(done.code, 3) << done.err;
    EXPECT_THAT(done.first_error_line(), StartsWith("error: " + at(c.file) + ": "));
    EXPECT_THAT(done.err, HasSubstr(c.says));
  }
  for (const auto& [k, says] : {std::pair{"int.npy", "k holds i32"},
                                {"three.npy", "need the same number of axes"},
                                {"one.npy", "k is [8]"}}) {
    const Finished done =
        run_program({"compute", "--q", at("q.npy"), "--k", at(k), "--v", at("v.npy"), "-o", at("out.npy")});
    EXPECT_EQ(done.code, 3);
    EXPECT_THAT(done.err, HasSubstr(says));
  }
  EXPECT_FALSE(std::filesystem::exists(at("out.npy")));
  EXPECT_EQ(folder_.entries(), 3 + 5);
}

TEST_F(Compute, ResultsThatCannotFitAreRefusedBeforeTheyAreMade) {
  save_npy(at("q.npy"), Tensor({1000000, 1}));
  save_npy(at("k.npy"), Tensor({10000000, 1}));
  save_npy(at("v.npy"), Tensor({10000000, 1}));
  const Finished done = run({"--weights", at("w.npy")});
  EXPECT_EQ(done.code, 5);
  EXPECT_THAT(done.err, HasSubstr("MiB are available"));
  EXPECT_EQ(folder_.entries(), 3);
}

}  // namespace
}  // namespace headlight::testing
