#include "train/sampler.h"

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "models/generate.h"
#include "models/translate.h"
#include "text/translation_score.h"

namespace headlight::train {

using models::ModelKind;

Sampler::Sampler(const models::Transformer& model, const Tokenizer& tokenizer, SamplerConfig config)
    : model_(model), tokenizer_(tokenizer), config_(std::move(config)) {
  const models::TransformerConfig& c = model.config();
  if (c.kind == ModelKind::encoder)
    throw Error(ErrorKind::usage, "recipe.samples", "output.samples: an encoder does not generate text");
  if (c.kind == ModelKind::encoder_decoder) return;
  const Index most = models::context_of(c);
  for (const std::string& prompt : config_.prompts) {
    std::vector<TokenId> ids = tokenizer.encode(prompt);
    if (!ids.empty() && c.is_end(ids.back())) ids.pop_back();
    if (ids.empty() && c.bos >= 0) ids.push_back(c.bos);
    if (ids.empty() || (most > 0 && static_cast<Index>(ids.size()) >= most))
      throw Error(ErrorKind::input, "recipe.samples",
                  concat("output.samples: \"", escaped(prompt, 60), "\" has ", ids.size(),
                         " tokens; need at least 1 and fewer than the context of the model"));
    prompts_.append(ids);
  }
}

std::vector<std::string> Sampler::translated(Context& ctx, const std::vector<std::string>& texts,
                                             Index beams) const {
  models::TransformerWriter writer(model_, {});
  std::vector<std::string> out;
  for (models::Translation& t : models::translate(ctx, writer, tokenizer_, texts, {.beams = beams}))
    out.push_back(std::move(t.text));
  return out;
}

std::vector<std::string> Sampler::continued(Context& ctx) const {
  std::vector<std::string> out;
  for (const std::vector<std::int32_t>& ids :
       models::generate(ctx, model_, prompts_, {.most = config_.tokens}))
    out.push_back(tokenizer_.decode(ids));
  return out;
}

Written Sampler::write(Context& ctx) const {
  Written written;
  if (!config_.prompts.empty()) {
    const bool translates = model_.config().kind == ModelKind::encoder_decoder;
    std::vector<std::string> texts = translates ? translated(ctx, config_.prompts, 4) : continued(ctx);
    for (std::size_t i = 0; i < texts.size(); ++i)
      written.samples.push_back({config_.prompts[i], std::move(texts[i])});
  }
  if (config_.scored.empty()) return written;
  std::vector<std::string> sources;
  for (const auto& pair : config_.scored) sources.push_back(pair.first);
  const std::vector<std::string> texts = translated(ctx, sources, 1);
  std::vector<text::ScoredSentence> sentences;
  for (std::size_t i = 0; i < texts.size(); ++i) sentences.push_back({texts[i], {config_.scored[i].second}});
  written.bleu = text::bleu(sentences).score;
  return written;
}

}  // namespace headlight::train
