// Every refusal of an attention call: its code, its kind and its words. One row per rule.
#include "attention/problem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "attention/good_call.h"

namespace headlight {
namespace {

constexpr Index kFar = Index{1} << 61;

struct Row {
  const char* name;
  std::function<void(Call&)> spoil;
  const char* code;
  const char* text;  // part of the first line
  ErrorKind kind = ErrorKind::input;
};

void PrintTo(const Row& row, std::ostream* os) { *os << row.name; }

class Refuses : public ::testing::TestWithParam<Row> {};

TEST_P(Refuses, WithCodeAndText) {
  const Row& row = GetParam();
  auto call = std::make_unique<Call>();
  ASSERT_NO_THROW(call->run());
  row.spoil(*call);
  try {
    call->run();
    FAIL() << "accepted; expected " << row.code;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), row.code) << error.what();
    EXPECT_EQ(error.kind(), row.kind) << error.what();
    EXPECT_THAT(error.what(), ::testing::HasSubstr(row.text));
    EXPECT_THAT(error.what(), ::testing::StartsWith("attention: "));
    const std::string first = std::string(error.what()).substr(0, std::string(error.what()).find('\n'));
    EXPECT_LE(first.size(), 300U) << first;
  }
}

std::string row_name(const ::testing::TestParamInfo<Row>& info) { return info.param.name; }

// One row is one rule; the formatter would make a page of each.
// clang-format off
const Row kTensors[] = {
    {"RankThree", [](Call& c) { c.k = {c.at(1), {2, 5, 8}}; }, "attention.rank", "k has rank 3 ([2, 5, 8]); need rank 4"},
    {"QEmpty", [](Call& c) { c.q = {}; }, "attention.rank", "q is empty; need rank 4: [batch, head, token, dim]"},
    {"VMissing", [](Call& c) { c.v = {}; }, "attention.output", "out cannot be written by a call without v"},
    {"Integers", [](Call& c) { c.q = {c.at(0), DType::i32, {2, 4, 3, 8}}; }, "attention.dtype", "q is i32; need f32"},
    {"KDtype", [](Call& c) { c.k = {c.at(1), DType::f16, {2, 2, 5, 8}}; }, "attention.dtype", "k is f16 but q is f32"},
    {"VDtype", [](Call& c) { c.v = {c.at(2), DType::f64, {2, 2, 5, 6}}; }, "attention.dtype", "v is f64 but q is f32"},
    {"Heads", [](Call& c) { c.q = {c.at(0), {2, 12, 3, 8}}; c.k = {c.at(1), {2, 7, 5, 8}}; }, "attention.heads",
     "attention: k has 7 heads but q has 12; need Hq % Hkv == 0 (legal Hkv: 1,2,3,4,6,12)"},
    {"NoKeyHeads", [](Call& c) { c.k = {c.at(1), {2, 0, 5, 8}}; }, "attention.heads", "k has 0 heads but q has 4"},
    {"MoreKeyHeads", [](Call& c) { c.k = {c.at(1), {2, 8, 5, 8}}; }, "attention.heads", "k has 8 heads but q has 4"},
    {"VHeads", [](Call& c) { c.v = {c.at(2), {2, 4, 5, 6}}; }, "attention.heads", "v has heads 4 but k has 2"},
    {"KDim", [](Call& c) { c.k = {c.at(1), {2, 2, 5, 9}}; }, "attention.dim", "k has dim 9 but q has 8"},
    {"VTokens", [](Call& c) { c.v = {c.at(2), {2, 2, 4, 6}}; }, "attention.dim", "v has tokens 4 but k has 5"},
    {"DimZero", [](Call& c) { c.q = {c.at(0), {2, 4, 3, 0}}; }, "attention.dim", "q is [2, 4, 3, 0] with dim 0"},
    {"ValueDimZero", [](Call& c) { c.v = {c.at(2), {2, 2, 5, 0}}; }, "attention.dim", "v is [2, 2, 5, 0] with dim 0"},
    {"KBatch", [](Call& c) { c.k = {c.at(1), {3, 2, 5, 8}}; }, "attention.batch", "k has batch 3 but q has 2"},
    {"VBatch", [](Call& c) { c.v = {c.at(2), {1, 2, 5, 6}}; }, "attention.batch", "v has batch 1 but q has 2"},
    {"LastStride", [](Call& c) { c.q = {c.at(0), DType::f32, {2, 4, 3, 8}, {200, 48, 16, 2}}; }, "attention.stride",
     "q has stride 2 on its last axis"},
    {"LastStrideNegative", [](Call& c) { c.v = {c.at(2) + 600, DType::f32, {2, 2, 5, 6}, {60, 30, 6, -1}}; },
     "attention.stride", "v has stride -1 on its last axis"},
    {"Null", [](Call& c) { c.k = {static_cast<float*>(nullptr), {2, 2, 5, 8}}; }, "attention.null",
     "k is f32 [2, 2, 5, 8] at a null pointer"},
    {"Alignment", [](Call& c) { c.v = {reinterpret_cast<char*>(c.at(2)) + 2, DType::f32, {2, 2, 5, 6}}; },
     "attention.alignment", "v starts 2 bytes past a multiple of 4"},
    {"NegativeSize", [](Call& c) { c.q = {c.at(0), {2, 4, -3, 8}}; }, "attention.size", "negative size -3 on axis 2"},
    {"ProductOverflows", [](Call& c) { c.q = {c.at(0), {kFar, kFar, kFar, 8}}; }, "attention.size",
     "which is too large"},
    {"ProductWrapsToZero",
     [](Call& c) { c.q = {c.at(0), DType::f32, {Index{1} << 32, Index{1} << 32, 1, 8}, {0, 0, 8, 1}}; },
     "attention.size", "which is too large"},
    {"StrideOverflows", [](Call& c) { c.k = {c.at(1), DType::f32, {2, 2, 5, 8}, {kFar * 2, 40, 8, 1}}; },
     "attention.size", "which is too large"},
};
INSTANTIATE_TEST_SUITE_P(Tensors, Refuses, ::testing::ValuesIn(kTensors), row_name);

