#include "cli/ablate/settings.h"

#include <fmt/format.h>

#include <sstream>

#include "cli/numbers.h"
#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "io/gzip.h"

namespace headlight::cli {
namespace {

using inspect::Change;
using inspect::HeadPlace;
using inspect::Reading;
using models::ModelKind;

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorKind::usage, "ablate.options", message);
}

constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 28;
constexpr std::size_t kMeanLines = 500;  // more change a mean little

std::vector<std::string> first_lines(const std::string& path, std::size_t most) {
  std::istringstream text(io::read_text(path, kLargestFile));
  std::vector<std::string> lines;
  for (std::string line; lines.size() < most && std::getline(text, line);) lines.push_back(line);
  return lines;
}

}  // namespace

void check_ablate(const AblateSettings& s) {
  const bool whole = s.sweep || s.attribute;
  const int ways = (s.heads.empty() ? 0 : 1) + (s.layer ? 1 : 0) + (s.sweep ? 1 : 0) + (s.attribute ? 1 : 0);
  if (ways == 0 && s.edge.empty())
    refuse("knock out what? Give --head L.H, --layer L or --edge 'FROM->TO'; --sweep tries every head");
  if (ways > 1) refuse("--head, --layer, --sweep and --attribute choose heads; give one of them");
  const int changes =
      (s.with ? 1 : 0) + (s.scale ? 1 : 0) + (s.patch.empty() ? 0 : 1) + (s.edge.empty() ? 0 : 1);
  if (changes > 1) refuse("--with, --scale, --patch and --edge are different changes; give one of them");
  if (whole && (s.scale || !s.patch.empty() || !s.edge.empty() || !s.at.empty()))
    refuse("--sweep and --attribute take every head as a whole; leave out --scale, --patch, --edge and --at");
  if (s.attribute && s.with) refuse("--attribute changes nothing; leave --with out");
  if (s.cut && s.edge.empty()) refuse("--cut says how an --edge is cut; give one");
  if (!s.edge.empty() && !s.at.empty()) refuse("--edge says where; leave --at out");
  if (!s.mean_over.empty() && s.with != Change::mean) refuse("--mean-over belongs to --with mean");
  if (s.by && !s.sweep) refuse("--by says what a --sweep is drawn and sorted by");
  if (s.has_figure() && !whole) refuse("figures are of all heads: give --sweep or --attribute");
  const bool corpus = !s.corpus.empty() || !s.evaluate.empty();
  if (s.limit && !corpus) refuse("--limit belongs to --corpus and --evaluate");
  if (s.attribute && corpus) refuse("--attribute is about one prediction; leave out --corpus and --evaluate");
  if (corpus && (!s.patch.empty() || !s.edge.empty() || !s.at.empty()))
    refuse("--patch, --edge and --at are about words of TEXT; --corpus and --evaluate have others");
}

AblateCase::AblateCase(Context& ctx, const inspect::Subject& subject, const AblateSettings& s,
                       ProgressBar& bar)
    : ctx_(ctx), subject_(subject), s_(s), bar_(bar), part_(s.part.value_or(subject.usual_part())) {
  check_part(subject, part_);
  if (subject.model->config().head.absent) {
    throw Error(ErrorKind::usage, "ablate.head",
                concat("\"", escaped(subject.name),
                       "\" was stored without its head, so it predicts nothing that could change"));
  }
  question_ = read_question(ctx, subject, s, Needs::target);
  find_heads();
  find_row();
  if (!s.token.empty()) token_ = find_token(s.token);
}

bool AblateCase::translates() const { return subject_.model->config().kind == ModelKind::encoder_decoder; }

void AblateCase::find_heads() {
  heads_ = s_.heads;
  for (const HeadPlace& place : heads_) check_head(subject_, part_, place);
  if (s_.layer) check_layer(subject_, part_, *s_.layer);
  if (!heads_.empty()) return;
  for (const HeadPlace& place : inspect::all_heads(subject_.layers(part_), subject_.heads(part_)))
    if (!s_.layer || place.layer == static_cast<int>(*s_.layer)) heads_.push_back(place);
}

