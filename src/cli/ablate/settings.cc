#include "cli/ablate/settings.h"

#include <fmt/format.h>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "headlight/look.h"
#include "inspect/ablation.h"
#include "inspect/encoded_text.h"
#include "io/gzip.h"
#include "text/lines.h"

namespace headlight::cli {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorKind::usage, "ablate.options", message);
}

constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 28;
constexpr std::size_t kMeanLines = 500;  // further sentences change a mean little

std::vector<std::string> first_lines(const std::string& path, std::size_t most) {
  const std::string text = io::read_text(path, kLargestFile);
  std::vector<std::string> lines;
  for (const std::string_view line : text::lines_of(text))
    if (lines.size() < most) lines.emplace_back(line);
  return lines;
}

}  // namespace

void check_ablate(const AblateSettings& s) {
  const bool whole = s.sweep || s.attribute;
  const int ways = (s.heads.empty() ? 0 : 1) + (s.layer ? 1 : 0) + (s.sweep ? 1 : 0) + (s.attribute ? 1 : 0);
  if (ways == 0 && s.edge.empty())
    refuse(
        "nothing to remove; give --head L.H, --layer L, --edge 'FROM->TO', or --sweep for every head in "
        "turn");
  if (ways > 1) refuse("--head, --layer, --sweep and --attribute exclude each other; give one of them");
  const int changes =
      (s.with ? 1 : 0) + (s.scale ? 1 : 0) + (s.patch.empty() ? 0 : 1) + (s.edge.empty() ? 0 : 1);
  if (changes > 1) refuse("--with, --scale, --patch and --edge exclude each other; give one of them");
  if (whole && (s.scale || !s.patch.empty() || !s.edge.empty() || !s.at.empty()))
    refuse("--sweep and --attribute use every head in full; leave out --scale, --patch, --edge and --at");
  if (s.attribute && s.with) refuse("--attribute removes nothing; leave out --with");
  if (s.cut && s.edge.empty()) refuse("--cut needs --edge 'FROM->TO'");
  if (!s.edge.empty() && !s.at.empty()) refuse("--edge already selects the query word; leave out --at");
  if (!s.mean_over.empty() && s.with != Change::mean) refuse("--mean-over needs --with mean");
  if (s.by && !s.sweep) refuse("--by needs --sweep");
  if (s.figures.any() && !whole) refuse("figures show all heads; give --sweep or --attribute");
  const bool corpus = !s.corpus.empty() || !s.evaluate.empty();
  if (s.limit && !corpus) refuse("--limit needs --corpus or --evaluate");
  if (s.attribute && corpus) refuse("--attribute explains one prediction; leave out --corpus and --evaluate");
  if (corpus && (!s.patch.empty() || !s.edge.empty() || !s.at.empty()))
    refuse("--patch, --edge and --at refer to words of TEXT; leave out --corpus and --evaluate");
}

namespace {

std::vector<HeadPlace> chosen_heads(const Model& model, Part part, const AblateSettings& s) {
  for (const HeadPlace& place : s.heads) check_head(model, part, place);
  if (s.layer) check_layer(model, part, *s.layer);
  if (!s.heads.empty()) return s.heads;
  const PartInfo& info = *model.info().find(part);
  std::vector<HeadPlace> heads;
  for (const HeadPlace& place : inspect::all_heads(info.layers(), info.heads.front()))
    if (!s.layer || place.layer == static_cast<int>(*s.layer)) heads.push_back(place);
  return heads;
}

// Two words of the text, in the syntax of links.
TokenLink link_of(const Run& run, Part part, const std::string& edge, std::vector<std::string>& notes) {
  const LinkWords words = parse_link(edge);
  if (words.from.empty() || words.to.empty())
    refuse(concat("--edge: \"", escaped(edge, 60),
                  "\" is not FROM->TO, such as 'it->animal': two words of the text"));
  return {picked(run.queries(part), words.from, notes), picked(run.keys(part), words.to, notes)};
}

void set_change(const Run& run, const AblateSettings& s, AblateRequest& request) {
  AblationPlan& plan = request.plan;
  if (!s.at.empty()) plan.queries.push_back(picked(run.queries(plan.part), s.at, request.notes));
  if (!s.edge.empty()) {
    plan.links.push_back(link_of(run, plan.part, s.edge, request.notes));
    plan.change = s.cut.value_or(Change::cut_mask);
  } else if (!s.patch.empty()) {
    plan.change = Change::patch;
    plan.patch = Prompt{.text = s.patch, .type_ids = s.input.type_ids};
  } else if (s.scale) {
    plan.change = Change::scale;
    plan.factor = *s.scale;
  } else if (s.with == Change::mean) {
    plan.change = Change::mean;
  }
  if (!s.mean_over.empty()) plan.mean_texts = first_lines(s.mean_over, kMeanLines);
}

}  // namespace

