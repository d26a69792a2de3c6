#include "serve/answers.h"

#include <algorithm>

#include "io/json_writer.h"

namespace headlight::serve {
namespace {

constexpr std::size_t kKeptLabels = 32;
constexpr std::size_t kMostCompared = 256, kMostSimilar = 3;  // heads

// The labels that a head has, best first, with score and lift.
void write(io::JsonWriter& w, const HeadFigures& figures) {
  w.begin_list();
  for (const Label label : figures.labels) {
    const PatternScore* pattern = figures.find(label);
    if (pattern == nullptr) continue;
    w.begin_object().field("label", name_of(label)).field("score", pattern->score);
    w.field("lift", pattern->lift).field("rows", pattern->rows).field("detail", pattern->detail).end_object();
  }
  w.end_list();
}

void write_similar(io::JsonWriter& w, const std::vector<SimilarHead>& others) {
  w.begin_list();
  for (std::size_t i = 0; i < others.size() && i < kMostSimilar; ++i) {
    w.begin_object().field("layer", others[i].place.layer).field("head", others[i].place.head);
    w.field("cosine", others[i].cosine).end_object();
  }
  w.end_list();
}

}  // namespace

std::vector<Head> compared_heads(const ModelInfo& model) {
  std::vector<Head> heads;
  for (const PartInfo& part : model.parts)
    for (std::size_t layer = 0; layer < part.heads.size(); ++layer)
      for (Index head = 0; head < part.heads[layer]; ++head)
        heads.push_back({part.part, static_cast<int>(layer), static_cast<int>(head)});
  if (heads.size() > kMostCompared) heads.clear();
  return heads;
}

std::string labels_json(const ModelInfo& model, const HeadLabels& labels, Part part) {
  const std::vector<Head> compared = compared_heads(model);
  io::JsonWriter w;
  w.begin_object().key("heads").begin_list();
  for (const LabelledHead& head : labels.heads) {
    if (head.part != part) continue;
    w.begin_object().field("layer", head.place.layer).field("head", head.place.head);
    write(w.key("text"), head.text);
    write(w.key("battery"), head.battery);
    const auto at =
        std::find(compared.begin(), compared.end(), Head{part, head.place.layer, head.place.head});
    if (at != compared.end())
      write_similar(w.key("similar"), labels.similar[static_cast<std::size_t>(at - compared.begin())]);
    w.end_object();
  }
  return w.end_list().end_object().take_line();
}

std::string links_json(const Run& run, Part part, const std::string& link,
                       const std::vector<LinkScore>& scores) {
  io::JsonWriter w;
  const LinkWords words = parse_link(link);
  const auto write_end = [&](const char* name, const TokenizedText& text, const std::string& word) {
    if (word.empty()) {
      w.field(name, nullptr);
      return;
    }
    const Range tokens = find_words(text, word).tokens;
    w.key(name).begin_list().value(tokens.begin).value(tokens.end).end_list();
  };
  w.begin_object();
  write_end("from", run.queries(part), words.from);
  write_end("to", run.keys(part), words.to);
  w.key("heads").begin_list();
  for (std::size_t i = 0; i < scores.size() && i < kMostLinks; ++i) {
    const LinkScore& one = scores[i];
    w.begin_object().field("layer", one.head.layer).field("head", one.head.head);
    w.field("weight", one.weight).field("chance", one.chance).field("key", one.key).end_object();
  }
  return w.end_list().end_object().take_line();
}

LabelCache::Labels LabelCache::find(const std::string& run_id) {
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find(run_id);
  return found == kept_.end() ? nullptr : found->second;
}

void LabelCache::keep(const std::string& run_id, Labels labels) {
  const std::lock_guard lock(mutex_);
  if (!kept_.insert_or_assign(run_id, std::move(labels)).second) return;
  order_.push_back(run_id);
  if (order_.size() <= kKeptLabels) return;
  kept_.erase(order_.front());
  order_.erase(order_.begin());
}

}  // namespace headlight::serve