constexpr ErrorKind kUsage = ErrorKind::usage;
const Row kNumbers[] = {
    {"ScaleNan", [](Call& c) { c.options.scale = std::nan(""); }, "attention.scale", "scale is nan", kUsage},
    {"ScaleInf", [](Call& c) { c.options.scale = -INFINITY; }, "attention.scale", "scale is -inf; need a finite", kUsage},
    {"SoftcapNegative", [](Call& c) { c.options.softcap = -1; }, "attention.softcap", "softcap is -1", kUsage},
    {"SoftcapNan", [](Call& c) { c.options.softcap = std::nan(""); }, "attention.softcap", "softcap is nan", kUsage},
    {"SoftcapInf", [](Call& c) { c.options.softcap = INFINITY; }, "attention.softcap", "0 for none", kUsage},
    {"Left", [](Call& c) { c.options.visible.left = -1; }, "attention.window", "visible.left is -1", kUsage},
    {"Right", [](Call& c) { c.options.visible.right = -2; }, "attention.window", "visible.right is -2", kUsage},
    {"RightHuge", [](Call& c) { c.options.visible.right = kFar * 2; }, "attention.window", "visible.right", kUsage},
    {"WindowOfNone", [](Call& c) { c.options.visible = Visibility::window(0); }, "attention.window", "left is -1", kUsage},
    {"Prefix", [](Call& c) { c.options.visible.prefix = -1; }, "attention.window", "visible.prefix is -1", kUsage},
    {"Offset", [](Call& c) { c.options.visible.offset = kFar; }, "attention.window", "-2^60 and 2^60", kUsage},
    {"OffsetLow", [](Call& c) { c.options.visible.offset = -kFar; }, "attention.window", "visible.offset", kUsage},
};
INSTANTIATE_TEST_SUITE_P(Numbers, Refuses, ::testing::ValuesIn(kNumbers), row_name);

