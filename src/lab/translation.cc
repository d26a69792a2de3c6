// Word alignment by cross-attention: a head chosen on some sentences and tested on others.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "core/concat.h"
#include "core/escape.h"
#include "draw/figures.h"
#include "headlight/error.h"
#include "inspect/model_run.h"
#include "inspect/word_alignment.h"
#include "io/json_writer.h"
#include "lab/experiment.h"
#include "lab/seeds_checks.h"
#include "lab/spread.h"
#include "train/dice.h"

namespace headlight::lab {
namespace {

using inspect::AlignedSentence;
using inspect::AlignmentScore;
using inspect::AttentionMap;
using inspect::HeadPlace;
using inspect::Word;

constexpr const char *kCat = "The cat sat on the mat.", *kChat = "Le chat s'est assis sur le tapis.";

std::string head_text(const HeadPlace& head) { return fmt::format("{}.{}", head.layer, head.head); }

std::string alignments_of(const inspect::LoadedModel& model) { return model.folder + "/alignments.tsv"; }

std::vector<AlignedSentence> sentences_of(const inspect::LoadedModel* model) {
  if (model == nullptr)
    throw Error(ErrorKind::usage, "lab.model",
                "lab translation: needs a model that translates; give one with --model");
  const std::string path = alignments_of(*model);
  if (!std::filesystem::exists(path)) {
    throw Error(ErrorKind::file, "lab.alignments",
                concat(escaped(path), ": not found; the experiment needs hand-aligned sentences"));
  }
  std::vector<AlignedSentence> sentences = inspect::read_alignments(path);
  if (sentences.size() < 4)
    throw Error(ErrorKind::input, "lab.alignments", concat(escaped(path), ": has fewer than 4 sentences"));
  return sentences;
}

// Number of words of each sentence that each head aligns correctly.
class Counts {
 public:
  Counts(Context& ctx, const LabOptions& options, const std::vector<AlignedSentence>& sentences) {
    for (std::size_t i = 0; i < sentences.size(); ++i) {
      tell(options, static_cast<double>(i), static_cast<double>(sentences.size()), "reading translations");
      by_sentence_.push_back(
          inspect::score_alignment(ctx, *options.model, std::span(sentences).subspan(i, 1)));
    }
  }
  [[nodiscard]] std::vector<AlignmentScore> over(std::span<const std::size_t> chosen) const {
    std::vector<AlignmentScore> sums = by_sentence_[chosen[0]];
    for (const std::size_t i : chosen.subspan(1))
      for (std::size_t h = 0; h < sums.size(); ++h)
        sums[h].right += by_sentence_[i][h].right, sums[h].words += by_sentence_[i][h].words;
    return sums;
  }
  [[nodiscard]] std::size_t size() const { return by_sentence_.size(); }

 private:
  std::vector<std::vector<AlignmentScore>> by_sentence_;
};

// Sentences in a random order: the first half selects the head, the second half scores it.
std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed) {
  std::vector<std::size_t> order(count);
  for (std::size_t i = 0; i < count; ++i) order[i] = i;
  train::Dice(seed, train::Purpose::order, 0).shuffle(order);
  return order;
}

// The words without added special tokens.
std::vector<Word> plain_words(const inspect::EncodedText& encoded) {
  std::vector<Word> words = inspect::words_of(encoded);
  std::erase_if(
      words, [&](const Word& w) { return encoded.tokens[static_cast<std::size_t>(w.tokens.begin)].added; });
  return words;
}

struct Baselines {
  double diagonal = 0, chance = 0;
};

// Baselines without a model: the word at the same position, and a random word.
Baselines baselines_of(const inspect::LoadedModel& loaded, std::span<const AlignedSentence> sentences) {
  Baselines b;
  double words = 0;
  const auto place = [](const std::vector<Word>& list, const std::string& label) {
    return static_cast<double>(
        std::find_if(list.begin(), list.end(), [&](const Word& w) { return w.label == label; }) -
        list.begin());
  };
  for (const AlignedSentence& sentence : sentences) {
    const std::vector<Word> from = plain_words(inspect::read_text(*loaded.tokenizer, sentence.written)),
                            to = plain_words(inspect::read_text(*loaded.tokenizer, sentence.source));
    for (const inspect::AlignedWord& word : sentence.words) {
      const double share = place(from, word.written) / std::max(1.0, static_cast<double>(from.size()) - 1);
      const double guess = std::round(share * (static_cast<double>(to.size()) - 1));
      for (const std::string& source : word.source) b.diagonal += place(to, source) == guess ? 1 : 0;
      b.chance += static_cast<double>(word.source.size()) / static_cast<double>(to.size());
      ++words;
    }
  }
  return {b.diagonal / words, b.chance / words};
}

// The tutorials' sentence in this head, word by word.
struct CatMap {
  AttentionMap map;
  std::vector<Word> from, to;

