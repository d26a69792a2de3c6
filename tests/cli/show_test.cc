// headlight show, as users run it: what it prints, draws and writes, and what it says to a newcomer's mistakes.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "io/gzip.h"
#include "io/npy.h"
#include "support/sanitizers.h"
#include "support/small_models.h"
#include "support/subprocess.h"

namespace headlight::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string bytes_of(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

class Show : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    models_ = new TempFolder;
    for (const auto& [name, kind] : {std::pair{"en", SmallKind::decoder},
                                     {"bert", SmallKind::encoder},
                                     {"en-fr", SmallKind::translator}}) {
      std::filesystem::create_directory(models_->root() / name);
      write_small_model(models_->path(name), kind);
    }
  }
  static void TearDownTestSuite() { delete models_; }

  Finished show(std::vector<std::string> arguments, const std::string& input = "",
                std::vector<std::string> more = {}) const {
    arguments.insert(arguments.begin(), "show");
    if (std::find(arguments.begin(), arguments.end(), "--model") == arguments.end()) {
      arguments.emplace_back("--model");  // most of these look at a decoder
      arguments.emplace_back("en");
    }
    Launch launch{.arguments = std::move(arguments)};
    launch.environment.push_back("HEADLIGHT_MODELS=" + models_->root().string());
    for (std::string& line : more) launch.environment.push_back(std::move(line));
    std::ofstream(folder_.path("input")) << input;
    const std::string path = folder_.path("input");
    launch.in_child = [path] {
      const int fd = ::open(path.c_str(), O_RDONLY);
      ::dup2(fd, STDIN_FILENO);
    };
    return run_program(launch);
  }
  // Expects a refusal with this code, and these words on standard error.
  void refused(std::vector<std::string> arguments, int code, const std::string& words) const {
    const Finished done = show(std::move(arguments));
    EXPECT_EQ(done.code, code) << done.err;
    EXPECT_THAT(done.err, HasSubstr(words));
    EXPECT_EQ(done.out, "");
  }

  static TempFolder* models_;
  TempFolder folder_;
};
TempFolder* Show::models_ = nullptr;