Range AblateCase::picked(const Reading& reading, const std::string& word) {
  const inspect::Pick found = inspect::pick(reading, word);
  if (!found.note.empty()) notes_.push_back(found.note);
  return found.word.tokens;
}

const Reading& AblateCase::predicted() const {
  if (!translates()) return question_.source;
  return question_.written.tokens.empty() ? question_.decoder_input : question_.written;
}

// Is a row's prediction what comes after its token? Otherwise it is that token itself.
bool AblateCase::predicts_next() const {
  return subject_.model->config().kind == ModelKind::decoder || !question_.decoder_input.tokens.empty();
}

void AblateCase::find_row() {
  const ModelKind kind = subject_.model->config().kind;
  if (!s_.position.empty()) {
    const Range tokens = picked(predicted(), s_.position);
    row_ = predicts_next() ? tokens.end - 1 : tokens.begin;
  } else if (predicts_next()) {
    row_ = predicted().size() - 1;
  } else if (kind == ModelKind::encoder && subject_.tokenizer) {
    const std::optional<TokenId> mask = subject_.tokenizer->find(SpecialRole::mask);
    for (Index i = 0; mask && !row_ && i < question_.source.size(); ++i)
      if (question_.source.tokens[static_cast<std::size_t>(i)].id == *mask) row_ = i;
  }
}

Index AblateCase::usual_row() const {
  if (row_) return *row_;
  const std::vector<inspect::Word> words = inspect::words_of(predicted());
  for (auto word = words.rbegin(); word != words.rend(); ++word)
    if (!predicted().tokens[static_cast<std::size_t>(word->tokens.begin)].added && word->label.size() > 1)
      return word->tokens.begin;
  return 0;
}

std::int32_t AblateCase::find_token(const std::string& text) const {
  const Index vocabulary = subject_.model->config().vocabulary;
  if (text.starts_with('@')) {
    const std::optional<Index> id = parse_integer(std::string_view(text).substr(1));
    if (!id || *id < 0 || *id >= vocabulary)
      refuse_value("--token", text, concat("@ and a token's number below ", vocabulary));
    return static_cast<std::int32_t>(*id);
  }
  if (!subject_.tokenizer)
    refuse_value("--token", text, "@ and a token's number: the model has no tokenizer");
  if (const std::optional<TokenId> id = subject_.tokenizer->find(text)) return *id;
  for (const std::string& form : {" " + text, text}) {
    const std::vector<TokenId> ids = subject_.tokenizer->encode(form, SpecialTokens::leave_out);
    if (ids.size() == 1) return ids[0];
  }
  std::string pieces;
  for (const TokenPiece& piece : subject_.tokenizer->encode_pieces(" " + text, SpecialTokens::leave_out))
    pieces += concat(pieces.empty() ? "" : " ", "\"", escaped(piece.text, 30), "\" (@", piece.id, ")");
  refuse_value("--token", text, concat("one token of the model, but several: ", pieces));
}

std::string AblateCase::label_of(std::int32_t token) const {
  return inspect::read_ids(subject_.tokenizer ? &*subject_.tokenizer : nullptr, {token},
                           subject_.model->config().vocabulary)
      .labels()[0];
}

std::string AblateCase::row_words(Index row) const {
  const std::string label = escaped(predicted().labels()[static_cast<std::size_t>(row)], 40);
  if (predicts_next()) return concat("what follows \"", label, "\" (token ", row, ")");
  return concat("the prediction of \"", label, "\" (token ", row,
                translates() ? " of the translation)" : ")");
}

void AblateCase::add_links(inspect::ChangePlan& plan) {
  const std::size_t arrow = s_.edge.find("->");
  if (arrow == std::string::npos || arrow == 0 || arrow + 2 == s_.edge.size())
    refuse_value("--edge", s_.edge, "FROM->TO, such as 'it->animal': two words of the text");
  const Sides sides = sides_of(subject_, question_, part_);
  plan.links.push_back(
      {picked(sides.queries, s_.edge.substr(0, arrow)), picked(sides.keys, s_.edge.substr(arrow + 2))});
  plan.change = s_.cut.value_or(Change::cut_mask);
}

