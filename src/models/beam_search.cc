// Beam search by the rules of Hugging Face: each step takes the best 2·beams continuations of a sentence;
// those among the first `beams` that end it are its hypotheses, the best `beams` others are continued.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/call_scope.h"
#include "core/concat.h"
#include "core/run_tasks.h"
#include "headlight/error.h"
#include "kernels/kernels.h"
#include "models/generate.h"

namespace headlight::models {
namespace {

struct Beam {
  double score = 0;    // log-probability
  double penalty = 0;  // penalty for unknown words
  Index slot = 0;      // the beam whose memory it continues
  std::vector<std::int32_t> tokens = {};
  WordCheck::State word = {};
};

struct Candidate {
  double score = 0, penalty = 0;
  Index beam = 0;
  std::int32_t token = 0;
};

struct Sentence {
  std::vector<Beam> beams;
  std::vector<Index> slots;  // slots for its beams
  std::vector<Hypothesis> finished;
  bool done = false;
};

bool better(const Candidate& a, const Candidate& b) {
  const double left = a.score - a.penalty, right = b.score - b.penalty;
  if (left != right) return left > right;
  return a.beam != b.beam ? a.beam < b.beam : a.token < b.token;
}

// Whether any of 64 numbers is larger. Without branches, so that the compiler can vectorise it.
bool any_above(const float* numbers, float limit) {
  int above = 0;
  for (int i = 0; i < 64; ++i) above |= static_cast<int>(numbers[i] > limit);
  return above != 0;
}

// The `count` most likely tokens of a row, best first, ties by the lower id. Returns how many
// there are: NaN is never chosen.
Index top_tokens(const float* row, Index vocabulary, Index count, std::int32_t* tokens) {
  Index kept = 0;
  for (Index v = 0; v < vocabulary; ++v) {
    while (kept == count && v + 64 <= vocabulary && !any_above(row + v, row[tokens[kept - 1]])) v += 64;
    if (v == vocabulary) break;
    if (kept == count ? !(row[v] > row[tokens[kept - 1]]) : std::isnan(row[v])) continue;
    Index at = kept < count ? kept++ : count - 1;
    for (; at > 0 && row[v] > row[tokens[at - 1]]; --at) tokens[at] = tokens[at - 1];
    tokens[at] = static_cast<std::int32_t>(v);
  }
  return kept;
}

class Search {
 public:
  Search(Context& ctx, Writer& writer, const Tokens& source, const BeamOptions& options)
      : ctx_(ctx),
        writer_(writer),
        facts_(writer.facts()),
        options_(options),
        sentences_(static_cast<std::size_t>(source.sequences())) {
    writer.start(ctx, source);
    for (std::size_t s = 0; s < sentences_.size(); ++s) {
      sentences_[s].beams.push_back({.slot = static_cast<Index>(s)});
      sentences_[s].slots = {static_cast<Index>(s)};
    }
  }

  std::vector<std::vector<Hypothesis>> run() {
    next_.assign(sentences_.size(), facts_.start);
    const Index limit = facts_.context;
    for (Index step = 0; !all_done(); ++step) {
      Tokens tokens;
      for (const std::int32_t& token : next_) tokens.append(std::span(&token, 1));
      Tensor logits = writer_.next(ctx_, tokens);
      find_best_tokens(logits);
      if (step == 0) give_slots();
      for (std::size_t s = 0; s < sentences_.size(); ++s) {
        const Index wanted = options_.most_each.empty() ? options_.most : options_.most_each[s];
        const Index steps = limit > 0 ? std::min(wanted, limit) : wanted;
        if (sentences_[s].done) continue;
        advance(sentences_[s], logits, step + 1 >= steps);
        if (options_.on_step) options_.on_step(state_of(static_cast<Index>(s)));
      }
      close_ranks();
    }
    std::vector<std::vector<Hypothesis>> results;
    for (Sentence& sentence : sentences_) {
      std::stable_sort(
          sentence.finished.begin(), sentence.finished.end(),
          [](const Hypothesis& a, const Hypothesis& b) { return a.score - a.penalty > b.score - b.penalty; });
      const auto most = static_cast<std::size_t>(options_.beams);
      if (sentence.finished.size() > most) sentence.finished.resize(most);
      results.push_back(std::move(sentence.finished));
    }
    return results;
  }

 private:
  [[nodiscard]] bool all_done() const {
    return std::all_of(sentences_.begin(), sentences_.end(), [](const Sentence& s) { return s.done; });
  }

  [[nodiscard]] Index choices() const { return 2 * options_.beams; }

