#include "support/small_models.h"

#include <fstream>
#include <memory>

#include "io/outputs.h"
#include "io/safetensors.h"
#include "models/recurrent.h"
#include "models/tokenizer_file.h"
#include "models/transformer.h"

namespace headlight::testing {

Tokenizer small_tokenizer() {
  return models::tokenizer_from_vocab_txt(
      "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\nanimal\ndidn\n'"
      "\nt\ncross\nstreet\nbecause\nit\nwas\ntoo\nti\n##red\n.\nharry\n"
      "potter\nlives\nhere\ncat\nsat\non\nmat\n,\n!\n",
      "vocab.txt", true);
}

namespace {

std::unique_ptr<models::Trainable> small_transformer(SmallKind kind, const SmallShape& shape,
                                                     Index vocabulary) {
  const models::Sizes sizes{.vocabulary = vocabulary,
                            .width = 8 * shape.heads,
                            .layers = shape.layers,
                            .heads = shape.heads,
                            .context = shape.context};
  models::TransformerConfig config = kind == SmallKind::decoder   ? models::gpt_config(sizes)
                                     : kind == SmallKind::rotary  ? models::llama_config(sizes)
                                     : kind == SmallKind::encoder ? models::bert_config(sizes)
                                                                  : models::translation_config(sizes);
  if (kind == SmallKind::translator) {
    config.ends = {3};
    config.pad = config.decoder_start = 0;
  }
  config.initial_range = 0.7;  // attention that is not uniform
  return std::make_unique<models::Transformer>(config);
}

std::unique_ptr<models::Trainable> small_recurrent(const SmallShape& shape, Index vocabulary) {
  return std::make_unique<models::RecurrentModel>(models::RecurrentModelConfig{.encoder_decoder = true,
                                                                               .attention = true,
                                                                               .vocabulary = vocabulary,
                                                                               .width = 8 * shape.heads,
                                                                               .layers = shape.layers,
                                                                               .eos = 3,
                                                                               .pad = 0,
                                                                               .decoder_start = 0});
}

}  // namespace

void write_small_model(const std::string& folder, SmallKind kind, const SmallShape& shape) {
  const Tokenizer tokenizer = small_tokenizer();
  const std::unique_ptr<models::Trainable> model = kind == SmallKind::recurrent
                                                       ? small_recurrent(shape, tokenizer.size())
                                                       : small_transformer(kind, shape, tokenizer.size());
  model->initialize(5);
  models::save_tokenizer(tokenizer, folder, models::ExistingTokenizer::replace);
  std::ofstream(folder + "/config.json") << model->config_json();
  std::vector<io::NamedTensor> tensors;
  for (Parameter* parameter : model->parameters())
    tensors.push_back({model->file_name(*parameter), parameter->value});
  io::Outputs outputs(io::Existing::replace);
  outputs.reserve(folder + "/model.safetensors");
  io::write_safetensors(outputs, folder + "/model.safetensors", tensors);
  outputs.commit();
}

}  // namespace headlight::testing