  CatMap(Context& ctx, const inspect::LoadedModel& loaded, const HeadPlace& head) {
    const inspect::ModelInput input{.source = inspect::read_text(*loaded.tokenizer, kCat),
                                    .written = inspect::read_text(*loaded.tokenizer, kChat)};
    inspect::MapRecorder recorder({.part = Part::cross, .heads = {head}});
    (void)inspect::watch(ctx, loaded, input, recorder);
    from = inspect::words_of(input.written);
    to = inspect::words_of(input.source);
    map = inspect::by_words(recorder.maps().front(), from, to);
  }
  struct Look {
    std::string word;
    double weight = 0;
  };
  // The source word with the largest weight for a word of the translation.
  [[nodiscard]] Look look(const std::string& word) const {
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (from[i].label != word) continue;
      Index best = 0;
      for (Index j = 1; j < map.columns; ++j)
        if (map.at(static_cast<Index>(i), j) > map.at(static_cast<Index>(i), best)) best = j;
      return {to[static_cast<std::size_t>(best)].label, double{map.at(static_cast<Index>(i), best)}};
    }
    return {"-", 0};
  }
  [[nodiscard]] draw::Drawing figure(const std::string& model, const HeadPlace& head) const {
    draw::WeightMap drawn;
    drawn.title = concat("cross-attention head ", head_text(head));
    drawn.short_name = head_text(head);
    drawn.origin = draw::Origin::derived;
    drawn.derivation = "tokens merged to words";
    for (const Word& word : from) drawn.queries.push_back(word.label);
    for (const Word& word : to) drawn.keys.push_back(word.label);
    drawn.weights = map.weights;
    drawn.row_axis = "query (writing)";
    draw::FigureStyle style;
    style.numbers = true;
    style.caption = concat("“", kCat, "” → “", kChat, "” Model ", model,
                           "; the head was chosen on other, hand-aligned sentences.");
    return draw::heat_map_figure(std::span(&drawn, 1), style);
  }
};

struct Study {
  std::vector<AlignmentScore> all;  // over all sentences, best first
  Spread tested;                    // the chosen head on the other half
  std::vector<std::string> chosen;  // the chosen heads, split by split
  Baselines baselines;
};

Study study_of(Context& ctx, const LabOptions& options, int splits) {
  const std::vector<AlignedSentence> sentences = sentences_of(options.model);
  const Counts counts(ctx, options, sentences);
  std::vector<double> shares;
  Study study;
  for (int s = 0; s < splits; ++s) {
    const std::vector<std::size_t> order =
        shuffled(counts.size(), options.seed + static_cast<std::uint64_t>(s));
    const std::span all(order);
    const std::size_t half = order.size() / 2;
    const HeadPlace head = inspect::best_of(counts.over(all.first(half))).head;
    for (const AlignmentScore& score : counts.over(all.subspan(half)))
      if (score.head == head) shares.push_back(score.share());
    study.chosen.push_back(head_text(head));
  }
  study.tested = spread_of(shares);
  study.all = counts.over(shuffled(counts.size(), 0));
  std::stable_sort(study.all.begin(), study.all.end(),
                   [](const AlignmentScore& a, const AlignmentScore& b) { return a.right > b.right; });
  study.baselines = baselines_of(*options.model, sentences);
  return study;
}

}  // namespace

