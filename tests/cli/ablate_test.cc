// headlight ablate, as users run it.
#include <cmath>
#include <filesystem>
#include <fstream>

#include "support/small_command.h"

namespace headlight::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Ablate : public SmallCommand {
 protected:
  Ablate() : SmallCommand("ablate") {}
};

TEST_F(Ablate, AHeadOfEveryKindOfModel) {
  for (const Arguments& model : {Arguments{"--model", "en"}, {"--model", "bert"}, {}, {"--part", "cross"}}) {
    Arguments arguments = {"the cat sat on the mat", "--head", "1.0"};
    arguments.insert(arguments.end(), model.begin(), model.end());
    const Finished done = run(arguments);
    EXPECT_EQ(done.code, 0) << done.err;
    EXPECT_THAT(done.out, HasSubstr("head 1.0 zeroed"));
    EXPECT_THAT(done.out, HasSubstr("KL divergence, nats: "));
    EXPECT_THAT(done.out, HasSubstr("A small effect does not prove"));
    const bool translates = model.empty() || model[0] == "--part";
    EXPECT_EQ(done.out.find("Translation before: ") != std::string::npos, translates);
  }
}

TEST_F(Ablate, ProbabilitiesBeforeAreTheModelsAndAddUp) {
  simdjson::dom::parser parser;
  const auto root = json(parser, {"the cat sat", "--model", "en", "--head", "0.1,1.1", "--top", "29"});
  double before = 0, after = 0;
  for (const simdjson::dom::element token : root["tokens"].get_array()) {
    before += double(token["before"]);
    after += double(token["after"]);
  }
  EXPECT_NEAR(before, 1, 1e-4);
  EXPECT_NEAR(after, 1, 1e-4);
  EXPECT_GT(double(root["mean_kl"]), 0);
  EXPECT_EQ(root["kl"].get_array().size(), 5U);  // with what the tokenizer puts around
  EXPECT_NE(double(root["loss"]["before"]), double(root["loss"]["after"]));
}

TEST_F(Ablate, WhatChangesNothing) {
  simdjson::dom::parser parser;
  for (const Arguments& change : {Arguments{"--scale", "1"}, {"--patch", "the cat sat on the mat"}}) {
    Arguments arguments = {"the cat sat on the mat", "--layer", "0"};
    arguments.insert(arguments.end(), change.begin(), change.end());
    const auto root = json(parser, arguments);
    EXPECT_EQ(double(root["mean_kl"]), 0) << change[0];
    EXPECT_EQ(std::string_view(root["translation"]["before"]),
              std::string_view(root["translation"]["after"]));
  }
}

TEST_F(Ablate, LinksMeansPatchesAndPlaces) {
  simdjson::dom::parser parser;
  const auto change = [&](Arguments arguments) {
    arguments.insert(arguments.begin(), {"the cat sat on the mat", "--model", "en"});
    return std::string(std::string_view(json(parser, std::move(arguments))["change"]));
  };
  EXPECT_EQ(change({"--edge", "mat->cat"}),
            "decoder all 4 heads without the link mat->cat (masked: softmax redistributes its weight)");
  EXPECT_EQ(change({"--edge", "mat->cat", "--head", "0.1", "--cut", "weight"}),
            "decoder head 0.1 without the link mat->cat (weight set to 0, the others unchanged)");
  EXPECT_THAT(change({"--layer", "1", "--with", "mean"}), HasSubstr("replaced by their means (over "));
  EXPECT_EQ(change({"--head", "0.0", "--patch", "the mat sat on the cat"}),
            "decoder head 0.0 as in \"the mat sat on the cat\"");
  EXPECT_EQ(change({"--head", "0.0", "--at", "sat"}), "decoder head 0.0 zeroed at \"sat\"");
  EXPECT_EQ(change({"--head", "0.0", "--scale", "0.5"}), "decoder head 0.0 times 0.5");
  const std::string lines = write("lines.txt", "the cat\n\nit was too tired .\n");
  EXPECT_THAT(change({"--head", "0.0", "--with", "mean", "--mean-over", lines}), HasSubstr("of 2 sentences"));
}

TEST_F(Ablate, LossOverATextAndBleu) {
  simdjson::dom::parser parser;
  const std::string text =
      write("text.txt", "the cat sat on the mat . it was too tired . the animal lives here .");
  const auto corpus = json(parser, {"the cat", "--model", "en", "--head", "0.0", "--corpus", text});
  EXPECT_GT(int64_t(corpus["corpus_loss"]["count"]), 15);
  EXPECT_NE(double(corpus["corpus_loss"]["before"]), double(corpus["corpus_loss"]["after"]));
  const std::string pairs = write("pairs.tsv", "the cat sat\tthe mat .\nit was here\tthe street !\n");
  const auto bleu = json(parser, {"the cat", "--part", "cross", "--layer", "0", "--evaluate", pairs});
  EXPECT_EQ(int64_t(bleu["bleu"]["count"]), 2);
  EXPECT_TRUE(bleu["corpus_loss"]["after"].is_double());
}

