// What a Group holds, and the tags and error texts that src/dist shares. The only header that knows MPI.
#pragma once

#include <mpi.h>

#include <chrono>
#include <memory>
#include <string>

#include "headlight/dist.h"

namespace headlight::dist {

// Ranks in rows of `columns`: those of a row exchange heads, those of a column are a ring.
struct Grid {
  int columns;
  Group row, column;
};

struct Group::State {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0, size = 1;
  double timeout = 600;
  bool background = false;               // MPI allows calls from another thread, one at a time
  bool owns_mpi = false;                 // started MPI, so ends it
  unsigned calls = 0;                    // collective calls so far, equal on all ranks
  std::unique_ptr<Grid> grid = nullptr;  // the last one that was asked for

  double latency = 0, bandwidth = 0;                     // of the link to emulate; 0: none
  std::chrono::steady_clock::time_point link_free = {};  // from when the next message can travel on it

  // A tag for one collective call, above those of Transfers' callers; three in a row are free.
  [[nodiscard]] int next_tag() { return 1000 + static_cast<int>(calls++ % 8000) * 4; }
};

// Collective.
[[nodiscard]] Grid& grid_of(Group& group, int columns);

// "rank 1 of 4: "
[[nodiscard]] std::string rank_prefix(int rank, int size);

// Throws RankError{peer} when `status` is not MPI_SUCCESS. `what` says what was asked of MPI.
void check_mpi(const Group::State& state, int status, const char* what);

}  // namespace headlight::dist
