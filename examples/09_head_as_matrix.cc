// The attention of one head as a matrix: rows are queries, columns are keys, each row sums to 1.
#include <cstdio>
#include <cstdlib>

#include "headlight/model.h"

int main(int argc, char** argv) {
  try {
    const headlight::Model model = headlight::Model::open(argc > 1 ? argv[1] : "models/headlight-en");
    headlight::Context ctx;
    const headlight::Run run = headlight::attend(ctx, model, {.text = "The cat sat on the mat."});
    const headlight::Head head{.part = model.info().parts.front().part,
                               .layer = argc > 2 ? std::atoi(argv[2]) : 0,
                               .head = argc > 3 ? std::atoi(argv[3]) : 0};
    const headlight::Tensor weights = run.weights(head);

    std::printf("%8s", "");
    for (const headlight::Token& key : run.keys(head.part).tokens) std::printf(" %6.6s", key.text.c_str());
    double sum = 0;
    for (headlight::Index i = 0; i < weights.dim(0); ++i) {
      std::printf("\n%8.8s", run.queries(head.part).tokens[static_cast<std::size_t>(i)].text.c_str());
      for (headlight::Index j = 0; j < weights.dim(1); ++j) {
        std::printf(" %6.3f", weights.at(i, j));
        sum += weights.at(i, j);
      }
    }
    std::printf("\n%d rows sum to %.4f\n", static_cast<int>(weights.dim(0)), sum);
  } catch (const headlight::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