const Row kOptions[] = {
    {"SlopesShape", [](Call& c) { c.options.alibi_slopes = {c.at(4), {2}}; }, "attention.alibi",
     "alibi_slopes is f32 [2]; need f32 or f64 [4]"},
    {"SlopesDtype", [](Call& c) { c.options.alibi_slopes = {c.at(4), DType::bf16, {4}}; }, "attention.alibi", "bf16 [4]"},
    {"SinksRank", [](Call& c) { c.options.sinks = {c.at(4), {1, 4}}; }, "attention.sinks", "sinks is f32 [1, 4]"},
    {"SinksNull", [](Call& c) { c.options.sinks = {static_cast<float*>(nullptr), {4}}; }, "attention.null", "sinks"},
    {"MaskDtype", [](Call& c) { c.options.mask = {c.at(4), {3, 5}}; }, "attention.mask", "mask is f32 [3, 5]; need bool"},
    {"MaskShape", [](Call& c) { c.options.mask = {c.seen, DType::boolean, {4, 5}}; }, "attention.mask",
     "broadcasts to [2, 4, 3, 5]"},
    {"BiasDtype", [](Call& c) { c.options.bias = {c.at(4), DType::i32, {3, 5}}; }, "attention.bias", "bias is i32"},
    {"BiasShape", [](Call& c) { c.options.bias = {c.at(4), {2, 3, 5}}; }, "attention.bias", "bias is f32 [2, 3, 5]"},
    {"BiasAlignment", [](Call& c) { c.options.bias = {c.seen + 1, DType::f32, {3, 5}}; }, "attention.alignment", "bias"},
    {"LengthsCount", [](Call& c) { c.options.k_lengths = c.three; }, "attention.lengths",
     "k_lengths has 3 entries but batch is 2"},
    {"LengthsLong", [](Call& c) { c.two[1] = 6; c.options.k_lengths = c.two; }, "attention.lengths",
     "k_lengths[1] is 6; need 0 to 5"},
    {"LengthsNegative", [](Call& c) { c.two[0] = -1; c.options.q_lengths = c.two; }, "attention.lengths",
     "q_lengths[0] is -1; need 0 to 3"},
    {"StartsAlone", [](Call& c) { c.pack(); c.options.k_starts = {}; }, "attention.starts", "k_starts is missing"},
    {"StartsCount", [](Call& c) { c.pack(); c.options.k_starts = std::span(c.five).first(2); }, "attention.starts",
     "k_starts has 2 entries but q_starts has 3"},
    {"StartsFirst", [](Call& c) { c.pack(); c.three[0] = 1; }, "attention.starts", "q_starts begins with 1"},
    {"StartsFall", [](Call& c) { c.pack(); c.five[1] = 6; }, "attention.starts", "k_starts falls from 6 to 5 at entry 2"},
    {"StartsEnd", [](Call& c) { c.pack(); c.five[2] = 4; }, "attention.starts",
     "k_starts ends with 4 but axis 2 has 5 tokens"},
    {"StartsBatch", [](Call& c) { c.options.q_starts = c.three; c.options.k_starts = c.five; }, "attention.starts",
     "is given with batch 2; need batch 1"},
    {"StartsAndLengths", [](Call& c) { c.pack(); c.options.q_lengths = std::span(c.two).first(1); },
     "attention.starts", "starts or lengths, not both"},
    {"PackedMaskShape", [](Call& c) { c.pack(); c.options.mask = {c.seen, DType::boolean, {3, 5}}; }, "attention.mask",
     "broadcasts to [2, 4, 2, 3]"},
};
INSTANTIATE_TEST_SUITE_P(Options, Refuses, ::testing::ValuesIn(kOptions), row_name);

const Row kOutputs[] = {
    {"OutMissing", [](Call& c) { c.outputs.out = {}; }, "attention.output", "out is not given; need f32 [2, 4, 3, 6]"},
    {"OutShape", [](Call& c) { c.outputs.out = {c.at(3), {2, 4, 3, 8}}; }, "attention.output", "need f32 [2, 4, 3, 6]"},
    {"OutDtype", [](Call& c) { c.outputs.out = {c.at(3), DType::f64, {2, 4, 3, 6}}; }, "attention.output", "out is f64"},
    {"OutStride", [](Call& c) { c.outputs.out = {c.at(3), DType::f32, {2, 4, 3, 6}, {400, 100, 20, 2}}; },
     "attention.stride", "out has stride 2"},
    {"OutNull", [](Call& c) { c.outputs.out = {static_cast<float*>(nullptr), {2, 4, 3, 6}}; }, "attention.null", "out"},
    {"LseShape", [](Call& c) { c.outputs.lse = {c.at(4), {2, 4, 3, 1}}; }, "attention.output", "need f32 [2, 4, 3]"},
    {"MaxDtype", [](Call& c) { c.outputs.max = {c.at(4), DType::f64, {2, 4, 3}}; }, "attention.output", "max is f64"},
    {"EntropyShape", [](Call& c) { c.outputs.entropy = {c.at(4), {4, 3}}; }, "attention.output", "entropy is f32"},
    {"SinkShape", [](Call& c) { c.outputs.sink_weight = {c.at(4), {2, 4}}; }, "attention.output", "sink_weight"},
    {"WeightsShape", [](Call& c) { c.outputs.weights = {c.at(4), {2, 4, 3, 4}}; }, "attention.output", "[2, 4, 3, 5]"},
    {"PackedWeights", [](Call& c) { c.pack(); c.outputs.weights = {c.at(4), {1, 4, 3, 5}}; }, "attention.output",
     "need f32 [2, 4, 2, 3]"},
    {"ReceivedShape", [](Call& c) { c.outputs.received = {c.at(4), {2, 4, 3}}; }, "attention.output", "[2, 4, 5]"},
    {"TopDtype", [](Call& c) { c.outputs.topk_index = {c.top, DType::i32, {2, 4, 3, 2}}; }, "attention.topk", "need i64"},
    {"TopMany", [](Call& c) { c.outputs.topk_index = {c.top, DType::i64, {2, 4, 3, 33}}; }, "attention.topk",
     "33 top keys; need a last axis of 1 to 32"},
    {"TopNone", [](Call& c) { c.outputs.topk_weight = {c.at(4), {2, 4, 3, 0}}; }, "attention.topk", "1 to 32"},
    {"TopDiffer",
     [](Call& c) {
       c.outputs.topk_index = {c.top, DType::i64, {2, 4, 3, 2}};
       c.outputs.topk_weight = {c.at(4), {2, 4, 3, 3}};
     },
     "attention.topk", "topk_index has 2 places but topk_weight has 3"},
};
INSTANTIATE_TEST_SUITE_P(Outputs, Refuses, ::testing::ValuesIn(kOutputs), row_name);

