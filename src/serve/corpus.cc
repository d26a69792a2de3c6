#include "serve/corpus.h"

#include <array>
#include <cmath>

#include "headlight/error.h"
#include "inspect/recorder.h"
#include "io/json_writer.h"
#include "serve/requests.h"

namespace headlight::serve {
namespace {

constexpr Index kLeastKeys = 4;  // as for the labels of heads

struct Far {
  double distance = 0;
  Index query = 0, key = 0;
  float weight = 0;
};

Far far_of(const inspect::AttentionMap& map) {
  Far out;
  Index rows = 0;
  double most = -1;
  for (Index i = 0; i < map.rows; ++i) {
    Index seen = 0;
    double sum = 0;
    for (Index j = 0; j < map.columns; ++j) {
      if (!map.sees(i, j)) continue;
      ++seen;
      const double share = map.at(i, j) * static_cast<double>(std::abs(i - j));
      sum += share;
      if (j > 0 && share > most) {
        most = share;
        out.query = i;
        out.key = j;
        out.weight = map.at(i, j);
      }
    }
    if (seen < kLeastKeys) continue;
    ++rows;
    out.distance += sum;
  }
  if (rows > 0) out.distance /= static_cast<double>(rows);
  return out;
}

}  // namespace

CorpusRequest parse_corpus(std::string_view body) {
  constexpr std::array<std::string_view, 6> fields = {"model", "part", "layer", "head", "from", "count"};
  const io::Json json = parse_object(body, fields);
  CorpusRequest request;
  request.model = text_field(json, "model");
  const auto part = parse_part(text_field(json, "part"));
  if (!part || *part == Part::cross) throw BadRequest{"unknown part, or has no distances"};
  request.head = {*part, static_cast<int>(integer_field(json, "layer")),
                  static_cast<int>(integer_field(json, "head"))};
  const Index from = integer_field(json, "from"), count = integer_field(json, "count");
  if (count < 1 || count > kMostCorpusLines) throw BadRequest{"there are too many lines"};
  request.lines = {from, from + count};
  return request;
}

std::string corpus_json(Context& ctx, const Model& model, const CorpusRequest& request,
                        std::span<const std::string> lines, const std::function<bool()>& left) {
  const PartInfo* part = model.info().find(request.head.part);
  if (part == nullptr || request.head.layer >= part->layers() ||
      request.head.head >= part->heads[static_cast<std::size_t>(request.head.layer)])
    throw BadRequest{"there is no such head"};
  io::JsonWriter w;
  w.begin_object().field("lines", lines.size()).key("found").begin_list();
  for (Index i = request.lines.begin; i < std::min<Index>(request.lines.end, std::ssize(lines)); ++i) {
    AttendOptions options{.parts = {request.head.part}, .keep_inputs = false};
    options.progress.cancelled = left;
    const std::string& text = lines[static_cast<std::size_t>(i)];
    w.begin_object().field("line", i).field("text", text);
    try {
      const Run run = attend(ctx, model, {.text = text}, options);
      inspect::MapRecorder recorder({.part = request.head.part, .heads = {request.head.place()}});
      recorder.on_attention(run.state().find(request.head.part, request.head.layer)->event(ctx));
      const Far far = far_of(recorder.maps().front());
      w.field("distance", far.distance).field("query", far.query).field("key", far.key);
      w.field("weight", far.weight);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::input) throw;  // too long for the model: left out, and the page shows it
    }
    w.end_object();
  }
  return w.end_list().end_object().take_line();
}

}  // namespace headlight::serve
