#include "inspect/parallel_heads.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <map>

#include "core/concat.h"
#include "core/escape.h"
#include "core/team.h"
#include "headlight/error.h"
#include "inspect/word_choices.h"

namespace headlight::inspect {
namespace {

constexpr Index kMostOffDiagonal = 5;
constexpr std::size_t kOffsets = 2 * kMostOffDiagonal + 1;
constexpr std::size_t kShortestForm = 3;  // bytes: "a" and "on" are words of both languages by chance

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorKind::input, "heads.parallel", what); }

bool is_content(const std::string& part_of_speech) {
  constexpr std::string_view kContent[] = {"NOUN", "PROPN", "VERB", "ADJ", "NUM", "ADV"};
  return std::find(std::begin(kContent), std::end(kContent), part_of_speech) != std::end(kContent);
}

// Maps a feature of words (its form, its path in the tree) to the word, if only one word has it.
using Names = std::map<std::string, Index>;
constexpr Index kSeveral = -2;

void add_name(Names& names, const std::string& name, Index word) {
  const auto [place, added] = names.try_emplace(name, word);
  if (!added) place->second = kSeveral;
}

Names forms_of(const text::Tree& tree) {
  Names names;
  for (std::size_t w = 0; w < tree.words.size(); ++w)
    if (tree.words[w].form.size() >= kShortestForm && tree.words[w].part_of_speech != "PUNCT")
      add_name(names, tree.words[w].form, static_cast<Index>(w));
  return names;
}

// The path of a word, such as "NOUN obj root": its part of speech and the relations up to the root.
Names paths_of(const text::Tree& tree) {
  Names names;
  for (std::size_t w = 0; w < tree.words.size(); ++w) {
    const text::TreeWord* word = &tree.words[w];
    if (!is_content(word->part_of_speech)) continue;
    std::string path = word->part_of_speech;
    while (true) {
      path += " " + word->relation;
      if (word->head < 0) break;
      word = &tree.words[static_cast<std::size_t>(word->head)];
    }
    add_name(names, path, static_cast<Index>(w));
  }
  return names;
}

// The position of a word on the diagonal of the map.
Index on_diagonal(Index written, Index written_words, Index source_words) {
  const double at = (static_cast<double>(written) + 0.5) * static_cast<double>(source_words) /
                    static_cast<double>(written_words);
  return static_cast<Index>(std::floor(at));
}

// The choice of one head for one link.
struct Answer {
  std::size_t head;
  bool right;
};

const std::string& id_of(const text::Tree& tree) {
  return tree.parallel_id.empty() ? tree.id : tree.parallel_id;
}

}  // namespace

std::vector<WordLink> derive_links(const text::Tree& source, const text::Tree& written) {
  std::map<Index, Index> links;  // by the written word; forms take precedence over paths
  for (const auto& [there, here] :
       {std::pair{paths_of(source), paths_of(written)}, {forms_of(source), forms_of(written)}}) {
    for (const auto& [name, word] : here) {
      const auto found = there.find(name);
      if (word >= 0 && found != there.end() && found->second >= 0) links[word] = found->second;
    }
  }
  std::vector<WordLink> list;
  list.reserve(links.size());
  for (const auto& [from, to] : links) list.push_back({from, to});
  return list;
}

std::vector<std::pair<const text::Tree*, const text::Tree*>> pair_trees(std::span<const text::Tree> source,
                                                                        std::span<const text::Tree> written) {
  std::vector<std::pair<const text::Tree*, const text::Tree*>> pairs;
  std::map<std::string, const text::Tree*> by_id;
  for (const text::Tree& tree : written) by_id[id_of(tree)] = &tree;
  const bool named = by_id.size() == written.size() && !by_id.contains("");
  if (named) {
    for (const text::Tree& tree : source)
      if (const auto found = by_id.find(id_of(tree)); found != by_id.end())
        pairs.emplace_back(&tree, found->second);
    if (!pairs.empty()) return pairs;
  }
  if (source.size() != written.size())
    refuse(concat("parallel trees need the same ids or the same number of sentences; there are ",
                  source.size(), " and ", written.size()));
  for (std::size_t i = 0; i < source.size(); ++i) pairs.emplace_back(&source[i], &written[i]);
  return pairs;
}

ParallelReport score_parallel(Context& ctx, const LoadedModel& loaded, std::span<const text::Tree> source,
                              std::span<const text::Tree> written, const Progress& progress) {
  if (!loaded.has(Part::cross) || !loaded.tokenizer) {
    throw Error(ErrorKind::usage, "heads.parallel",
                concat("\"", escaped(loaded.name),
                       "\" cannot align words: --parallel needs an encoder-decoder with a tokenizer"));
  }
  const auto pairs = pair_trees(source, written);
  ParallelReport report;
  const Index in_layer = loaded.heads(Part::cross);
  report.heads = all_heads(loaded, Part::cross);
  std::array<Share, kOffsets> offsets[kHalves] = {};
  std::size_t done = 0;
  std::deque<Half> halves;  // of pairs in progress
  SharedItems items(ctx, [&](std::span<const std::byte> answer) {
    for (const Answer& one : values_of<Answer>(answer))
      report.heads[one.head].of(halves.front()).add(one.right);
    halves.pop_front();
  });
  for (const auto& pair : pairs) {
    const auto* const from = pair.first;  // clang 14 cannot capture structured bindings
    const auto* const to = pair.second;
    if (progress) progress(static_cast<double>(done++) / static_cast<double>(pairs.size()));
    const std::vector<WordLink> links = derive_links(*from, *to);
    const ModelInput input{.source = read_text(*loaded.tokenizer, from->text),
                           .written = read_text(loaded.tokenizer->for_target(), to->text)};
    if (!fits(loaded, input.source) || !fits(loaded, input.written)) {
      ++report.too_long;
      continue;
    }
    const Half half = half_of(report.sentences++);
    report.links += static_cast<Index>(links.size());
    const auto source_words = static_cast<Index>(from->words.size()),
               written_words = static_cast<Index>(to->words.size());
    for (const WordLink& link : links)
      for (Index k = -kMostOffDiagonal; k <= kMostOffDiagonal; ++k)
        offsets[static_cast<std::size_t>(half)][static_cast<std::size_t>(k + kMostOffDiagonal)].add(
            on_diagonal(link.written, written_words, source_words) + k == link.source);
    halves.push_back(half);
    items.add([&] {
      std::vector<Answer> answers;
      WordChoices choices(
          Part::cross, {word_tokens(input.written, *to), word_tokens(input.source, *from), false},
          [&](const HeadPlace& place, std::span<const Index> chosen) {
            for (const WordLink& link : links)
              answers.push_back({static_cast<std::size_t>(place.layer * in_layer + place.head),
                                 chosen[static_cast<std::size_t>(link.written)] == link.source});
          });
      (void)watch(ctx, loaded, input, choices);
      return bytes_of(answers);
    });
  }
  items.finish();
  sort_best_first(report.heads);
  const auto& first = offsets[static_cast<std::size_t>(Half::choosing)];
  const auto best = std::max_element(first.begin(), first.end(),
                                     [](const Share& a, const Share& b) { return a.right < b.right; });
  report.offset = static_cast<Index>(best - first.begin()) - kMostOffDiagonal;
  report.baseline =
      offsets[static_cast<std::size_t>(Half::scoring)][static_cast<std::size_t>(best - first.begin())];
  return report;
}

}  // namespace headlight::inspect
