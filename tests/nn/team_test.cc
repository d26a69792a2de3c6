// Layers whose work the processes of a team divide, as threads.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "headlight/nn.h"
#include "nn/lead.h"
#include "nn/stored_product.h"
#include "support/thread_team.h"

namespace headlight::nn {
namespace {

void fill(Tensor& x, std::mt19937& random) {
  std::uniform_real_distribution<float> number(-1, 1);
  for (Index i = 0; i < x.shape().elements(); ++i) x.as<float>()[i] = number(random);
}

TEST(ExpertsTeam, EveryProcessHasSomeExpertsAndTheBitsOfOneProcess) {
  std::mt19937 random(3);
  Experts experts("mixture", {.count = 5, .used = 2}, {.width = 48, .inner = 64});
  Parameters parameters;
  experts.collect(parameters);
  for (Parameter* parameter : parameters) fill(parameter->value, random);
  for (const Index tokens : {Index{1}, Index{7}, Index{40}}) {
    Tensor x({tokens, 48});
    fill(x, random);
    Context alone({.threads = 1});
    Experts::Saved saved;
    const Tensor expected = experts.forward(alone, x, saved);
    for (const int size : {2, 3, 4}) {
      std::vector<std::size_t> computed(static_cast<std::size_t>(size), 0);
      testing::with_team(size, [&](Team& team) {
        Context ctx({.executor = team_executor(team, Together::products, 1)});
        Experts::Saved mine;
        const Tensor y = experts.forward(ctx, x, mine);
        EXPECT_EQ(std::memcmp(y.as<float>(), expected.as<float>(),
                              static_cast<std::size_t>(tokens) * 48 * sizeof(float)),
                  0)
            << tokens << " tokens, " << size << " processes";
        // What a process computes itself it keeps for a backward pass.
        for (const auto& visit : mine.visits)
          computed[static_cast<std::size_t>(team.rank())] += visit.saved.active.empty() ? 0 : 1;
      });
      std::size_t all = 0, visited = 0;
      for (const std::size_t n : computed) all += n;
      for (const auto& visit : saved.visits) visited += visit.places.empty() ? 0 : 1;
      EXPECT_EQ(all, visited) << "each expert that was asked answers once";
    }
  }
}

// Process 0 asks, the others answer; what they do not know, and what is too small, is multiplied where it is asked.
TEST(Lead, HelpersGiveTheBitsOfOneProcess) {
  std::mt19937 random(5);
  Tensor dense({208, 512}), x({11, 512}), bias({208});
  fill(dense, random), fill(x, random), fill(bias, random);
  const StoredMatrix known[] = {StoredMatrix::from(dense, StoredType::q8_0),
                                StoredMatrix::from(dense, StoredType::bf16)},
                     other = StoredMatrix::from(dense, StoredType::f16);
  const auto multiplied = [&](Context& ctx, const StoredMatrix& w, Index rows) {
    Tensor y({rows, 208});
    const StoredFactor factor{w, y.view(), bias.view()};
    multiply_stored(ctx, ConstTensorView(x.as<float>(), {rows, 512}), std::span(&factor, 1));
    return y;
  };
  for (const int size : {2, 3}) {
    int opened = 0;
    testing::with_team(size, [&](Team& team) {
      if (team.rank() > 0) {
        help_leader(team, 1, [&](const std::string& name) {
          EXPECT_EQ(name, "folder");
          if (team.rank() == 1) ++opened;
          return Matrices{&known[0], &known[1]};
        });
        return;
      }
      const auto lead = std::make_shared<LeadExecutor>(team, 1);
      lead->open("folder", {&known[0], &known[1]});
      for (const Activations activations : {Activations::exact, Activations::rounded})
        for (const StoredMatrix* w : {&known[0], &known[1], &other})
          for (const Index rows : {Index{1}, Index{11}}) {
            Context alone({.threads = 1, .activations = activations}),
                ctx({.activations = activations, .executor = lead});
            const Tensor expected = multiplied(alone, *w, rows), y = multiplied(ctx, *w, rows);
            EXPECT_EQ(std::memcmp(y.as<float>(), expected.as<float>(),
                                  static_cast<std::size_t>(rows) * 208 * sizeof(float)),
                      0)
                << name_of(w->type()) << ", " << rows << " rows, " << size << " processes";
          }
      lead->finish();
    });
    EXPECT_EQ(opened, 1);
  }
}

}  // namespace
}  // namespace headlight::nn
