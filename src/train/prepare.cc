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
#include "train/token_cache.h"
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
  Preparer(Context& ctx, const Recipe& recipe, const PrepareOptions& options)
      : recipe_(recipe),
        options_(options),
        cache_(ctx, recipe.data.cache.empty() ? options.folder + "/tokens" : recipe.data.cache,
               options.progress) {}

  Prepared prepare() {
    const std::string& task = recipe_.data.task;
    if (task == "translation") prepare_pairs();
    else if (task == "language" || task == "masked") prepare_text();
    else prepare_synthetic();
    result_.data.insert(result_.data.end(), reader_.files().begin(), reader_.files().end());
    if (result_.tokenizer)
      result_.data.push_back(
          {"tokenizer.json", result_.tokenizer_json.size(), io::hash_text(result_.tokenizer_json)});
    return std::move(result_);
  }

 private:
  void tell(std::string_view doing) const {
    options_.progress.check();
    options_.progress.tell(doing, 0, 0);
  }

  // The tokenizer: that of a continued run, of the initial model, of a file, or a new one trained on the texts.
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

  [[nodiscard]] DocumentRules document_rules() const {
    DocumentRules rules;
    rules.separator = recipe_.data.separator;
    rules.field = recipe_.data.field;
    return rules;
  }

  // A file that is listed twice is read twice.
  [[nodiscard]] std::shared_ptr<const TokenFile> tokens_of(const std::string& path) {
    const TokenRules rules{*result_.tokenizer, io::hash_text(result_.tokenizer_json), document_rules(),
                           result_.special.end, recipe_.data.task};
    std::shared_ptr<const TokenFile> file = cache_.tokens_of(path, rules);
    result_.data.push_back({path, file->text().bytes, file->text().hash});
    return file;
  }

  // Files with weights are separate parts.
  [[nodiscard]] Corpus read_corpus() {
    Corpus corpus;
    const DataRecipe& data = recipe_.data;
    std::vector<std::shared_ptr<const TokenFile>> files;
    for (std::size_t i = 0; i < data.train.size(); ++i) {
      const Index begin = corpus.train.size();
      files.push_back(tokens_of(data.train[i]));
      corpus.train.append(files.back(), 0, files.back()->size());
      if (!data.weights.empty()) corpus.parts.push_back({begin, corpus.train.size(), data.weights[i]});
    }
    for (const std::string& path : data.valid) {
      const std::shared_ptr<const TokenFile> file = tokens_of(path);
      corpus.valid.append(file, 0, file->size());
    }
    if (data.valid_share > 0) corpus.valid = corpus.train.split_off(first_set_aside(files));
    return corpus;
  }

  // The start of the last `valid_share` of the tokens: the beginning of a document, if there are several.
  [[nodiscard]] Index first_set_aside(const std::vector<std::shared_ptr<const TokenFile>>& files) const {
    Index total = 0, documents = 0;
    for (const auto& file : files) total += file->size(), documents += file->documents();
    const auto wanted = static_cast<Index>(static_cast<double>(total) * (1 - recipe_.data.valid_share));
    if (documents == 1) return wanted;
    Index begin = total;
    for (auto file = files.rbegin(); file != files.rend(); ++file) {
      begin -= (*file)->size();
      for (Index n = (*file)->documents(); n-- > 0;) {
        const Index first = begin + (n > 0 ? (*file)->document_end(n - 1) : 0);
        if (first <= wanted) return std::max<Index>(first, first == 0 ? begin + (*file)->document_end(0) : 0);
      }
    }
    return wanted;
  }

  void prepare_text() {
    take_tokenizer(
        [this, file = std::size_t{0}, stream = std::shared_ptr<DocumentStream>()](std::string& to) mutable {
          for (DocumentStream::Document document;; stream.reset(), ++file) {
            if (file == recipe_.data.train.size()) return false;
            if (!stream)
              stream = std::make_shared<DocumentStream>(recipe_.data.train[file], document_rules());
            if (!stream->next(document)) continue;
            to = std::move(document.text);
            return true;
          }
        });
    Corpus corpus = read_corpus();
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

  // An initial model reads sources as its tokenizer encodes them; the end token is added later.
  [[nodiscard]] std::vector<TokenId> encode_source(const std::string& text) const {
    if (options_.start == nullptr) return encode(text);
    std::vector<TokenId> ids = result_.tokenizer->encode(text);
    if (!ids.empty() && result_.special.end && ids.back() == *result_.special.end) ids.pop_back();
    return ids;
  }
  [[nodiscard]] TokenId first_target() const {
    if (options_.start != nullptr && options_.start->decoder_start >= 0) return options_.start->decoder_start;
    return result_.special.begin ? *result_.special.begin
                                 : need(result_.special.pad, "begin or pad", "<s>, <pad>");
  }

  // Sources are trained with an end token. The tokenizer that is saved with the model adds it, so that a
  // translation gives the encoder the input of its training.
  void mark_ends() {
    // The tokenizer of a given model that adds special tokens is used unchanged.
    if (options_.start != nullptr && result_.tokenizer->encode("a") != encode("a")) return;
    result_.tokenizer = text::with_end(*result_.tokenizer, need(result_.special.end, "end", "</s>"));
    result_.tokenizer_json = models::tokenizer_to_json(*result_.tokenizer);
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
    mark_ends();
    const Tokenizer of_target = result_.tokenizer->for_target();
    const auto encoded = [this, &of_target](const std::vector<std::pair<std::string, std::string>>& pairs) {
      Pairs ids;
      for (std::size_t i = 0; i < pairs.size(); ++i) {
        if (i % 1024 == 0) {
          options_.progress.check();
          options_.progress.tell("tokenizing pairs", static_cast<double>(i),
                                 static_cast<double>(pairs.size()));
        }
        ids.source.add(encode_source(pairs[i].first));
        ids.target.add(of_target.encode(pairs[i].second, SpecialTokens::leave_out));
      }
      return ids;
    };
    TranslationConfig config;
    config.end = need(result_.special.end, "end", "</s>");
    config.begin = first_target();
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
    Pairs valid = encoded(text.valid);
    const auto scored = std::min(text.valid.size(), static_cast<std::size_t>(recipe_.bleu_pairs));
    result_.scored_pairs.assign(text.valid.begin(), text.valid.begin() + static_cast<std::ptrdiff_t>(scored));
    result_.task = std::make_unique<TranslationTask>(std::move(train), std::move(valid), std::move(config));
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
  TokenCache cache_;
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

Prepared prepare(Context& ctx, const Recipe& recipe, const PrepareOptions& options) {
  return Preparer(ctx, recipe, options).prepare();
}

}  // namespace headlight::train
