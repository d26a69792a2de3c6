#include "train/prepare.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "core/concat.h"
#include "headlight/error.h"
#include "io/hash.h"
#include "models/tokenizer_file.h"
#include "text/train.h"
#include "train/corpus.h"
#include "train/language_task.h"
#include "train/synthetic_task.h"
#include "train/translation_task.h"
#include "train/word_links.h"

namespace headlight::train {
namespace {

constexpr Index kWindow = 256, kSentence = 128;  // tokens, when the recipe does not say

text::TokenizerKind kind_of(const std::string& name) {
  if (name == "characters") return text::TokenizerKind::characters;
  if (name == "bytes") return text::TokenizerKind::bytes;
  if (name == "unigram") return text::TokenizerKind::unigram;
  if (name == "wordpiece") return text::TokenizerKind::word_piece;
  return text::TokenizerKind::bpe;
}

std::vector<std::string> special_tokens(const Recipe& recipe) {
  if (recipe.tokenizer.kind == "wordpiece") return {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  if (recipe.data.task == "masked") return {"<pad>", "<s>", "</s>", "<unk>", "<mask>"};
  if (recipe.data.task == "translation") return {"<pad>", "<s>", "</s>", "<unk>"};
  std::vector<std::string> special = {"<|endoftext|>"};
  if (recipe.tokenizer.kind != "bpe" && recipe.tokenizer.kind != "bytes") special.emplace_back("<unk>");
  return special;
}

class Preparer {
 public:
  Preparer(const Recipe& recipe, const PrepareOptions& options) : recipe_(recipe), options_(options) {}

  Prepared prepare() {
    const std::string& task = recipe_.data.task;
    if (task == "translation") prepare_pairs();
    else if (task == "language" || task == "masked") prepare_text();
    else prepare_synthetic();
    result_.data = reader_.files();
    if (result_.tokenizer)
      result_.data.push_back(
          {"tokenizer.json", result_.tokenizer_json.size(), io::hash_text(result_.tokenizer_json)});
    return std::move(result_);
  }

 private:
  void tell(std::string_view doing) const {
    if (options_.progress) options_.progress(doing);
  }

  // The one of the run that is continued, of the model to begin with, of a file, or a new one from the texts.
  void take_tokenizer(const text::TextSource& texts) {
    if (!options_.tokenizer_json.empty()) {
      result_.tokenizer = models::tokenizer_from_json(
          io::Json::parse(options_.tokenizer_json, "the checkpoint's tokenizer.json"));
    } else if (!recipe_.model.start.empty()) {
      result_.tokenizer = models::load_tokenizer(recipe_.model.start);
      if (recipe_.tokenizer.elisions) result_.tokenizer = text::with_elisions(*result_.tokenizer);
    } else if (!recipe_.tokenizer.file.empty()) {
      result_.tokenizer = models::load_tokenizer(recipe_.tokenizer.file);
    } else {
      tell("training a tokenizer");
      text::TokenizerTraining training;
      training.kind = kind_of(recipe_.tokenizer.kind);
      training.vocab = static_cast<std::int32_t>(recipe_.tokenizer.vocabulary);
      training.special = special_tokens(recipe_);
      training.elisions = recipe_.tokenizer.elisions;
      if (training.kind == text::TokenizerKind::characters) training.min_frequency = 1;
      result_.tokenizer = text::train_tokenizer(texts, training);
    }
    result_.tokenizer_json = models::tokenizer_to_json(*result_.tokenizer);
    result_.special = special_ids(*result_.tokenizer);
  }

  [[nodiscard]] std::vector<TokenId> encode(const std::string& text) const {
    return result_.tokenizer->encode(text, SpecialTokens::leave_out);
  }

  TokenId need(const std::optional<TokenId>& id, std::string_view role, std::string_view names) const {
    if (id) return *id;
    throw Error(ErrorKind::input, "data.special",
                concat("tokenizer: has no ", role, " token (", names, "), which the task \"",
                       recipe_.data.task, "\" needs"));
  }

  [[nodiscard]] TokenId end_of_text() const {
    return need(result_.special.end, "end-of-text", "<|endoftext|>, </s>");
  }

  void join(std::span<const std::string> documents, std::vector<TokenId>& ids) const {
    for (const std::string& document : documents) {
      const std::vector<TokenId> more = encode(document);
      ids.insert(ids.end(), more.begin(), more.end());
      if (!recipe_.data.separator.empty()) ids.push_back(end_of_text());
    }
  }

  // Files have parts of their own when they have weights.
  [[nodiscard]] Corpus corpus_of(const CorpusText& text) const {
    Corpus corpus;
    join(text.valid, corpus.valid);
    const std::span<const std::string> documents(text.train);
    if (recipe_.data.weights.empty()) {
      join(documents, corpus.train);
      return corpus;
    }
    std::size_t first = 0;
    for (std::size_t file = 0; file < text.file_ends.size(); ++file) {
      const auto begin = static_cast<Index>(corpus.train.size());
      join(documents.subspan(first, text.file_ends[file] - first), corpus.train);
      first = text.file_ends[file];
      corpus.parts.push_back({begin, static_cast<Index>(corpus.train.size()), recipe_.data.weights[file]});
    }
    return corpus;
  }

  void prepare_text() {
    tell("reading");
    const CorpusText text = reader_.read_texts(recipe_.data);
    take_tokenizer([&text, next = std::size_t{0}](std::string& to) mutable {
      if (next == text.train.size()) return false;
      to = text.train[next++];
      return true;
    });
    tell("splitting into tokens");
    Corpus corpus = corpus_of(text);
    WindowConfig windows{.context = recipe_.model.context > 0 ? recipe_.model.context : kWindow,
                         .rows = recipe_.data.batch,
                         .vocabulary = result_.tokenizer->size(),
                         .seed = recipe_.trainer.seed,
                         .evaluation_tokens = recipe_.data.evaluation_size};
    if (recipe_.data.task == "language") {
      windows.repeat_share = recipe_.data.repeat_share;
      if (windows.repeat_share > 0) windows.separator = end_of_text();
      result_.task = std::make_unique<LanguageTask>(std::move(corpus), windows);
      return;
    }
    MaskConfig mask;
    mask.share = recipe_.data.mask_share;
    mask.mask = need(result_.special.mask, "mask", "<mask>, [MASK]");
    mask.first = result_.special.begin;
    mask.last = result_.special.end;
    result_.task = std::make_unique<MaskedTask>(std::move(corpus), windows, mask);
  }

  void prepare_pairs() {
    tell("reading");
    const PairText text = reader_.read_pairs(recipe_.data);
    take_tokenizer([&text, next = std::size_t{0}](std::string& to) mutable {
      if (next == 2 * text.train.size()) return false;
      const auto& pair = text.train[next / 2];
      to = next % 2 == 0 ? pair.first : pair.second;
      ++next;
      return true;
    });
    tell("splitting into tokens");
    const auto encoded = [this](const std::vector<std::pair<std::string, std::string>>& pairs) {
      Pairs ids;
      for (const auto& [source, target] : pairs) {
        ids.source.add(encode(source));
        ids.target.add(encode(target));
      }
      return ids;
    };
    TranslationConfig config;
    config.end = need(result_.special.end, "end", "</s>");
    config.begin = result_.special.begin ? *result_.special.begin
                                         : need(result_.special.pad, "begin or pad", "<s>, <pad>");
    config.longest = recipe_.model.context > 0 ? recipe_.model.context : kSentence;
    config.batch_tokens = recipe_.data.batch_tokens;
    config.vocabulary = result_.tokenizer->size();
    config.seed = recipe_.trainer.seed;
    config.evaluation_pairs = recipe_.data.evaluation_size;
    if (recipe_.data.split_share > 0)
      config.splits = TokenSplits(*result_.tokenizer, recipe_.data.split_share);
    Pairs train = encoded(text.train);
    for (std::size_t i = 0; i < text.links.size(); ++i) {
      const std::string& source = text.train[text.train.size() - text.links.size() + i].first;
      const std::vector<TokenSpan> tokens = result_.tokenizer->encode_spans(source, SpecialTokens::leave_out);
      train.links.push_back(token_link(source, tokens, text.links[i].query, text.links[i].key));
    }
    result_.task =
        std::make_unique<TranslationTask>(std::move(train), encoded(text.valid), std::move(config));
  }

  void prepare_synthetic() {
    SyntheticConfig config;
    for (const SyntheticKind kind :
         {SyntheticKind::copy, SyntheticKind::reverse, SyntheticKind::recall, SyntheticKind::induction})
      if (name_of(kind) == recipe_.data.task) config.kind = kind;
    config.symbols = recipe_.data.symbols;
    config.length = recipe_.data.length;
    config.pairs = recipe_.data.pairs;
    config.rows = recipe_.data.batch;
    if (recipe_.data.evaluation_size > 0) config.evaluation_rows = recipe_.data.evaluation_size;
    config.with_source =
        recipe_.model.kind == "encoder-decoder" || recipe_.model.kind.find("seq2seq") != std::string::npos;
    config.seed = recipe_.trainer.seed;
    result_.task = std::make_unique<SyntheticTask>(config);
  }

  const Recipe& recipe_;
  const PrepareOptions& options_;
  DataReader reader_;
  Prepared result_;
};

}  // namespace

SpecialIds special_ids(const Tokenizer& tokenizer) {
  SpecialIds ids;
  ids.begin = tokenizer.find(SpecialRole::begin);
  ids.end = tokenizer.find(SpecialRole::end);
  ids.pad = tokenizer.find(SpecialRole::pad);
  ids.mask = tokenizer.find(SpecialRole::mask);
  return ids;
}

Prepared prepare(const Recipe& recipe, const PrepareOptions& options) {
  return Preparer(recipe, options).prepare();
}

}  // namespace headlight::train
