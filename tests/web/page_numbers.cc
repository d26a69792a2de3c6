// page_numbers MODEL TEXT QUERY KEY LAYER.HEAD: what the C++ library says about a decoder, as JSON, for the test that asks
// the page and the command line the same.
#include <cstdio>
#include <string>

#include "headlight/model.h"
#include "io/json_writer.h"

namespace {

using namespace headlight;

void write_heads(io::JsonWriter& w, const char* name, const auto& list, const auto& number) {
  w.key(name).begin_object();
  for (const auto& one : list) w.field(number.name(one), number.of(one));
  w.end_object();
}
std::string head_name(const auto& place) {
  return std::to_string(place.layer) + "." + std::to_string(place.head);
}

struct LinkWeight {
  static std::string name(const LinkScore& one) { return head_name(one.head); }
  static double of(const LinkScore& one) { return one.weight; }
};
struct Divergence {
  static std::string name(const SweptHead& one) { return head_name(one.head); }
  static double of(const SweptHead& one) { return one.kl; }
};
struct BatteryScore {
  static std::string name(const LabelledHead& one) { return head_name(one.place); }
  static std::optional<double> of(const LabelledHead& one) {
    return one.battery.best() == nullptr ? std::nullopt : one.battery.best()->score;
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fputs("usage: page_numbers MODEL TEXT QUERY KEY LAYER.HEAD\n", stderr);
    return 2;
  }
  const std::string text = argv[2], from = argv[3], to = argv[4], place = argv[5];
  const std::size_t dot = place.find('.');
  const Head head{Part::decoder, std::stoi(place.substr(0, dot)), std::stoi(place.substr(dot + 1))};
  Context ctx({.threads = 1});
  const Model model = Model::open(argv[1]);
  const Run run = attend(ctx, model, {.text = text});
  const Index query = find_words(run.source(), from).tokens.begin,
              key = find_words(run.source(), to).tokens.begin;

  io::JsonWriter w;
  w.begin_object().field("weight", run.weights(head, {query, query + 1}, {key, key + 1}, ctx).at(0, 0));
  w.key("next").begin_list();
  for (const TokenProbability& one : run.prediction(query, 5, ctx).top) w.value(one.probability);
  w.end_list().key("lens").begin_list();
  for (const Prediction& one : logit_lens(run, query, 1, ctx)) w.value(one.top[0].probability);
  w.end_list();
  const AblationPlan plan{.heads = {head.place()}};
  const AblationEffect effect = ablate(ctx, run, plan, {.position = query});
  w.field("kl", effect.kl[static_cast<std::size_t>(query)]).key("without").begin_object();
  for (const TokenEffect& one : effect.tokens) w.field(std::to_string(one.token), one.after);
  w.end_object();
  write_heads(w, "links", find_links(run, {.link = from + "->" + to}, ctx), LinkWeight{});
  write_heads(w, "sweep", sweep(ctx, run, {.position = query}).heads, Divergence{});
  const std::vector<std::string> texts = {text};
  write_heads(w, "labels", label_heads(ctx, model, texts), BatteryScore{});
  std::puts(w.end_object().take().c_str());
  return 0;
}
