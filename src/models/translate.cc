#include "models/translate.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "core/call_scope.h"
#include "core/concat.h"
#include "core/escape.h"
#include "core/team.h"
#include "headlight/error.h"

namespace headlight::models {
namespace {

struct Source {
  std::size_t number = 0;  // index of its text
  std::vector<std::int32_t> ids;
};

bool is_blank(const std::string& text) { return text.find_first_not_of(" \t\r\n") == std::string::npos; }

std::vector<Source> read_sources(const Writer::Facts& facts, const Tokenizer& tokenizer,
                                 std::span<const std::string> texts, Index first_number) {
  const Index limit = facts.context;
  std::vector<Source> sources;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (is_blank(texts[i])) continue;
    Source source{i, tokenizer.encode(texts[i])};
    if (source.ids.empty()) continue;
    const auto size = static_cast<Index>(source.ids.size());
    if (limit > 0 && size > limit) {
      throw Error(ErrorKind::input, "translate.length",
                  concat("text ", first_number + static_cast<Index>(i), " (\"", escaped(texts[i], 40),
                         "\") has ", size, " tokens; the model reads at most ", limit,
                         "\n"
                         "Split it into sentences."));
    }
    for (const std::int32_t id : source.ids) {
      if (id < 0 || id >= facts.vocabulary) {
        throw Error(ErrorKind::input, "translate.vocabulary",
                    concat("the tokenizer gives token ", id, "; the model has ", facts.vocabulary,
                           ": they belong to different models"));
      }
    }
    sources.push_back(std::move(source));
  }
  return sources;
}

// The end of the next batch: as many sentences as beams can be computed together.
std::size_t batch_end(std::size_t begin, std::size_t size, const TranslateOptions& options) {
  const Index sentences = std::max<Index>(1, options.batch_beams / options.beams);
  return std::min(size, begin + static_cast<std::size_t>(sentences));
}

// A translation as bytes: this header, then its tokens.
struct Found {
  double score;
  Index tokens;
};

Bytes translate_batch(Context& ctx, Writer& writer, WordCheck* words, std::span<const Source> sources,
                      const TranslateOptions& options) {
  if (words != nullptr) words->forget_sources();
  Tokens batch;
  std::vector<Index> most;
  for (const Source& source : sources) {
    batch.append(source.ids);
    if (words != nullptr) words->add_source(source.ids);
    most.push_back(options.most > 0 ? options.most : 2 * static_cast<Index>(source.ids.size()) + 16);
  }
  const BeamOptions beams{.beams = options.beams,
                          .most_each = most,
                          .length_penalty = options.length_penalty,
                          .on_step = options.on_step,
                          .words = words};
  Bytes bytes;
  for (const std::vector<Hypothesis>& found : beam_search(ctx, writer, batch, beams)) {
    const Hypothesis& best = found.front();
    const Bytes head = bytes_of(Found{best.score, static_cast<Index>(best.tokens.size())}),
                tokens = bytes_of(best.tokens);
    bytes.insert(bytes.end(), head.begin(), head.end());
    bytes.insert(bytes.end(), tokens.begin(), tokens.end());
  }
  return bytes;
}

// Removes and returns the first of them.
void take(std::span<const std::byte>& bytes, Translation& translation) {
  const auto found = value_of<Found>(bytes);
  const std::size_t size = static_cast<std::size_t>(found.tokens) * sizeof(std::int32_t);
  translation.tokens = values_of<std::int32_t>(bytes.subspan(sizeof(Found), size));
  translation.score = found.score;
  bytes = bytes.subspan(sizeof(Found) + size);
}

}  // namespace

std::vector<Translation> translate(Context& ctx, Writer& writer, const Tokenizer& tokenizer,
                                   std::span<const std::string> texts, const TranslateOptions& options) {
  const CallScope scope(ctx);
  std::vector<Translation> translations(texts.size());
  std::vector<Source> sources = read_sources(writer.facts(), tokenizer, texts, options.first_number);
  // The longest first, so that estimates of the remaining time are not too short.
  std::stable_sort(sources.begin(), sources.end(),
                   [](const Source& a, const Source& b) { return a.ids.size() > b.ids.size(); });
  // Pages of caches and large tensors are taken from the system once, not for every batch and step.
  const TensorRecycler recycler;
  auto done = static_cast<Index>(texts.size() - sources.size());
  std::size_t next = 0;  // indices of the sources whose translation is returned
  std::optional<WordCheck> words;
  if (options.words != nullptr) words.emplace(*options.words, tokenizer);
  SharedItems batches(ctx, [&](std::span<const std::byte> found) {
    while (!found.empty()) {
      Translation& translation = translations[sources[next++].number];
      take(found, translation);
      translation.text = tokenizer.decode(translation.tokens);
      ++done;
    }
  });
  for (std::size_t begin = 0; begin < sources.size();) {
    const std::size_t end = batch_end(begin, sources.size(), options);
    batches.add([&] {
      return translate_batch(ctx, writer, words ? &*words : nullptr,
                             std::span(sources).subspan(begin, end - begin), options);
    });
    begin = end;
    if (options.on_progress) options.on_progress(done);
  }
  batches.finish();
  if (options.on_progress) options.on_progress(done);
  return translations;
}

}  // namespace headlight::models
