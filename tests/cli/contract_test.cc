// What every command promises about its arguments, streams, limits and files (rows L1 to L10 of the
// command line's contract): one exit code a cause, one message, nothing left behind.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/app.h"
#include "cli/commands.h"
#include "support/npy_files.h"
#include "support/subprocess.h"
#include "support/temp_folder.h"

namespace headlight::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

class Contract : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"q.npy", "k.npy", "v.npy"}) save_npy(at(name), noise({4, 8}, 1));
  }
  [[nodiscard]] std::string at(const std::string& name) const { return folder_.path(name); }
  [[nodiscard]] std::vector<std::string> compute(const std::string& out,
                                                 std::vector<std::string> more = {}) const {
    std::vector<std::string> all = {"compute", "--q",       at("q.npy"), "--k", at("k.npy"),
                                    "--v",     at("v.npy"), "-o",        out};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  // Refused with the code, one clean line of at most 300 bytes, and no trace in the folder.
  void expect_refused(const Launch& launch, int code) const {
    const int before = folder_.entries();
    const Finished done = run_program(launch);
    std::string shown;
    for (const std::string& a : launch.arguments) shown += a.substr(0, 60) + " ";
    EXPECT_EQ(done.code, code) << shown << "\n" << done.err;
    EXPECT_THAT(done.first_error_line(), StartsWith("error: ")) << shown;
    EXPECT_LT(done.first_error_line().size(), 300U) << shown;
    for (const char c : done.err) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << shown;
    EXPECT_EQ(done.out, "");
    EXPECT_EQ(folder_.entries(), before) << shown;
  }

  TempFolder folder_;
};

TEST_F(Contract, AnUnknownWordIsComparedWithTheKnownOnes) {
  using List = std::vector<std::string>;
  const auto said = [](const List& arguments) {
    return run_program(Launch{.arguments = arguments}).first_error_line();
  };
  EXPECT_THAT(said({"bench", "--thread", "2"}), HasSubstr("did you mean --threads?"));
  EXPECT_THAT(said({"translate", "--beam=3", "x"}), HasSubstr("--beam=3; did you mean --beams?"));
  EXPECT_THAT(said({"trainn"}), HasSubstr("\"trainn\" is not a command; did you mean train?"));
  EXPECT_THAT(run_program({"The cat sat on the mat."}).err, HasSubstr("headlight look SENTENCE"));
  EXPECT_THAT(said({"help", "shwo"}), HasSubstr("\"shwo\" is not a command; did you mean show?"));
  EXPECT_THAT(said({"compare", "a", "b", "--with-m", "en"}), HasSubstr("did you mean --with-model?"));
  EXPECT_THAT(said({"tokenizer", "trian"}), HasSubstr("trian is unknown; did you mean train?"));
  EXPECT_THAT(said({"tokenizer", "train", "--lowercas"}), HasSubstr("did you mean --lowercase?"));
  for (const List& arguments :
       {List{"bench", "--bogus"}, List{"bogus"}, List{"bench", "-"}, List{"bench", "--=x"}})
    EXPECT_THAT(said(arguments), ::testing::Not(HasSubstr("did you mean"))) << arguments.back();
}

// Two letters of every option of every command changed places.
TEST_F(Contract, AMistypedOptionOfANestedCommandGetsASuggestion) {
  const auto check = [](const CLI::App& command, const std::vector<std::string>& path) {
    for (const CLI::Option* option : command.get_options()) {
      for (const std::string& name : option->get_lnames()) {
        if (name.size() < 4 || name[1] == name[2]) continue;
        if (name == "width") continue;  // "wdith" is nearer to ablate's --with
        std::string wrong = "--" + name;
        std::swap(wrong[3], wrong[4]);
        std::vector<const char*> arguments = {"headlight"};
        for (const std::string& word : path) arguments.push_back(word.c_str());
        arguments.push_back(wrong.c_str());
        const cli::CommandResult result =
            cli::run(*cli::make_program(), static_cast<int>(arguments.size()), arguments.data());
        EXPECT_EQ(result.code, 2) << path.back() << " " << wrong;
        EXPECT_THAT(result.err, HasSubstr("did you mean --" + name + "?")) << path.back() << " " << wrong;
      }
    }
  };
  const auto program = cli::make_program();
  int nested = 0;
  for (const CLI::App* command : program->get_subcommands({})) {
    check(*command, {command->get_name()});
    for (const CLI::App* inner : command->get_subcommands({})) {
      check(*inner, {command->get_name(), inner->get_name()});
      ++nested;
    }
  }
  EXPECT_GT(nested, 2);
}

