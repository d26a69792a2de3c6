#include <cstdio>

#include "headlight/error.h"
#include "headlight/train.h"
#include "headlight/version.h"

// Everything that train.h declares can be linked; without a model to begin with, the error says which one is missing.
int main() {
  headlight::Context ctx;
  try {
    (void)headlight::fine_tune(ctx, "no such model", {.train = {"no such text"}, .out = "out"});
  } catch (const headlight::Error& error) {
    if (error.kind() == headlight::ErrorKind::file) {
      std::printf("consumed headlight %s\n", headlight::kVersion);
      return 0;
    }
  }
  return 1;
}
