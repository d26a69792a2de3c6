// Models that read sound: headlight show --features.
#include <fstream>
#include <limits>

#include "cli/show_fixture.h"
#include "io/npy.h"
#include "support/places.h"

namespace headlight::testing {
namespace {

using ::testing::HasSubstr;

class Features : public Show {
 protected:
  // [band, frame] of the tiny Whisper in tests/golden: 5 bands, 14 frames.
  std::string write(Index bands, Index frames, float odd = 0) {
    Tensor x({bands, frames});
    for (Index i = 0; i < x.shape().elements(); ++i) x.as<float>()[i] = 0.1F * static_cast<float>(i % 7 - 3);
    if (odd != 0) x.as<float>()[1] = odd;
    const std::string path = folder_.path("features.npy");
    std::ofstream(path, std::ios::binary)
        << io::npy_header(DType::f32, x.shape())
        << std::string_view(x.as<char>(), static_cast<std::size_t>(x.shape().elements()) * sizeof(float));
    return path;
  }
  Finished whisper(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--model", source_folder() + "/tests/golden/whisper"});
    return show(arguments);
  }
  TempFolder folder_;
};

TEST_F(Features, ShowCrossAttentionByTime) {
  const Finished done =
      whisper({"--features", write(5, 14), "--target-ids", "2,5,7", "--part", "cross", "--head", "1.0"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("0.12s"));  // the seventh position
}

TEST_F(Features, Refusals) {
  EXPECT_THAT(whisper({"a text"}).err, HasSubstr("reads sound features; give them with --features FILE.npy"));
  EXPECT_THAT(whisper({"--features", write(4, 14), "--target-ids", "2"}).err, HasSubstr("5, 14"));
  EXPECT_THAT(
      whisper({"--features", write(5, 14, std::numeric_limits<float>::infinity()), "--target-ids", "2"}).err,
      HasSubstr("band 0, frame 1"));
  EXPECT_THAT(whisper({"a text", "--features", write(5, 14)}).err, HasSubstr("exclude each other"));
  EXPECT_THAT(show({"--features", write(5, 14)}).err, HasSubstr("reads text, not sound"));
}

}  // namespace
}  // namespace headlight::testing
