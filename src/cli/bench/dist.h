// headlight bench --dist: several processes against one, and against what the cost model says.
#pragma once

#include <string>

namespace headlight::cli {

// `model`: a decoder for the rows of tokens; empty: the workload is left out. Throws Error{usage} without mpirun.
void run_dist_bench(const std::string& model);

}  // namespace headlight::cli
