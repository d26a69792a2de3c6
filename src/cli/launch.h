// How this process was started.
#pragma once

#include <string>

namespace headlight::cli {

// The rank and number of processes, from the environment set by mpirun, mpiexec or srun.
struct Launch {
  int rank = 0, size = 1;
};
[[nodiscard]] Launch find_launch();

// Open MPI binds one or two processes to a core each unless it is told otherwise, which leaves all other cores idle. A
// process that was bound so gets all cores that it may use; the ranks of a machine divide them (dist::divide_cores).
void undo_default_binding();

// Replaces this program by headlight-mpi, with the same arguments. Throws Error{usage} when there is none.
[[noreturn]] void become_mpi_program(const Launch& launch, const char* const* argv);

}  // namespace headlight::cli