Outcome run_translation(const LabOptions& options) {
  Context ctx({.threads = options.threads});
  const int splits = options.quick ? 5 : 20;
  const Study study = study_of(ctx, options, splits);
  const HeadPlace best = study.all.front().head;
  const CatMap cat(ctx, *options.model, best);
  const CatMap::Look chat = cat.look("chat"), tapis = cat.look("tapis");
  std::vector<double> shares;
  for (const AlignmentScore& score : study.all) shares.push_back(score.share());
  const Spread heads = spread_of(shares);

  std::vector<TableRow> rows;
  for (std::size_t i = 0; i < std::min<std::size_t>(5, study.all.size()); ++i)
    rows.push_back(
        {concat("head ", head_text(study.all[i].head)), fmt::format("{:.0f} %", 100 * study.all[i].share())});
  rows.push_back(
      {fmt::format("mean of {} heads", study.all.size()), fmt::format("{:.0f} %", 100 * heads.mean)});
  rows.push_back({"same position in the sentence", fmt::format("{:.0f} %", 100 * study.baselines.diagonal)});
  rows.push_back({"a random word", fmt::format("{:.0f} %", 100 * study.baselines.chance)});
  const auto times = std::count(study.chosen.begin(), study.chosen.end(), head_text(best));

  Outcome out;
  out.holds = study.tested.mean > study.baselines.diagonal && chat.word == "cat" && tapis.word == "mat";
  out.finding = fmt::format(
      "No head was trained to align words, yet one does. Chosen on half of the hand-aligned sentences, it "
      "finds {:.0f} ± {:.0f} % of the content words in the other half. The same position in the sentence "
      "finds {:.0f} %, a random word {:.0f} %, the mean head {:.0f} %. In “{}” it attends from “chat” to "
      "“{}” ({:.2f}) and from “tapis” to “{}” ({:.2f}).",
      100 * study.tested.mean, 100 * study.tested.deviation, 100 * study.baselines.diagonal,
      100 * study.baselines.chance, 100 * heads.mean, kChat, chat.word, chat.weight, tapis.word,
      tapis.weight);
  out.text = with_note(
      table_text({"largest weight on the right word", "of all words"}, rows),
      fmt::format("{} words of {} sentences. {} random halves from seed {} on chose head {} {} times. The "
                  "words in the tutorial's figure are right, but its second arrow starts above “the”.",
                  study.all.front().words, sentences_of(options.model).size(), splits, options.seed,
                  head_text(best), times),
      options.width);
  io::JsonWriter w;
  write(w.begin_object(io::JsonLayout::lines).field("model", options.model->name).key("tested"),
        study.tested);
  w.field("diagonal", rounded(study.baselines.diagonal)).field("chance", rounded(study.baselines.chance));
  for (const auto& [name, found] : {std::pair{"chat", &chat}, {"tapis", &tapis}}) {
    w.key(name).begin_object().field("word", found->word);
    w.field("weight", rounded(found->weight)).end_object();
  }
  w.key("heads").begin_list();
  for (const AlignmentScore& score : study.all) {
    w.begin_object().field("layer", score.head.layer).field("head", score.head.head);
    w.field("right", score.right).field("words", score.words).end_object();
  }
  out.json = w.end_list().end_object().take_line();
  out.figure = cat.figure(options.model->name, best);
  return out;
}

Found seeds::chat_looks_at_cat(const LabOptions& options) {
  if (options.model == nullptr || !std::filesystem::exists(alignments_of(*options.model)))
    return without_model();
  LabOptions quiet = options;
  quiet.progress = nullptr;
  Context ctx({.threads = options.threads});
  const Study study = study_of(ctx, quiet, 1);
  const HeadPlace head = study.all.front().head;
  const CatMap cat(ctx, *options.model, head);
  const CatMap::Look chat = cat.look("chat"), tapis = cat.look("tapis");
  return {chat.word == "cat" && tapis.word == "mat",
          fmt::format("cross-attention head {}: chat attends to {} ({:.2f}), tapis to {} ({:.2f})",
                      head_text(head), chat.word, chat.weight, tapis.word, tapis.weight)};
}

}  // namespace headlight::lab
