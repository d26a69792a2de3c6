// headlight bench --dist: several processes compared with one, and with the prediction of the cost model.
#pragma once

#include <string>

#include "headlight/dist.h"

namespace headlight::cluster {

// `model`: a decoder for the rows of tokens; empty: the workload is left out. `link`: a slower one to emulate; empty: none.
void run_bench(dist::Group& group, const std::string& model, const std::string& link);

}  // namespace headlight::cluster