const Row kOverlaps[] = {
    {"OutOnQ", [](Call& c) { c.outputs.out = {c.at(0), {2, 4, 3, 6}}; }, "attention.overlap", "out overlaps q"},
    {"OutOnEndOfV", [](Call& c) { c.outputs.out = {c.at(2) + 119, {2, 4, 3, 6}}; }, "attention.overlap", "overlaps v"},
    {"LseOnOut", [](Call& c) { c.outputs.lse = {c.at(3) + 143, {2, 4, 3}}; }, "attention.overlap", "lse overlaps out"},
    {"OutOnBias", [](Call& c) { c.options.bias = {c.at(3), {5}}; }, "attention.overlap", "out overlaps bias"},
    {"OutOnSinks", [](Call& c) { c.options.sinks = {c.at(3) + 140, {4}}; }, "attention.overlap", "out overlaps sinks"},
    {"MaxOnEntropy",
     [](Call& c) { c.outputs.max = {c.at(4), {2, 4, 3}}; c.outputs.entropy = {c.at(4) + 23, {2, 4, 3}}; },
     "attention.overlap", "entropy overlaps max"},
    {"ZeroStride", [](Call& c) { c.outputs.out = {c.at(3), DType::f32, {2, 4, 3, 6}, {72, 0, 6, 1}}; },
     "attention.overlap", "two elements to one address"},
    {"CloseRows", [](Call& c) { c.outputs.out = {c.at(3), DType::f32, {2, 4, 3, 6}, {72, 18, 5, 1}}; },
     "attention.overlap", "two elements to one address"},
    {"InterleavedTooClose",
     // q is every fourth row of a packed buffer; out begins inside q's rows.
     [](Call& c) {
       c.q = {c.at(0), DType::f32, {2, 4, 3, 8}, {3 * 128, 8, 128, 1}};
       c.outputs.out = {c.at(0) + 31, DType::f32, {2, 4, 3, 6}, {3 * 128, 8, 128, 1}};
     },
     "attention.overlap", "out overlaps q"},
};
INSTANTIATE_TEST_SUITE_P(Overlaps, Refuses, ::testing::ValuesIn(kOverlaps), row_name);

// clang-format on
struct Good {
  const char* name;
  std::function<void(Call&)> change;
};
void PrintTo(const Good& row, std::ostream* os) { *os << row.name; }
class Accepts : public ::testing::TestWithParam<Good> {};
TEST_P(Accepts, TheCall) {
  auto call = std::make_unique<Call>();
  GetParam().change(*call);
  EXPECT_NO_THROW(call->run());
}

