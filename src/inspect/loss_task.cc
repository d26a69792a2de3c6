#include "inspect/loss_task.h"

#include <algorithm>
#include <cmath>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "inspect/model_run.h"

namespace headlight::inspect {
namespace {

constexpr Index kWindow = 512, kPartTokens = 1024;

const Tokenizer& tokenizer_of(const LoadedModel& loaded, models::ModelKind kind, std::string_view what,
                              std::string_view instead) {
  if (loaded.model->config().kind != kind || !loaded.tokenizer) {
    throw Error(ErrorKind::usage, "loss.model",
                concat("\"", escaped(loaded.name), "\" is not ", what, " with a tokenizer; ", instead));
  }
  return *loaded.tokenizer;
}

// Adds a sequence to the current part until that is full.
models::Batch& part_with_room(LossTask& task) {
  if (task.parts.empty() || task.parts.back().input.size() >= kPartTokens) task.parts.emplace_back();
  return task.parts.back();
}

}  // namespace

LossTask text_task(const LoadedModel& loaded, std::string_view text, Index limit) {
  const Tokenizer& tokenizer =
      tokenizer_of(loaded, models::ModelKind::decoder, "a decoder",
                   "evaluate encoder-decoders on sentence pairs: --evaluate FILE.tsv");
  std::vector<TokenId> ids = tokenizer.encode(text);
  if (limit > 0 && static_cast<Index>(ids.size()) > limit) ids.resize(static_cast<std::size_t>(limit));
  if (ids.size() < 2)
    throw Error(ErrorKind::input, "loss.text", "the text has fewer than two tokens; give a longer one");
  const Index most = models::context_of(loaded.model->config());
  const auto window = static_cast<std::size_t>(most > 0 ? std::min(most, kWindow) : kWindow);
  LossTask task;
  for (std::size_t begin = 0; begin + 1 < ids.size(); begin += window) {
    const std::size_t end = std::min(begin + window, ids.size() - 1);
    models::Batch& part = part_with_room(task);
    part.input.append(std::span(ids).subspan(begin, end - begin));
    part.targets.insert(part.targets.end(), ids.begin() + static_cast<std::ptrdiff_t>(begin) + 1,
                        ids.begin() + static_cast<std::ptrdiff_t>(end) + 1);
    task.targets += static_cast<Index>(end - begin);
  }
  return task;
}

LossTask pair_task(const LoadedModel& loaded, std::span<const TextPair> pairs) {
  const Tokenizer& tokenizer = tokenizer_of(loaded, models::ModelKind::encoder_decoder, "an encoder-decoder",
                                            "evaluate decoders on a text: --corpus FILE");
  const Tokenizer of_target = tokenizer.for_target();
  const Index most = models::context_of(loaded.model->config());
  LossTask task;
  for (const auto& [source, translation] : pairs) {
    const std::vector<TokenId> from = tokenizer.encode(source);
    const EncodedText written = read_text(of_target, translation);
    const Index longest = std::max(static_cast<Index>(from.size()), written.size());
    if (from.empty() || (most > 0 && longest > most)) continue;
    models::Batch& part = part_with_room(task);
    part.source.append(from);
    part.input.append(decoder_input(loaded, written).ids());
    const std::vector<std::int32_t> targets = written.ids();
    part.targets.insert(part.targets.end(), targets.begin(), targets.end());
    task.targets += written.size();
  }
  if (task.parts.empty())
    throw Error(ErrorKind::input, "loss.pairs",
                "all sentences are longer than the context of the model; give shorter ones");
  return task;
}

MeasuredLoss measure_loss(Context& ctx, const LoadedModel& loaded, const LossTask& task,
                          Intervention* intervention, const std::function<void(double done)>& progress) {
  MeasuredLoss result;
  double sum = 0;
  for (const models::Batch& part : task.parts) {
    const models::Loss loss = loaded.model->evaluate(ctx, part, {.intervention = intervention});
    sum += loss.plain;
    result.targets += loss.targets;
    result.parts.push_back(loss.mean());
    if (progress) progress(static_cast<double>(result.parts.size()) / static_cast<double>(task.parts.size()));
  }
  result.mean = sum / static_cast<double>(std::max<Index>(result.targets, 1));
  return result;
}

double error_of_difference(const MeasuredLoss& before, const MeasuredLoss& after) {
  const std::size_t count = before.parts.size();
  if (count < 2 || after.parts.size() != count) return 0;
  const auto n = static_cast<double>(count);
  double mean = 0, squares = 0;
  for (std::size_t i = 0; i < count; ++i) mean += (after.parts[i] - before.parts[i]) / n;
  for (std::size_t i = 0; i < count; ++i) {
    const double off = after.parts[i] - before.parts[i] - mean;
    squares += off * off;
  }
  return std::sqrt(squares / (n - 1) / n);
}

}  // namespace headlight::inspect
