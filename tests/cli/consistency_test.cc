// What is the same in all commands: help in two screens, --model, --json, --npy, --force, and the table of docs/guide.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "cli/commands.h"
#include "cli/help/formatter.h"
#include "draw/text.h"
#include "io/json.h"
#include "io/npy.h"
#include "support/places.h"
#include "support/small_command.h"

namespace headlight::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string file_text(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

const CLI::Option* find_option(const CLI::App& app, const std::string& name) {
  for (const CLI::Option* option : app.get_options())
    for (const std::string& own : option->get_lnames())
      if (own == name) return option;
  return nullptr;
}

TEST(Help, FitsTwoScreens) {
  const auto program = cli::make_program();
  std::vector<cli::NamedCommand> all = cli::commands_of(*program);
  all.push_back({"headlight", program.get()});
  for (const cli::NamedCommand& command : all) {
    const std::string text = cli::help_text(*command.app, cli::Detail::usual);
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 48) << command.name << "\n" << text;
    for (const cli::Detail detail : {cli::Detail::usual, cli::Detail::full}) {
      std::istringstream lines(cli::help_text(*command.app, detail));
      for (std::string line; std::getline(lines, line);)
        EXPECT_LE(draw::display_width(line), 80) << command.name << ": " << line;
    }
  }
}

TEST(Help, DescriptionsStartInOneColumn) {
  const auto program = cli::make_program();
  for (const cli::NamedCommand& command : cli::commands_of(*program)) {
    std::istringstream lines(cli::help_text(*command.app, cli::Detail::full));
    for (std::string line; std::getline(lines, line) && line != "EXAMPLES";) {
      if (line.size() < 3 || !line.starts_with("  ") || line[2] == ' ') continue;
      const std::size_t gap = line.find("  ", 2);
      if (gap == std::string::npos) continue;  // names that fill a line
      const std::size_t start = line.find_first_not_of(' ', gap);
      EXPECT_EQ(draw::display_width(line.substr(0, start)), static_cast<int>(cli::kHelpColumn))
          << command.name << ": " << line;
      EXPECT_THAT(line, Not(HasSubstr("REQUIRED"))) << command.name;
    }
  }
}

TEST(Help, UsageBreaksBetweenOptions) {
  EXPECT_THAT(run_program({"serve", "--bogus"}).err,
              HasSubstr("[--at VIEW]\n                       [--corpus FILE] [--lan]\n"));
}

TEST(Help, OfACommandIsThatOfItsOption) {
  EXPECT_EQ(run_program({"help", "show"}).out, run_program({"show", "--help"}).out);
  EXPECT_EQ(run_program({"help", "show", "--all"}).out, run_program({"show", "--help-all"}).out);
  EXPECT_EQ(run_program({"help", "tokenizer", "train"}).out,
            run_program({"tokenizer", "train", "--help"}).out);
  EXPECT_EQ(run_program({"help"}).out, run_program({"--help"}).out);
  EXPECT_THAT(run_program({"show", "--help"}).out, Not(HasSubstr("--font-size")));
  EXPECT_THAT(run_program({"show", "--help"}).out, HasSubstr("--help-all shows"));
  EXPECT_THAT(run_program({"show", "--help-all"}).out, HasSubstr("--font-size"));
  const Finished none = run_program({"help", "nothing"});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("\"nothing\" is not a command"));
}

TEST(Help, TheTableOfTheGuideIsCurrent) {
  const std::string page = file_text(source_folder() + "/docs/guide/cli.md");
  EXPECT_THAT(page, HasSubstr(run_program({"help", "--table"}).out))
      << "put what `headlight help --table` prints into docs/guide/cli.md";
}

