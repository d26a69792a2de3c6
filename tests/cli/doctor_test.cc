// headlight doctor as a user runs it: what it lists, and its verdict on this machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include "core/concat.h"
#include "headlight/context.h"
#include "kernels/matrix_unit.h"
#include "support/subprocess.h"

namespace headlight::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(Doctor, ListsTheTargetsAndPassesOnThisMachine) {
  const Finished done = run_program({"doctor"});
  EXPECT_EQ(done.code, 0) << done.out << done.err;
  EXPECT_THAT(done.out, StartsWith("headlight "));
  for (const SimdTarget target : supported_targets()) {
    EXPECT_THAT(done.out, HasSubstr(concat("\n", name_of(target), " "))) << name_of(target);
  }
  for (const char* text : {"in use: ", "matrix unit ", "bf16 products ", "GFLOP/s", "GB/s", "pages of", "f32",
                           "f64", "bf16", "f16", "✓"}) {
    EXPECT_THAT(done.out, HasSubstr(text));
  }
  EXPECT_THAT(done.out, Not(HasSubstr("✗")));
}

TEST(Doctor, JsonSaysTheSame) {
  const Finished done = run_program({"doctor", "--json", "-"});
  EXPECT_EQ(done.code, 0) << done.err;
  simdjson::dom::parser parser;
  const simdjson::dom::element found = parser.parse(done.out);
  EXPECT_EQ(std::string_view(found["target"]), name_of(Context().target()));
  EXPECT_EQ(simdjson::dom::array(found["targets_supported"]).size(), supported_targets().size());
  EXPECT_EQ(bool(found["matrix_unit"]), kernels::matrix_kernels_for(Context().target()) != nullptr);
  EXPECT_EQ(bool(found["bf16_products"]), kernels::bf16_kernels_for(Context().target()) != nullptr);
  const simdjson::dom::array checks = found["checks"];
  EXPECT_EQ(checks.size(), 4 * supported_targets().size());
  for (const simdjson::dom::element check : checks) {
    EXPECT_TRUE(bool(check["good"])) << std::string_view(check["target"]) << " "
                                     << std::string_view(check["dtype"]);
    EXPECT_TRUE(bool(check["same_bits"]));
    EXPECT_GT(std::int64_t(check["cases"]), 30);
    EXPECT_LE(double(check["worst_error"]), double(check["limit"]));
  }
}

TEST(Doctor, RefusesArguments) {
  EXPECT_EQ(run_program({"doctor", "now"}).code, 2);
  EXPECT_EQ(run_program({"doctor", "--json=results"}).code, 2);
  EXPECT_EQ(run_program({"doctor", "--json", "/nowhere/at/all.json"}).code, 4);
}

}  // namespace
}  // namespace headlight::testing
