// The settings of a training run: model, tokenizer, data, optimizer, outputs. docs/guide/train.md
// explains all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headlight/context.h"
#include "train/adamw.h"
#include "train/settings.h"
#include "train/trainer.h"

namespace headlight::train {

// The recipe's settings of the model; defaults depend on the kind.
struct ModelRecipe {
  std::string
      kind;  // "decoder", "encoder", "encoder-decoder", "gru", "gru-seq2seq", …; empty: that of `start`
  std::string preset;  // "transformer-base"; empty: none
  std::string start;   // model to start from, with its tokenizer; empty: random parameters
  std::optional<Index> width, layers, encoder_layers, heads, kv_heads, inner, encoder_inner;
  Index context = 0;  // longest sequence; 0: as long as the task needs
  double dropout = 0, attention_dropout = 0;
  double rope_theta = 0;   // of rotary positions; 0: the default of the kind
  std::string positions;   // "", "none", "learned", "sinusoidal", "rope", "alibi"
  std::string norm;        // "", "layer", "rms"
  std::string norm_place;  // "", "before", "after"
  std::string activation;  // "", "relu", "gelu", "gelu_tanh", "silu"
  std::optional<bool> gated, bias, tied;
  bool attention = true;  // for recurrent encoder-decoders: additive attention to the source
};

// Trains an adapter for the matrices of model.start instead of all parameters.
struct LoraRecipe {
  Index rank = 0;  // 0: all parameters are trained
  double alpha = 0;
  std::vector<std::string> targets;
};

struct TokenizerRecipe {
  std::string file;  // a tokenizer.json; empty: one is made from the training text
  std::string kind;  // "characters", "bytes", "bpe", "unigram", "wordpiece"
  Index vocabulary = 8000;
  bool elisions = false;  // French: see text/train.h
};

struct DataRecipe {
  std::string
      task;  // "language", "masked", "translation", "copy", "reverse", "recall", "induction"; empty: as `start`
  std::vector<std::string> train, valid;                // text, or pairs separated by a tab
  std::vector<std::string> train_source, train_target;  // or sources and targets line by line in two files
  std::vector<std::string> valid_source, valid_target;
  std::vector<std::string>
      linked;  // translation: further pairs, with the indices of two words that a guided head links
  std::vector<double> weights;  // language: weight of each file of `train`
  double repeat_share = 0;      // language: share of windows that repeat a piece of text
  double split_share = 0;       // translation: share of tokens that are split, see token_splits.h
  double valid_share = 0;       // share of the training text, from its end, if there is no file
  std::string separator;        // between documents: "<|endoftext|>"; empty: one text
  std::string field = "text";   // for .jsonl files: the field that holds a document
  std::string source_field = "source", target_field = "target";  // the same for pairs
  std::string cache;       // folder for files of tokens; empty: in the run's folder
  bool swap = false;       // swap source and target
  Index batch = 0;         // windows or sequences
  Index batch_tokens = 0;  // translation: tokens of source and target
  double mask_share = 0.15;
  Index symbols = 16, length = 16, pairs = 4;  // synthetic tasks
  Index evaluation_size = 0;                   // most tokens, pairs or sequences; 0: all
};

struct Recipe {
  ModelRecipe model;
  LoraRecipe lora;
  TokenizerRecipe tokenizer;
  DataRecipe data;
  AdamWConfig adam;
  TrainerConfig trainer;
  Products products = Products::exact;  // for the Context that the run is given
  std::vector<std::string> watch;       // sentences whose attention is recorded
  std::vector<std::string> samples;     // prompts that are continued or translated at evaluations
  Index sample_tokens = 60;             // of a continuation
  Index bleu_pairs = 0;                 // evaluation pairs that are translated and scored; 0: none
  std::string out;                      // the run's folder; empty: runs/NAME
  std::string name;                     // name of the recipe in messages
  Facts facts;                          // every setting, for checkpoints
  std::vector<std::string> defaulted;   // those that the recipe does not set
};

// Reads all settings and refuses unknown ones.
[[nodiscard]] Recipe read_recipe(Settings settings);

// Refuses data that the task cannot use: Error{input}. read_recipe() does it where the recipe names its task.
void check_data(const DataRecipe& data, const std::string& recipe);

// Settings that may change when a run is resumed, because they do not affect earlier results.
[[nodiscard]] std::vector<std::string> free_settings();

}  // namespace headlight::train