TEST(Options, AreTheSameEverywhere) {
  const auto program = cli::make_program();
  for (const cli::NamedCommand& command : cli::commands_of(*program)) {
    const CLI::App& app = *command.app;
    if (const CLI::Option* model = find_option(app, "model")) {
      EXPECT_EQ(model->get_type_name(), "NAME|PATH") << command.name;
    }
    const CLI::Option *json = find_option(app, "json"), *npy = find_option(app, "npy"),
                      *force = find_option(app, "force");
    if (json != nullptr) {
      EXPECT_EQ(json->get_type_name(), "[FILE.json]") << command.name;
      EXPECT_NE(force, nullptr) << command.name;
    }
    if (npy != nullptr) {
      // `info` writes one tensor, to a file or into a folder.
      EXPECT_EQ(npy->get_type_name(), command.name == "info" ? "PATH" : "FOLDER") << command.name;
      EXPECT_NE(json, nullptr) << command.name;
    }
    if (find_option(app, "png") != nullptr) {
      EXPECT_NE(force, nullptr) << command.name;
      for (const char* name : {"svg", "pdf", "width", "font-size", "dpi", "title", "caption"})
        EXPECT_NE(find_option(app, name), nullptr) << command.name << " --" << name;
    }
    if (force != nullptr) {
      EXPECT_THAT(force->get_description(), HasSubstr("Replace")) << command.name;
      EXPECT_THAT(force->get_description(), Not(HasSubstr("JSON"))) << command.name;
    }
  }
}

TEST(Options, EveryCommandWithResultsWritesJson) {
  // These show, talk, serve, or write a file that has its own format.
  const std::set<std::string> without = {"look",      "serve",           "chat",
                                         "tokenizer", "tokenizer train", "tokenizer decode",
                                         "help",      "tokenize",        "bench-model"};
  const auto program = cli::make_program();
  for (const cli::NamedCommand& command : cli::commands_of(*program))
    EXPECT_EQ(find_option(*command.app, "json") == nullptr, without.contains(command.name)) << command.name;
}

class Consistency : public SmallCommand {
 protected:
  Consistency() : SmallCommand("show") {}
  Finished any(Arguments arguments) const {
    Launch launch{.arguments = std::move(arguments)};
    launch.environment.push_back("HEADLIGHT_MODELS=" + models_.root().string());
    return run_program(launch);
  }
  Finished piped(Arguments arguments, const std::string& file) const {
    Launch launch{.arguments = std::move(arguments)};
    launch.environment.push_back("HEADLIGHT_MODELS=" + models_.root().string());
    launch.in_child = [file] {
      if (std::freopen(file.c_str(), "r", stdin) == nullptr) ::_exit(99);
    };
    return run_program(launch);
  }
};

TEST_F(Consistency, EveryCommandTakesAModelByNameAndByPath) {
  const std::string path = models_.path("en");
  for (const Arguments& start : {Arguments{"info"},
                                 {"verify"},
                                 {"tokenizer", "encode", "the cat"},
                                 {"tokenizer", "decode", "5"},
                                 {"show", "the cat"},
                                 {"heads", "the cat"},
                                 {"generate", "the cat", "--max-tokens", "2"},
                                 {"ablate", "the cat", "--head", "0.0"}}) {
    for (const std::string& model : {std::string("en"), path}) {
      Arguments arguments = start;
      arguments.insert(arguments.end(), {"--model", model});
      const Finished done = any(arguments);
      EXPECT_EQ(done.code, 0) << start[0] << " --model " << model << "\n" << done.err;
    }
  }
  EXPECT_EQ(any({"info", "en-fr"}).code, 0);
  EXPECT_EQ(any({"verify", "en"}).code, 0);
  EXPECT_EQ(any({"tokenizer", "encode", "--tokenizer", "en", "the cat"}).code, 0);
  EXPECT_EQ(any({"info", "en", "--model", "en"}).code, 2);
  EXPECT_EQ(any({"convert", "--model", "en", "-o", folder_.path("converted")}).code, 0);
}

