// Infinities and NaN through every command that writes JSON: strict JSON comes out, or nothing and an error.
#include <fstream>
#include <limits>

#include "cli/ablate/view.h"
#include "cli/heads/view.h"
#include "cli/info/file_report.h"
#include "cli/translate/evaluation.h"
#include "io/gzip.h"
#include "io/json.h"
#include "measure/bench.h"
#include "measure/train_profile.h"
#include "support/small_command.h"

namespace headlight::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kWrong[] = {kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN()};

// Overwrites one float of a tensor in a safetensors file.
void poison(const std::string& path, const std::string& tensor, std::size_t at, float value) {
  std::string bytes = io::read_text(path);
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  const io::Json header = io::Json::parse(bytes.substr(8, length), path);
  const std::int64_t begin = header.at(tensor).list("data_offsets").items()[0].integer();
  std::memcpy(bytes.data() + 8 + length + static_cast<std::size_t>(begin) + 4 * at, &value, 4);
  std::ofstream(path, std::ios::binary) << bytes;
}

class JsonNumbers : public SmallCommand {
 protected:
  JsonNumbers() : SmallCommand("info") {}
  // Either strict JSON, or a refusal that writes none.
  void expect_strict(const Arguments& arguments) const {
    Launch launch{.arguments = arguments};
    launch.environment.push_back("HEADLIGHT_MODELS=" + models_.root().string());
    const Finished done = run_program(launch);
    std::string line;
    for (const std::string& word : arguments) line += word + " ";
    if (done.code == 0) EXPECT_NO_THROW((void)io::Json::parse(done.out, "output")) << line << done.out;
    else EXPECT_EQ(done.out, "") << line;
    strict_ += done.code == 0 ? 1 : 0;
  }
  mutable int strict_ = 0;
};

TEST_F(JsonNumbers, OfModelsWithNumbersThatAreNotFinite) {
  const std::string text = models_.path("text");
  std::ofstream(text) << "the cat was too tired";
  for (const float value : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
    // A token that no text here has: its logits are not finite, everything else is as before.
    const std::string decoder = models_.path("en") + "/model.safetensors";
    const io::Json info = io::Json::parse(run({models_.path("en"), "--json", "-"}).out, "info");
    for (const io::Json& tensor : info.list("tensors").items()) {
      const auto shape = tensor.list("shape").items();
      if (shape.size() == 2 && shape[0].integer() == 29)
        poison(decoder, tensor.text("name"), static_cast<std::size_t>(28 * shape[1].integer()), value);
    }
    strict_ = 0;
    for (const Arguments& arguments :
         {Arguments{"evaluate", text, "--model", "en"},
          {"show", "the cat", "--model", "en"},
          {"show", "the cat", "--model", "en", "--of", "values"},
          {"explain", "the cat", "--model", "en", "--query", "cat", "--head", "0.0"},
          {"ablate", "the cat", "--model", "en", "--head", "0.0"},
          {"ablate", "the cat", "--model", "en", "--sweep"},
          {"ablate", "the cat", "--model", "en", "--attribute"},
          {"heads", "the cat", "--model", "en"},
          {"compare", "the cat", "the animal", "--model", "en"},
          {"info", models_.path("en")}}) {
      Arguments all = arguments;
      all.insert(all.end(), {"--json", "-"});
      expect_strict(all);
    }
    EXPECT_GT(strict_, 4);
  }
}

TEST_F(JsonNumbers, OfEveryReport) {
  for (const double x : kWrong) {
    cli::AblateView ablated;
    ablated.effect.tokens = {{.token = 1, .before = x, .after = x, .logit_before = x, .logit_after = x}};
    ablated.token_labels = ablated.row_labels = {"a"};
    ablated.effect.kl = {x};
    ablated.effect.mean_kl = ablated.effect.loss_before = ablated.effect.loss_after = x;
    ablated.effect.has_loss = true;
    ablated.effect.task_loss = ablated.effect.bleu = TaskEffect{x, x, x, 1};
    cli::SweepView swept;
    swept.result.probability = x;
    swept.result.heads.resize(1);
    SweptHead& head = swept.result.heads[0];
    head.mean_kl = head.kl = head.loss = x;
    head.direct = head.task_loss = x;
    cli::AttributionView attributed;
    attributed.attribution.logit = attributed.attribution.embedding = x;
    attributed.attribution.heads = {{.part = Part::decoder, .head = {}, .logit = x}};
    cli::HeadsView labelled;
    labelled.heads.resize(1);
    labelled.heads[0].text.rows = 1;
    labelled.heads[0].text.entropy = labelled.heads[0].text.effective_keys = x;
    labelled.heads[0].text.patterns = {{.score = x, .lift = x}};
    TranslationScore evaluation;
    evaluation.bleu = evaluation.chrf = x;
    measure::BenchReport bench;
    bench.peak_gflops = bench.dram_gbs = {{1, x}};
    bench.buckets.resize(1);
    bench.buckets[0].ms = bench.buckets[0].gflops = x;
    measure::TrainProfile profile;
    profile.step_ms = profile.memory.activations_mb = x;
    profile.parts = {{"a", x, x}};
    models::LoadedTensor tensor{
        {.name = "a", .type = "F32", .shape = {1}, .bytes = 4}, Tensor({1}, DType::f32), {1}};
    tensor.tensor.view().set(0, x);
    for (const std::string& json :
         {ablate_json(ablated), sweep_json(swept), attribution_json(attributed), labels_json(labelled),
          cli::evaluation_json(evaluation, 0), to_json(bench), to_json(profile), cli::tensor_json(tensor)})
      EXPECT_NO_THROW((void)io::Json::parse(json, "report")) << json;
  }
}

}  // namespace
}  // namespace headlight::testing
