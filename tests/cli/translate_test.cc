// headlight translate, as users run it: beams of another implementation, order, JSON, evaluation, mistakes.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "io/json.h"
#include "support/safetensors_reader.h"
#include "support/shared_data.h"
#include "support/small_models.h"
#include "support/subprocess.h"

namespace headlight::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Token number i is the word "wi", and nothing is put around a text: every list of ids can be written down.
void write_number_words(const std::string& path, Index vocabulary) {
  std::ofstream out(path);
  out << R"({"version": "1.0", "added_tokens": [], "normalizer": null, "post_processor": null,
             "pre_tokenizer": {"type": "WhitespaceSplit"}, "decoder": null,
             "model": {"type": "WordLevel", "unk_token": "w0", "vocab": {)";
  for (Index i = 0; i < vocabulary; ++i) out << (i > 0 ? ", " : "") << "\"w" << i << "\": " << i;
  out << "}}}";
}

std::vector<Index> integers(const io::Json& list) {
  std::vector<Index> out;
  for (const io::Json& x : list.items()) out.push_back(x.integer());
  return out;
}

class Translate : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const auto& [name, kind] : {std::pair{"en-fr", SmallKind::translator},
                                     {"gru", SmallKind::recurrent},
                                     {"bert", SmallKind::encoder},
                                     {"writer", SmallKind::decoder}}) {
      std::filesystem::create_directory(folder_.root() / name);
      write_small_model(folder_.path(name), kind);
    }
  }
  [[nodiscard]] Finished translate(std::vector<std::string> arguments, const std::string& input = "") const {
    arguments.insert(arguments.begin(), "translate");
    Launch launch{.arguments = std::move(arguments)};
    launch.environment.push_back("HEADLIGHT_MODELS=" + folder_.root().string());
    std::ofstream(folder_.path("input")) << input;
    launch.in_child = [path = folder_.path("input")] {
      const int fd = ::open(path.c_str(), O_RDONLY);
      ::dup2(fd, STDIN_FILENO);
    };
    return run_program(launch);
  }
  void refused(std::vector<std::string> arguments, int code, const std::string& words) const {
    const Finished done = translate(std::move(arguments));
    EXPECT_EQ(done.code, code) << done.err;
    EXPECT_THAT(done.err, HasSubstr(words));
    EXPECT_EQ(done.out, "");
  }
  TempFolder folder_;
};

TEST_F(Translate, BeamsOfAnotherImplementation) {
  constexpr const char* kFamilies[] = {"marian", "bart", "t5"};
  for (const std::string& folder : golden_folders(kFamilies)) {
    const std::filesystem::path golden = folder;
    const std::string family = golden.filename().string();
    const std::string model = folder_.path(std::to_string(std::hash<std::string>()(folder)));
    std::filesystem::create_directory(model);
    for (const char* name : {"config.json", "model.safetensors"})
      std::filesystem::copy_file(golden / name, std::filesystem::path(model) / name);
    const io::Json config = io::Json::read(model + "/config.json");
    write_number_words(model + "/tokenizer.json", config.integer("vocab_size"));
    const Index eos = config.integer("eos_token_id");
    const auto tensors = read_safetensors(golden / "golden.safetensors");
    const Tensor &ids = tensors.at("input_ids"), &mask = tensors.at("attention_mask"),
                 &best = tensors.at("beam4.output_ids"), &scores = tensors.at("beam4.sequences_scores");
    std::vector<std::string> arguments = {"--model", model, "--max-tokens", "10", "--json"};
    for (Index b = 0; b < ids.dim(0); ++b) {
      std::string text;
      for (Index t = 0; t < ids.dim(1); ++t)
        if (mask.at(b, t) != 0)
          text += (text.empty() ? "w" : " w") + std::to_string(static_cast<int>(ids.at(b, t)));
      arguments.push_back(text);
    }
    std::rotate(arguments.begin(), arguments.begin() + 5, arguments.end());  // texts first, then --json
    const Finished done = translate(arguments);
    ASSERT_EQ(done.code, 0) << family << done.err;
    const io::Json json = io::Json::parse(done.out, "output");
    for (Index b = 0; b < ids.dim(0); ++b) {
      const io::Json& found = json.list("translations").items()[static_cast<std::size_t>(b)];
      std::vector<Index> wanted;
      for (Index t = 1; t < best.dim(1) && static_cast<Index>(best.at(b, t)) != eos; ++t)
        wanted.push_back(static_cast<Index>(best.at(b, t)));
      EXPECT_EQ(integers(found.list("ids")), wanted) << family << " " << b;
      EXPECT_NEAR(found.real("score"), scores.at(b), 1e-4) << family;
    }
  }
}

