// Adapt a model to a new kind of text: an adapter with less than 2 % as many parameters is trained next to its matrices.
//
//   example_11_fine_tune [models/headlight-en] [text.txt] [runs/mine]
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "headlight/model.h"
#include "headlight/train.h"

namespace {

// A built-in text, if no file is given.
std::string write_text() {
  const std::string path = (std::filesystem::temp_directory_path() / "headlight-example-11.txt").string();
  std::ofstream out(path);
  for (int i = 0; i < 400; ++i)
    out << "Day " << i << ": wind from the west, sea state " << i % 5
        << ", all sails set. The log is kept by the mate.\n";
  return path;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string model = argc > 1 ? argv[1] : "models/headlight-en";
  const std::string text = argc > 2 ? argv[2] : write_text();
  const std::string out =
      argc > 3 ? argv[3] : (std::filesystem::temp_directory_path() / "headlight-example-11").string();
  if (argc <= 3) std::filesystem::remove_all(out);

  headlight::Context ctx;
  headlight::FineTuneOptions options{
      .train = {text}, .out = out, .rank = 4, .steps = 12, .evaluate_every = 6};
  options.batch = 2;
  options.context = 64;
  options.progress.report = [](const headlight::ProgressStep& step) {
    std::printf("step %.0f of %.0f\n", step.done, step.total);
  };
  const headlight::FineTuned tuned = headlight::fine_tune(ctx, model, options);
  std::printf("%.0f of %.0f numbers were learnt: %.2f %%\n", tuned.trained, tuned.parameters,
              100 * tuned.trained / tuned.parameters);
  std::printf("the loss on the last tenth of the text went from %.3f to %.3f\n", tuned.loss_before,
              tuned.loss_after);

  // The adapter's folder opens its base model together with the adapter.
  const headlight::Model opened = headlight::Model::open(tuned.folder);
  const headlight::Prompt prompts[] = {{.text = "Day 7: wind from"}};
  std::printf("Day 7: wind from%s\n",
              headlight::generate(ctx, opened, prompts, {.max_tokens = 12})[0].text.c_str());
  if (tuned.loss_after < tuned.loss_before) std::printf("it has learnt\n");
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
