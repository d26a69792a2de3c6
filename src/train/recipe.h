// A whole training run on one page: model, tokenizer, data, optimizer, what to write and when. docs/guide/train.md
// explains every setting.
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
  std::string start;   // a model whose weights, and tokenizer, to begin with; empty: random weights
  std::optional<Index> width, layers, encoder_layers, heads, kv_heads, inner, encoder_inner;
  Index context = 0;  // longest sequence; 0: as long as the task needs
  double dropout = 0, attention_dropout = 0;
  double rope_theta = 0;   // of rotary positions; 0: as the kind has it
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
  std::vector<std::string> train, valid;                // text, or pairs with a tab between
  std::vector<std::string> train_source, train_target;  // or line by line in two files
  std::vector<std::string> valid_source, valid_target;
  std::vector<std::string>
      linked;  // translation: more pairs, with the places of two words that a guided head links
  std::vector<double> weights;  // language: how often each file of `train` is read, against the others
  double repeat_share = 0;      // language: of the windows show a piece of text again and again
  double split_share = 0;       // translation: of the tokens are taken apart, see token_splits.h
  double valid_share = 0;       // of the training text, from its end, when there is no file for it
  std::string separator;        // between documents: "<|endoftext|>"; empty: one text
  std::string field = "text";   // for .jsonl files: the field that holds a document
  std::string source_field = "source", target_field = "target";  // the same for pairs
  std::string cache;       // folder for files of tokens; empty: in the run's folder
  bool swap = false;       // translate from the second column to the first
  Index batch = 0;         // windows or sequences
  Index batch_tokens = 0;  // translation: tokens of source and target
  double mask_share = 0.15;
  Index symbols = 16, length = 16, pairs = 4;  // synthetic tasks
  Index evaluation_size = 0;                   // tokens, pairs or sequences at most; 0: all
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
  std::vector<std::string> samples;     // prompts that are continued, or translated, at evaluations
  Index sample_tokens = 60;             // of a continuation
  Index bleu_pairs = 0;                 // evaluation pairs that are translated and scored; 0: none
  std::string out;                      // the run's folder; empty: runs/NAME
  std::string name;                     // name of the recipe in messages
  Facts facts;                          // every setting, for checkpoints
  std::vector<std::string> defaulted;   // those of them that the recipe leaves open
};

// Reads all settings and refuses unknown ones.
[[nodiscard]] Recipe read_recipe(Settings settings);

// Refuses data that the task cannot use: Error{input}. read_recipe() does it where the recipe names its task.
void check_data(const DataRecipe& data, const std::string& recipe);

// Settings that may change when a run is resumed, because they do not affect earlier results.
[[nodiscard]] std::vector<std::string> free_settings();

}  // namespace headlight::train
