#include "serve/offline.h"

#include <fmt/format.h>

#include <bit>
#include <cstdint>

#include "headlight/error.h"
#include "headlight/look.h"
#include "headlight/version.h"
#include "io/json_writer.h"
#include "serve/changes.h"
#include "serve/matrices.h"
#include "serve/page.h"
#include "serve/payload.h"

namespace headlight::serve {
namespace {

constexpr Index kWholeTokens = 64;
constexpr std::size_t kMostMatrices = 4'000'000;  // bytes
constexpr double kMostRemoved = 1e11;             // parameters times tokens times heads

// Named byte arrays, one after the other, each at a multiple of four.
class Pieces {
 public:
  void add(const std::string& name, const std::string& bytes) {
    list_.key(name).begin_list().value(bytes_.size()).value(bytes.size()).end_list();
    bytes_ += bytes;
    bytes_.append((4 - bytes_.size() % 4) % 4, '\0');
  }
  [[nodiscard]] std::string take_list() { return list_.end_object().take(); }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  io::JsonWriter list_ = io::JsonWriter().begin_object();
  std::string bytes_;
};

bool is_short(const Run& run, Part part) {
  return run.queries(part).size() <= kWholeTokens && run.keys(part).size() <= kWholeTokens;
}

void add_part(Pieces& pieces, Context& ctx, const Run& run, Part part, const OfflineOptions& options) {
  const std::string base(name_of(part));
  const bool whole = is_short(run, part);
  if (whole) pieces.add(base + "/weights.f32", all_weights(ctx, run, part));
  else pieces.add(base + "/atlas.u8", atlas(ctx, run, part));
  for (Index layer = 0; layer < run.model().info().find(part)->layers(); ++layer) {
    if (!whole && (part != options.part || layer != options.layer)) continue;
    const Index heads = run.state().find(part, layer)->heads();
    // The layer that is shown first also has its parameters, unless they are too large.
    const bool parameters =
        part == options.part && layer == options.layer &&
        static_cast<std::size_t>(heads) * head_matrices_size(run, part, layer) <= kMostMatrices;
    for (Index head = 0; head < heads; ++head) {
      const std::string name = fmt::format("{}/{}/{}", base, layer, head);
      pieces.add(name + ".bin",
                 head_numbers(ctx, run, {part, static_cast<int>(layer), static_cast<int>(head)}));
      if (parameters) pieces.add(name + ".matrices", head_matrices(ctx, run, part, layer, head));
    }
  }
}

// The predictions without each head, at one position: the answers of POST change for one head.
void add_removed(Pieces& pieces, Context& ctx, const Run& run) {
  const ModelInfo& model = run.model().info();
  double heads = 0;
  for (const Part part : run.parts()) {
    if (!is_short(run, part)) return;
    for (const Index count : model.find(part)->heads) heads += static_cast<double>(count);
  }
  if (run.positions() == 0 || model.parameters * static_cast<double>(run.positions()) * heads > kMostRemoved)
    return;
  const Index position = usual_position(run);
  for (const Part part : run.parts()) {
    const PartInfo& info = *model.find(part);
    for (int layer = 0; layer < static_cast<int>(info.layers()); ++layer)
      for (int head = 0; head < static_cast<int>(info.heads[static_cast<std::size_t>(layer)]); ++head)
        pieces.add(
            fmt::format("change/{}/{}.{}", name_of(part), layer, head),
            effect_json(run.model(), "",
                        ablate(ctx, run, {.part = part, .heads = {{layer, head}}}, {.position = position})));
  }
}

}  // namespace

std::string offline_page(Context& ctx, const KeptRun& kept, const OfflineOptions& options) {
  const Run& run = kept.run;
  Pieces pieces;
  for (const Part part : run.parts()) add_part(pieces, ctx, run, part, options);
  for (Index i = 0; i < run.positions(); ++i)
    pieces.add(fmt::format("next/{}", i), prediction_json(run.model(), i, run.prediction(i, kGuesses, ctx)));
  add_removed(pieces, ctx, run);
  io::JsonWriter w;
  w.begin_object().field("version", kVersion).field("sentence", kSentence).key("models").begin_list();
  w.value(io::JsonText{model_json(run.model(), options.model)}).end_list().field("at", options.at);
  w.field("run", io::JsonText{run_json(kept)}).field("pieces", io::JsonText{pieces.take_list()});
  std::string json = w.end_object().take();
  json.append((4 - json.size() % 4) % 4, ' ');
  const auto length = std::bit_cast<std::array<char, 4>>(static_cast<std::uint32_t>(json.size()));
  std::string page = page_with_data(std::string(length.data(), length.size()) + json + pieces.bytes());
  if (page.size() > options.most_bytes) {
    throw Error(
        ErrorKind::resource, "serve.size",
        fmt::format("the page would have {:.1f} MB; the limit is {:.1f} MB\nShorten the text, or allow more "
                    "with --max-size.",
                    static_cast<double>(page.size()) / 1e6, static_cast<double>(options.most_bytes) / 1e6));
  }
  return page;
}

}  // namespace headlight::serve