TEST_F(Consistency, JsonHasOneForm) {
  for (const Arguments& start : {Arguments{"show", "the cat"},
                                 {"explain", "the cat", "--query", "cat", "--key", "the"},
                                 {"generate", "the cat", "--max-tokens", "2"},
                                 {"info", "en"},
                                 {"tokenizer", "encode", "--model", "en", "the cat"}}) {
    const bool named = start[0] != "info" && start[0] != "tokenizer";
    const auto with = [&](Arguments more) {
      Arguments arguments = start;
      if (named) arguments.insert(arguments.end(), {"--model", "en"});
      arguments.insert(arguments.end(), more.begin(), more.end());
      return any(arguments);
    };
    const Finished alone = with({"--json"});
    EXPECT_EQ(alone.code, 0) << start[0] << alone.err;
    EXPECT_EQ(alone.out[0], '{') << start[0];
    EXPECT_EQ(with({"--json", "-"}).out, alone.out) << start[0];
    const std::string file = folder_.path(start[0] + ".json");
    EXPECT_EQ(with({"--json", file}).code, 0) << start[0];
    EXPECT_EQ(file_text(file), alone.out) << start[0];
    EXPECT_EQ(with({"--json", file}).code, 4) << start[0] << ": replaced without --force";
    EXPECT_EQ(with({"--json", file, "--force"}).code, 0) << start[0];
    EXPECT_EQ(with({"--json=results"}).code, 2) << start[0];
  }
  // A text after --json stays a text.
  EXPECT_EQ(any({"show", "--model", "en", "--json", "the cat"}).out,
            any({"show", "the cat", "--model", "en", "--json"}).out);
}

TEST_F(Consistency, ArraysComeWithTheirTokens) {
  for (const auto& [start, array] : {std::pair{Arguments{"show", "the cat"}, "decoder_0"},
                                     {{"compare", "the cat", "the mat"}, "difference"},
                                     {{"explain", "the cat", "--query", "cat", "--key", "the"}, "weights"},
                                     {{"heads", "the cat", "--link", "cat->the"}, "decoder_link"},
                                     {{"ablate", "the cat", "--head", "0.0"}, "kl"},
                                     {{"ablate", "the cat", "--sweep"}, "decoder_sweep"}}) {
    const std::string folder = folder_.path(start[0] + array);
    Arguments arguments = start;
    arguments.insert(arguments.end(), {"--model", "en", "--npy", folder});
    const Finished done = any(arguments);
    ASSERT_EQ(done.code, 0) << start[0] << done.err;
    EXPECT_GT(io::read_npy(folder + "/" + array + ".npy").shape.elements(), 0) << start[0];
    const io::Json tokens = io::Json::parse(file_text(folder + "/tokens.json"), "tokens");
    const io::Json& list = tokens.list(start[0] == "compare" ? "a" : "source");
    EXPECT_EQ(list.items()[2].text("text"), "cat") << start[0];
    EXPECT_EQ(any(arguments).code, 4) << start[0];
    arguments.emplace_back("--force");
    EXPECT_EQ(any(arguments).code, 0) << start[0];
  }
}

TEST_F(Consistency, FiguresAreDrawnAgainWithForce) {
  for (const Arguments& start :
       {Arguments{"show", "the cat"}, {"compare", "the cat", "the mat"}, {"ablate", "the cat", "--sweep"}}) {
    Arguments arguments = start;
    arguments.insert(arguments.end(),
                     {"--model", "en", "--svg", folder_.path(start[0] + ".svg"), "--width", "80mm"});
    EXPECT_EQ(any(arguments).code, 0) << start[0];
    EXPECT_EQ(any(arguments).code, 4) << start[0];
    arguments.emplace_back("--force");
    EXPECT_EQ(any(arguments).code, 0) << start[0];
  }
}

