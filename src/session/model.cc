#include <algorithm>

#include "models/generate.h"
#include "session/state.h"

namespace headlight {
namespace {

ModelKind kind_of(models::ModelKind kind) {
  switch (kind) {
    case models::ModelKind::decoder: return ModelKind::decoder;
    case models::ModelKind::encoder: return ModelKind::encoder;
    case models::ModelKind::encoder_decoder: return ModelKind::encoder_decoder;
  }
  return ModelKind::decoder;
}

ModelInfo recurrent_info(const inspect::LoadedModel& loaded, ModelInfo info) {
  const models::RecurrentModelConfig& c = loaded.recurrent->config();
  info.family = models::kRecurrentType;
  info.kind = c.encoder_decoder ? ModelKind::encoder_decoder : ModelKind::decoder;
  info.width = c.width;
  info.vocabulary = c.vocabulary;
  info.recurrent = true;
  for (const Parameter* parameter : loaded.recurrent->parameters()) {
    info.parameters += static_cast<double>(parameter->shape().elements());
    info.bytes +=
        static_cast<std::uint64_t>(parameter->shape().elements()) * size_of(parameter->value.dtype());
  }
  return info;
}

ModelInfo info_of(const inspect::LoadedModel& loaded) {
  ModelInfo info;
  info.name = loaded.name;
  info.path = loaded.folder;
  info.notices = loaded.notices;
  if (loaded.recurrent) return recurrent_info(loaded, std::move(info));
  const models::TransformerConfig& c = loaded.model->config();
  info.family = c.family;
  info.kind = kind_of(c.kind);
  for (const Part part : {Part::encoder, Part::decoder, Part::cross})
    if (loaded.has(part))
      info.parts.push_back(
          {part, std::vector<Index>(static_cast<std::size_t>(loaded.layers(part)), loaded.heads(part))});
  info.width = c.width;
  info.vocabulary = c.vocabulary;
  info.context = models::context_of(c);
  for (const Parameter* parameter : loaded.model->parameters()) {
    const Index elements = parameter->shape().elements();
    if (parameter->trained) info.parameters += static_cast<double>(elements);
    info.bytes += parameter->stored.empty()
                      ? static_cast<std::uint64_t>(elements) * size_of(parameter->value.dtype())
                      : parameter->stored.bytes();
  }
  info.has_logits = !c.head.absent;
  if (c.sound) {
    info.sound_bands = c.sound->bands;
    info.sound_frames = 2 * c.sound->positions;
  }
  return info;
}

}  // namespace

std::string_view name_of(ModelKind kind) noexcept {
  switch (kind) {
    case ModelKind::decoder: return "decoder";
    case ModelKind::encoder: return "encoder";
    case ModelKind::encoder_decoder: return "encoder_decoder";
  }
  return "?";
}

const PartInfo* ModelInfo::find(Part part) const noexcept {
  const auto found =
      std::find_if(parts.begin(), parts.end(), [&](const PartInfo& p) { return p.part == part; });
  return found == parts.end() ? nullptr : &*found;
}

Model Model::open(const std::string& path_or_name, const OpenOptions& options) {
  auto state = std::make_shared<ModelState>();
  state->loaded = inspect::open_model(
      path_or_name, options.places,
      options.recurrent_too ? inspect::Accept::recurrent_too : inspect::Accept::transformers);
  if (!options.name.empty()) state->loaded.name = options.name;
  state->info = info_of(state->loaded);
  return Model(std::move(state));
}

const ModelInfo& Model::info() const noexcept { return state_->info; }

const Tokenizer* Model::tokenizer() const noexcept {
  return state_->loaded.tokenizer ? &*state_->loaded.tokenizer : nullptr;
}

}  // namespace headlight