TEST_F(Contract, AForgottenQuoteIsNamed) {
  EXPECT_THAT(run_program({"show", "The", "cat", "sat", "--all"}).err,
              HasSubstr("error: unexpected arguments: cat sat\n"
                        "  Put a text of several words in quotes: \"The cat sat\"\n"));
  EXPECT_THAT(run_program({"show", "The", "cat", "--haed"}).err, Not(HasSubstr("in quotes")));
  EXPECT_THAT(run_program({"info", "a", "b"}).err, Not(HasSubstr("in quotes")));
}

TEST_F(Contract, UnexpectedWordsAreListedInOrder) {
  EXPECT_THAT(run_program({"show", "one", "two", "--haed", "1.1"}).first_error_line(),
              HasSubstr("unexpected arguments: two --haed 1.1; did you mean --head?"));
  EXPECT_THAT(run_program({"tokenizer", "encode", "--tokenizer", "x", "a", "--jsno", "b"}).first_error_line(),
              HasSubstr("; did you mean --json?"));
}

// The file system's refusal is code 4, whoever names the file: an argument, an option or a recipe.
TEST_F(Contract, AMissingFileIsCode4InEveryCommand) {
  const std::string none = at("none"), out = at("out");
  std::ofstream(at("recipe.toml")) << "[data]\ntask = \"language\"\ntrain = [\"" << none << "\"]\n"
                                   << "[model]\nkind = \"decoder\"\nwidth = 16\nlayers = 1\nheads = 2\n";
  using List = std::vector<std::string>;
  for (const List& arguments : {List{"train", none},
                                List{"train", at("recipe.toml"), "--out", out},
                                List{"evaluate", none},
                                List{"translate", "--evaluate", none},
                                List{"heads", "--pairs", none},
                                List{"heads", "--corpus", none},
                                List{"heads", "--treebank", none},
                                List{"heads", "--coref", none},
                                List{"tokenizer", "train", none, "--out", out},
                                List{"tokenizer", "encode", "--tokenizer", none, "x"},
                                List{"tokenizer", "decode", "--tokenizer", none, "1"},
                                List{"tokenize", "--model", none},
                                List{"plot", none, "-o", at("a.png")},
                                List{"info", none},
                                List{"convert", none, "--out", out},
                                List{"compute", "--q", none, "--k", none, "--v", none, "-o", out},
                                List{"explain", "--input", none},
                                List{"show", "x", "--model", none},
                                List{"look", "x", "--model", none},
                                List{"explain", "x", "--model", none, "--query", "x"},
                                List{"generate", "x", "--model", none},
                                List{"translate", "x", "--model", none},
                                List{"compare", "x", "--with-model", none, "--model", none},
                                List{"ablate", "x", "--head", "0.0", "--model", none},
                                List{"serve", "--model", none, "--no-open"},
                                List{"lab", "context", "--model", none}}) {
    const Finished done = run_program(arguments);
    std::string line;
    for (const std::string& word : arguments) line += word + " ";
    EXPECT_EQ(done.code, 4) << line << done.err;
  }
}

