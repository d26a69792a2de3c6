#include "serve/changes.h"

#include <algorithm>
#include <array>

#include "core/concat.h"
#include "headlight/error.h"
#include "io/hash.h"
#include "io/json_writer.h"
#include "serve/payload.h"
#include "serve/requests.h"

namespace headlight::serve {
namespace {

constexpr double kMostFactor = 100;
constexpr std::size_t kMostHeads = 4096, kMostCuts = 64;
constexpr Index kMostPredictions = Index{1} << 26;  // positions times words of the vocabulary

Part part_of(const io::Json& json, const Run& run) {
  const auto part = parse_part(text_field(json, "part"));
  if (!part || !run.has(*part)) throw BadRequest{"unknown part"};
  return *part;
}

// Integers from 0, with the given number in each list.
template <std::size_t N>
std::vector<std::array<Index, N>> lists_of(const io::Json& json, std::string_view key, std::size_t most) {
  std::vector<std::array<Index, N>> out;
  const io::Json* list = json.find(key);
  if (list == nullptr) return out;
  if (!list->is(io::Json::Kind::list)) throw BadRequest{"a field is not a list"};
  if (list->items().size() > most) throw BadRequest{"a list is too long"};
  for (const io::Json& item : list->items()) {
    if (!item.is(io::Json::Kind::list) || item.items().size() != N)
      throw BadRequest{"an item of a list has another length"};
    for (std::size_t i = 0; auto& number : out.emplace_back()) {
      const io::Json& value = item.items()[i++];
      if (!value.is(io::Json::Kind::integer) || value.integer() < 0 || value.integer() > 1'000'000'000)
        throw BadRequest{"a number is out of range"};
      number = value.integer();
    }
  }
  return out;
}

std::vector<HeadPlace> heads_of(const io::Json& json, const Run& run, Part part, std::size_t most) {
  std::vector<HeadPlace> heads;
  const PartInfo& info = *run.model().info().find(part);
  for (const auto& [layer, head] : lists_of<2>(json, "heads", most)) {
    if (layer >= info.layers() || head >= info.heads[static_cast<std::size_t>(layer)])
      throw BadRequest{"there is no such head"};
    heads.push_back({static_cast<int>(layer), static_cast<int>(head)});
  }
  if (heads.empty()) throw BadRequest{"no heads are named"};
  return heads;
}

Change change_of(const io::Json& json, std::initializer_list<Change> known) {
  const std::string name = text_field(json, "change");
  for (const Change change : known)
    if (name == name_of(change)) return change;
  throw BadRequest{"unknown change"};
}

std::optional<Index> position_of(const io::Json& json, const Run& run) {
  if (json.find("position") == nullptr) return std::nullopt;
  const Index position = integer_field(json, "position");
  if (position >= run.positions()) throw BadRequest{"there is no such position"};
  return position;
}

void write_token(io::JsonWriter& w, const Model& model, TokenId id) {
  w.field("id", id).field("text", token_text(model, id));
}

}  // namespace

std::string ChangeRequest::id(const std::string& run_id) const {
  std::string all =
      concat(run_id, '\0', name_of(plan.change), '\0', name_of(plan.part), '\0', plan.factor, '\0');
  for (const HeadPlace& head : plan.heads) all += concat(head.layer, ".", head.head, ",");
  for (const TokenLink& link : plan.links)
    all += concat("/", link.queries.begin, ":", link.queries.end, ">", link.keys.begin, ":", link.keys.end);
  return io::hash_text(all);
}

ChangeRequest parse_change(std::string_view body, const Run& run) {
  constexpr std::array<std::string_view, 6> fields = {"part",   "change", "heads",
                                                      "factor", "links",  "position"};
  const io::Json json = parse_object(body, fields);
  ChangeRequest request;
  AblationPlan& plan = request.plan;
  plan.part = part_of(json, run);
  plan.change =
      change_of(json, {Change::zero, Change::mean, Change::scale, Change::cut_mask, Change::cut_weight});
  plan.heads = heads_of(json, run, plan.part, kMostHeads);
  plan.factor = plan.change == Change::scale ? number_field(json, "factor", kMostFactor) : 1;
  const bool cuts = plan.change == Change::cut_mask || plan.change == Change::cut_weight;
  for (const auto& [q, q_end, k, k_end] : lists_of<4>(json, "links", kMostCuts)) {
    if (q >= q_end || k >= k_end || q_end > run.queries(plan.part).size() ||
        k_end > run.keys(plan.part).size())
      throw BadRequest{"there are no such tokens"};
    plan.links.push_back({{q, q_end}, {k, k_end}});
  }
  if (cuts == plan.links.empty()) throw BadRequest{"cuts have links, other changes have none"};
  request.position = position_of(json, run);
  return request;
}

SweepOptions parse_sweep(std::string_view body, const Run& run) {
  constexpr std::array<std::string_view, 5> fields = {"part", "change", "heads", "position", "token"};
  const io::Json json = parse_object(body, fields);
  SweepOptions options;
  const Part part = part_of(json, run);
  options.parts = {part};
  options.change = change_of(json, {Change::zero, Change::mean});
  for (const HeadPlace& head : heads_of(json, run, part, kMostSwept))
    options.heads.push_back({part, head.layer, head.head});
  options.position = position_of(json, run);
  if (json.find("token") != nullptr) {
    const Index token = integer_field(json, "token");
    if (token >= run.model().info().vocabulary) throw BadRequest{"there is no such token"};
    options.token = static_cast<TokenId>(token);
  }
  return options;
}

void check_predictions(const Run& run) {
  if (run.positions() * run.model().info().vocabulary <= kMostPredictions) return;
  throw Error(ErrorKind::resource, "serve.predictions",
              concat("changes are measured at every position: ", run.positions(), " predictions of ",
                     run.model().info().vocabulary,
                     " words are too many for the page; shorten the text, or use headlight ablate"));
}

std::string effect_json(const Model& model, std::string_view id, const AblationEffect& effect) {
  io::JsonWriter w;
  w.begin_object().field("id", id).field("position", effect.position);
  w.field("kl", effect.kl).field("mean_kl", effect.mean_kl).field("mean_sentences", effect.mean_sentences);
  w.key("loss");
  if (effect.has_loss) w.begin_list().value(effect.loss_before).value(effect.loss_after).end_list();
  else w.value(nullptr);
  w.key("tokens").begin_list();
  for (const TokenEffect& token : effect.tokens) {
    write_token(w.begin_object(), model, token.token);
    w.field("before", token.before).field("after", token.after);
    w.field("logit_before", token.logit_before).field("logit_after", token.logit_after);
    w.field("rank_before", token.rank_before).field("rank_after", token.rank_after).end_object();
  }
  return w.end_list().end_object().take_line();
}

std::string sweep_json(const Model& model, const SweepResult& result) {
  io::JsonWriter w;
  w.begin_object().field("position", result.position).field("p", result.probability);
  w.key("token").begin_object();
  write_token(w, model, result.token);
  w.end_object().key("heads").begin_list();
  for (const SweptHead& one : result.heads) {
    w.begin_object().field("layer", one.head.layer).field("head", one.head.head).field("kl", one.kl);
    w.field("mean_kl", one.mean_kl).field("log_p", one.log_probability).field("direct", one.direct);
    w.end_object();
  }
  return w.end_list().end_object().take_line();
}

}  // namespace headlight::serve
