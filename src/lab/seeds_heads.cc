// Rows about the words that heads attend to: asked of every encoder head of the bundled translator.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "inspect/encoded_text.h"
#include "inspect/loaded_model.h"
#include "inspect/model_run.h"
#include "inspect/word_choices.h"
#include "lab/experiment.h"
#include "lab/seeds_checks.h"

namespace headlight::lab::seeds {
namespace {

constexpr std::size_t kListed = 5;

struct Choice {
  std::string word;
  int heads = 0;
};

// For the words of `query`, the other word to which each head gives most weight, by number of heads. Special tokens and
// punctuation do not count.
std::vector<Choice> choices_of(const LabOptions& options, const char* text, const char* query) {
  const inspect::LoadedModel& loaded = *options.model;
  const inspect::ModelInput input{.source = inspect::read_text(*loaded.tokenizer, text)};
  inspect::WordChoices::Words words;
  words.queries = {inspect::pick(input.source, query).word.tokens};
  std::vector<Choice> count;
  for (const inspect::Word& word : inspect::words_of(input.source)) {
    const bool counts = !input.source.tokens[static_cast<std::size_t>(word.tokens.begin)].added &&
                        word.label.find_first_not_of(".,") != std::string::npos;
    if (!counts) continue;
    words.keys.push_back(word.tokens);
    count.push_back({word.label});
  }
  inspect::WordChoices observer(Part::encoder, words, [&](const HeadPlace&, std::span<const Index> chosen) {
    if (chosen[0] >= 0) ++count[static_cast<std::size_t>(chosen[0])].heads;
  });
  Context ctx({.threads = options.threads});
  (void)inspect::watch(ctx, loaded, input, observer);
  std::stable_sort(count.begin(), count.end(),
                   [](const Choice& a, const Choice& b) { return a.heads > b.heads; });
  std::erase_if(count, [](const Choice& choice) { return choice.heads == 0; });
  return count;
}

std::string listed(const std::vector<Choice>& choices) {
  std::string out;
  std::size_t others = 0;
  int in_others = 0;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (i < kListed) out += fmt::format("{}{} in {}", i == 0 ? "" : ", ", choices[i].word, choices[i].heads);
    else ++others, in_others += choices[i].heads;
  }
  return others == 0 ? out : fmt::format("{}, {} others in {}", out, others, in_others);
}

}  // namespace

Found bank_by_head(const LabOptions& options) {
  if (options.model == nullptr) return without_model();
  const std::vector<Choice> choices =
      choices_of(options, "The bank will not lend money to the farmer near the river.", "bank");
  return {choices.size() > 1,
          fmt::format("most weight on another word, in {} encoder heads: {}",
                      options.model->layers(Part::encoder) * options.model->heads(Part::encoder),
                      listed(choices))};
}

Found potter_by_head(const LabOptions& options) {
  if (options.model == nullptr) return without_model();
  const Found invented = potter_weights();
  const std::vector<Choice> choices = choices_of(options, "Harry Potter is my favorite book", "Harry Potter");
  return {invented.right && choices.size() > 1,
          fmt::format("{}. Most weight on another word, in {} encoder heads: {}", invented.text,
                      options.model->layers(Part::encoder) * options.model->heads(Part::encoder),
                      listed(choices))};
}

}  // namespace headlight::lab::seeds
