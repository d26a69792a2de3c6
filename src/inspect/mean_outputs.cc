#include "inspect/mean_outputs.h"

#include <array>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "inspect/model_run.h"

namespace headlight::inspect {

std::span<const std::string> usual_sentences() {
  static const std::array<std::string, 20> sentences = {
      "The children are playing in the garden behind the house.",
      "I have never seen such a beautiful morning in this town.",
      "She asked him where he had put the keys of the car.",
      "It was raining so hard that nobody wanted to go out.",
      "We had dinner with our neighbors and talked until midnight.",
      "The teacher explained the problem twice, but few understood it.",
      "My brother works in a small shop near the station.",
      "They did not know what to do with so much money.",
      "Could you tell me how long the train takes to get there?",
      "The old man sat down and opened his newspaper.",
      "If I were you, I would call the doctor today.",
      "He speaks three languages, and his sister speaks four.",
      "The letter that you sent me last week has just arrived.",
      "There is no bread left, so please buy some on your way home.",
      "Nobody believed her at first, although she told the truth.",
      "The dog followed us all the way to the river and back.",
      "This book is more interesting than the one I read before.",
      "When the lights went out, everyone in the room stopped talking.",
      "I am sorry that I could not come to your party.",
      "After the storm the streets were full of leaves and branches.",
  };
  return sentences;
}

MeanOutputs mean_outputs(Context& ctx, const LoadedModel& loaded, std::span<const std::string> sentences,
                         const std::function<void(double done)>& progress) {
  if (!loaded.tokenizer) {
    throw Error(ErrorKind::usage, "mean.tokenizer",
                concat("\"", escaped(loaded.name),
                       "\" has no tokenizer, so means of its heads cannot be computed; use --with zero"));
  }
  const Index most = models::context_of(loaded.model->config());
  const bool translates = loaded.model->config().kind == models::ModelKind::encoder_decoder;
  OutputMeans means;
  MeanOutputs result;
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    if (progress) progress(static_cast<double>(i) / static_cast<double>(sentences.size()));
    if (sentences[i].find_first_not_of(" \t\r") == std::string::npos) continue;
    ModelInput input{.source = read_text(*loaded.tokenizer, sentences[i])};
    if (most > 0 && input.source.size() > most) continue;
    if (translates) input.written = translate(ctx, loaded, input.source);
    (void)run(ctx, loaded, input, &means);
    ++result.sentences;
    result.tokens += input.source.size();
  }
  if (result.sentences == 0)
    throw Error(ErrorKind::input, "mean.sentences",
                "no sentence for the mean outputs of heads; give at least one that the model can read");
  result.outputs = means.means();
  return result;
}

}  // namespace headlight::inspect
