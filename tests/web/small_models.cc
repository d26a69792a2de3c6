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
                                   {"bert", SmallKind::encoder},
                                   {"en-fr", SmallKind::translator}}) {
    const std::filesystem::path folder = std::filesystem::path(argv[1]) / name;
    std::filesystem::create_directories(folder);
    headlight::testing::write_small_model(folder.string(), kind, {.context = 200});
  }
  const std::filesystem::path many = std::filesystem::path(argv[1]) / "many";  // heads
  std::filesystem::create_directories(many);
  headlight::testing::write_small_model(many.string(), SmallKind::encoder,
                                        {.context = 200, .layers = 12, .heads = 12});
  return 0;
}
