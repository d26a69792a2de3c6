// SelfAttention, MultiHeadAttention and blocks: gradients of every form; caches; observers.
#include "headlight/recurrent.h"
#include "nn/gradients.h"
#include "support/errors.h"

namespace headlight::nn {
namespace {

using headlight::testing::expect_error;

Context& context() {
  static Context ctx({.threads = 2});
  return ctx;
}
const std::vector<Index> kStarts = {0, 3, 8}, kMemoryStarts = {0, 4, 6};

TEST(SelfAttention, GradientsAndWeights) {
  for (const Visibility& visible : {Visibility::all(), Visibility::causal()}) {
    SelfAttention layer(4, 3, true, visible, DType::f64);
    Parameters list;
    layer.collect(list);
    fill(list, 1);
    Tensor x = random_tensor({6, 4}, 2), weights;
    const Tensor dy = random_tensor({6, 3}, 3);
    SelfAttention::Saved saved;
    const Tensor y = layer.forward(context(), x, &saved, &weights);
    for (Index i = 0; i < 6; ++i) {
      double sum = 0, mix = 0;
      for (Index j = 0; j < 6; ++j) {
        if (visible.right == 0 && j > i) { EXPECT_EQ(weights.at(i, j), 0); }
        sum += weights.at(i, j);
        mix += weights.at(i, j) * saved.v.at(j, 0);
      }
      EXPECT_NEAR(sum, 1, 1e-12);
      EXPECT_NEAR(mix, y.at(i, 0), 1e-12);
    }
    const Tensor dx = layer.backward(context(), x, saved, dy);
    expect_gradients(list, {{"x", x, dx}}, [&] { return dot(dy, layer.forward(context(), x)); });
  }
}

struct Row {
  std::string name;
  MultiHeadAttentionConfig config;
  bool biased = false;  // with an additive bias
};
void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

std::vector<Row> rows() {
  using C = MultiHeadAttentionConfig;
  const C base{.width = 8, .heads = 2, .visible = Visibility::causal()};
  std::vector<Row> list;
  const auto add = [&](const char* name, const std::function<void(C&)>& change, bool biased = false) {
    C c = base;
    change(c);
    list.push_back({name, c, biased});
  };
  add("separate", [](C&) {});
  add("packed", [](C& c) { c.projections = Projections::packed; });
  add("packed_in_out", [](C& c) { c.projections = Projections::packed, c.layout = WeightLayout::in_out; });
  add("by_head", [](C& c) { c.projections = Projections::by_head; });
  add("no_bias", [](C& c) { c.qkv_bias = c.out_bias = false; });
  add("grouped", [](C& c) { c.heads = 4, c.kv_heads = 2, c.head_dim = 3; });
  add("grouped_packed",
      [](C& c) { c.heads = 4, c.kv_heads = 1, c.head_dim = 2, c.projections = Projections::packed; });
  add("head_norm", [](C& c) { c.head_norm = NormConfig{.kind = NormKind::rms}; });
  add("rope", [](C& c) { c.rope = RopeConfig{}; });
  add("rope_interleaved_part", [](C& c) { c.rope = RopeConfig{.dims = 2, .interleaved = true}; });
  add("rope_and_head_norm", [](C& c) {
    c.rope = RopeConfig{.theta = 100};
    c.head_norm = NormConfig{.kind = NormKind::rms, .weight_plus_one = true};
    c.kv_heads = 1;
  });
  add("softcap_window", [](C& c) { c.softcap = 1.5, c.visible = Visibility::window(2), c.scale = 0.9; });
  add("alibi", [](C& c) { c.alibi = true; });
  add("dropout", [](C& c) { c.dropout = 0.3; });
  add(
      "bias", [](C& c) { c.visible = Visibility::all(); }, true);
  add("cross", [](C& c) { c.cross = true, c.visible = Visibility::all(); });
  add("cross_grouped", [](C& c) { c.cross = true, c.visible = Visibility::all(), c.kv_heads = 1; });
  return list;
}

class Attentions : public ::testing::TestWithParam<Row> {};

TEST_P(Attentions, Gradients) {
  const Row& row = GetParam();
  MultiHeadAttention layer("attention", row.config, DType::f64);
  Parameters list;
  layer.collect(list);
  fill(list, 4, 0.5);
  Tensor x = random_tensor({8, 8}, 5), memory = random_tensor({6, 8}, 6),
         bias = random_tensor({1, 2, 5, 5}, 7);
  const Tensor dy = random_tensor({8, 8}, 8);
  AttentionCall call{.starts = kStarts, .dropout_seed = 77};
  if (row.config.cross) call.memory = memory, call.memory_starts = kMemoryStarts;
  if (row.biased) call.bias = bias;
  MultiHeadAttention::Saved saved;
  (void)layer.forward(context(), x, call, &saved);
  Tensor dmemory({6, 8}, DType::f64), dbias({1, 2, 5, 5}, DType::f64);
  const Tensor dx =
      layer.backward(context(), x, call, saved, dy, row.config.cross ? dmemory.view() : TensorView{},
                     row.biased ? dbias.view() : TensorView{});
  std::vector<NamedInput> inputs = {{"x", x, dx}};
  if (row.config.cross) inputs.push_back({"memory", memory, dmemory});
  if (row.biased) inputs.push_back({"bias", bias, dbias});
  expect_gradients(
      list, inputs, [&] { return dot(dy, layer.forward(context(), x, call)); }, 3e-8);
}

INSTANTIATE_TEST_SUITE_P(All, Attentions, ::testing::ValuesIn(rows()),
                         [](const auto& r) { return r.param.name; });

TEST(MultiHeadAttention, ACacheGivesTheSameOutputs) {
  for (const bool windowed : {false, true}) {
    MultiHeadAttentionConfig config{.width = 32, .heads = 4, .kv_heads = 2, .rope = RopeConfig{}};
    config.visible = windowed ? Visibility::window(3) : Visibility::causal();
    config.head_norm = NormConfig{.kind = NormKind::rms};
    MultiHeadAttention layer("attention", config);
    Parameters list;
    layer.collect(list);
    fill(list, 9, 0.2);
    // Two sequences of five tokens; then the same with three first and two one by one.
    Tensor x({10, 32});
    fill(x.view(), 10);
    const std::vector<Index> starts = {0, 5, 10};
    const Tensor whole = layer.forward(context(), x, {.starts = starts});
    KvCache cache = layer.make_cache(context(), 2);
    const auto part = [&](Index first, Index count) {
      Tensor rows({2 * count, 32});
      for (Index s = 0; s < 2; ++s)
        for (Index t = 0; t < count; ++t)
          for (Index d = 0; d < 32; ++d) rows.view().set(s * count + t, d, x.at(s * 5 + first + t, d));
      const std::vector<Index> own = {0, count, 2 * count};
      const Tensor y = layer.forward(context(), rows, {.starts = own, .cache = &cache});
      for (Index s = 0; s < 2; ++s)
        for (Index t = 0; t < count; ++t)
          for (Index d = 0; d < 32; ++d)
            EXPECT_NEAR(y.at(s * count + t, d), whole.at(s * 5 + first + t, d), 2e-6) << windowed << first;
    };
    part(0, 3);
    part(3, 1);
    part(4, 1);
  }
}

TEST(MultiHeadAttention, Refuses) {
  expect_error([] { MultiHeadAttention("a", {.width = 10, .heads = 3}); }, ErrorKind::usage, "nn.config",
               "a width of 10 cannot be shared by 3 heads");
  expect_error([] { MultiHeadAttention("a", {.width = 12, .heads = 3, .kv_heads = 2}); }, ErrorKind::usage,
               "nn.config", "3 query heads cannot share 2 key/value heads");
  const MultiHeadAttention layer("a", {.width = 4, .heads = 2}, DType::f64);
  KvCache cache = layer.make_cache(context(), 1);
  const Tensor x({2, 4}, DType::f64);
  expect_error([&] { (void)layer.forward(context(), x, {.cache = &cache}); }, ErrorKind::usage, "nn.cache",
               "the model is f64");
}

struct BlockRow {
  std::string name;
  BlockConfig config;
};
void PrintTo(const BlockRow& row, std::ostream* out) { *out << row.name; }
std::vector<BlockRow> block_rows() {
  BlockConfig base;
  base.attention = {.width = 8, .heads = 2, .visible = Visibility::causal()};
  base.feed_forward = {.width = 8, .inner = 12};
  base.norm.width = 8;
  std::vector<BlockRow> list;
  const auto add = [&](const char* name, const std::function<void(BlockConfig&)>& change) {
    BlockConfig c = base;
    change(c);
    list.push_back({name, c});
  };
  const auto cross = [](BlockConfig& c) {
    c.cross = MultiHeadAttentionConfig{.width = 8, .heads = 2, .cross = true};
  };
  add("before", [](BlockConfig&) {});
  add("after", [](BlockConfig& c) { c.norm_place = NormPlace::after; });
  add("both", [](BlockConfig& c) { c.norm_place = NormPlace::both; });
  add("parallel", [](BlockConfig& c) { c.shape = BlockShape::parallel; });
  add("parallel_one_norm", [](BlockConfig& c) { c.shape = BlockShape::parallel_one_norm; });
  add("cross_before", cross);
  add("cross_after", [&](BlockConfig& c) { cross(c), c.norm_place = NormPlace::after; });
  add("dropout_before", [&](BlockConfig& c) { cross(c), c.dropout = 0.3; });
  add("dropout_after", [&](BlockConfig& c) { cross(c), c.norm_place = NormPlace::after, c.dropout = 0.3; });
  add("dropout_parallel", [&](BlockConfig& c) { c.shape = BlockShape::parallel, c.dropout = 0.3; });
  add("dropout_both", [&](BlockConfig& c) { c.norm_place = NormPlace::both, c.dropout = 0.3; });
  return list;
}

class Blocks : public ::testing::TestWithParam<BlockRow> {};

TEST_P(Blocks, Gradients) {
  Block block("block", GetParam().config, DType::f64);
  Parameters list;
  block.collect(list);
  fill(list, 21, 0.4);
  Tensor x = random_tensor({8, 8}, 22), memory = random_tensor({6, 8}, 23);
  const Tensor dy = random_tensor({8, 8}, 24);
  BlockCall call{.dropout_seed = 5};
  call.self.starts = call.cross.starts = kStarts;
  call.cross.memory = memory, call.cross.memory_starts = kMemoryStarts;
  Block::Saved saved;
  (void)block.forward(context(), x, call, &saved);
  Tensor dmemory({6, 8}, DType::f64);
  const Tensor dx = block.backward(context(), x, call, saved, dy.clone(), dmemory);
  expect_gradients(
      list, {{"x", x, dx}, {"memory", memory, dmemory}},
      [&] { return dot(dy, block.forward(context(), x, call)); }, 3e-8);
}

INSTANTIATE_TEST_SUITE_P(All, Blocks, ::testing::ValuesIn(block_rows()),
                         [](const auto& r) { return r.param.name; });

TEST(Recurrent, GradientsOfStateAndMemory) {
  for (const CellKind kind : {CellKind::gru, CellKind::lstm}) {
    RecurrentLayer layer("layer", {kind, 4, 3, 6}, DType::f64);
    Parameters list;
    layer.collect(list);
    fill(list, 31, 0.6);
    Tensor x = random_tensor({8, 4}, 32), memory = random_tensor({6, 6}, 33),
           state = random_tensor({2, layer.state_width()}, 34);
    const Tensor dy = random_tensor({8, 3}, 35), dlast = random_tensor({2, layer.state_width()}, 36);
    const RecurrentCall call{kStarts, state, memory, kMemoryStarts};
    RecurrentLayer::Saved saved;
    (void)layer.forward(context(), x, call, &saved);
    Tensor dstate({2, layer.state_width()}, DType::f64), dmemory({6, 6}, DType::f64);
    const Tensor dx = layer.backward(context(), x, call, saved, dy, dlast, {dstate, dmemory});
    expect_gradients(list, {{"x", x, dx}, {"state", state, dstate}, {"memory", memory, dmemory}}, [&] {
      const RecurrentLayer::Result result = layer.forward(context(), x, call);
      return dot(dy, result.y) + dot(dlast, result.last);
    });
  }
}

}  // namespace
}  // namespace headlight::nn
