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
  std::function<void(GoodCall&)> spoil;
  const char* code;
  const char* text;  // part of the first line
  ErrorKind kind = ErrorKind::input;
};

void PrintTo(const Row& row, std::ostream* os) { *os << row.name; }

class Refuses : public ::testing::TestWithParam<Row> {};

TEST_P(Refuses, WithCodeAndText) {
  const Row& row = GetParam();
  auto call = std::make_unique<GoodCall>();
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
    {"RankThree", [](GoodCall& c) { c.k = {c.at(1), {2, 5, 8}}; }, "attention.rank", "k has rank 3 ([2, 5, 8]); need rank 4"},
    {"QEmpty", [](GoodCall& c) { c.q = {}; }, "attention.rank", "q is empty; need rank 4: [batch, head, token, dim]"},
    {"VMissing", [](GoodCall& c) { c.v = {}; }, "attention.output", "out cannot be written by a call without v"},
    {"Integers", [](GoodCall& c) { c.q = {c.at(0), DType::i32, {2, 4, 3, 8}}; }, "attention.dtype", "q is i32; need f32"},
    {"KDtype", [](GoodCall& c) { c.k = {c.at(1), DType::f16, {2, 2, 5, 8}}; }, "attention.dtype", "k is f16 but q is f32"},
    {"VDtype", [](GoodCall& c) { c.v = {c.at(2), DType::f64, {2, 2, 5, 6}}; }, "attention.dtype", "v is f64 but q is f32"},
    {"Heads", [](GoodCall& c) { c.q = {c.at(0), {2, 12, 3, 8}}; c.k = {c.at(1), {2, 7, 5, 8}}; }, "attention.heads",
     "attention: k has 7 heads but q has 12; need Hq % Hkv == 0 (legal Hkv: 1,2,3,4,6,12)"},
    {"NoKeyHeads", [](GoodCall& c) { c.k = {c.at(1), {2, 0, 5, 8}}; }, "attention.heads", "k has 0 heads but q has 4"},
    {"MoreKeyHeads", [](GoodCall& c) { c.k = {c.at(1), {2, 8, 5, 8}}; }, "attention.heads", "k has 8 heads but q has 4"},
    {"VHeads", [](GoodCall& c) { c.v = {c.at(2), {2, 4, 5, 6}}; }, "attention.heads", "v has heads 4 but k has 2"},
    {"KDim", [](GoodCall& c) { c.k = {c.at(1), {2, 2, 5, 9}}; }, "attention.dim", "k has dim 9 but q has 8"},
    {"VTokens", [](GoodCall& c) { c.v = {c.at(2), {2, 2, 4, 6}}; }, "attention.dim", "v has tokens 4 but k has 5"},
    {"DimZero", [](GoodCall& c) { c.q = {c.at(0), {2, 4, 3, 0}}; }, "attention.dim", "q is [2, 4, 3, 0] with dim 0"},
    {"ValueDimZero", [](GoodCall& c) { c.v = {c.at(2), {2, 2, 5, 0}}; }, "attention.dim", "v is [2, 2, 5, 0] with dim 0"},
    {"KBatch", [](GoodCall& c) { c.k = {c.at(1), {3, 2, 5, 8}}; }, "attention.batch", "k has batch 3 but q has 2"},
    {"VBatch", [](GoodCall& c) { c.v = {c.at(2), {1, 2, 5, 6}}; }, "attention.batch", "v has batch 1 but q has 2"},
    {"LastStride", [](GoodCall& c) { c.q = {c.at(0), DType::f32, {2, 4, 3, 8}, {200, 48, 16, 2}}; }, "attention.stride",
     "q has stride 2 on its last axis"},
    {"LastStrideNegative", [](GoodCall& c) { c.v = {c.at(2) + 600, DType::f32, {2, 2, 5, 6}, {60, 30, 6, -1}}; },
     "attention.stride", "v has stride -1 on its last axis"},
    {"Null", [](GoodCall& c) { c.k = {static_cast<float*>(nullptr), {2, 2, 5, 8}}; }, "attention.null",
     "k is f32 [2, 2, 5, 8] at a null pointer"},
    {"Alignment", [](GoodCall& c) { c.v = {reinterpret_cast<char*>(c.at(2)) + 2, DType::f32, {2, 2, 5, 6}}; },
     "attention.alignment", "v starts 2 bytes past a multiple of 4"},
    {"NegativeSize", [](GoodCall& c) { c.q = {c.at(0), {2, 4, -3, 8}}; }, "attention.size", "negative size -3 on axis 2"},
    {"ProductOverflows", [](GoodCall& c) { c.q = {c.at(0), {kFar, kFar, kFar, 8}}; }, "attention.size",
     "which is too large"},
    {"ProductWrapsToZero",
     [](GoodCall& c) { c.q = {c.at(0), DType::f32, {Index{1} << 32, Index{1} << 32, 1, 8}, {0, 0, 8, 1}}; },
     "attention.size", "which is too large"},
    {"StrideOverflows", [](GoodCall& c) { c.k = {c.at(1), DType::f32, {2, 2, 5, 8}, {kFar * 2, 40, 8, 1}}; },
     "attention.size", "which is too large"},
};
INSTANTIATE_TEST_SUITE_P(Tensors, Refuses, ::testing::ValuesIn(kTensors), row_name);

