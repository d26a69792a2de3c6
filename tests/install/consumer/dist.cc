#include <cstdio>

#include "headlight/headlight.h"

// No MPI is started: a program that is linked may run without mpirun.
int main() {
  const headlight::dist::Shards shards{.length = 10, .ranks = 4, .layout = headlight::dist::Layout::zigzag};
  if (shards.size(0) + shards.size(1) + shards.size(2) + shards.size(3) != 10) return 1;
  if (shards.runs(3).size() != 2) return 1;
  // Linked, not called.
  if (headlight::kVersion[0] == '\0') (void)headlight::dist::Group::world();
  std::printf("consumed headlight %s\n", headlight::kVersion);
}
