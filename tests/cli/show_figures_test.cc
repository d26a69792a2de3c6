// headlight show: figures in three formats.
#include <fmt/format.h>

#include "cli/show_fixture.h"

namespace headlight::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST_F(Show, PalettesAndTheirRange) {
  const auto svg = [&](std::vector<std::string> more) {
    const std::string file = folder_.path("looks.svg");
    more.insert(more.begin(), {"the cat sat", "--head", "1.0", "--force", "--svg", file});
    const Finished done = show(more);
    EXPECT_EQ(done.code, 0) << done.err;
    return bytes_of(file);
  };
  const std::string usual = svg({});
  EXPECT_EQ(svg({"--palette", "cividis", "--color-range", "fixed", "--of", "weights"}), usual);
  EXPECT_NE(svg({"--palette", "grey"}), usual);
  EXPECT_NE(svg({"--palette", "grey"}), svg({"--palette", "viridis"}));
  // The largest weight is written at the scale's end.
  double top = 0;
  for (const double x : numbers_of(show({"the cat sat", "--head", "1.0", "--mute-first", "--json", "-"}).out))
    top = std::isnan(x) ? top : std::max(top, x);
  EXPECT_THAT(svg({"--mute-first", "--color-range", "auto"}), HasSubstr(fmt::format(">{:.3g}</text>", top)));
  refused({"the cat", "--palette", "rainbow"}, 2, "one of cividis|viridis|magma|grey");
  refused({"the cat", "--color-range", "2"}, 2, "one of fixed|auto");
}

TEST_F(Show, Figures) {
  const std::string svg = folder_.path("figure.svg"), png = folder_.path("figure.png"),
                    pdf = folder_.path("figure.pdf");
  const std::vector<std::string> line = {"the animal was too tired",
                                         "--head",
                                         "1.0",
                                         "--svg",
                                         svg,
                                         "--png",
                                         png,
                                         "--pdf",
                                         pdf,
                                         "--width",
                                         "85mm",
                                         "--font-size",
                                         "7pt"};
  const Finished done = show(line);
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out, "");
  EXPECT_THAT(bytes_of(svg), HasSubstr("width=\"85mm\""));
  EXPECT_THAT(bytes_of(svg), HasSubstr(">animal</text>"));
  EXPECT_THAT(bytes_of(svg), HasSubstr("Model en."));
  EXPECT_THAT(bytes_of(png), HasSubstr("PNG"));
  EXPECT_THAT(bytes_of(pdf), StartsWith("%PDF"));
  const std::string first = bytes_of(pdf);
  const Finished again = show(line);
  EXPECT_EQ(again.code, 4);
  EXPECT_THAT(again.err, HasSubstr("--force"));
  std::vector<std::string> forced = line;
  forced.push_back("--force");
  EXPECT_EQ(show(forced).code, 0);
  EXPECT_EQ(bytes_of(pdf), first);  // the same line, the same bytes
  for (const std::vector<std::string>& kind :
       std::vector<std::vector<std::string>>{{"--all"},
                                             {"--query", "tired"},
                                             {"--query", "tired", "--key", "too"},
                                             {"--layer", "0"},
                                             {"--rollout"}}) {
    std::vector<std::string> arguments = {
        "the animal was too tired", "--svg", svg, "--force", "--theme", "dark", "--caption", ""};
    arguments.insert(arguments.end(), kind.begin(), kind.end());
    const Finished other = show(arguments);
    EXPECT_EQ(other.code, 0) << other.err;
    EXPECT_THAT(bytes_of(svg), Not(HasSubstr("Model en")));
  }
}

TEST_F(Show, FiguresWithoutFonts) {
  std::ofstream(folder_.path("fonts.conf")) << "<?xml version=\"1.0\"?><fontconfig></fontconfig>";
  const Finished done = show({"the cat", "--head", "0.0", "--png", folder_.path("a.png")}, "",
                             {"FONTCONFIG_FILE=" + folder_.path("fonts.conf")});
  EXPECT_EQ(done.code, 4);
  EXPECT_THAT(done.err, HasSubstr("figures need the font \"DejaVu Sans\""));
  EXPECT_THAT(done.err, HasSubstr("apt-get install fonts-dejavu-core"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path("a.png")));
}

}  // namespace
}  // namespace headlight::testing
