// Open a model, let it read a sentence, and print what each word looks at most, in the head that links words best.
#include <cstdio>
#include <string>

#include "headlight/model.h"

int main(int argc, char** argv) {
  try {
    const headlight::Model model = headlight::Model::open(argc > 1 ? argv[1] : "models/headlight-en-fr");
    const std::string text =
        argc > 2 ? argv[2] : "The animal didn't cross the street because it was too tired.";
    headlight::Context ctx;
    // Only the encoder of a translator: nothing is translated.
    const headlight::Part part = model.info().parts.front().part;
    const headlight::Run run = headlight::attend(ctx, model, {.text = text}, {.parts = {part}});

    const headlight::FirstLook look = headlight::first_look(run);
    std::printf("%s, %s head %d.%d\n", model.info().name.c_str(), headlight::name_of(part).data(),
                look.head.layer, look.head.head);
    const headlight::TokenizedText& tokens = run.queries(part);
    const headlight::HeadStatistics statistics = run.statistics(look.head);
    for (headlight::Index i = 0; i < tokens.size(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      const auto key = static_cast<std::size_t>(statistics.largest_key[at]);
      std::printf("%12s looks at %-12s %.3f\n", tokens.tokens[at].text.c_str(),
                  tokens.tokens[key].text.c_str(), static_cast<double>(statistics.largest_weight[at]));
    }
    const auto word = [&](headlight::Range range) {
      const auto first = static_cast<std::size_t>(range.begin);
      return tokens.words[static_cast<std::size_t>(tokens.tokens[first].word)].text;
    };
    std::printf("the strongest link: %s -> %s, %.1f times chance\n", word(look.query).c_str(),
                word(look.key).c_str(), look.lift());
  } catch (const headlight::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
