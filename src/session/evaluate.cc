#include <algorithm>
#include <cmath>
#include <istream>
#include <iterator>
#include <numbers>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "headlight/write.h"
#include "models/text_loss.h"
#include "session/state.h"
#include "text/lines.h"

namespace headlight {

std::vector<std::string> split_documents(std::string_view text, std::string_view separator) {
  std::vector<std::string> documents;
  const auto add = [&](std::string_view document) {
    if (!document.empty()) documents.emplace_back(document);
  };
  if (separator.empty()) {
    add(text);
    return documents;
  }
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    add(text::trimmed(text.substr(0, end)));
    text.remove_prefix(std::min(text.size(), end + separator.size()));
  }
  return documents;
}

double Evaluation::bits_per_byte() const { return nats_per_byte() / std::numbers::ln2; }
double Evaluation::perplexity() const { return std::exp(nats_per_token()); }

Evaluation evaluate(Context& ctx, const Model& model, std::span<const std::string> documents,
                    const EvaluateOptions& options, const Progress& progress) {
  if (model.tokenizer() == nullptr)
    throw Error(
        ErrorKind::input, "evaluate.tokenizer",
        concat("the model \"", escaped(model.info().name), "\" has no tokenizer, so it cannot read text"));
  if (documents.empty())
    throw Error(ErrorKind::input, "evaluate.empty", "no text to evaluate: every document is empty");
  models::TextLossOptions loss_options;
  loss_options.context = options.context;
  loss_options.on_progress = [&](double done) {
    progress.tell("reading", done, 1);
    return !progress.cancelled || !progress.cancelled();
  };
  const std::optional<models::TextLoss> loss =
      models::text_loss(ctx, *model.state().loaded.model, *model.tokenizer(), documents, loss_options);
  if (!loss) throw Cancelled();
  return {.nats = loss->nats, .tokens = loss->tokens, .bytes = loss->bytes, .documents = loss->documents};
}

Evaluation evaluate(Context& ctx, const Model& model, std::istream& text, const EvaluateOptions& options,
                    const Progress& progress) {
  const std::string all{std::istreambuf_iterator<char>(text), std::istreambuf_iterator<char>()};
  return evaluate(ctx, model, split_documents(all, options.separator), options, progress);
}

}  // namespace headlight