constexpr ErrorKind kUsage = ErrorKind::usage;
const Row kNumbers[] = {
    {"ScaleNan", [](GoodCall& c) { c.options.scale = std::nan(""); }, "attention.scale", "scale is nan", kUsage},
    {"ScaleInf", [](GoodCall& c) { c.options.scale = -INFINITY; }, "attention.scale", "scale is -inf; need a finite", kUsage},
    {"SoftcapNegative", [](GoodCall& c) { c.options.softcap = -1; }, "attention.softcap", "softcap is -1", kUsage},
    {"SoftcapNan", [](GoodCall& c) { c.options.softcap = std::nan(""); }, "attention.softcap", "softcap is nan", kUsage},
    {"SoftcapInf", [](GoodCall& c) { c.options.softcap = INFINITY; }, "attention.softcap", "0 for none", kUsage},
    {"Left", [](GoodCall& c) { c.options.visible.left = -1; }, "attention.window", "visible.left is -1", kUsage},
    {"Right", [](GoodCall& c) { c.options.visible.right = -2; }, "attention.window", "visible.right is -2", kUsage},
    {"RightHuge", [](GoodCall& c) { c.options.visible.right = kFar * 2; }, "attention.window", "visible.right", kUsage},
    {"WindowOfNone", [](GoodCall& c) { c.options.visible = Visibility::window(0); }, "attention.window", "left is -1", kUsage},
    {"Prefix", [](GoodCall& c) { c.options.visible.prefix = -1; }, "attention.window", "visible.prefix is -1", kUsage},
    {"Offset", [](GoodCall& c) { c.options.visible.offset = kFar; }, "attention.window", "-2^60 and 2^60", kUsage},
    {"OffsetLow", [](GoodCall& c) { c.options.visible.offset = -kFar; }, "attention.window", "visible.offset", kUsage},
};
INSTANTIATE_TEST_SUITE_P(Numbers, Refuses, ::testing::ValuesIn(kNumbers), row_name);