TEST_F(Contract, UsageErrorsShowTheUsage) {  // L1
  using List = std::vector<std::string>;
  for (const List& arguments : {List{},
                                List{"nothing"},
                                List{"--nothing"},
                                List{"compute"},
                                List{"compute", "--q"},
                                List{"explain", "extra"},
                                List{"explain", "--causal", "--causal"},
                                List{"explain", "--query", "one", "--query", "step"},
                                List{"explain", "--causal=1"},
                                List{"explain", "--heads="},
                                List{"explain", "--simple", "--trainable"},
                                List{"explain", "--seed", "1"},
                                List{"explain", "--color", "blue"},
                                List{"explain", "--heads", "--causal"},
                                compute(at("o.npy"), {"--topk", "3"}),
                                compute(at("o.npy"), {"--topk-index", at("i.npy")}),
                                compute(at("o.npy"), {"--impl", "magic"}),
                                compute(at("o.npy"), {"--mask", "--causal"}),
                                compute(at("o.npy"), {"--softcap", "-1"}),
                                compute(at("o.npy"), {"--lse", at("o.npy")})}) {
    expect_refused({.arguments = arguments}, 2);
  }
  EXPECT_THAT(run_program(std::vector<std::string>{}).err, HasSubstr("\nusage: headlight COMMAND"));
  EXPECT_THAT(run_program({"compute"}).err, HasSubstr("\nusage: headlight compute --q Q.npy"));
  EXPECT_EQ(run_program(compute(at("o.npy"), {"--target", "z80"})).code, 2);
}