void AblateCase::record_patch(inspect::ChangePlan& plan) {
  ModelInput other = s_;
  other.text = s_.patch;
  other.ids.clear();
  other.target.clear();
  other.target_ids.clear();
  inspect::Question question = read_question(ctx_, subject_, other, Needs::source);
  // Both write the same, so that their tokens stand side by side.
  question.written = question_.written;
  question.decoder_input = question_.decoder_input;
  const Index here = sides_of(subject_, question_, part_).queries.size(),
              there = sides_of(subject_, question, part_).queries.size();
  if (here != there && s_.at.empty()) {
    refuse(concat("--patch: heads are patched token by token; \"", escaped(s_.patch, 60), "\" has ", there,
                  " tokens, the text has ", here,
                  "\nGive a sentence of as many tokens, or name the word to patch with --at."));
  }
  for (const Range& range : plan.queries)
    if (range.end > there)
      refuse(concat("--patch: \"", escaped(s_.patch, 60), "\" has ", there,
                    " tokens, none at the place of \"", escaped(s_.at, 40), "\""));
  inspect::OutputRecorder recorder;
  (void)inspect::run(ctx_, subject_, question, &recorder);
  patch_ = std::move(recorder.outputs());
  plan.outputs = &patch_;
  plan.change = Change::patch;
}

const inspect::HeadOutputs* AblateCase::means() {
  if (s_.with != Change::mean) return nullptr;
  if (!means_) {
    std::vector<std::string> lines;
    if (!s_.mean_over.empty()) lines = first_lines(s_.mean_over, kMeanLines);
    const std::span<const std::string> sentences =
        s_.mean_over.empty() ? inspect::usual_sentences() : std::span<const std::string>(lines);
    means_ = inspect::mean_outputs(ctx_, subject_, sentences,
                                   [&](double done) { bar_.show("means of heads", done); });
    bar_.clear();
  }
  return &means_->outputs;
}

inspect::ChangePlan AblateCase::plan() {
  inspect::ChangePlan plan{.part = part_, .heads = heads_};
  if (!s_.at.empty()) plan.queries.push_back(picked(sides_of(subject_, question_, part_).queries, s_.at));
  if (!s_.edge.empty()) add_links(plan);
  else if (!s_.patch.empty()) record_patch(plan);
  else if (s_.scale) plan.change = Change::scale, plan.factor = *s_.scale;
  else if (s_.with == Change::mean) plan.change = Change::mean, plan.outputs = means();
  return plan;
}

std::string AblateCase::what() const {
  std::string list;
  if (s_.layer || s_.heads.empty()) {
    list = s_.layer ? concat("layer ", *s_.layer, ", all ", heads_.size(), " heads,")
                    : concat("all ", heads_.size(), " heads");
  } else {
    list = heads_.size() == 1 ? "head " : "heads ";
    for (std::size_t i = 0; i < heads_.size(); ++i)
      list += concat(i == 0 ? "" : ", ", heads_[i].layer, ".", heads_[i].head);
  }
  const std::string who = concat(name_of(part_), " ", list, " "),
                    where = s_.at.empty() ? "" : concat(" at \"", escaped(s_.at, 40), "\"");
  if (!s_.edge.empty()) {
    const bool mask = s_.cut.value_or(Change::cut_mask) == Change::cut_mask;
    return concat(who, "without the link ", escaped(s_.edge, 80),
                  mask ? " (masked: the other weights fill up)" : " (weight 0: the other weights stay)");
  }
  if (!s_.patch.empty()) return concat(who, "as in \"", escaped(s_.patch, 80), "\"", where);
  if (s_.scale) return concat(who, fmt::format("times {:g}", *s_.scale), where);
  if (s_.with != Change::mean) return concat(who, "zeroed", where);
  return concat(who, "replaced by ", heads_.size() == 1 ? "its mean" : "their means", where, " (over ",
                means_->tokens, " tokens of ", means_->sentences, " sentences)");
}

}  // namespace headlight::cli
