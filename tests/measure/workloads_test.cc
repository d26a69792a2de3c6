// Every workload of the bench in all its types can be set up: what a workload does not have stays empty.
#include "measure/workloads.h"

#include <gtest/gtest.h>

#include "headlight/attention.h"
#include "headlight/context.h"

namespace headlight::measure {
namespace {

Workload small(Workload w) {
  w.batch = 1;
  w.length = 8;
  return w;
}

TEST(Workloads, OfEveryTypeRunAndGiveGradientsWhereTheyTrain) {
  Context context;
  int rounded = 0;
  for (const Workload& named : workloads()) {
    if (named.cache) continue;
    SCOPED_TRACE(named.name);
    WorkloadData data(small(named));
    attention_forward(context, data.q(), data.k(), data.v(), data.options(), data.outputs());
    if (named.train) attention_backward(context, data.saved(), data.dout(), data.options(), data.grads());
    else EXPECT_TRUE(data.dout().empty());
    rounded += named.dtype == DType::bf16 ? 1 : 0;
  }
  EXPECT_EQ(rounded, 4) << "workloads in bf16";
}

}  // namespace
}  // namespace headlight::measure
