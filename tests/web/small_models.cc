// small_models FOLDER: writes the tests' small models there, for the tests of the page.
#include "support/small_models.h"

#include <cstdio>
#include <filesystem>

int main(int argc, char** argv) {
  using headlight::testing::SmallKind;
  if (argc != 2) {
    std::fputs("usage: small_models FOLDER\n", stderr);
    return 2;
  }
  for (const auto& [name, kind] : {std::pair{"en", SmallKind::decoder},
                                   {"rotary", SmallKind::rotary},
                                   {"bert", SmallKind::encoder},
                                   {"en-fr", SmallKind::translator}}) {
    const std::filesystem::path folder = std::filesystem::path(argv[1]) / name;
    std::filesystem::create_directories(folder);
    headlight::testing::write_small_model(folder.string(), kind, {.context = 200});
  }
  const auto write = [&](const char* name, const headlight::testing::SmallShape& shape) {
    const std::filesystem::path folder = std::filesystem::path(argv[1]) / name;
    std::filesystem::create_directories(folder);
    headlight::testing::write_small_model(folder.string(), SmallKind::encoder, shape);
  };
  write("many", {.context = 200, .layers = 12, .heads = 12});  // heads
  write("long", {.context = 1024});                            // texts
  write("longer", {.context = 4200});
  write("every", {.context = 4200, .layers = 12, .heads = 12});  // both, for measurements
  return 0;
}
