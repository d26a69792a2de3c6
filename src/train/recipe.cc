#include "train/recipe.h"

#include <charconv>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"

namespace headlight::train {
namespace {

constexpr double kBelowOne = 0.999999;

// The kind of the model comes from model.start, or else from the recipe.
std::string choice_or_start(Settings& s, const std::string& key, std::vector<std::string> choices) {
  const bool start = s.has("model.start");
  if (start) choices.insert(choices.begin(), "");
  return s.choice(key, choices, !start);
}

ModelRecipe read_model(Settings& s) {
  ModelRecipe m;
  m.kind = choice_or_start(
      s, "model.kind",
      {"decoder", "llama", "encoder", "encoder-decoder", "gru", "lstm", "gru-seq2seq", "lstm-seq2seq"});
  m.preset = s.text("model.preset", "");
  m.start = s.text("model.start", "");
  const auto size = [&](const char* key) -> std::optional<Index> {
    return s.maybe_whole(std::string("model.") + key, WholeRange{1, 1 << 20});
  };
  m.width = size("width");
  m.layers = size("layers");
  m.encoder_layers = size("encoder_layers");
  m.heads = size("heads");
  m.kv_heads = size("kv_heads");
  m.inner = size("inner");
  m.encoder_inner = size("encoder_inner");
  m.context = s.whole("model.context", 0, {0, 1 << 22});
  m.dropout = s.real("model.dropout", 0, {0, kBelowOne});
  m.attention_dropout = s.real("model.attention_dropout", 0, {0, kBelowOne});
  m.positions = s.choice("model.positions", {"", "none", "learned", "sinusoidal", "rope", "alibi"});
  m.rope_theta = s.real("model.rope_theta", 0, {0, 1e12});
  m.norm = s.choice("model.norm", {"", "layer", "rms"});
  m.norm_place = s.choice("model.norm_place", {"", "before", "after"});
  m.activation = s.choice("model.activation", {"", "relu", "gelu", "gelu_tanh", "silu"});
  m.gated = s.maybe_boolean("model.gated");
  m.bias = s.maybe_boolean("model.bias");
  m.tied = s.maybe_boolean("model.tied");
  m.attention = s.boolean("model.attention", true);
  return m;
}

LoraRecipe read_lora(Settings& s) {
  LoraRecipe l;
  l.rank = s.whole("lora.rank", 0, {0, 1 << 14});
  l.alpha = s.real("lora.alpha", 2 * static_cast<double>(l.rank), {0, 1e6});
  l.targets = s.texts("lora.targets");
  if (l.rank > 0 && !s.has("model.start"))
    s.refuse("lora.rank", "an adapter needs a base model; give model.start");
  if (l.rank == 0 && (s.has("lora.alpha") || s.has("lora.targets")))
    s.refuse("lora.rank", "is 0, so there is no adapter for lora.alpha or lora.targets");
  if (l.targets.empty()) l.targets = {"attention", "feed_forward"};
  return l;
}

TokenizerRecipe read_tokenizer(Settings& s) {
  TokenizerRecipe t;
  t.file = s.text("tokenizer.file", "");
  t.kind = s.choice("tokenizer.kind", {"bpe", "characters", "bytes", "unigram", "wordpiece"});
  t.vocabulary = s.whole("tokenizer.vocabulary", 8000, {16, 1 << 20});
  t.elisions = s.boolean("tokenizer.elisions", false);
  if (t.elisions && t.kind != "bpe") s.refuse("tokenizer.elisions", "is for the kind \"bpe\"");
  if (s.has("model.start") &&
      (s.has("tokenizer.file") || s.has("tokenizer.kind") || s.has("tokenizer.vocabulary")))
    s.refuse("tokenizer", "model.start is given, and that model has its own tokenizer");
  for (const char* key : {"tokenizer.kind", "tokenizer.elisions"})
    if (!t.file.empty() && s.has(key)) s.refuse(key, "tokenizer.file is given and sets this");
  return t;
}

DataRecipe read_data(Settings& s) {
  DataRecipe d;
  d.task = choice_or_start(s, "data.task",
                           {"language", "masked", "translation", "copy", "reverse", "recall", "induction"});
  d.train = s.texts("data.train");
  d.valid = s.texts("data.valid");
  d.weights = s.reals("data.weights", {1e-6, 1e6});
  d.repeat_share = s.real("data.repeat_share", 0, {0, 1});
  d.split_share = s.real("data.split_share", 0, {0, 0.9});
  d.linked = s.texts("data.linked");
  d.train_source = s.texts("data.train_source");
  d.train_target = s.texts("data.train_target");
  d.valid_source = s.texts("data.valid_source");
  d.valid_target = s.texts("data.valid_target");
  d.valid_share = s.real("data.valid_share", 0, {0, 0.9});
  d.separator = s.text("data.separator", "");
  d.swap = s.boolean("data.swap", false);
  d.field = s.text("data.field", d.field);
  d.source_field = s.text("data.source_field", d.source_field);
  d.target_field = s.text("data.target_field", d.target_field);
  d.cache = s.text("data.cache", "");
  d.batch = s.whole("data.batch", 16, {1, 1 << 20});
  d.batch_tokens = s.whole("data.batch_tokens", 4000, {1, 1 << 24});
  d.mask_share = s.real("data.mask_share", 0.15, {0.001, 1});
  d.symbols = s.whole("data.symbols", 16, {2, 1 << 20});
  d.length = s.whole("data.length", 16, {1, 1 << 20});
  d.pairs = s.whole("data.pairs", 4, {1, 1 << 16});
  d.evaluation_size = s.whole("data.evaluation_size", 0);
  return d;
}

void read_training(Settings& s, Recipe& r) {
  TrainerConfig& t = r.trainer;
  t.seed = static_cast<std::uint64_t>(s.whole("seed", 1, {0, std::numeric_limits<std::int64_t>::max()}));
  t.steps = s.whole("train.steps", 1000, {1, 1'000'000'000});
  t.accumulate = s.whole("train.accumulate", 1, {1, 4096});
  t.divided =
      s.choice("train.divide", {"batches", "tokens"}) == "tokens" ? Divided::tokens : Divided::batches;
  t.clip = s.real("train.clip", 1);
  t.label_smoothing = s.real("train.label_smoothing", 0, {0, 0.9});
  t.checkpoint_layers = s.boolean("train.checkpoint_layers", false);
  const std::string products = s.choice("train.products", {"exact", "rounded", "bf16"});
  r.products = products == "rounded" ? Products::rounded
               : products == "bf16"  ? Products::bf16
                                     : Products::exact;
  const std::string schedule = s.choice("optimizer.schedule", {"cosine", "constant", "inverse-sqrt"});
  for (const ScheduleKind kind :
       {ScheduleKind::cosine, ScheduleKind::constant, ScheduleKind::inverse_square_root})
    if (name_of(kind) == schedule) t.schedule.kind = kind;
  t.schedule.peak = s.real("optimizer.learning_rate", 1e-3, {1e-12, 1e3});
  t.schedule.floor = s.real("optimizer.min_learning_rate", t.schedule.peak / 10, {0, 1e3});
  if (t.schedule.floor > t.schedule.peak)
    s.refuse("optimizer.min_learning_rate", "is above optimizer.learning_rate");
  t.schedule.warmup = s.whole("optimizer.warmup", 0);
  t.schedule.steps = t.steps;
  r.adam.beta1 = s.real("optimizer.beta1", 0.9, {0, kBelowOne});
  r.adam.beta2 = s.real("optimizer.beta2", 0.999, {0, kBelowOne});
  r.adam.epsilon = s.real("optimizer.epsilon", 1e-8, {1e-30, 1});
  r.adam.weight_decay = s.real("optimizer.weight_decay", 0.01, {0, 1e3});
  r.adam.average = s.real("optimizer.average", 0, {0, kBelowOne});
}

// "2.5": the head that is guided.
void read_guide(Settings& s, Recipe& r) {
  const std::string head = s.text("guide.head", "");
  const double weight = s.real("guide.weight", 1, {0, 1e6});
  if (head.empty() != r.data.linked.empty())
    s.refuse("guide.head", "and data.linked need each other: a head, and the pairs to train it on");
  if (head.empty()) return;
  models::Guide& guide = r.trainer.guide;
  const char* end = head.data() + head.size();
  const auto layer = std::from_chars(head.data(), end, guide.layer);
  const bool point = layer.ec == std::errc() && layer.ptr != end && *layer.ptr == '.';
  const auto number = std::from_chars(point ? layer.ptr + 1 : end, end, guide.head);
  if (!point || number.ec != std::errc() || number.ptr != end || guide.layer < 0 || guide.head < 0)
    s.refuse("guide.head", "is not LAYER.HEAD, such as \"2.5\"; both count from 0");
  guide.weight = weight;
}

void read_output(Settings& s, Recipe& r) {
  TrainerConfig& t = r.trainer;
  t.evaluate_every = s.whole("evaluation.every", 250);
  t.patience = s.whole("evaluation.patience", 0);
  t.evaluate_first = s.boolean("evaluation.at_start", false);
  r.bleu_pairs = s.whole("evaluation.bleu_pairs", 0);
  t.log_every = s.whole("output.log_every", 10, {1});
  t.save_every = s.whole("output.save_every", 500);
  t.keep = static_cast<std::size_t>(s.whole("output.keep", 2, {1, 1000}));
  t.watch_every = s.whole("output.watch_every", 0);
  t.tensorboard = s.boolean("output.tensorboard", true);
  r.watch = s.texts("output.watch");
  r.samples = s.texts("output.samples");
  r.sample_tokens = s.whole("output.sample_tokens", 60, {1, 4096});
  r.out = s.text("output.folder", "");
}

}  // namespace

void check_data(const DataRecipe& d, const std::string& recipe) {
  const auto refuse = [&](const std::string& key, const std::string& what) {
    throw Error(ErrorKind::input, "recipe.value", concat(escaped(recipe), ": ", key, ": ", what));
  };
  const bool text = d.task == "language" || d.task == "masked", pairs = d.task == "translation";
  const bool split = !d.train_source.empty() || !d.train_target.empty();
  if (text && d.train.empty()) refuse("data.train", "names no training file");
  if (pairs && d.train.empty() && !split)
    refuse("data.train", "names no file with pairs; or give data.train_source and data.train_target");
  if (pairs && !d.train.empty() && split)
    refuse("data.train", "give one file with pairs, or a source and a target file, not both");
  if (d.train_source.size() != d.train_target.size())
    refuse("data.train_target", "needs as many files as data.train_source");
  if (d.valid_source.size() != d.valid_target.size())
    refuse("data.valid_target", "needs as many files as data.valid_source");
  if (!pairs && split) refuse("data.train_source", "is for the task \"translation\"");
  if (!d.valid.empty() && d.valid_share > 0) refuse("data.valid_share", "data.valid is given already");
  if (d.task != "language" && (!d.weights.empty() || d.repeat_share > 0))
    refuse(d.weights.empty() ? "data.repeat_share" : "data.weights", "is for the task \"language\"");
  if (!pairs && !d.linked.empty()) refuse("data.linked", "is for the task \"translation\"");
  if (!d.linked.empty() && (d.swap || d.split_share > 0))
    refuse("data.linked", "refers to words of the original source; leave out data.swap and data.split_share");
  if (!pairs && d.split_share > 0) refuse("data.split_share", "is for the task \"translation\"");
  if (!d.weights.empty() && d.weights.size() != d.train.size())
    refuse("data.weights", "needs as many numbers as data.train has files");
  if (!d.weights.empty() && d.valid_share > 0)
    refuse("data.weights", "needs data.valid; leave out data.valid_share");
  if (d.repeat_share > 0 && d.separator.empty())
    refuse("data.repeat_share", "needs data.separator, whose token separates the repetitions");
  if (!text && !pairs && !d.train.empty()) refuse("data.train", "this task generates its own data");
}

Recipe read_recipe(Settings s) {
  Recipe recipe;
  recipe.model = read_model(s);
  recipe.lora = read_lora(s);
  recipe.tokenizer = read_tokenizer(s);
  recipe.data = read_data(s);
  read_training(s, recipe);
  read_guide(s, recipe);
  read_output(s, recipe);
  s.finish();
  if (!recipe.data.task.empty()) check_data(recipe.data, s.name());
  recipe.name = s.name();
  recipe.facts = s.facts();
  recipe.defaulted = s.defaulted();
  return recipe;
}

std::vector<std::string> free_settings() {
  // Files are compared by their content, not by their name. Metrics are part of the result, so
  // output.log_every and evaluation.every are not here.
  return {"train.steps",          "train.products",     "output.save_every",
          "output.keep",          "output.watch",       "output.watch_every",
          "output.folder",        "data.train",         "data.valid",
          "data.train_source",    "data.train_target",  "data.valid_source",
          "data.valid_target",    "data.linked",        "tokenizer.file",
          "model.start",          "data.cache",         "output.samples",
          "output.sample_tokens", "output.tensorboard", "train.checkpoint_layers",
          "train.divide"};
}

}  // namespace headlight::train