TEST_F(Contract, HelpAndVersion) {
  for (const std::vector<std::string>& a : {std::vector<std::string>{"--help"},
                                            {"compute", "--help"},
                                            {"explain", "-h"},
                                            {"doctor", "--help"},
                                            {"bench", "--help"}}) {
    const Finished done = run_program(a);
    EXPECT_EQ(done.code, 0);
    EXPECT_EQ(done.err, "");
    EXPECT_THAT(done.out, HasSubstr("usage: headlight"));
    std::istringstream lines(done.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 90U) << line;
  }
  EXPECT_THAT(run_program({"compute", "--help"}).out, HasSubstr("EXAMPLES\n  headlight compute"));
  EXPECT_THAT(run_program({"--version"}).out, MatchesRegex("headlight [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST_F(Contract, NumbersAreReadWhole) {  // L2
  for (const char* text :
       {"", "abc", "1e3", "-1", "0x10", "9999999999999999999", "1 ", " 1", "+1", "1.0", "NaN", "1\n"}) {
    for (const char* option : {"--threads", "--prefix"})
      expect_refused({.arguments = compute(at("o.npy"), {option, text})}, 2);
    expect_refused({.arguments = {"explain", "--heads", text}}, 2);
    expect_refused({.arguments = {"explain", "--trainable", "--seed", text}}, 2);
    expect_refused({.arguments = compute(at("o.npy"), {"--topk", text, "--topk-index", at("i.npy")})}, 2);
    expect_refused({.arguments = compute(at("o.npy"), {"--window", std::string(text) + ",0"})}, 2);
    expect_refused({.arguments = compute(at("o.npy"), {"--window", std::string("0,") + text})}, 2);
  }
  for (const char* text : {"", "abc", "NaN", "nan", "inf", "-inf", "1.5x", "1e999", "0x1p3", "1,5", "1 "}) {
    for (const char* option : {"--scale", "--softcap"})
      expect_refused({.arguments = compute(at("o.npy"), {option, text})}, 2);
  }
  for (const char* text :
       {"", "abc", "1e3", "0x10", "9999999999999999999", "-9223372036854775808", "1 ", "--1"}) {
    expect_refused({.arguments = compute(at("o.npy"), {"--offset", text})}, 2);
  }
  for (const char* text : {"3", "1,2,3", ",", "1;2", "Inf,0", "-1,0"})
    expect_refused({.arguments = compute(at("o.npy"), {"--window", text})}, 2);
  for (const char* text : {"0", "33"})
    expect_refused({.arguments = compute(at("o.npy"), {"--topk", text, "--topk-index", at("i.npy")})}, 2);
  expect_refused({.arguments = compute(at("o.npy"), {"--threads", "1000000"})}, 2);
  EXPECT_EQ(run_program(compute(at("good.npy"), {"--scale", "-1e-1", "--offset", "-3", "--window", "inf,2",
                                                 "--threads", "3"}))
                .code,
            0);
}

TEST_F(Contract, Paths) {  // L3
  expect_refused({.arguments = compute("")}, 2);
  expect_refused({.arguments = compute(folder_.root().string())}, 4);
  expect_refused({.arguments = compute("/dev/full")}, 4);
  expect_refused({.arguments = compute(std::string(5000, 'x'))}, 4);
  expect_refused({.arguments = compute(at(std::string(300, 'x')))}, 4);
  expect_refused({.arguments = compute(at("no/such/folder/o.npy"))}, 4);
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  for (const std::string& bad :
       {std::string("no\nsuch\x1b[31m\xff.npy"), std::string(5000, 'x'), folder_.root().string(),
        at("missing.npy"), at("pipe"), std::string("/dev/zero")}) {
    expect_refused(
        {.arguments = {"compute", "--q", bad, "--k", at("k.npy"), "--v", at("v.npy"), "-o", at("o.npy")},
         .seconds = 10},
        4);
    expect_refused({.arguments = {"explain", "--input", bad}, .seconds = 10}, 4);
  }
  // Strange names are fine when they exist.
  const std::string strange = at("new\nline \xff.npy");
  EXPECT_EQ(run_program(compute(strange)).code, 0);
  EXPECT_TRUE(std::filesystem::exists(strange));
}

TEST_F(Contract, StandardOutputGone) {  // L4
  Launch launch{.arguments = {"explain"}};
  launch.in_child = [] { ::close(1); };
  const Finished closed = run_program(launch);
  EXPECT_EQ(closed.code, 0);
  EXPECT_EQ(closed.err, "");
  launch.in_child = [] {
    int ends[2];
    if (::pipe(ends) == 0 && ::dup2(ends[1], 1) == 1) ::close(ends[0]);
  };
  const Finished broken = run_program(launch);
  EXPECT_EQ(broken.code, 141);
  EXPECT_EQ(broken.err, "");
  launch.in_child = [] { ::dup2(::open("/dev/full", O_WRONLY), 1); };
  const Finished full = run_program(launch);
  EXPECT_EQ(full.code, 4);
  EXPECT_EQ(full.err, "error: standard output: No space left on device\n");
  // A result must not land in the place of a closed stream.
  launch.arguments = compute(at("o.npy"));
  launch.in_child = [] { ::close(0), ::close(1), ::close(2); };
  EXPECT_EQ(run_program(launch).code, 0);
  EXPECT_EQ(load_npy(at("o.npy")).shape(), (Shape{4, 8}));
}

TEST_F(Contract, StandardInputGoneAndEmptyEnvironment) {  // L5, L8
  Launch launch{.arguments = {"explain"}, .environment = {}};
  launch.in_child = [] { ::close(0); };
  EXPECT_EQ(run_program(launch).code, 0);
  launch.environment = {"LC_ALL=xx_YY.NOPE", "LANG=", "OMP_NUM_THREADS=-999999999999",
                        "COLUMNS=-3",        "TERM=", "NO_COLOR=",
                        "COLORTERM=%s%n"};
  EXPECT_EQ(run_program(launch).code, 0);
  launch.arguments = compute(at("o.npy"));
  EXPECT_EQ(run_program(launch).code, 0);
}

TEST_F(Contract, SmallLimits) {  // L9
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer needs more memory and stack than these limits leave";
#endif
  struct Case {
    int resource;
    rlim_t limit;
  };
  for (const Case& c :
       {Case{RLIMIT_NOFILE, 16}, Case{RLIMIT_AS, rlim_t{512} << 20}, Case{RLIMIT_STACK, rlim_t{64} << 10}}) {
    Launch launch{.arguments = {"explain"}};
    launch.in_child = [c] {
      const rlimit limit{c.limit, c.limit};
      (void)::setrlimit(static_cast<__rlimit_resource>(c.resource), &limit);
    };
    const Finished explain = run_program(launch);
    EXPECT_TRUE(explain.code == 0 || explain.code == 5) << c.resource << ": " << explain.code << explain.err;
    launch.arguments =
        compute(at("o.npy"), {"--force", "--lse", at("lse.npy"), "--max", at("max.npy"), "--entropy",
                              at("e.npy"), "--weights", at("w.npy"), "--topk", "2", "--topk-index",
                              at("i.npy"), "--topk-weight", at("t.npy"), "--received", at("r.npy")});
    const Finished done = run_program(launch);
    EXPECT_TRUE(done.code == 0 || done.code == 5) << c.resource << ": " << done.code << done.err;
  }
}

TEST_F(Contract, DiskFull) {
  Launch launch{.arguments = compute(at("o.npy"), {"--lse", at("lse.npy")})};
  launch.in_child = [] {  // every file ends after 100 bytes
    const rlimit limit{100, 100};
    (void)::setrlimit(RLIMIT_FSIZE, &limit);
    (void)std::signal(SIGXFSZ, SIG_IGN);
  };
  expect_refused(launch, 4);
}

// The shell sends SIGINT while the result is computed: the reserved file goes, the code says why.
TEST_F(Contract, InterruptLeavesNothing) {
  for (const char* name : {"q.npy", "k.npy", "v.npy"}) save_npy(at(name), noise({1, 64, 2048, 64}, 1));
  Launch launch{.arguments = compute(at("o.npy"), {"--impl", "reference"})};  // minutes of work
  launch.in_child = [] {
    const pid_t program = ::getpid();
    if (::fork() != 0) return;
    ::usleep(1500000);
    ::kill(program, SIGINT);
    ::_exit(0);
  };
  const int before = folder_.entries();
  EXPECT_EQ(run_program(launch).code, 130);
  EXPECT_EQ(folder_.entries(), before);
}

TEST_F(Contract, ExistingFilesStay) {  // L10
  std::ofstream(at("o.npy")) << "mine";
  std::ofstream(at("lse.npy")) << "mine too";
  expect_refused({.arguments = compute(at("o.npy"))}, 4);
  expect_refused({.arguments = compute(at("new.npy"), {"--lse", at("lse.npy")})}, 4);
  expect_refused({.arguments = compute(at("q.npy"))}, 4);
  EXPECT_EQ(std::filesystem::file_size(at("o.npy")), 4U);
  // A refusal late in the work does not touch what --force would replace.
  std::ofstream(at("bad.npy")) << "no array";
  expect_refused({.arguments = compute(at("o.npy"), {"--force", "--mask", at("bad.npy")})}, 3);
  EXPECT_EQ(std::filesystem::file_size(at("o.npy")), 4U);
  EXPECT_EQ(run_program(compute(at("o.npy"), {"--force", "--lse", at("lse.npy")})).code, 0);
  EXPECT_EQ(load_npy(at("o.npy")).shape(), (Shape{4, 8}));
  EXPECT_EQ(load_npy(at("lse.npy")).shape(), (Shape{4}));
  // Replacing an input is legal: it was read before.
  EXPECT_EQ(run_program(compute(at("q.npy"), {"--force"})).code, 0);
  EXPECT_THAT(run_program(compute(at("o.npy"))).err, HasSubstr("o.npy: exists already; --force replaces it"));
}

TEST(ErrorText, FirstLineIsTheContract) {
  EXPECT_EQ(cli::error_text("k.npy: what (where)"), "error: k.npy: what (where)\n");
  EXPECT_EQ(cli::error_text("what\n  hint\nmore"), "error: what\n  hint\n  more\n");
  EXPECT_EQ(cli::error_text("a\x1b[2Jb\rc"), "error: a\\x1b[2Jb\\rc\n");
  EXPECT_EQ(cli::error_text(""), "error: \n");
  for (const std::size_t n : {200U, 292U, 293U, 400U, 100000U})
    EXPECT_LE(cli::error_text(std::string(n, 'x')).size(), 300U);
  EXPECT_EQ(cli::error_text(std::string(292, 'x')).size(), 300U);
}

}  // namespace
}  // namespace headlight::testing