void everything(Call& c) {
  c.outputs.lse = {c.at(4), {2, 4, 3}};
  c.outputs.max = {c.at(5), {2, 4, 3}};
  c.outputs.entropy = {c.at(6), {2, 4, 3}};
  c.outputs.sink_weight = {c.at(7), {2, 4, 3}};
  c.outputs.weights = {c.at(8), {2, 4, 3, 5}};
  c.outputs.topk_index = {c.top, DType::i64, {2, 4, 3, 32}};
  c.outputs.topk_weight = {c.at(9), {2, 4, 3, 32}};
  c.outputs.received = {c.at(10), {2, 4, 5}};
  c.options.bias = {c.at(11), DType::bf16, {4, 1, 5}};
  c.options.mask = {c.seen, DType::boolean, {2, 1, 1, 5}};
  c.options.sinks = {c.at(12), DType::f32, {4}, {3}};
  c.options.alibi_slopes = {c.at(13), DType::f64, {4}};
}

// clang-format off
const Good kGood[] = {
    {"Plain", [](Call&) {}},
    {"Everything", everything},
    {"Packed", [](Call& c) { c.pack(); }},
    {"NoQueries", [](Call& c) { c.q = {c.at(0), {2, 4, 0, 8}}; c.outputs.out = {c.at(3), {2, 4, 0, 6}}; }},
    {"NoKeysAtNull",
     [](Call& c) {
       c.k = {static_cast<float*>(nullptr), {2, 2, 0, 8}};
       c.v = {static_cast<float*>(nullptr), {2, 2, 0, 6}};
     }},
    {"NoBatch",
     [](Call& c) {
       c.q = {c.at(0), {0, 4, 3, 8}};
       c.k = {c.at(1), {0, 2, 5, 8}};
       c.v = {c.at(2), {0, 2, 5, 6}};
       c.outputs.out = {c.at(3), {0, 4, 3, 6}};
     }},
    {"NoHeads",
     [](Call& c) {
       c.q = {c.at(0), {2, 0, 3, 8}};
       c.k = {c.at(1), {2, 0, 5, 8}};
       c.v = {c.at(2), {2, 0, 5, 6}};
       c.outputs.out = {c.at(3), {2, 0, 3, 6}};
     }},
    {"ScaleZeroAndNegative", [](Call& c) { c.options.scale = -0.0; c.options.softcap = 1e-30; }},
    {"NegativeOuterStride", [](Call& c) { c.q = {c.at(0) + 96, DType::f32, {2, 4, 3, 8}, {-96, 24, 8, 1}}; }},
    {"BroadcastKeys", [](Call& c) { c.k = {c.at(1), DType::f32, {2, 2, 5, 8}, {0, 0, 8, 1}}; }},
    {"OneWideDimAnyStride",
     [](Call& c) {
       c.q = {c.at(0), DType::f32, {2, 4, 3, 1}, {100, 20, 5, 7}};
       c.k = {c.at(1), DType::f32, {2, 2, 5, 1}, {100, 20, 4, 0}};
     }},
    {"InputsMayOverlap", [](Call& c) { c.v = {c.at(1) + 3, {2, 2, 5, 6}}; }},
    {"OutInPackedBuffer",
     // [batch, token, 4 parts, head, dim]: out is the part behind q, ranges meet, elements do not.
     [](Call& c) {
       c.q = {c.at(0), DType::f32, {2, 4, 3, 8}, {3 * 128, 8, 128, 1}};
       c.outputs.out = {c.at(0) + 32, DType::f32, {2, 4, 3, 6}, {3 * 128, 8, 128, 1}};
     }},
    {"MaskStrideAny", [](Call& c) { c.options.mask = {c.seen, DType::boolean, {3, 5}, {0, 7}}; }},
    {"UnboundedWindow", [](Call& c) { c.options.visible.right = Visibility::kUnbounded; }},
    {"LengthsZero", [](Call& c) { c.two[0] = 0; c.options.q_lengths = c.two; c.options.k_lengths = c.two; }},
};
INSTANTIATE_TEST_SUITE_P(Calls, Accepts, ::testing::ValuesIn(kGood),
                         [](const auto& row) { return std::string(row.param.name); });

// clang-format on
TEST(Problem, BroadcastStridesFollowNumPy) {
  auto call = std::make_unique<Call>();
  everything(*call);
  const Problem p = check_call("attention", call->q, call->k, call->v, call->options);
  EXPECT_THAT(p.mask.stride, ::testing::ElementsAre(5, 0, 0, 1));
  EXPECT_THAT(p.bias.stride, ::testing::ElementsAre(0, 5, 0, 1));
  EXPECT_EQ(p.group, 2);
  EXPECT_DOUBLE_EQ(p.scale, 1 / std::sqrt(8.0));
}

