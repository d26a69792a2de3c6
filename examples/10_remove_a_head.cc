// Remove one head and compare the next-token predictions; then find the head with the largest effect.
#include <algorithm>
#include <cstdio>

#include "headlight/model.h"

int main(int argc, char** argv) {
  try {
    const headlight::Model model = headlight::Model::open(argc > 1 ? argv[1] : "models/headlight-en");
    const headlight::Prompt prompt{.text = argc > 2 ? argv[2] : "Once upon a time there was a little"};
    headlight::Context ctx;

    // Every head once: how far does the prediction of the next token move?
    const headlight::SweepResult swept = headlight::sweep(ctx, model, prompt);
    const auto most = std::max_element(swept.heads.begin(), swept.heads.end(),
                                       [](const auto& a, const auto& b) { return a.kl < b.kl; });
    std::printf("%zu heads; without head %d.%d the prediction moves most: %.4f nats\n", swept.heads.size(),
                most->head.layer, most->head.head, most->kl);

    const headlight::AblationEffect effect =
        headlight::ablate(ctx, model, prompt, {.part = most->part, .heads = {most->head}},
                          {.position = swept.position, .top = 3});
    for (const headlight::TokenEffect& token : effect.tokens) {
      const headlight::TokenId id = token.token;
      std::printf("%12s  %.4f -> %.4f\n", model.tokenizer()->decode({&id, 1}).c_str(), token.before,
                  token.after);
    }
  } catch (const headlight::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
