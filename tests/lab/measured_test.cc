// Experiments that train or measure: what they find, in their quick form.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "lab/experiment.h"
#include "lab/spread.h"
#include "lab/tuning.h"

namespace headlight::lab {
namespace {

using ::testing::HasSubstr;

TEST(LabMask, ALossThatIsTooGoodIsALeak) {
  const Outcome out = run_mask({.threads = 1, .quick = true});
  EXPECT_TRUE(out.holds) << out.finding << "\n" << out.text;
  EXPECT_THAT(out.finding, HasSubstr("A loss that is too good is a leak."));
  EXPECT_TRUE(out.figure.has_value());
}

TEST(LabCost, MemoryIsQuadraticOnlyWithTheScoreMatrix) {
  const Outcome out = run_cost({.quick = true});
  // Time belongs to the machine and to who else uses it: here only what is counted.
  EXPECT_THAT(out.json, HasSubstr("\"name\": \"fused attention\""));
  EXPECT_TRUE(out.figure.has_value());
  const auto exponent = [&](const std::string& name) {
    const std::size_t at = out.json.find("\"memory_exponent\": ", out.json.find(name));
    return std::stod(out.json.substr(at + 19));
  };
  EXPECT_GT(exponent("unfused attention"), 1.7);
  EXPECT_LT(exponent("\"fused attention"), 1.2);
  EXPECT_LT(exponent("recurrent"), 1.2);
}

TEST(LabLadder, RungsAgree) {
  const Outcome out = run_ladder({.quick = true});
  EXPECT_TRUE(out.holds) << out.text;  // how fast they are belongs to the machine
  for (const char* name : {"three loops", "one pass", "tiles", "library"})
    EXPECT_THAT(out.text, HasSubstr(name));
  EXPECT_THAT(out.finding, HasSubstr("times as fast as three loops"));
  EXPECT_THAT(out.json, HasSubstr("\"name\": \"library\", \"seconds\": "));
}

TEST(LabTuning, ABestRateAtTheEndOfTheGridIsNotTheLastOneTried) {
  const std::vector<double> rates = {1, 2, 4};
  const auto tried_for = [&](double best) {
    std::vector<double> tried;
    const TunedRate tuned = tuned_rate(rates, [&](double rate) {
      tried.push_back(rate);
      return -std::abs(std::log(rate / best));
    });
    EXPECT_EQ(tuned.rate, best);
    EXPECT_EQ(tuned.tried.size(), tried.size());
    EXPECT_TRUE(std::is_sorted(tuned.tried.begin(), tuned.tried.end(),
                               [](const TriedRate& a, const TriedRate& b) { return a.rate < b.rate; }));
    return tried;
  };
  EXPECT_EQ(tried_for(2), rates);
  EXPECT_EQ(tried_for(16), (std::vector<double>{1, 2, 4, 8, 16, 32}));
  EXPECT_EQ(tried_for(0.5), (std::vector<double>{1, 2, 4, 0.5, 0.25}));
  // Equal scores: the smallest rate, and no search beyond it. No end: the search stops.
  EXPECT_EQ(tuned_rate(rates, [](double) { return 1.0; }).rate, 1);
  EXPECT_EQ(tuned_rate(rates, [](double rate) { return rate; }).tried.size(), 12U);
  const std::vector<double> single = {3};
  EXPECT_EQ(tuned_rate(single, [](double) -> double { throw std::logic_error("tried"); }).rate, 3);
}

TEST(LabSpread, MeansDeviationsAndTables) {
  const Spread s = spread_of(std::vector<double>{1, 2, 3, 6});
  EXPECT_EQ(s.mean, 3);
  EXPECT_NEAR(s.deviation, 2.1602, 1e-4);
  EXPECT_EQ(s.median, 2.5);
  EXPECT_EQ(plus_minus(s, 1), "3.0 ± 2.2");
  EXPECT_EQ(with_range(s, 0), "3 (1 … 6)");
  io::JsonWriter json;
  write(json, s);
  EXPECT_EQ(json.take(), "{\"mean\": 3, \"deviation\": 2.16025, \"low\": 1, \"high\": 6, \"runs\": 4}");
  EXPECT_EQ(spread_of({}).count, 0U);
  EXPECT_EQ(json.value(rounded(std::vector<double>{0.5, INFINITY})).take(), "[0.5, null]");
  EXPECT_EQ(table_text({"a", "number"}, {{"long name", "1"}, {"b", "22"}}),
            "  a          number\n  long name       1\n  b              22\n");
}

}  // namespace
}  // namespace headlight::lab
