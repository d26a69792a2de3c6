// Every family on the processes of a team, which divide its matrices and its experts: the bits of one process.
#include <gtest/gtest.h>

#include "models/golden.h"
#include "nn/team_product.h"
#include "support/thread_team.h"

namespace headlight::models {
namespace {

using headlight::testing::golden_folders;
using headlight::testing::golden_name;

// A member that counts what it exchanges.
class CountingTeam : public Team {
 public:
  explicit CountingTeam(Team& team) : team_(team) {}
  [[nodiscard]] int rank() const noexcept override { return team_.rank(); }
  [[nodiscard]] int size() const noexcept override { return team_.size(); }
  std::vector<std::vector<std::byte>> all_gather(std::span<const std::byte> mine) override {
    ++exchanges_;
    return team_.all_gather(mine);
  }
  void all_to_all(std::span<const std::span<const std::byte>> parts,
                  std::span<const std::span<std::byte>> from) override {
    ++exchanges_;
    team_.all_to_all(parts, from);
  }
  [[nodiscard]] int exchanges() const { return exchanges_; }

 private:
  Team& team_;
  int exchanges_ = 0;
};

class FamilyTeam : public ::testing::TestWithParam<std::string> {
 protected:
  FamilyTeam() { nn::least_shared_bytes = 0; }  // these models are tiny
  ~FamilyTeam() override { nn::least_shared_bytes = before_; }

 private:
  Index before_ = nn::least_shared_bytes;
};

// All tokens at once, then token by token where the model generates.
std::vector<Tensor> results(Context& ctx, const Transformer& model, const Batch& batch) {
  std::vector<Tensor> list;
  if (model.config().kind == ModelKind::encoder_decoder) {
    list.push_back(model.logits(ctx, batch.source, batch.input));
    return list;
  }
  list.push_back(model.logits(ctx, batch.input, {.types = batch.type_ids}));
  if (model.config().kind != ModelKind::decoder) return list;
  Decoding decoding = model.start(ctx, 1);
  for (Index t = 0; t < std::min<Index>(3, batch.input.starts[1]); ++t) {
    Tokens token;
    token.append(std::vector{batch.input.ids[static_cast<std::size_t>(t)]});
    list.push_back(model.next(ctx, decoding, token));
  }
  return list;
}

TEST_P(FamilyTeam, HasTheBitsOfOneProcess) {
  const Golden golden(GetParam());
  const auto model = load_transformer(GetParam()).model;
  const Batch batch = golden_batch(golden, model->config());
  Context alone({.threads = 1});
  const std::vector<Tensor> expected = results(alone, *model, batch);
  headlight::testing::with_team(2, [&](Team& threads) {
    CountingTeam team(threads);
    Context ctx({.executor = team_executor(team, Together::products, 1)});
    const std::vector<Tensor> found = results(ctx, *model, batch);
    EXPECT_GT(team.exchanges(), 0);
    for (std::size_t n = 0; n < expected.size(); ++n) expect_same_bits(found[n], expected[n]);
  });
}

INSTANTIATE_TEST_SUITE_P(All, FamilyTeam, ::testing::ValuesIn(golden_folders(kGoldenFamilies)), golden_name);

}  // namespace
}  // namespace headlight::models