const Row kOptions[] = {
    {"SlopesShape", [](GoodCall& c) { c.options.alibi_slopes = {c.at(4), {2}}; }, "attention.alibi",
     "alibi_slopes is f32 [2]; need f32 or f64 [4]"},
    {"SlopesDtype", [](GoodCall& c) { c.options.alibi_slopes = {c.at(4), DType::bf16, {4}}; }, "attention.alibi", "bf16 [4]"},
    {"SinksRank", [](GoodCall& c) { c.options.sinks = {c.at(4), {1, 4}}; }, "attention.sinks", "sinks is f32 [1, 4]"},
    {"SinksNull", [](GoodCall& c) { c.options.sinks = {static_cast<float*>(nullptr), {4}}; }, "attention.null", "sinks"},
    {"MaskDtype", [](GoodCall& c) { c.options.mask = {c.at(4), {3, 5}}; }, "attention.mask", "mask is f32 [3, 5]; need bool"},
    {"MaskShape", [](GoodCall& c) { c.options.mask = {c.seen, DType::boolean, {4, 5}}; }, "attention.mask",
     "broadcasts to [2, 4, 3, 5]"},
    {"BiasDtype", [](GoodCall& c) { c.options.bias = {c.at(4), DType::i32, {3, 5}}; }, "attention.bias", "bias is i32"},
    {"BiasShape", [](GoodCall& c) { c.options.bias = {c.at(4), {2, 3, 5}}; }, "attention.bias", "bias is f32 [2, 3, 5]"},
    {"BiasAlignment", [](GoodCall& c) { c.options.bias = {c.seen + 1, DType::f32, {3, 5}}; }, "attention.alignment", "bias"},
    {"LengthsCount", [](GoodCall& c) { c.options.k_lengths = c.three; }, "attention.lengths",
     "k_lengths has 3 entries but batch is 2"},
    {"LengthsLong", [](GoodCall& c) { c.two[1] = 6; c.options.k_lengths = c.two; }, "attention.lengths",
     "k_lengths[1] is 6; need 0 to 5"},
    {"LengthsNegative", [](GoodCall& c) { c.two[0] = -1; c.options.q_lengths = c.two; }, "attention.lengths",
     "q_lengths[0] is -1; need 0 to 3"},
    {"StartsAlone", [](GoodCall& c) { c.pack(); c.options.k_starts = {}; }, "attention.starts", "k_starts is missing"},
    {"StartsCount", [](GoodCall& c) { c.pack(); c.options.k_starts = std::span(c.five).first(2); }, "attention.starts",
     "k_starts has 2 entries but q_starts has 3"},
    {"StartsFirst", [](GoodCall& c) { c.pack(); c.three[0] = 1; }, "attention.starts", "q_starts begins with 1"},
    {"StartsFall", [](GoodCall& c) { c.pack(); c.five[1] = 6; }, "attention.starts", "k_starts falls from 6 to 5 at entry 2"},
    {"StartsEnd", [](GoodCall& c) { c.pack(); c.five[2] = 4; }, "attention.starts",
     "k_starts ends with 4 but axis 2 has 5 tokens"},
    {"StartsBatch", [](GoodCall& c) { c.options.q_starts = c.three; c.options.k_starts = c.five; }, "attention.starts",
     "is given with batch 2; need batch 1"},
    {"StartsAndLengths", [](GoodCall& c) { c.pack(); c.options.q_lengths = std::span(c.two).first(1); },
     "attention.starts", "starts or lengths, not both"},
    {"PackedMaskShape", [](GoodCall& c) { c.pack(); c.options.mask = {c.seen, DType::boolean, {3, 5}}; }, "attention.mask",
     "broadcasts to [2, 4, 2, 3]"},
};
INSTANTIATE_TEST_SUITE_P(Options, Refuses, ::testing::ValuesIn(kOptions), row_name);

const Row kOutputs[] = {
    {"OutMissing", [](GoodCall& c) { c.outputs.out = {}; }, "attention.output", "out is not given; need f32 [2, 4, 3, 6]"},
    {"OutShape", [](GoodCall& c) { c.outputs.out = {c.at(3), {2, 4, 3, 8}}; }, "attention.output", "need f32 [2, 4, 3, 6]"},
    {"OutDtype", [](GoodCall& c) { c.outputs.out = {c.at(3), DType::f64, {2, 4, 3, 6}}; }, "attention.output", "out is f64"},
    {"OutStride", [](GoodCall& c) { c.outputs.out = {c.at(3), DType::f32, {2, 4, 3, 6}, {400, 100, 20, 2}}; },
     "attention.stride", "out has stride 2"},
    {"OutNull", [](GoodCall& c) { c.outputs.out = {static_cast<float*>(nullptr), {2, 4, 3, 6}}; }, "attention.null", "out"},
    {"LseShape", [](GoodCall& c) { c.outputs.lse = {c.at(4), {2, 4, 3, 1}}; }, "attention.output", "need f32 [2, 4, 3]"},
    {"MaxDtype", [](GoodCall& c) { c.outputs.max = {c.at(4), DType::f64, {2, 4, 3}}; }, "attention.output", "max is f64"},
    {"EntropyShape", [](GoodCall& c) { c.outputs.entropy = {c.at(4), {4, 3}}; }, "attention.output", "entropy is f32"},
    {"SinkShape", [](GoodCall& c) { c.outputs.sink_weight = {c.at(4), {2, 4}}; }, "attention.output", "sink_weight"},
    {"WeightsShape", [](GoodCall& c) { c.outputs.weights = {c.at(4), {2, 4, 3, 4}}; }, "attention.output", "[2, 4, 3, 5]"},
    {"PackedWeights", [](GoodCall& c) { c.pack(); c.outputs.weights = {c.at(4), {1, 4, 3, 5}}; }, "attention.output",
     "need f32 [2, 4, 2, 3]"},
    {"ReceivedShape", [](GoodCall& c) { c.outputs.received = {c.at(4), {2, 4, 3}}; }, "attention.output", "[2, 4, 5]"},
    {"TopDtype", [](GoodCall& c) { c.outputs.topk_index = {c.top, DType::i32, {2, 4, 3, 2}}; }, "attention.topk", "need i64"},
    {"TopMany", [](GoodCall& c) { c.outputs.topk_index = {c.top, DType::i64, {2, 4, 3, 33}}; }, "attention.topk",
     "33 top keys; need a last axis of 1 to 32"},
    {"TopNone", [](GoodCall& c) { c.outputs.topk_weight = {c.at(4), {2, 4, 3, 0}}; }, "attention.topk", "1 to 32"},
    {"TopDiffer",
     [](GoodCall& c) {
       c.outputs.topk_index = {c.top, DType::i64, {2, 4, 3, 2}};
       c.outputs.topk_weight = {c.at(4), {2, 4, 3, 3}};
     },
     "attention.topk", "topk_index has 2 places but topk_weight has 3"},
};
INSTANTIATE_TEST_SUITE_P(Outputs, Refuses, ::testing::ValuesIn(kOutputs), row_name);

