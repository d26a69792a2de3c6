#include "train/corpus.h"

#include <algorithm>
#include <charconv>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "io/gzip.h"
#include "io/hash.h"
#include "text/lines.h"
#include "text/spaced_words.h"
#include "train/document_stream.h"

namespace headlight::train {
namespace {

[[noreturn]] void refuse_corpus(const std::string& path, const std::string& what) {
  throw Error(ErrorKind::input, "data.form", concat(escaped(path), ": ", what));
}

void check_utf8(const std::string& path, std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text.substr(at));
    if (length == 0) refuse_corpus(path, concat("is not UTF-8 (byte ", at, ")"));
    at += length;
  }
}

// Removes the first column from the line and returns it.
std::string_view taken_cell(std::string_view& line) {
  const std::size_t tab = line.find('\t');
  const std::string_view cell = line.substr(0, tab);
  line = tab == std::string_view::npos ? std::string_view() : line.substr(tab + 1);
  return cell;
}

// The last `share` of all bytes becomes the evaluation text: whole documents, or the end of the only one.
void set_aside(CorpusText& corpus, double share) {
  if (share <= 0) return;
  if (corpus.train.size() == 1) {
    std::string& text = corpus.train.front();
    auto cut = static_cast<std::size_t>(static_cast<double>(text.size()) * (1 - share));
    while (cut < text.size() && (static_cast<unsigned char>(text[cut]) & 0xC0U) == 0x80U) ++cut;
    corpus.valid.push_back(text.substr(cut));
    text.resize(cut);
    return;
  }
  std::size_t total = 0, taken = 0;
  for (const std::string& document : corpus.train) total += document.size();
  while (corpus.train.size() > 1 && static_cast<double>(taken) < share * static_cast<double>(total)) {
    taken += corpus.train.back().size();
    corpus.valid.push_back(std::move(corpus.train.back()));
    corpus.train.pop_back();
  }
  std::reverse(corpus.valid.begin(), corpus.valid.end());
}

}  // namespace

std::string DataReader::read(const std::string& path) {
  std::string text = io::read_text(path);
  if (text.empty()) refuse_corpus(path, "is empty");
  check_utf8(path, text);
  files_.push_back({path, text.size(), io::hash_text(text)});
  return text;
}

std::vector<std::string> DataReader::documents(const std::vector<std::string>& paths,
                                               const DataRecipe& rules) {
  std::vector<std::string> all;
  for (const std::string& path : paths) {
    DocumentStream stream(path, {.separator = rules.separator, .field = rules.field});
    bool whole = true;
    for (DocumentStream::Document document; stream.next(document); whole = document.whole) {
      if (whole) all.push_back(std::move(document.text));
      else all.back() += document.text;
    }
    files_.push_back(stream.facts());
  }
  return all;
}

CorpusText DataReader::read_texts(const DataRecipe& recipe) {
  CorpusText corpus;
  corpus.train = documents(recipe.train, recipe);
  corpus.valid = documents(recipe.valid, recipe);
  set_aside(corpus, recipe.valid_share);
  return corpus;
}

void DataReader::read_columns(const std::string& path, const DataRecipe& recipe,
                              std::vector<std::pair<std::string, std::string>>& pairs) {
  const std::string text = read(path);
  const bool json = is_jsonl(path), swap = recipe.swap;
  std::size_t number = 0;
  for (const std::string_view line : text::lines_of(text)) {
    ++number;
    if (line.empty()) continue;
    if (json) {
      std::string source = jsonl_field(line, recipe.source_field, path, number);
      std::string target = jsonl_field(line, recipe.target_field, path, number);
      if (swap) std::swap(source, target);
      pairs.emplace_back(std::move(source), std::move(target));
      continue;
    }
    const std::size_t tab = line.find('\t');
    if (tab == std::string_view::npos)
      refuse_corpus(path, concat("has no tab between two sentences (line ", number, ")"));
    // Further columns, such as a licence notice, are not part of the pair.
    const std::string_view first = line.substr(0, tab), rest = line.substr(tab + 1);
    const std::string_view second = rest.substr(0, rest.find('\t'));
    if (swap) pairs.emplace_back(second, first);
    else pairs.emplace_back(first, second);
  }
}

std::vector<std::pair<std::string, std::string>> DataReader::read_pairs(const std::string& path) {
  std::vector<std::pair<std::string, std::string>> pairs;
  read_columns(path, DataRecipe{}, pairs);
  return pairs;
}

// Source, target, and two words of the source: the query and the key.
void DataReader::read_linked(const std::string& path, PairText& text) {
  const std::string all = read(path);
  std::size_t number = 0;
  for (std::string_view line : text::lines_of(all)) {
    ++number;
    if (line.empty()) continue;
    std::string_view cells[4];
    for (std::string_view& cell : cells) cell = taken_cell(line);
    const Index words = text::count_spaced_words(cells[0]);
    Index places[2] = {};
    for (std::size_t i = 0; i < 2; ++i) {
      const std::string_view cell = cells[i + 2];
      const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), places[i]);
      if (error != std::errc() || end != cell.data() + cell.size() || places[i] < 0 || places[i] >= words)
        refuse_corpus(path, concat("line ", number, ": column ", i + 3, " is \"", escaped(cell, 40),
                                   "\"; need the number of a word of the first column, 0 to ", words - 1));
    }
    text.train.emplace_back(cells[0], cells[1]);
    text.links.push_back({places[0], places[1]});
  }
}

void DataReader::read_line_by_line(const std::string& source, const std::string& target, bool swap,
                                   std::vector<std::pair<std::string, std::string>>& pairs) {
  const std::string first = read(source), second = read(target);
  const std::vector<std::string_view> a = text::lines_of(first), b = text::lines_of(second);
  if (a.size() != b.size())
    refuse_corpus(target, concat("has ", b.size(), " lines; ", escaped(source, 100), " has ", a.size()));
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (swap) pairs.emplace_back(b[i], a[i]);
    else pairs.emplace_back(a[i], b[i]);
  }
}

PairText DataReader::read_pairs(const DataRecipe& recipe) {
  PairText text;
  for (const std::string& path : recipe.train) read_columns(path, recipe, text.train);
  for (std::size_t i = 0; i < recipe.train_source.size(); ++i)
    read_line_by_line(recipe.train_source[i], recipe.train_target[i], recipe.swap, text.train);
  for (const std::string& path : recipe.valid) read_columns(path, recipe, text.valid);
  for (std::size_t i = 0; i < recipe.valid_source.size(); ++i)
    read_line_by_line(recipe.valid_source[i], recipe.valid_target[i], recipe.swap, text.valid);
  const auto aside = static_cast<std::size_t>(static_cast<double>(text.train.size()) * recipe.valid_share);
  text.valid.insert(text.valid.end(),
                    std::make_move_iterator(text.train.end() - static_cast<std::ptrdiff_t>(aside)),
                    std::make_move_iterator(text.train.end()));
  text.train.resize(text.train.size() - aside);
  for (const std::string& path : recipe.linked) read_linked(path, text);
  return text;
}

}  // namespace headlight::train
