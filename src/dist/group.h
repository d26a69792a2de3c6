// The state of a Group, and the tags and error texts that src/dist shares. The only header that includes MPI.
#pragma once

#include <mpi.h>

#include <string>

#include "headlight/dist.h"

namespace headlight::dist {

struct Group::State {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0, size = 1;
  double timeout = 600;
  bool background = false;  // MPI allows calls from another thread, one at a time
  bool owns_mpi = false;    // this process started MPI here, and finalizes it
  unsigned calls = 0;       // collective calls so far: all ranks count alike

  // A tag for one collective call, above the tags that callers of Transfers use; the next two are free as well.
  [[nodiscard]] int next_tag() { return 1000 + static_cast<int>(calls++ % 8000) * 4; }
};

// "rank 1 of 4: "
[[nodiscard]] std::string rank_prefix(int rank, int size);

// Throws RankError{peer} when `status` is not MPI_SUCCESS. `what` names the operation.
void check_mpi(const Group::State& state, int status, const char* what);

}  // namespace headlight::dist