const Row kOverlaps[] = {
    {"OutOnQ", [](GoodCall& c) { c.outputs.out = {c.at(0), {2, 4, 3, 6}}; }, "attention.overlap", "out overlaps q"},
    {"OutOnEndOfV", [](GoodCall& c) { c.outputs.out = {c.at(2) + 119, {2, 4, 3, 6}}; }, "attention.overlap", "overlaps v"},
    {"LseOnOut", [](GoodCall& c) { c.outputs.lse = {c.at(3) + 143, {2, 4, 3}}; }, "attention.overlap", "lse overlaps out"},
    {"OutOnBias", [](GoodCall& c) { c.options.bias = {c.at(3), {5}}; }, "attention.overlap", "out overlaps bias"},
    {"OutOnSinks", [](GoodCall& c) { c.options.sinks = {c.at(3) + 140, {4}}; }, "attention.overlap", "out overlaps sinks"},
    {"MaxOnEntropy",
     [](GoodCall& c) { c.outputs.max = {c.at(4), {2, 4, 3}}; c.outputs.entropy = {c.at(4) + 23, {2, 4, 3}}; },
     "attention.overlap", "entropy overlaps max"},
    {"ZeroStride", [](GoodCall& c) { c.outputs.out = {c.at(3), DType::f32, {2, 4, 3, 6}, {72, 0, 6, 1}}; },
     "attention.overlap", "two elements to one address"},
    {"CloseRows", [](GoodCall& c) { c.outputs.out = {c.at(3), DType::f32, {2, 4, 3, 6}, {72, 18, 5, 1}}; },
     "attention.overlap", "two elements to one address"},
    {"InterleavedTooClose",
     // q is every fourth row of a packed buffer; out begins inside q's rows.
     [](GoodCall& c) {
       c.q = {c.at(0), DType::f32, {2, 4, 3, 8}, {3 * 128, 8, 128, 1}};
       c.outputs.out = {c.at(0) + 31, DType::f32, {2, 4, 3, 6}, {3 * 128, 8, 128, 1}};
     },
     "attention.overlap", "out overlaps q"},
};
INSTANTIATE_TEST_SUITE_P(Overlaps, Refuses, ::testing::ValuesIn(kOverlaps), row_name);

// clang-format on
struct Good {
  const char* name;
  std::function<void(GoodCall&)> change;
};
void PrintTo(const Good& row, std::ostream* os) { *os << row.name; }
class Accepts : public ::testing::TestWithParam<Good> {};
TEST_P(Accepts, TheCall) {
  auto call = std::make_unique<GoodCall>();
  GetParam().change(*call);
  EXPECT_NO_THROW(call->run());
}