TEST_F(Consistency, ShowReadsACorpus) {
  const std::string corpus = write("corpus.txt", "the cat sat\n\nthe animal was too tired\n");
  const Finished text = any({"show", "--model", "en", "--corpus", corpus});
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("1: the cat sat\n"));
  EXPECT_THAT(text.out, HasSubstr("2: the animal was too tired\n"));
  const io::Json both =
      io::Json::parse(any({"show", "--model", "en", "--corpus", corpus, "--json"}).out, "json");
  ASSERT_EQ(both.list("texts").items().size(), 2U);
  const io::Json one = io::Json::parse(any({"show", "--model", "en", "the cat sat", "--json"}).out, "json");
  EXPECT_EQ(both.list("texts").items()[0].list("maps").items()[0].text("title"),
            one.list("maps").items()[0].text("title"));
  EXPECT_EQ(piped({"show", "--model", "en", "--corpus", "-", "--limit", "1"}, corpus).out,
            any({"show", "--model", "en", "--corpus", corpus, "--limit", "1"}).out);
  EXPECT_EQ(any({"show", "--model", "en", "--corpus", corpus, "--svg", folder_.path("map.svg")}).code, 0);
  EXPECT_TRUE(std::filesystem::exists(folder_.path("map-2.svg")));
  EXPECT_EQ(any({"show", "--model", "en", "--corpus", corpus, "--npy", folder_.path("arrays")}).code, 0);
  EXPECT_TRUE(std::filesystem::exists(folder_.path("arrays/2/tokens.json")));
  EXPECT_EQ(any({"show", "the cat", "--corpus", corpus}).code, 2);
  const std::string documents = write("documents.txt", "the cat\nsat\n<|endoftext|>\nit was\n");
  EXPECT_THAT(any({"show", "--model", "en", "--corpus", documents, "--limit", "9"}).out,
              HasSubstr("2: it was\n"));
}

TEST_F(Consistency, EvaluateReadsStandardInputAndTellsThePerplexity) {
  const std::string text = write("text.txt", "the animal\n<|endoftext|>\nit was too tired\n");
  const Finished from_file = any({"evaluate", text, "--model", "en", "--json"}),
                 from_pipe = piped({"evaluate", "-", "--model", "en", "--json"}, text);
  ASSERT_EQ(from_pipe.code, 0) << from_pipe.err;
  EXPECT_EQ(piped({"evaluate", "--model", "en"}, text).out, any({"evaluate", text, "--model", "en"}).out);
  const io::Json a = io::Json::parse(from_file.out, "file"), b = io::Json::parse(from_pipe.out, "pipe");
  const io::Json &of_file = a.list("results").items()[0], &of_pipe = b.list("results").items()[0];
  EXPECT_EQ(of_file.real("nats_per_byte"), of_pipe.real("nats_per_byte"));
  EXPECT_NEAR(of_file.real("perplexity"), std::exp(of_file.real("nats_per_token")), 1e-3);
}

TEST_F(Consistency, AHuggingFaceCacheFolderIsItsSnapshot) {
  const std::filesystem::path cache = models_.root() / "models--small--writer";
  for (const char* revision : {"0123abcd", "ffff0000"}) {
    std::filesystem::create_directories(cache / "snapshots" / revision);
    write_small_model((cache / "snapshots" / revision).string(), SmallKind::decoder);
  }
  const Finished unknown = any({"info", cache.string()});
  EXPECT_EQ(unknown.code, 3);
  EXPECT_THAT(unknown.err, HasSubstr("cache folder with 2 snapshots"));
  std::filesystem::create_directories(cache / "refs");
  std::ofstream(cache / "refs" / "main") << "ffff0000";
  EXPECT_EQ(any({"info", cache.string()}).code, 0);
  EXPECT_EQ(any({"show", "the cat", "--model", cache.string()}).code, 0);
  EXPECT_EQ(any({"show", "the cat", "--model", "models--small--writer"}).code, 0);
  EXPECT_THAT(any({"show", "the cat", "--model", cache.string(), "--json"}).out,
              HasSubstr("\"model\": \"writer\""));
  std::ofstream(cache / "refs" / "main") << "../../../..";
  EXPECT_EQ(any({"info", cache.string()}).code, 3);
}

}  // namespace
}  // namespace headlight::testing
