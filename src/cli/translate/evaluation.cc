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
  (void)io::File(path);  // it was named on the command line: missing, it is the file system's refusal
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

Evaluation evaluate(const TestSet& set, const std::vector<std::string>& translations) {
  std::vector<text::ScoredSentence> sentences;
  Evaluation result;
  for (std::size_t i = 0; i < set.sources.size(); ++i) {
    sentences.push_back({translations.at(i), set.references[i]});
    result.references += set.references[i].size();
  }
  result.sentences = sentences.size();
  result.bleu = text::bleu(sentences);
  result.chrf = text::chrf(sentences);
  return result;
}

std::string evaluation_json(const Evaluation& e) {
  io::JsonWriter w;
  w.begin_object().field("bleu", io::decimals(e.bleu.score, 4)).field("chrf", io::decimals(e.chrf, 4));
  return w.field("sentences", e.sentences).end_object().take_line();
}

std::string evaluation_text(const Evaluation& e) {
  std::string shares;
  for (std::size_t n = 0; n < e.bleu.shared.size(); ++n) {
    const double all = static_cast<double>(std::max<std::int64_t>(e.bleu.written[n], 1));
    shares += fmt::format("{}{:.1f}", n == 0 ? "" : " / ", 100 * static_cast<double>(e.bleu.shared[n]) / all);
  }
  return fmt::format(
      "BLEU   {:.2f}   (13a words; {} % of runs of 1 / 2 / 3 / 4 words shared; brevity {:.3f})\n"
      "chrF2  {:.2f}\n{} sentences, {} references\n",
      e.bleu.score, shares, e.bleu.brevity, e.chrf, e.sentences, e.references);
}

}  // namespace headlight::cli