  // Turns the logits of all beams into log probabilities and finds the best tokens of each.
  void find_best_tokens(Tensor& logits) {
    std::vector<Index> slots;
    for (const Sentence& sentence : sentences_)
      if (!sentence.done)
        for (const Beam& beam : sentence.beams) slots.push_back(beam.slot);
    const Index vocabulary = logits.dim(1);
    const auto& kernels = kernels::row_kernels_for(ctx_.target()).of<float>();
    best_.resize(static_cast<std::size_t>(writer_.places() * choices()));
    found_.assign(static_cast<std::size_t>(writer_.places()), 0);
    ctx_.pool().run(static_cast<Index>(slots.size()), ctx_.threads(), [&](int /*worker*/, Index i) {
      const Index slot = slots[static_cast<std::size_t>(i)];
      float* row = logits.as<float>() + slot * vocabulary;
      if (facts_.rules.renormalized) forbid(row);
      kernels.log_softmax(row, row, vocabulary);
      if (!facts_.rules.renormalized) forbid(row);
      found_[static_cast<std::size_t>(slot)] =
          top_tokens(row, vocabulary, std::min(choices(), vocabulary), best_.data() + slot * choices());
    });
    for (const Index slot : slots)
      if (found_[static_cast<std::size_t>(slot)] == 0)
        throw Error(ErrorKind::numeric, "model.logits",
                    "beam search: the logits of the model are not finite");
  }

  void forbid(float* row) const {
    for (const std::int32_t token : facts_.rules.never) row[token] = -std::numeric_limits<float>::infinity();
  }

  [[nodiscard]] bool ends(std::int32_t token) const {
    return std::find(facts_.ends.begin(), facts_.ends.end(), token) != facts_.ends.end();
  }

  [[nodiscard]] double penalty_of(const Sentence& sentence, const Beam& beam, std::int32_t token) const {
    if (options_.words == nullptr) return 0;
    WordCheck::State word = beam.word;
    const auto number = static_cast<std::size_t>(&sentence - sentences_.data());
    const Index unknown =
        ends(token) ? options_.words->finish(word, number) : options_.words->read(word, number, token);
    return beam.penalty + WordCheck::kPenalty * static_cast<double>(unknown);
  }

  [[nodiscard]] std::vector<Candidate> best_candidates(const Sentence& sentence, const Tensor& scores) const {
    std::vector<Candidate> all;
    for (std::size_t b = 0; b < sentence.beams.size(); ++b) {
      const Beam& beam = sentence.beams[b];
      const float* row = scores.as<float>() + beam.slot * scores.dim(1);
      for (Index i = 0; i < found_[static_cast<std::size_t>(beam.slot)]; ++i) {
        const std::int32_t token = best_[static_cast<std::size_t>(beam.slot * choices() + i)];
        all.push_back({beam.score + static_cast<double>(row[token]), penalty_of(sentence, beam, token),
                       static_cast<Index>(b), token});
      }
    }
    std::sort(all.begin(), all.end(), better);
    if (static_cast<Index>(all.size()) > choices()) all.resize(static_cast<std::size_t>(choices()));
    return all;
  }

  // The first step has one beam per sentence; after that there is space for all.
  void give_slots() {
    const Index count = writer_.places();
    writer_.spread(options_.beams);
    next_.resize(static_cast<std::size_t>(writer_.places()));
    for (Sentence& sentence : sentences_)
      for (Index c = 1; c < options_.beams; ++c) sentence.slots.push_back(sentence.slots.front() + c * count);
  }

  // Removes finished sentences from the batch: the last slots move into theirs.
  void close_ranks() {
    std::vector<Index*> users(static_cast<std::size_t>(writer_.places()), nullptr);
    Index used = 0;
    for (Sentence& sentence : sentences_) {
      if (sentence.done) continue;
      for (Index& slot : sentence.slots) users[static_cast<std::size_t>(slot)] = &slot;
      used += static_cast<Index>(sentence.slots.size());
    }
    if (used == writer_.places() || used == 0) return;
    std::vector<Index> moved(users.size());
    Index free = 0;
    for (Index slot = used; slot < writer_.places(); ++slot) {
      if (users[static_cast<std::size_t>(slot)] == nullptr) continue;
      while (users[static_cast<std::size_t>(free)] != nullptr) ++free;
      writer_.copy(slot, free);
      next_[static_cast<std::size_t>(free)] = next_[static_cast<std::size_t>(slot)];
      *users[static_cast<std::size_t>(slot)] = free;
      moved[static_cast<std::size_t>(slot)] = free++;
    }
    for (Sentence& sentence : sentences_)
      for (Beam& beam : sentence.beams)
        if (!sentence.done && beam.slot >= used) beam.slot = moved[static_cast<std::size_t>(beam.slot)];
    writer_.keep(used);
    next_.resize(static_cast<std::size_t>(used));
  }

  // Every beam ends here, whatever the probability of that.
  void end_all(Sentence& sentence) const {
    for (std::size_t b = 0; b < sentence.beams.size(); ++b) {
      const Beam& beam = sentence.beams[b];
      finish(sentence,
             {beam.score, penalty_of(sentence, beam, facts_.ends.front()), static_cast<Index>(b),
              facts_.ends.front()},
             true);
    }
    sentence.done = true;
  }

