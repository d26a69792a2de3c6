#include "headlight/embed.h"

#include <algorithm>
#include <cmath>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "models/sentence_files.h"
#include "session/state.h"

namespace headlight {
namespace {

Pooling pooling_of(models::SentencePooling pooling) {
  switch (pooling) {
    case models::SentencePooling::mean: return Pooling::mean;
    case models::SentencePooling::first: return Pooling::first;
    case models::SentencePooling::max: return Pooling::max;
    case models::SentencePooling::last: return Pooling::last;
  }
  return Pooling::mean;
}

// Sums are float64, whatever the length of the text.
void pool(ConstTensorView states, Pooling pooling, float* out) {
  const Index rows = states.dim(0), width = states.dim(1);
  for (Index d = 0; d < width; ++d) {
    double value = pooling == Pooling::last ? states.at(rows - 1, d) : states.at(0, d);
    for (Index i = 1; i < rows && (pooling == Pooling::mean || pooling == Pooling::max); ++i) {
      const double x = states.at(i, d);
      value = pooling == Pooling::mean ? value + x : std::max(value, x);
    }
    out[d] = static_cast<float>(pooling == Pooling::mean ? value / static_cast<double>(rows) : value);
  }
}

void normalise(float* row, Index width) {
  double sum = 0;
  for (Index d = 0; d < width; ++d) sum += static_cast<double>(row[d]) * static_cast<double>(row[d]);
  const double length = std::max(std::sqrt(sum), 1e-12);
  for (Index d = 0; d < width; ++d) row[d] = static_cast<float>(static_cast<double>(row[d]) / length);
}

}  // namespace

std::string_view name_of(Pooling pooling) noexcept {
  switch (pooling) {
    case Pooling::mean: return "mean";
    case Pooling::first: return "first";
    case Pooling::max: return "max";
    case Pooling::last: return "last";
  }
  return "?";
}

Embeddings embed(Context& ctx, const Model& model, std::span<const std::string> texts,
                 const EmbedOptions& options, const Progress& progress) {
  const ModelInfo& info = model.info();
  if (info.kind != ModelKind::encoder)
    throw Error(
        ErrorKind::usage, "embed.kind",
        concat("the model \"", escaped(info.name), "\" is not an encoder; sentence vectors need one"));
  const models::SentenceFiles files = models::read_sentence_files(info.path);
  Embeddings out;
  out.pooling = options.pooling.value_or(pooling_of(files.pooling));
  out.normalised = options.normalise.value_or(files.normalise);
  out.source = options.pooling && options.normalise ? "" : files.source;
  out.vectors = Tensor({static_cast<Index>(texts.size()), info.width});
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const Run run = attend(ctx, model, {.text = files.prefix + texts[i]},
                           {.keep_inputs = false, .keep_attention = false, .progress = progress});
    const Index tokens = run.source().size();
    if (files.longest > 0 && tokens > files.longest)
      throw Error(ErrorKind::input, "embed.length",
                  concat("text ", i + 1, " has ", tokens, " tokens; the model \"", escaped(info.name),
                         "\" embeds at most ", files.longest, "\nSplit it into shorter texts."));
    const ConstTensorView states = run.hidden_states();
    if (states.dim(1) != info.width || states.dim(0) < 1)
      throw Error(ErrorKind::usage, "embed.width",
                  concat("the model \"", escaped(info.name), "\" has no final hidden states of its width"));
    float* row = out.vectors.as<float>() + static_cast<Index>(i) * info.width;
    pool(states, out.pooling, row);
    if (out.normalised) normalise(row, info.width);
    out.tokens.push_back(tokens);
    progress.tell("texts", static_cast<double>(i + 1), static_cast<double>(texts.size()));
  }
  return out;
}

Tensor cosine_similarities(ConstTensorView vectors) {
  const Index rows = vectors.dim(0);
  const auto dot = [&](Index a, Index b) {
    double sum = 0;
    for (Index d = 0; d < vectors.dim(1); ++d) sum += vectors.at(a, d) * vectors.at(b, d);
    return sum;
  };
  Tensor out({rows, rows}, DType::f64);
  for (Index a = 0; a < rows; ++a) {
    for (Index b = 0; b <= a; ++b) {
      const double squares = dot(a, a) * dot(b, b), cosine = squares > 0 ? dot(a, b) / std::sqrt(squares) : 0;
      out.view().set(a, b, cosine);
      out.view().set(b, a, cosine);
    }
  }
  return out;
}

}  // namespace headlight