AblateRequest request_of(const Run& run, const AblateSettings& s) {
  const Model& model = run.model();
  AblateRequest request;
  request.plan.part = chosen_part(model, s.part);
  request.plan.heads = chosen_heads(model, request.plan.part, s);
  if (!s.sweep && !s.attribute) set_change(run, s, request);
  else if (!s.mean_over.empty()) request.plan.mean_texts = first_lines(s.mean_over, kMeanLines);
  if (!s.position.empty()) {
    const Range tokens = picked(run.position_tokens(), s.position, request.notes);
    request.position = run.predicts_next() ? tokens.end - 1 : tokens.begin;
  }
  if (!s.token.empty()) {
    try {
      request.token = find_token(model, s.token);
    } catch (const Error& error) { refuse(concat("--token: ", error.what())); }
  }
  return request;
}

std::string label_of(const Model& model, TokenId token) {
  return inspect::read_ids(model.tokenizer(), {token}, model.info().vocabulary).labels()[0];
}

std::string position_words(const Run& run, Index position) {
  const std::string label =
      escaped(run.position_tokens().tokens[static_cast<std::size_t>(position)].text, 40);
  if (run.predicts_next()) return concat("the token after \"", label, "\" (token ", position, ")");
  const bool translates = run.model().info().kind == ModelKind::encoder_decoder;
  return concat("the prediction of \"", label, "\" (token ", position,
                translates ? " of the translation)" : ")");
}

std::string what_changes(const AblateSettings& s, const AblationPlan& plan, const AblationEffect& effect) {
  const std::vector<HeadPlace>& heads = plan.heads;
  std::string list;
  if (s.layer || s.heads.empty()) {
    list = s.layer ? concat("layer ", *s.layer, ", all ", heads.size(), " heads,")
                   : concat("all ", heads.size(), " heads");
  } else {
    list = heads.size() == 1 ? "head " : "heads ";
    for (std::size_t i = 0; i < heads.size(); ++i) list += concat(i == 0 ? "" : ", ", place_text(heads[i]));
  }
  const std::string who = concat(name_of(plan.part), " ", list, " "),
                    where = s.at.empty() ? "" : concat(" at \"", escaped(s.at, 40), "\"");
  switch (plan.change) {
    case Change::cut_mask:
      return concat(who, "without the link ", escaped(s.edge, 80),
                    " (masked: softmax redistributes its weight)");
    case Change::cut_weight:
      return concat(who, "without the link ", escaped(s.edge, 80),
                    " (weight set to 0, the others unchanged)");
    case Change::patch: return concat(who, "as in \"", escaped(s.patch, 80), "\"", where);
    case Change::scale: return concat(who, fmt::format("times {:g}", plan.factor), where);
    case Change::zero: return concat(who, "zeroed", where);
    case Change::mean: break;
  }
  return concat(who, "replaced by ", heads.size() == 1 ? "its mean" : "their means", where, " (over ",
                effect.mean_tokens, " tokens of ", effect.mean_sentences, " sentences)");
}

}  // namespace headlight::cli