TEST(Problem, SequencesKnowTheirTokens) {
  auto call = std::make_unique<Call>();
  Index q_lengths[2] = {3, 1}, k_lengths[2] = {0, 4};
  call->options.q_lengths = q_lengths;
  call->options.k_lengths = k_lengths;
  Problem p = check_call("attention", call->q, call->k, call->v, call->options);
  Sequence s = p.sequence(1);
  EXPECT_EQ(s.batch, 1);
  EXPECT_EQ(s.q_len, 1);
  EXPECT_EQ(s.q_rows, 3);
  EXPECT_EQ(s.k_len, 4);
  EXPECT_EQ(s.k_rows, 5);
  EXPECT_EQ(s.offset, 3);
  EXPECT_EQ(p.keys_for(s, 0), (Range{0, 4}));
  EXPECT_EQ(p.keys_for(s, 1).size(), 0) << "a padding row sees nothing";

  auto packed = std::make_unique<Call>();
  packed->pack();
  p = check_call("attention", packed->q, packed->k, packed->v, packed->options);
  s = p.sequence(1);
  EXPECT_EQ(p.sequences, 2);
  EXPECT_EQ(p.q_longest, 2);
  EXPECT_EQ(p.k_longest, 3);
  EXPECT_EQ(s.batch, 0);
  EXPECT_EQ(s.item, 1);
  EXPECT_EQ(s.q_start, 1);
  EXPECT_EQ(s.k_start, 2);
  EXPECT_EQ(s.q_len, 2);
  EXPECT_EQ(s.k_len, 3);
  EXPECT_EQ(s.offset, 1);
}

TEST(Problem, RefusesDropoutThatIsNoShare) {
  for (const double rate : {-0.1, 1.0, 2.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    Call c;
    c.options.dropout.rate = rate;
    expect_code([&] { c.run(); }, "attention.dropout", "dropout.rate is ");
  }
  Call good;
  good.options.dropout.rate = 0x1.fffffffffffffp-1;
  EXPECT_NO_THROW(good.run());
}

TEST(Problem, ChecksLseAndSlices) {
  auto c = std::make_unique<Call>();
  const Problem p = check_call("attention_weights", c->q, c->k, {}, c->options);
  const ConstTensorView lse(c->at(4), {2, 4, 3});
  EXPECT_NO_THROW(check_lse("attention_weights", p, lse));
  expect_code(
      [&] {
        check_lse("attention_weights", p, {c->at(4), {2, 4, 5}});
      },
      "attention.lse", "attention_weights: lse is f32 [2, 4, 5]; need f32 [2, 4, 3]");
  expect_code([&] { check_lse("attention_weights", p, {}); }, "attention.lse", "lse is not given");
  WeightSlice slice{.batch = 1, .head = 3, .queries = {0, 3}, .keys = {2, 5}};
  EXPECT_NO_THROW(check_slice("attention_weights", p, slice));
  const auto refused = [&](auto change, const char* text) {
    WeightSlice bad = slice;
    change(bad);
    expect_code([&] { check_slice("attention_weights", p, bad); }, "attention.slice", text);
  };
  refused([](WeightSlice& s) { s.batch = 2; }, "slice.batch is 2; need to stay within 0 … 1");
  refused([](WeightSlice& s) { s.batch = -1; }, "slice.batch is -1");
  refused([](WeightSlice& s) { s.head = 4; }, "slice.head is 4; need to stay within 0 … 3");
  refused([](WeightSlice& s) { s.queries.end = 4; }, "slice.queries is [0, 4)");
  refused([](WeightSlice& s) { s.keys = {3, 2}; }, "slice.keys is [3, 2)");
  EXPECT_NO_THROW(check_matrix("attention_weights", p, lse, "weights", {c->at(5), {3, 3}}, 3, 3));
  EXPECT_NO_THROW(check_matrix("attention_heat_map", p, lse, "map", {c->at(5), {7, 2}}, -1, -1));
  expect_code(
      [&] {
        check_matrix("attention_weights", p, lse, "weights", {c->at(5), {3, 5}}, 3, 3);
      },
      "attention.output", "weights is f32 [3, 5]; need f32 [3, 3]");
  expect_code(
      [&] {
        check_matrix("attention_weights", p, lse, "weights", {c->at(4), {3, 3}}, 3, 3);
      },
      "attention.overlap", "weights overlaps lse");
}

}  // namespace
}  // namespace headlight