void everything(GoodCall& c) {
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
    {"Plain", [](GoodCall&) {}},
    {"Everything", everything},
    {"Packed", [](GoodCall& c) { c.pack(); }},
    {"NoQueries", [](GoodCall& c) { c.q = {c.at(0), {2, 4, 0, 8}}; c.outputs.out = {c.at(3), {2, 4, 0, 6}}; }},
    {"NoKeysAtNull",
     [](GoodCall& c) {
       c.k = {static_cast<float*>(nullptr), {2, 2, 0, 8}};
       c.v = {static_cast<float*>(nullptr), {2, 2, 0, 6}};
     }},
    {"NoBatch",
     [](GoodCall& c) {
       c.q = {c.at(0), {0, 4, 3, 8}};
       c.k = {c.at(1), {0, 2, 5, 8}};
       c.v = {c.at(2), {0, 2, 5, 6}};
       c.outputs.out = {c.at(3), {0, 4, 3, 6}};
     }},
    {"NoHeads",
     [](GoodCall& c) {
       c.q = {c.at(0), {2, 0, 3, 8}};
       c.k = {c.at(1), {2, 0, 5, 8}};
       c.v = {c.at(2), {2, 0, 5, 6}};
       c.outputs.out = {c.at(3), {2, 0, 3, 6}};
     }},
    {"ScaleZeroAndNegative", [](GoodCall& c) { c.options.scale = -0.0; c.options.softcap = 1e-30; }},
    {"NegativeOuterStride", [](GoodCall& c) { c.q = {c.at(0) + 96, DType::f32, {2, 4, 3, 8}, {-96, 24, 8, 1}}; }},
    {"BroadcastKeys", [](GoodCall& c) { c.k = {c.at(1), DType::f32, {2, 2, 5, 8}, {0, 0, 8, 1}}; }},
    {"OneWideDimAnyStride",
     [](GoodCall& c) {
       c.q = {c.at(0), DType::f32, {2, 4, 3, 1}, {100, 20, 5, 7}};
       c.k = {c.at(1), DType::f32, {2, 2, 5, 1}, {100, 20, 4, 0}};
     }},
    {"InputsMayOverlap", [](GoodCall& c) { c.v = {c.at(1) + 3, {2, 2, 5, 6}}; }},
    {"OutInPackedBuffer",
     // [batch, token, 4 parts, head, dim]: out is the part behind q, ranges meet, elements do not.
     [](GoodCall& c) {
       c.q = {c.at(0), DType::f32, {2, 4, 3, 8}, {3 * 128, 8, 128, 1}};
       c.outputs.out = {c.at(0) + 32, DType::f32, {2, 4, 3, 6}, {3 * 128, 8, 128, 1}};
     }},
    {"MaskStrideAny", [](GoodCall& c) { c.options.mask = {c.seen, DType::boolean, {3, 5}, {0, 7}}; }},
    {"UnboundedWindow", [](GoodCall& c) { c.options.visible.right = Visibility::kUnbounded; }},
    {"LengthsZero", [](GoodCall& c) { c.two[0] = 0; c.options.q_lengths = c.two; c.options.k_lengths = c.two; }},
};
INSTANTIATE_TEST_SUITE_P(Calls, Accepts, ::testing::ValuesIn(kGood),
                         [](const auto& row) { return std::string(row.param.name); });

// clang-format on
TEST(Problem, BroadcastStridesFollowNumPy) {
  auto call = std::make_unique<GoodCall>();
  everything(*call);
  const Problem p = check_call("attention", call->q, call->k, call->v, call->options);
  EXPECT_THAT(p.mask.stride, ::testing::ElementsAre(5, 0, 0, 1));
  EXPECT_THAT(p.bias.stride, ::testing::ElementsAre(0, 5, 0, 1));
  EXPECT_EQ(p.group, 2);
  EXPECT_DOUBLE_EQ(p.scale, 1 / std::sqrt(8.0));
}

TEST(Problem, SequencesKnowTheirTokens) {
  auto call = std::make_unique<GoodCall>();
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

  auto packed = std::make_unique<GoodCall>();
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
    GoodCall c;
    c.options.dropout.rate = rate;
    expect_code([&] { c.run(); }, "attention.dropout", "dropout.rate is ");
  }
  GoodCall good;
  good.options.dropout.rate = 0x1.fffffffffffffp-1;
  EXPECT_NO_THROW(good.run());
}

TEST(Problem, ChecksLseAndSlices) {
  auto c = std::make_unique<GoodCall>();
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
