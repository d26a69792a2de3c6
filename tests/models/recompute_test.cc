// Layers that are computed again on the way back: the same bits, and less memory.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "core/tensor_memory.h"
#include "models/transformer.h"
#include "support/central_difference.h"

namespace headlight::models {
namespace {

Batch batch_for(ModelKind kind) {
  Batch batch;
  for (int s = 0; s < 4; ++s) {
    std::vector<std::int32_t> ids;
    for (int i = 0; i < 24; ++i) ids.push_back((5 * i + s) % 11);
    batch.input.append(ids);
    batch.targets.insert(batch.targets.end(), ids.begin(), ids.end());
    if (kind == ModelKind::encoder_decoder) batch.source.append(ids);
  }
  return batch;
}

struct Pass {
  std::vector<Tensor> grads;
  double loss = 0;
  std::size_t bytes = 0;  // that one learn() took, gradients not counted
};

Pass learn(TransformerConfig config, bool checkpoint_layers) {
  each_layer(config, [](nn::BlockConfig& block) { block.dropout = 0.1; });
  each_attention(config, [](nn::MultiHeadAttentionConfig& attention) { attention.dropout = 0.1; });
  config.dropout = 0.1;
  Transformer model(config);
  model.initialize(3);
  make_grads(model.parameters());
  Pass pass;
  // Memory that a thread lets go of is counted by its recycler.
  std::thread([&] {
    Context ctx({.threads = 1});
    const TensorRecycler recycler;
    const Batch batch = batch_for(model.config().kind);
    pass.loss =
        model.learn(ctx, batch, {.scale = 0.1, .dropout_seed = 5, .checkpoint_layers = checkpoint_layers})
            .sum;
    pass.bytes = kept_memory();
  }).join();
  for (Parameter* parameter : model.parameters())
    if (parameter->trained) pass.grads.push_back(std::move(parameter->grad));
  return pass;
}

TEST(CheckpointLayers, SameBitsLessMemory) {
  const Sizes sizes{.vocabulary = 11, .width = 32, .layers = 8, .heads = 2, .context = 32};
  for (const TransformerConfig& config :
       {gpt_config(sizes), llama_config(sizes), bert_config(sizes), translation_config(sizes)}) {
    const Pass all = learn(config, false), few = learn(config, true);
    EXPECT_EQ(all.loss, few.loss);
    ASSERT_EQ(all.grads.size(), few.grads.size());
    for (std::size_t i = 0; i < all.grads.size(); ++i)
      EXPECT_EQ(std::memcmp(all.grads[i].as<float>(), few.grads[i].as<float>(),
                            sizeof(float) * static_cast<std::size_t>(all.grads[i].shape().elements())),
                0)
          << config.family << " " << i;
    EXPECT_LT(2 * few.bytes, all.bytes) << config.family;
  }
}

}  // namespace
}  // namespace headlight::models
