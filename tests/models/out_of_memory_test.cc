// Memory that runs out while a model is opened, run, trained or writes is an error of that call and of nothing else.
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "models/generate.h"
#include "models/load.h"
#include "models/translate.h"
#include "models/writer.h"
#include "support/failing_memory.h"
#include "support/small_models.h"
#include "support/temp_folder.h"

namespace headlight::models {
namespace {

using headlight::testing::Bits;
using headlight::testing::expect_survival;
using headlight::testing::kSanitized;
using headlight::testing::NamedCall;
using headlight::testing::SmallKind;
using headlight::testing::TempFolder;

constexpr const char* kText = "the animal didn't cross the street because it was too tired.";
constexpr long kAll = 1L << 30;

// A folder and what is in it, opened before memory gets short.
struct Small {
  TempFolder temp;
  OpenedModel model;
  explicit Small(SmallKind kind, nn::Weights weights = nn::Weights::stored) {
    headlight::testing::write_small_model(path(), kind, {.context = 24, .layers = 1});
    model = open_model(path(), {.weights = weights});
  }
  [[nodiscard]] std::string path() const { return temp.root().string(); }
};

void add_parameters(Bits& bits, const Parameters& parameters) {
  for (const Parameter* p : parameters) {
    bits.add(p->value);
    bits.add(p->grad);
  }
}
Tokens tokens_of(const std::vector<std::vector<std::int32_t>>& rows) {
  Tokens tokens;
  for (const auto& row : rows) tokens.append(row);
  return tokens;
}
Tokens some_tokens() { return tokens_of({{5, 6, 7, 8, 9}, {19, 20}}); }

// Everything that a folder has, its tokenizer by the numbers that a text becomes.
NamedCall opening(const Small& small, nn::Weights weights) {
  return {{"open_model"}, [&small, weights](Context&, DType, Bits& bits) {
            OpenedModel opened = open_model(small.path(), {.weights = weights});
            if (opened.transformer) add_parameters(bits, opened.transformer->parameters());
            if (opened.recurrent) add_parameters(bits, opened.recurrent->parameters());
            bits.add(opened.tokenizer ? opened.tokenizer->encode(kText) : std::vector<TokenId>{-1});
            bits.add(static_cast<double>(opened.notices.size()));
          }};
}

NamedCall forward(const Small& small) {
  return {{"forward"}, [&small](Context& ctx, DType, Bits& bits) {
            bits.add(small.model.transformer->logits(ctx, some_tokens()));
          }};
}

NamedCall generating(const Small& small) {
  return {
      {"continue_prompts"}, [&small](Context& ctx, DType, Bits& bits) {
        const SamplingOptions sampling{
            .most = 5, .temperature = 0.8, .top_k = 9, .top_p = 0.9, .repetition_penalty = 1.1, .seed = 3};
        for (const Continuation& c :
             continue_prompts(ctx, *small.model.transformer, some_tokens(), sampling)) {
          bits.add(c.tokens);
          bits.add(c.log_probabilities);
        }
      }};
}

NamedCall translating(Writer& writer, const Tokenizer& tokenizer) {
  return {{"translate"}, [&](Context& ctx, DType, Bits& bits) {
            const std::string texts[] = {kText, "the cat sat on the mat"};
            for (const Translation& t : translate(ctx, writer, tokenizer, texts, {.beams = 2, .most = 4})) {
              bits.add(t.score);
              bits.add(t.tokens);
            }
          }};
}

// A step of learning, from gradients of zero.
NamedCall learning(Small& small) {
  return {{"learn"}, [&small](Context& ctx, DType, Bits& bits) {
            Transformer& model = *small.model.transformer;
            for (Parameter* p : model.parameters()) p->grad = Tensor();
            Batch batch;
            batch.input = some_tokens();
            batch.targets = {6, 7, 8, 9, 10, 20, 21};
            bits.add(model.learn(ctx, batch, {.scale = 0.1, .dropout_seed = 5}).sum);
            add_parameters(bits, model.parameters());
          }};
}

class OutOfMemory : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "a sanitizer has an allocator of its own";
  }
};

TEST_F(OutOfMemory, AModelThatCannotBeOpenedCanBeOpenedLater) {
  for (const SmallKind kind : {SmallKind::decoder, SmallKind::recurrent}) {
    const Small small(kind);
    expect_survival(opening(small, nn::Weights::stored), 1, kAll);
    expect_survival(opening(small, nn::Weights::own), 1, 300);
  }
}

TEST_F(OutOfMemory, AForwardFailsAndTheNextIsRight) {
  for (const SmallKind kind : {SmallKind::decoder, SmallKind::rotary}) {
    const Small small(kind);
    for (const int threads : {1, 3}) expect_survival(forward(small), threads, kAll);
  }
}

TEST_F(OutOfMemory, AGeneratedTextFailsAndTheNextIsRight) {
  const Small small(SmallKind::rotary);
  for (const int threads : {1, 3}) expect_survival(generating(small), threads, kAll);
}

TEST_F(OutOfMemory, ATranslationFailsAndTheNextIsRight) {
  const Small transformer(SmallKind::translator), recurrent(SmallKind::recurrent);
  TransformerWriter first(*transformer.model.transformer);
  RecurrentWriter second(*recurrent.model.recurrent);
  for (const int threads : {1, 3}) {
    expect_survival(translating(first, *transformer.model.tokenizer), threads, 300);
    expect_survival(translating(second, *recurrent.model.tokenizer), threads, 300);
  }
}

TEST_F(OutOfMemory, AStepOfLearningFailsAndTheNextIsRight) {
  Small small(SmallKind::decoder, nn::Weights::own);
  for (const int threads : {1, 3}) expect_survival(learning(small), threads, kAll);
}

}  // namespace
}  // namespace headlight::models