  void advance(Sentence& sentence, const Tensor& scores, bool last) {
    if (last && facts_.rules.forced_end) return end_all(sentence);
    const std::vector<Candidate> candidates = best_candidates(sentence, scores);
    std::vector<Candidate> going;
    for (std::size_t rank = 0; rank < candidates.size(); ++rank) {
      const Candidate& c = candidates[rank];
      const bool end = ends(c.token);
      if ((end || last) && static_cast<Index>(rank) < options_.beams) finish(sentence, c, end);
      if (!end && static_cast<Index>(going.size()) < options_.beams) going.push_back(c);
    }
    sentence.done = last || static_cast<Index>(sentence.finished.size()) >= options_.beams || going.empty();
    if (!sentence.done) move_on(sentence, going);
  }

  [[nodiscard]] BeamStep state_of(Index number) const {
    const Sentence& sentence = sentences_[static_cast<std::size_t>(number)];
    BeamStep step{.sentence = number, .going = {}, .finished = sentence.finished};
    if (sentence.done) return step;
    for (const Beam& beam : sentence.beams) step.going.push_back({beam.tokens, beam.score});
    return step;
  }

  void finish(Sentence& sentence, const Candidate& c, bool end) const {
    Hypothesis hypothesis{sentence.beams[static_cast<std::size_t>(c.beam)].tokens};
    const double length =
        std::pow(static_cast<double>(hypothesis.tokens.size() + 1), options_.length_penalty);
    hypothesis.score = c.score / length;
    hypothesis.penalty = c.penalty / length;
    if (!end) hypothesis.tokens.push_back(c.token);
    sentence.finished.push_back(std::move(hypothesis));
  }

  // One child of each beam keeps its cache; the others copy it into free slots.
  void move_on(Sentence& sentence, const std::vector<Candidate>& going) {
    std::vector<Index> free = sentence.slots, slots(going.size(), -1);
    for (std::size_t i = 0; i < going.size(); ++i) {
      const Index slot = sentence.beams[static_cast<std::size_t>(going[i].beam)].slot;
      const auto place = std::find(free.begin(), free.end(), slot);
      if (place == free.end()) continue;
      free.erase(place);
      slots[i] = slot;
    }
    std::vector<Beam> beams;
    for (std::size_t i = 0; i < going.size(); ++i) {
      const Beam& parent = sentence.beams[static_cast<std::size_t>(going[i].beam)];
      if (slots[i] < 0) {
        slots[i] = free.front();
        free.erase(free.begin());
        writer_.branch(parent.slot, slots[i]);
      }
      beams.push_back({going[i].score, going[i].penalty, slots[i], parent.tokens, parent.word});
      beams.back().tokens.push_back(going[i].token);
      if (options_.words != nullptr)
        (void)options_.words->read(beams.back().word, static_cast<std::size_t>(&sentence - sentences_.data()),
                                   going[i].token);
      next_[static_cast<std::size_t>(slots[i])] = going[i].token;
    }
    sentence.beams = std::move(beams);
  }

  Context& ctx_;
  Writer& writer_;
  Writer::Facts facts_;
  const BeamOptions& options_;
  std::vector<Sentence> sentences_;
  std::vector<std::int32_t> next_;  // by slot: its next input token
  std::vector<std::int32_t> best_;  // [slot, choice]: tokens, best first
  std::vector<Index> found_;        // the number of them
};

}  // namespace

std::vector<std::vector<Hypothesis>> beam_search(Context& ctx, Writer& writer, const Tokens& source,
                                                 const BeamOptions& options) {
  const CallScope scope(ctx);
  const auto least = std::min_element(options.most_each.begin(), options.most_each.end());
  const Index most = least == options.most_each.end() ? options.most : *least;
  if (options.beams < 1 || most < 1) {
    throw Error(ErrorKind::usage, "model.beams",
                concat("beam search with ", options.beams, " beams for ", most, " tokens; need 1 or more"));
  }
  if (!options.most_each.empty() && static_cast<Index>(options.most_each.size()) != source.sequences()) {
    throw Error(ErrorKind::usage, "model.beams",
                concat(options.most_each.size(), " limits for ", source.sequences(), " sentences"));
  }
  if (writer.facts().start < 0)
    throw Error(ErrorKind::usage, "model.start",
                "this model has no start token for its decoder (decoder_start_token_id)");
  if (source.sequences() == 0) return {};
  return Search(ctx, writer, source, options).run();
}

std::vector<std::vector<Hypothesis>> beam_search(Context& ctx, const Transformer& model, const Tokens& source,
                                                 const BeamOptions& options, const RunOptions& run) {
  const CallScope scope(ctx);
  TransformerWriter writer(model, run);
  return beam_search(ctx, writer, source, options);
}

}  // namespace headlight::models