// What is printed after each token: at most as many texts as beams, the best first, then the translation, as without it.
TEST_F(Translate, StepsShowTheBeam) {
  const std::string text = "the cat sat on the mat";
  const Finished done = translate({text, "--steps", "--beams", "2", "--max-tokens", "5"});
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, StartsWith("after 1 token\n"));
  EXPECT_TRUE(done.out.ends_with("\n" + translate({text, "--beams", "2", "--max-tokens", "5"}).out))
      << done.out;
  std::istringstream lines(done.out);
  int steps = 0, texts = 0;
  double last = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("after ")) ++steps, texts = 0, last = 0;
    if (!line.starts_with("  ") || line.ends_with("(ended)")) continue;
    EXPECT_LE(++texts, 2);
    EXPECT_LE(std::stod(line), last) << done.out;
    last = std::stod(line);
  }
  EXPECT_GE(steps, 2);
  EXPECT_LE(steps, 5);
  refused({text, "cat", "--steps"}, 2, "--steps prints the beams of a single TEXT");
  refused({text, "--steps", "--json"}, 2, "--steps prints the beams of a single TEXT");
}

TEST_F(Translate, LinesStayInOrderWhateverTheirLengths) {
  const std::vector<std::string> texts = {"the animal didn't cross the street because it was too tired.",
                                          "cat",
                                          "",
                                          "harry potter lives here",
                                          "the cat sat on the mat",
                                          "it was"};
  std::string input, alone;
  for (const std::string& text : texts) {
    input += text + "\n";
    alone += text.empty() ? "\n" : translate({text}).out;
  }
  EXPECT_EQ(translate({}, input).out, alone);
  EXPECT_EQ(translate({}, input.substr(0, input.size() - 1)).out, alone);  // the last line without its end
  std::vector<std::string> all = texts;
  EXPECT_EQ(translate(all).out, alone);
  all.insert(all.end(), {"--threads", "1"});
  EXPECT_EQ(translate(all).out, alone);
}

TEST_F(Translate, RecurrentModelsToCompareWith) {
  const Finished two = translate({"--model", "gru", "the cat", "harry potter lives here", "--json"});
  ASSERT_EQ(two.code, 0) << two.err;
  const io::Json json = io::Json::parse(two.out, "output");
  EXPECT_EQ(json.list("translations").items().size(), 2U);
  const Finished one = translate({"--model", "gru", "harry potter lives here", "--json"});
  EXPECT_EQ(io::Json::parse(one.out, "output").list("translations").items()[0].text("text"),
            json.list("translations").items()[1].text("text"));
  std::ofstream(folder_.path("test.tsv")) << "the cat\tle chat\n";
  EXPECT_THAT(translate({"--model", "gru", "--evaluate", folder_.path("test.tsv")}).out, StartsWith("BLEU"));

  refused({"--model", "gru", "the cat", "--show"}, 2, "is recurrent and has no heads");
  const Finished show = run_program({"show", "--model", folder_.path("gru"), "the cat"});
  EXPECT_EQ(show.code, 3) << show.err;
  EXPECT_THAT(show.err, HasSubstr("is a recurrent model, which has no attention heads"));

  std::ofstream(folder_.path("gru/config.json"))
      << R"({"model_type": "headlight_recurrent", "cell": "gru", "is_encoder_decoder": true,
             "vocab_size": 4000000000, "hidden_size": 4000000, "num_hidden_layers": 2})";
  refused({"--model", "gru", "the cat"}, 3, "its files have");
}

TEST_F(Translate, BeamsAndLengths) {
  const auto score = [&](std::vector<std::string> more) {
    more.insert(more.begin(), "the cat sat on the mat");
    more.emplace_back("--json");
    const Finished done = translate(more);
    EXPECT_EQ(done.code, 0) << done.err;
    return io::Json::parse(done.out, "output").list("translations").items()[0].real("score");
  };
  EXPECT_GE(score({"--beams", "8", "--length-penalty", "0"}) + 1e-6,
            score({"--beams", "1", "--length-penalty", "0"}));
  const Finished one = translate({"the cat", "--max-tokens", "3", "--json"});
  EXPECT_LE(io::Json::parse(one.out, "output").list("translations").items()[0].list("ids").items().size(),
            3U);
}