TEST_F(Show, NumbersInAPipe) {
  const Finished done = show({"the cat sat", "--head", "1.0"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, StartsWith("        [CLS]     the     cat     sat   [SEP]\n[CLS]  1.0000       -"));
  EXPECT_THAT(done.out, Not(HasSubstr("\x1b")));
  EXPECT_EQ(done.err, "");
}

TEST_F(Show, TextIsAnArgumentPipedOrBuiltIn) {
  EXPECT_EQ(show({"the cat sat", "--head", "0.0"}).out, show({"--head", "0.0"}, "the cat sat\n").out);
  const Finished street = show({"--head", "0.0", "--words"});
  EXPECT_THAT(street.out, HasSubstr("because"));
  EXPECT_THAT(street.out, HasSubstr("tired"));
}

TEST_F(Show, EveryLook) {
  const std::vector<std::string> base = {"the animal was too tired", "--head", "0.1", "--color"};
  const auto look = [&](const std::string& color, std::vector<std::string> environment = {}) {
    std::vector<std::string> arguments = base;
    arguments.push_back(color);
    const Finished done = show(arguments, "", std::move(environment));
    EXPECT_EQ(done.code, 0) << done.err;
    return done.out;
  };
  EXPECT_THAT(look("always", {"COLORTERM=truecolor"}), HasSubstr("\x1b[38;2;"));
  EXPECT_THAT(look("always", {"COLORTERM=truecolor", "NO_COLOR=1"}), HasSubstr("▀"));
  EXPECT_THAT(look("256"), HasSubstr("\x1b[38;5;"));
  EXPECT_THAT(look("shades"), HasSubstr("█ 0.64–1"));
  for (const char c : look("ascii")) ASSERT_EQ(static_cast<unsigned char>(c) & 0x80U, 0U);
  EXPECT_EQ(look("never"), look("auto"));
  const Finished cut =
      show({"the animal was too tired, harry potter", "--head", "0.1", "--color", "ascii", "--caption", "x"});
  for (const char c : cut.out) ASSERT_EQ(static_cast<unsigned char>(c) & 0x80U, 0U);
}

TEST_F(Show, ChoosesAHeadAndSaysSo) {
  const Finished done = show({"the cat sat on the mat"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.err, HasSubstr("times chance: the most distinctive link of 4 heads; --head L.H shows "
                                  "another one, --all shows all"));
  EXPECT_THAT(show({"the cat sat on the mat", "--query", "sat"}).err,
              HasSubstr("where \"sat\" attends most to another word"));
}

TEST_F(Show, BarsOfOneQuery) {
  const Finished done = show({"the cat sat on the mat", "--head", "1.1", "--query", "sat"});
  EXPECT_THAT(done.out, HasSubstr("  cat    0."));
  EXPECT_THAT(done.out, HasSubstr("  mat         -"));
  const Finished twice = show({"the cat sat on the mat", "--head", "1.1", "--query", "the"});
  EXPECT_THAT(twice.err, HasSubstr("\"the\" occurs 2 times: using the first (token 1)"));
  EXPECT_THAT(show({"the cat sat on the mat", "--head", "1.1", "--query", "the#2", "--color", "ascii"}).out,
              HasSubstr("exact"));
  EXPECT_THAT(
      show({"harry potter lives here", "--head", "1.1", "--query", "harry potter", "--color", "ascii"}).out,
      HasSubstr("derived: mean of 2 queries"));
}

TEST_F(Show, OneLinkInAllHeads) {
  const Finished done = show({"the cat sat", "--query", "sat", "--key", "cat"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, StartsWith("        0       1\n0  0."));
  EXPECT_THAT(show({"it was too tired", "--query", "tired", "--key", "too", "--color", "ascii"}).out,
              HasSubstr("derived: mean of 2 queries"));
  EXPECT_THAT(show({"tired was it", "--query", "it", "--key", "tired", "--color", "ascii"}).out,
              HasSubstr("derived: sum of 2 keys"));
}

TEST_F(Show, ListsAtlasMeansAndRollout) {
  const Finished tops = show({"the cat sat", "--query", "sat", "--by-head", "--top", "2"});
  EXPECT_THAT(tops.out, HasSubstr("0.0   "));
  EXPECT_THAT(tops.out, HasSubstr("1.1   "));
  EXPECT_THAT(show({"the cat sat", "--all"}).out, StartsWith("head  largest  from -> to\n0.0    "));
  EXPECT_THAT(show({"the cat sat", "--layer", "1", "--color", "ascii"}).out, StartsWith("1.0"));
  EXPECT_THAT(show({"the cat sat", "--mean", "layers", "--color", "ascii"}).out,
              StartsWith("all layers  derived: mean of 4 heads"));
  EXPECT_THAT(show({"the cat sat", "--mean", "heads", "--layer", "0", "--color", "ascii"}).out,
              StartsWith("layer 0  derived: mean of 2 heads"));
  EXPECT_THAT(show({"the cat sat", "--rollout", "--color", "ascii"}).out,
              StartsWith("all layers  derived: rollout over 2 layers"));
  EXPECT_THAT(show({"too tired", "--head", "0.0", "--words", "--color", "ascii"}).out,
              HasSubstr("derived: tokens merged into words"));
  EXPECT_THAT(
      show({"the cat sat", "--head", "0.0", "--mute-first", "--exclude-self", "--color", "ascii"}).out,
      HasSubstr("// hidden or left out"));
}

TEST_F(Show, PartsOfATranslator) {
  const std::vector<std::string> base = {"the cat sat", "--model", "en-fr", "--head", "0.0", "--part"};
  const auto part = [&](const std::string& name, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = base;
    arguments.push_back(name);
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Finished done = show(arguments);
    EXPECT_EQ(done.code, 0) << done.err;
    return done.out;
  };
  EXPECT_THAT(part("encoder"), HasSubstr("cat"));
  EXPECT_THAT(part("cross", {"--target", "on the mat", "--color", "ascii"}), HasSubstr("query (writing)"));
  EXPECT_THAT(part("cross", {"--target", "on the mat"}), HasSubstr("\nmat    0."));
  EXPECT_THAT(part("decoder", {"--target", "on the mat"}), HasSubstr("\nmat    0."));
  EXPECT_THAT(part("cross"), HasSubstr("cat"));  // its own translation
  EXPECT_THAT(show({"the cat sat", "--model", "bert"}).out, HasSubstr("cat"));
}

TEST_F(Show, Json) {
  const Finished done = show({"the cat sat", "--head", "1.0,0.1", "--json", "-"});
  EXPECT_EQ(done.code, 0) << done.err;
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  ASSERT_EQ(parser.parse(done.out).get(root), simdjson::SUCCESS) << done.out;
  EXPECT_EQ(std::string_view(root["text"]), "the cat sat");
  EXPECT_EQ(root["tokens"].get_array().size(), 5U);
  EXPECT_EQ(root["maps"].get_array().size(), 2U);
  EXPECT_EQ(std::int64_t(root.at_pointer("/maps/0/layer")), 0);
  EXPECT_EQ(std::int64_t(root.at_pointer("/maps/1/head")), 0);
  EXPECT_EQ(std::string_view(root.at_pointer("/maps/0/origin")), "exact");
  EXPECT_TRUE(root.at_pointer("/maps/0/weights/0/1").is_null());  // not visible is not zero
  double sum = 0;
  for (const simdjson::dom::element x : root.at_pointer("/maps/0/weights/4").get_array()) sum += double(x);
  EXPECT_NEAR(sum, 1, 1e-5);
}

TEST_F(Show, Experts) {
  const std::string mixtral = std::string(HEADLIGHT_SOURCE) + "/tests/golden/mixtral";
  const std::vector<std::string> ask = {"--model", mixtral, "--ids", "3,9,4", "--experts"};
  const Finished page = show(ask);
  EXPECT_EQ(page.code, 0) << page.err;
  EXPECT_THAT(page.out, HasSubstr("2 of 4 experts for each token"));
  EXPECT_THAT(page.out, HasSubstr("layer 1"));
  std::vector<std::string> as_json = ask;
  as_json.insert(as_json.end(), {"--json", "-", "--layer", "1"});
  simdjson::dom::parser parser;
  const simdjson::dom::element root = parser.parse(show(as_json).out);
  EXPECT_EQ(root["layers"].get_array().size(), 1U);
  EXPECT_EQ(std::int64_t(root.at_pointer("/layers/0/layer")), 1);
  for (const simdjson::dom::element row : root.at_pointer("/layers/0/weights").get_array()) {
    double sum = 0;
    for (const simdjson::dom::element x : row.get_array()) sum += double(x);
    EXPECT_NEAR(sum, 1, 1e-12);
  }
  const Finished none = show({"the cat", "--experts"});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("has no experts"));
  const std::string folder = folder_.path("experts");
  EXPECT_EQ(show({"--model", mixtral, "--ids", "3,9,4", "--npy", folder, "--what", "experts"}).code, 0);
  EXPECT_EQ(io::read_npy(folder + "/decoder_0_router.npy").shape, (Shape{3, 4}));
  EXPECT_EQ(io::read_npy(folder + "/decoder_1_experts.npy").shape, (Shape{3, 2}));
}

TEST_F(Show, Arrays) {
  const std::string folder = folder_.path("arrays");
  const Finished done = show({"the cat sat", "--npy", folder, "--what", "weights,q,residual"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(io::read_npy(folder + "/logits.npy").shape, (Shape{5, 29}));
  EXPECT_EQ(io::read_npy(folder + "/decoder_1.npy").shape, (Shape{2, 5, 5}));
  EXPECT_EQ(io::read_npy(folder + "/decoder_0_q.npy").shape, (Shape{2, 5, 8}));
  EXPECT_EQ(io::read_npy(folder + "/decoder_2_residual.npy").shape, (Shape{5, 16}));
  EXPECT_EQ(show({"the cat sat", "--npy", folder}).code, 4);  // never over what is there
  EXPECT_EQ(show({"the cat sat", "--npy", folder, "--force"}).code, 0);
  const std::string both = folder_.path("both");
  EXPECT_EQ(show({"the cat", "--model", "en-fr", "--target", "it was", "--npy", both}).code, 0);
  EXPECT_EQ(io::read_npy(both + "/cross_0.npy").shape, (Shape{2, 4, 4}));
  EXPECT_EQ(io::read_npy(both + "/encoder_1.npy").shape, (Shape{2, 4, 4}));
}

// The first map's numbers of a line; nan where nothing is shown.
std::vector<double> numbers_of(const std::string& json) {
  simdjson::dom::parser parser;
  const simdjson::dom::element root = parser.parse(json);
  std::vector<double> out;
  for (const simdjson::dom::element row : root.at_pointer("/maps/0/weights").get_array())
    for (const simdjson::dom::element x : row.get_array()) out.push_back(x.is_null() ? NAN : double(x));
  return out;
}

// The decoder reads the ids as they are: those of a translation are its start token and all but the last.
TEST_F(Show, TargetIdsAreTheDecodersInput) {
  simdjson::dom::parser parser;
  const Finished written =
      show({"the cat", "--model", "en-fr", "--target", "it was tired", "--part", "cross", "--json", "-"});
  std::string ids = "0";  // the small translator's decoder starts with token 0
  std::vector<std::int64_t> target;
  const simdjson::dom::element tree = parser.parse(written.out);
  for (const simdjson::dom::element token : tree["target_tokens"].get_array()) target.push_back(token["id"]);
  ASSERT_GT(target.size(), 3U);
  for (std::size_t i = 0; i + 1 < target.size(); ++i) ids += fmt::format(",{}", target[i]);
  const std::string a = folder_.path("a"), b = folder_.path("b");
  ASSERT_EQ(show({"the cat", "--model", "en-fr", "--target", "it was tired", "--npy", a}).code, 0);
  ASSERT_EQ(show({"the cat", "--model", "en-fr", "--target-ids", ids, "--npy", b}).code, 0);
  for (const char* name : {"/logits.npy", "/decoder_1.npy", "/cross_1.npy"})
    EXPECT_EQ(io::read_text(a + name), io::read_text(b + name)) << name;
  const Finished one =
      show({"the cat", "--model", "en-fr", "--target-ids", "0", "--part", "cross", "--json", "-"});
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(numbers_of(one.out).size(), 4U);  // the start token alone, on four tokens
}

// Words between dashes and brackets.
TEST_F(Show, FindsWordsBetweenPunctuationOfEveryKind) {
  for (const char* text : {"the cat—tired", "the 《tired》", "the “tired”…"})
    EXPECT_EQ(show({text, "--query", "tired"}).code, 0) << text;
  refused({"the cat—tired", "--query", "ire"}, 2, "is not in the text");
}

TEST_F(Show, ScoresAndWeightedValues) {
  const std::string folder = folder_.path("of");
  ASSERT_EQ(show({"the cat sat", "--npy", folder, "--what", "weights,scores,v"}).code, 0);
  const Tensor scores = io::read_npy(folder + "/decoder_1_scores.npy").tensor,
               weights = io::read_npy(folder + "/decoder_1.npy").tensor,
               v = io::read_npy(folder + "/decoder_1_v.npy").tensor;
  const auto numbers = [&](const char* of) {
    const Finished done = show({"the cat sat", "--head", "1.1", "--of", of, "--json", "-"});
    EXPECT_THAT(done.out, HasSubstr("\"origin\": \"derived\""));
    return numbers_of(done.out);
  };
  const std::vector<double> from_scores = numbers("scores"), from_values = numbers("values");
  for (Index i = 0; i < 5; ++i) {
    for (Index j = 0; j < 5; ++j) {
      const auto at = static_cast<std::size_t>(5 * i + j);
      if (j > i) {
        EXPECT_TRUE(std::isnan(from_scores[at]) && std::isnan(from_values[at]));
        continue;
      }
      EXPECT_EQ(static_cast<float>(from_scores[at]), static_cast<float>(scores.at(1, i, j)));
      double length = 0;
      for (Index d = 0; d < 8; ++d) length += v.at(1, j, d) * v.at(1, j, d);
      EXPECT_NEAR(from_values[at], weights.at(1, i, j) * std::sqrt(length), 1e-6);
    }
  }
  refused({"the cat", "--of", "scores", "--query", "cat"}, 2, "show single heads");
  refused({"the cat", "--of", "scores", "--words"}, 2, "scores cannot be merged into words");
  refused({"the cat", "--of", "keys"}, 2, "one of weights|scores|values");
}

TEST_F(Show, MutedTokensAndRowsMadeWhole) {
  const std::vector<double> all = numbers_of(show({"the cat sat", "--head", "0.1", "--json", "-"}).out);
  const std::vector<double> some =
      numbers_of(show({"the cat sat", "--head", "0.1", "--mute-special", "--json", "-"}).out);
  const Finished done =
      show({"the cat sat", "--head", "0.1", "--mute-special", "--renormalize", "--json", "-"});
  const std::vector<double> whole = numbers_of(done.out);
  EXPECT_THAT(done.out, HasSubstr("renormalized"));
  for (std::size_t i = 1; i < 4; ++i) {
    const std::size_t row = 5 * i;
    EXPECT_TRUE(std::isnan(some[row]) && std::isnan(whole[row]));  // [CLS]
    double sum = 0, rest = 0;
    for (std::size_t j = 1; j <= i; ++j) rest += all[row + j];
    for (std::size_t j = 1; j <= i; ++j) {
      EXPECT_EQ(some[row + j], all[row + j]);
      EXPECT_NEAR(whole[row + j], all[row + j] / rest, 1e-6);
      sum += whole[row + j];
    }
    EXPECT_NEAR(sum, 1, 1e-6);
  }
  EXPECT_TRUE(std::isnan(some[24]));  // [SEP]
  refused({"the cat", "--renormalize"}, 2, "--renormalize needs --mute-first");
}

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

TEST_F(Show, IdsInPlaceOfText) {
  EXPECT_EQ(show({"--ids", "2,5,23,24,3", "--head", "0.0"}).out, show({"the cat sat", "--head", "0.0"}).out);
  refused({"the", "--ids", "5"}, 2, "TEXT and --ids exclude each other");
  refused({"--ids", "5,x"}, 2, "--ids: \"5,x\" is not integers separated by commas");
  refused({"--ids", "5,29"}, 3, "token id 29 is not between 0 and 28");
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

TEST_F(Show, WhatANewcomerDoesWrong) {
  refused({"the cat sat", "--query", "dog"}, 2,
          "\"dog\": is not in the text\n  The words are: [CLS] the cat sat [SEP]");
  refused({"the cat", "--head", "2.0"}, 2,
          "--head 2.0: the decoder attention of \"en\" has layers 0 to 1 and heads 0 to 1 in each");
  refused({"the cat", "--layer", "7"}, 2, "--layer 7: the decoder attention");
  refused({"the cat", "--head", "2"}, 2, "--head: \"2\" is not LAYER.HEAD");
  refused({"the cat", "--head", "-1.0"}, 2, "LAYER.HEAD");
  refused({"the cat", "--part", "cross"}, 2,
          "--part cross: \"en\" is a decoder alone; its only part is decoder");
  refused({"the cat", "--model", "gpt5"}, 4, "model \"gpt5\" was not found");
  refused({"the cat", "--model", "gpt5"}, 4, "Headlight does not download");
  refused({"the cat", "--target", "x"}, 2, "\"en\" is not an encoder-decoder");
  refused({"the cat", "--key", "cat"}, 2, "needs --query WORD");
  refused({"the cat", "--by-head"}, 2, "--by-head needs --query WORD");
  refused({"the cat", "--head", "0.0", "--all"}, 2, "exclude each other; give one of them");
  refused({"the cat", "--head", "0.0", "--rollout"}, 2, "leave out --head");
  refused({"the cat", "--by-head", "--query", "cat", "--svg", folder_.path("x.svg")}, 2, "has no figure");
  refused({"the cat", "--width", "wide", "--svg", folder_.path("x.svg")}, 2,
          "--width: \"wide\" is not a length such as 85mm");
  refused({"the cat", "--width", "1mm", "--svg", folder_.path("x.svg")}, 2,
          "width in mm 1 is not between 20 and 2000");
  refused({"the cat", "--what", "everything"}, 2, "a list from q,k,v,scores,weights,z,residual");
  std::string text;
  for (int i = 0; i < 60; ++i) text += "cat ";
  refused({text}, 3, "the text has 62 tokens; the model \"en\" reads at most 40");
  EXPECT_EQ(folder_.entries(), 1);  // the input alone
}

// 4,500 tokens: all weights would be 4 maps of 81 MB.
TEST_F(Show, LongTextsInLittleMemory) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's memory is its own";
  const std::string folder = folder_.path("long");
  std::filesystem::create_directory(folder);
  write_small_model(folder, SmallKind::decoder, {.context = 5000});
  std::string text;
  for (int i = 0; i < 4498; ++i) text += i % 3 == 0 ? "cat " : "sat ";
  Launch launch{
      .arguments = {"show", text, "--model", folder, "--all", "--color", "ascii", "--threads", "1"}};
  launch.in_child = [] {
    const rlimit limit{rlim_t{288} << 20, rlim_t{288} << 20};
    (void)::setrlimit(RLIMIT_AS, &limit);
  };
  const Finished done = run_program(launch);
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("Pooled to fit"));
  const Finished one = run_program({"show", text, "--model", folder, "--head", "1.1", "--color", "ascii"});
  EXPECT_THAT(one.out, HasSubstr("each cell is the largest of"));
  const Finished row =
      run_program({"show", text, "--model", folder, "--head", "1.1", "--query", "@4000", "--top", "3"});
  EXPECT_THAT(row.out, HasSubstr(" others"));
}

// A part of a long text has every weight of it, and is the same part of the whole.
TEST_F(Show, ExactTilesOfLongTexts) {
  const std::string folder = folder_.path("tiles");
  std::filesystem::create_directory(folder);
  write_small_model(folder, SmallKind::decoder, {.context = 1300});
  std::string text;
  for (int i = 0; i < 1200; ++i) text += i % 3 == 0 ? "cat " : "sat ";
  const Finished tile =
      show({text, "--model", folder, "--head", "1.1", "--from", "1100:1103", "--to", "0:4"});
  EXPECT_EQ(tile.code, 0) << tile.err;
  const Finished row = show({text, "--model", folder, "--head", "1.1", "--query", "@1101", "--json", "-"});
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  ASSERT_EQ(parser.parse(row.out).get(root), simdjson::SUCCESS);
  std::istringstream lines(tile.out);
  std::string line, label;
  for (int i = 0; i < 3; ++i) std::getline(lines, line);  // labels, token 1100, token 1101
  std::istringstream numbers(line);
  numbers >> label;
  for (std::size_t j = 0; j < 4; ++j) {
    double shown = -1;
    numbers >> shown;
    EXPECT_NEAR(shown, double(root["maps"].at(0)["weights"].at(0).at(j)), 5.1e-5);
  }
  EXPECT_THAT(show({text, "--model", folder, "--head", "1.1", "--from", "1100:1110", "--color", "ascii"}).out,
              HasSubstr("layer 1, head 1, from 1100:1110"));
  refused({"the cat", "--from", "3:9"}, 2, "--from 3:9: there are tokens 0 to 3");
  refused({"the cat", "--to", "3:1"}, 2, "--to: \"3:1\" is not FIRST:END");
  refused({"the cat", "--to", "0:2", "--words"}, 2, "--from and --to show exact weights");
}

TEST_F(Show, FoldersThatAreNoModels) {
  const std::string folder = folder_.path("bin");
  std::filesystem::create_directory(folder);
  refused({"x", "--model", folder}, 3, "has no config.json, so it is not a model folder");
  std::filesystem::copy(models_->root() / "en/config.json", folder + "/config.json");
  std::ofstream(folder + "/pytorch_model.bin") << "x";
  refused({"x", "--model", folder}, 3, "has only pytorch_model.bin");
  refused({"x", "--model", folder}, 3, "save_pretrained");
  refused({"x", "--model", folder + "/config.json"}, 3, "is a file; give a model folder");
  std::filesystem::copy(models_->root() / "en/model.safetensors", folder + "/model.safetensors");
  refused({"x", "--model", folder}, 2, "has no tokenizer, so it cannot read text; give token ids with --ids");
  EXPECT_EQ(show({"--model", folder, "--ids", "1,2,3", "--head", "0.0"}).code, 0);
}

}  // namespace
}  // namespace headlight::testing