TEST_F(Ablate, EvaluationCutsSourcesThatAreTooLong) {
  simdjson::dom::parser parser;
  std::string longer = "the cat";
  for (int i = 0; i < 40; ++i) longer += " sat on the mat";
  const std::string pairs = write("long.tsv", "the cat sat\tthe mat .\n" + longer + "\tthe street !\n");
  const Arguments arguments = {"the cat", "--part", "cross", "--layer", "0", "--evaluate", pairs};
  const auto effect = json(parser, arguments);
  EXPECT_EQ(int64_t(effect["bleu"]["count"]), 2);
  EXPECT_EQ(int64_t(effect["cut_sources"]), 1);
  EXPECT_THAT(run(arguments).err, HasSubstr("1 of 2 sources are longer than the"));
}

TEST_F(Ablate, SweepAndPictures) {
  simdjson::dom::parser parser;
  const std::string png = folder_.path("sweep.png"), svg = folder_.path("sweep.svg");
  const auto root = json(parser, {"the cat sat", "--sweep", "--png", png, "--svg", svg});
  EXPECT_EQ(root["heads"].get_array().size(), 12U);
  EXPECT_GT(std::filesystem::file_size(png), 2000U);
  std::ifstream file(svg);
  const std::string drawn(std::istreambuf_iterator<char>(file), {});
  EXPECT_THAT(drawn, HasSubstr("KL divergence, nats"));
  const Finished shown = run({"the cat sat", "--model", "en", "--sweep", "--by", "token", "--top", "2"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("each of 4 heads zeroed, one at a time"));
  EXPECT_THAT(shown.out, HasSubstr("… and 2 more with less; --top 4 lists all"));
  EXPECT_EQ(run({"the cat sat", "--sweep", "--png", png}).code, 4);  // it exists
}

TEST_F(Ablate, SharesOfALogitAddUp) {
  simdjson::dom::parser parser;
  const auto root = json(parser, {"the cat sat", "--model", "en", "--attribute", "--token", "mat"});
  EXPECT_EQ(std::string_view(root["token"]), "mat");
  double sum = double(root["embedding"]) + double(root["feed_forward"]) + double(root["biases"]);
  for (const simdjson::dom::element head : root["heads"].get_array()) sum += double(head["logit"]);
  EXPECT_NEAR(sum, double(root["logit"]), 1e-3);
  const Finished shown = run({"the cat sat", "--attribute", "--png", folder_.path("a.png")});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("keep the statistics of this run"));
  refused({"the cat sat", "--model", "bert", "--attribute"},
          "has a layer with an activation before its logits");
}

TEST_F(Ablate, RefusesWhatMakesNoSense) {
  refused({"the cat"}, "nothing to remove");
  refused({"the cat", "--head", "0.0", "--layer", "1"}, "give one of them");
  refused({"the cat", "--head", "7.0"},
          "--head 7.0: the encoder attention of \"headlight-en-fr\" has layers 0 to 1");
  refused({"the cat", "--head", "0.0", "--scale", "2", "--with", "zero"}, "exclude each other");
  refused({"the cat", "--edge", "catmat"}, "\"catmat\" is not a link");
  refused({"the cat", "--edge", "cat->dog"}, "The words are: ");
  refused({"the cat sat", "--head", "0.0", "--patch", "the cat"}, "heads are patched token by token");
  refused({"the cat", "--head", "0.0", "--corpus", folder_.path("none.txt")}, "none.txt", 4);
  refused({"the cat", "--head", "0.0", "--png", folder_.path("x.png")}, "figures show all heads");
  refused({"the cat", "--sweep", "--scale", "2"}, "use every head in full");
  refused({"the cat", "--head", "0.0", "--token", "cat sat"}, "one token of the model, but several");
  refused({"the cat", "--head", "0.0", "--token", "@999"}, "a token id below 29");
  refused({"the cat", "--head", "0.0", "--limit", "5"}, "--limit needs --corpus or --evaluate");
  const std::string text = write("text.txt", "the cat sat");
  refused({"the cat", "--head", "0.0", "--corpus", text}, "is not a decoder with a tokenizer");
  refused({"the cat", "--model", "bert", "--sweep", "--by", "direct"},
          "has an activation between its heads and its logits");
  refused({"the cat", "--part", "decoder", "--model", "bert", "--head", "0.0"}, "is an encoder alone");
}

}  // namespace
}  // namespace headlight::testing