TEST_F(Translate, ShowsTheSourceOfEachToken) {
  const Finished done = translate({"the cat sat", "--show", "--head", "1.0"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("cross layer 1, head 0  exact\n"));
  EXPECT_THAT(translate({"the cat sat", "--show"}).out,
              HasSubstr("cross layer 1, mean of 2 heads  derived\n"));
  refused({"x", "--head", "1.0"}, 2, "--show");
  refused({"the cat", "--show", "--head", "9.0"}, 2, "has layers 0 to 1 and heads 0 to 1 in each");
}

TEST_F(Translate, EvaluatesAgainstAllReferences) {
  // A model is perfect on its own translations, one reference among others.
  const std::vector<std::string> texts = {"the cat sat on the mat", "harry potter lives here", "it was"};
  std::string own = translate(texts).out, tsv;
  for (const std::string& text : texts) {
    const std::string line = own.substr(0, own.find('\n'));
    own.erase(0, line.size() + 1);
    tsv += text + "\tquelque chose d'autre\n" + text + "\t" + line + "\tlicence\n";
  }
  std::ofstream(folder_.path("test.tsv")) << tsv;
  const Finished done = translate({"--evaluate", folder_.path("test.tsv"), "--json", "-"});
  EXPECT_EQ(done.code, 0) << done.err;
  const io::Json json = io::Json::parse(done.out, "output");
  EXPECT_NEAR(json.real("bleu"), 100, 1e-3);
  EXPECT_NEAR(json.real("chrf"), 100, 1e-3);
  EXPECT_EQ(json.integer("sentences"), 3);
  EXPECT_EQ(json.integer("cut_sources"), 0);
  EXPECT_EQ(json.keys().size(), 4U);
  const Finished two = translate({"--evaluate", folder_.path("test.tsv"), "--limit", "2"});
  EXPECT_THAT(two.out, StartsWith("BLEU   100.00"));
  EXPECT_THAT(two.out, HasSubstr("\nchrF2  100.00\n2 sentences, 4 references\n"));
}

// A sentence beyond the context is refused as a text, but must not stop the evaluation of a whole file.
TEST_F(Translate, EvaluationCutsSourcesThatAreTooLong) {
  std::string longer = "the cat";
  for (int i = 0; i < 40; ++i) longer += " sat on the mat";
  refused({longer}, 3, "tokens; the model reads at most");
  std::ofstream(folder_.path("long.tsv")) << "the cat sat\tle chat\n" << longer << "\tle chat\n";
  const Finished done = translate({"--evaluate", folder_.path("long.tsv"), "--json"});
  ASSERT_EQ(done.code, 0) << done.err;
  const io::Json json = io::Json::parse(done.out, "output");
  EXPECT_EQ(json.integer("sentences"), 2);
  EXPECT_EQ(json.integer("cut_sources"), 1);
  EXPECT_THAT(done.err, HasSubstr("note: 1 of 2 sources are longer than the"));
}

TEST_F(Translate, KnownWordsOfTheFolder) {
  const std::string file = folder_.path("en-fr/known_words.txt");
  std::ofstream(file) << "zzz\n";  // every word that is not in the source costs
  const Finished known = translate({"the cat"}), any = translate({"the cat", "--any-words"});
  EXPECT_EQ(known.code, 0) << known.err;
  std::filesystem::remove(file);
  EXPECT_EQ(translate({"the cat"}).out, any.out);
  EXPECT_NE(known.out, any.out);
  std::ofstream(file) << "b\na\n";
  refused({"the cat"}, 3, "known_words.txt: not in the order of its bytes");
}

TEST_F(Translate, Mistakes) {
  refused({"hello", "--model", folder_.path("bert")}, 2, "does not translate: it has no decoder\n");
  refused({"hello", "--model", folder_.path("writer")}, 2, "headlight generate --model");
  refused({"hello", "--model", "fr-en"}, 4, "Headlight does not download");
  refused({"hello", "--beams", "0"}, 2, "--beams");
  refused({"hello", "--limit", "5"}, 2, "--limit needs --evaluate");
  refused({"hello", "--evaluate", "test.tsv"}, 2, "leave out TEXT");
  refused({"--evaluate", folder_.path("none.tsv")}, 4, "none.tsv");
  std::ofstream(folder_.path("no-tabs.tsv")) << "one\ttwo\nthree\n";
  refused({"--evaluate", folder_.path("no-tabs.tsv")}, 3, "no tab between two sentences (line 2)");
  std::string longest;
  for (int i = 0; i < 60; ++i) longest += "cat ";
  refused({longest}, 3, "text 1 (\"cat cat");
  refused({longest}, 3, "tokens; the model reads at most 40");
}

}  // namespace
}  // namespace headlight::testing
