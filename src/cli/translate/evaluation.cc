#include "cli/translate/evaluation.h"

#include <fmt/format.h>

#include <unordered_map>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "io/file.h"
#include "io/json_writer.h"
#include "train/corpus.h"

namespace headlight::cli {

TestSet read_test_set(const std::string& path, std::size_t limit) {
  TestSet set;
  std::unordered_map<std::string, std::size_t> numbers;
  (void)io::File(path);  // named on the command line, so a missing file is a file error
  train::DataReader reader;
  for (auto& [source, translation] : reader.read_pairs(path)) {
    const auto [place, added] = numbers.try_emplace(source, set.sources.size());
    if (added) {
      set.sources.push_back(source);
      set.references.emplace_back();
    }
    set.references[place->second].push_back(std::move(translation));
  }
  if (set.sources.empty())
    throw Error(ErrorKind::input, "translate.empty",
                concat(escaped(path), ": has no sentences; need lines of source, tab, translation"));
  if (limit > 0 && limit < set.sources.size()) {
    set.sources.resize(limit);
    set.references.resize(limit);
  }
  return set;
}

std::string cut_note(Index cut, const TestSet& set, const Model& model) {
  if (cut == 0) return "";
  return fmt::format(
      "{} of {} sources are longer than the {} tokens that the model reads; only their beginnings were "
      "translated. Split them into sentences to translate all",
      cut, set.sources.size(), model.info().context);
}

std::string evaluation_json(const TranslationScore& score, Index cut) {
  io::JsonWriter w;
  w.begin_object().field("bleu", io::decimals(score.bleu, 4)).field("chrf", io::decimals(score.chrf, 4));
  return w.field("sentences", score.sentences).field("cut_sources", cut).end_object().take_line();
}

std::string evaluation_text(const TranslationScore& score) {
  std::string shares;
  for (const double share : score.shared)
    shares += fmt::format("{}{:.1f}", shares.empty() ? "" : " / ", 100 * share);
  return fmt::format(
      "BLEU   {:.2f}   (13a tokenization; {} % of 1- / 2- / 3- / 4-grams match; brevity penalty {:.3f})\n"
      "chrF2  {:.2f}\n"
      "{} sentences, {} references\n",
      score.bleu, shares, score.brevity, score.chrf, score.sentences, score.references);
}

}  // namespace headlight::cli
