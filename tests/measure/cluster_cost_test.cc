#include "measure/cluster_cost.h"

#include <gtest/gtest.h>

#include "support/errors.h"

namespace headlight::measure {
namespace {

TEST(ClusterCost, LinksAreReadWithTheirUnits) {
  EXPECT_DOUBLE_EQ(parse_link("10Gbit/50us").bandwidth, 1.25e9);
  EXPECT_DOUBLE_EQ(parse_link("10Gbit/50us").latency, 50e-6);
  EXPECT_DOUBLE_EQ(parse_link("200MB/1.5ms").bandwidth, 2e8);
  EXPECT_DOUBLE_EQ(parse_link("200MB/1.5ms").latency, 1.5e-3);
  for (const char* bad : {"", "10", "10Gbit", "10Gbit/", "/50us", "10Gbit/50", "-1Gbit/1us", "0MB/1us",
                          "nanGB/1us", "1GB/1us "})
    testing::expect_error([&] { (void)parse_link(bad); }, ErrorKind::usage, "plan.link", "as 10Gbit/50us");
}

TEST(ClusterCost, OneProcessSendsNothingAndManyDivideWhatCanBeDivided) {
  const DecoderCost model{.matrix_bytes = 8e9,
                          .table_bytes = 1e9,
                          .parameters = 4e9,
                          .layers = 32,
                          .sent_numbers = 4e4,
                          .cache_bytes = 1e5,
                          .attention_flops = 1e6};
  const Rates rates{1e12, 1e11};
  const Link link{50e-6, 1.25e9};
  const Cost one = token_cost(model, rates, link, 1, 1000);
  EXPECT_DOUBLE_EQ(one.transfer, 0);
  EXPECT_DOUBLE_EQ(one.compute, (8e9 + 1e8) / 1e11);
  const Cost four = token_cost(model, rates, link, 4, 1000);
  EXPECT_DOUBLE_EQ(four.compute, (2e9 + 1e8) / 1e11);
  // 32 layers of 4 exchanges, and three other processes to send 10,000 floats to.
  EXPECT_NEAR(four.transfer, 32 * (4 * 50e-6 * 1.3 + 3 * 4e4 / 1.25e9), 1e-12);
  EXPECT_DOUBLE_EQ(memory_per_rank(model, 4, 1000), 2e9 + 1e9 + 1e8);
  EXPECT_DOUBLE_EQ(prompt_cost(model, rates, link, 1, 100).seconds(), (2 * 4e9 * 100 + 1e6 * 5000) / 1e12);
  EXPECT_DOUBLE_EQ(step_cost(3, 1e6, link, 1).seconds(), 3);
  EXPECT_DOUBLE_EQ(step_cost(3, 1e6, link, 3).compute, 1);
}

TEST(ClusterCost, ARingHidesTransfersBehindComputation) {
  const Link link{1e-6, 1e9};
  EXPECT_DOUBLE_EQ(ring_cost(10, 1e8, link, 2).transfer, 0);
  EXPECT_GT(ring_cost(1e-3, 1e8, link, 2).transfer, 0.04);
}

TEST(ClusterCost, RatesAreReadWithTheirUnits) {
  EXPECT_DOUBLE_EQ(parse_rates("500GFLOP/20GB").flops, 5e11);
  EXPECT_DOUBLE_EQ(parse_rates("2TFLOP/0.2TB").read, 2e11);
  for (const char* bad : {"", "500", "500GFLOP", "500GFLOP/", "500GB/20GB", "0GFLOP/1GB"})
    testing::expect_error([&] { (void)parse_rates(bad); }, ErrorKind::usage, "plan.rates",
                          "as 500GFLOP/20GB");
}

TEST(ClusterCost, LayoutsOfASequenceMeetWhereTheyAreTheSame) {
  const SequenceCost call{.flops = 1e15, .q_bytes = 8e9, .k_bytes = 2e9, .kv_heads = 8};
  const Rates rates{1e12, 1e11};
  const Link link{50e-6, 1.25e9};
  for (const SequenceLayout layout : {SequenceLayout::heads, SequenceLayout::ring, SequenceLayout::hybrid})
    EXPECT_DOUBLE_EQ(sequence_cost(layout, call, rates, link, 1).seconds(), 1000);
  // Eight key heads keep eight ranks busy, and no more.
  EXPECT_DOUBLE_EQ(sequence_cost(SequenceLayout::heads, call, rates, link, 8).compute, 125);
  EXPECT_DOUBLE_EQ(sequence_cost(SequenceLayout::heads, call, rates, link, 64).compute, 125);
  EXPECT_DOUBLE_EQ(sequence_cost(SequenceLayout::hybrid, call, rates, link, 64).compute, 1000.0 / 64);
  EXPECT_EQ(head_ranks(8, 64), 8);
  EXPECT_EQ(head_ranks(8, 12), 6);
  EXPECT_EQ(head_ranks(1, 7), 1);
  // With all neighbours in one place there is no ring; with one neighbour there is nothing else.
  EXPECT_DOUBLE_EQ(sequence_cost(SequenceLayout::hybrid, call, rates, link, 8).seconds(),
                   sequence_cost(SequenceLayout::heads, call, rates, link, 8).seconds());
  EXPECT_DOUBLE_EQ(sequence_cost(SequenceLayout::hybrid, call, rates, link, 7).compute,
                   sequence_cost(SequenceLayout::ring, call, rates, link, 7).compute);
  for (const SequenceLayout layout : {SequenceLayout::heads, SequenceLayout::ring, SequenceLayout::hybrid})
    EXPECT_LT(sequence_memory(layout, call, 4), sequence_memory(layout, call, 2));
}

}  // namespace
}  // namespace headlight::measure
