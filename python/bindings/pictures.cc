// Figures of a run, and the viewer's page with one run inside.
#include <algorithm>

#include "bindings/model.h"
#include "core/concat.h"
#include "headlight/figure.h"
#include "serve/offline.h"
#include "serve/view_address.h"

namespace headlight::python {
namespace {

// The value that a name stands for.
template <class T>
T choose(const char* what, const std::string& name,
         std::initializer_list<std::pair<const char*, T>> choices) {
  std::string known;
  for (const auto& [key, value] : choices) {
    if (name == key) return value;
    known += concat(known.empty() ? "" : ", ", key);
  }
  throw Error(ErrorKind::usage, "python.choice", concat(what, " is \"", name, "\"; known ones are ", known));
}

// Reads options; unknown ones are an error.
class Reader {
 public:
  explicit Reader(const Dict& options) : options_(options.attr("copy")()) {}
  [[nodiscard]] bool has(const char* key) const { return options_.contains(key); }
  Object take(const char* key) { return options_.attr("pop")(key); }
  void flag(const char* key, bool& field) {
    if (has(key)) field = to_switch(take(key), key);
  }
  void number(const char* key, double& field) {
    if (has(key)) field = to_number(take(key), key);
  }
  void text(const char* key, std::string& field) {
    if (has(key)) field = to_text(take(key), key);
  }
  template <class T>
  void choice(const char* key, T& field, std::initializer_list<std::pair<const char*, T>> choices) {
    if (has(key)) field = choose(key, to_text(take(key), key), choices);
  }
  void finish() const {
    for (const Object& key : options_)
      throw Error(ErrorKind::usage, "python.option", concat("figure() has no option ", repr_of(key)));
  }

 private:
  Dict options_;
};

ViewRequest view_of(Reader& reader) {
  ViewRequest view;
  if (reader.has("part")) view.part = to_part_or_none(reader.take("part"));
  if (reader.has("layer")) view.layer = to_index(reader.take("layer"), "layer");
  if (reader.has("heads")) view.heads = to_places(reader.take("heads"));
  reader.flag("all", view.all);
  reader.choice<MeanOver>("mean", view.mean, {{"heads", MeanOver::heads}, {"layers", MeanOver::layers}});
  reader.flag("rollout", view.rollout);
  reader.text("query", view.query);
  reader.text("key", view.key);
  reader.flag("by_head", view.by_head);
  reader.flag("words", view.words);
  reader.flag("exclude_self", view.exclude_self);
  reader.flag("mute_first", view.mute_first);
  reader.flag("mute_special", view.mute_special);
  reader.flag("renormalize", view.renormalize);
  reader.choice<MapOf>("of", view.of,
                       {{"weights", MapOf::weights}, {"scores", MapOf::scores}, {"values", MapOf::values}});
  reader.flag("every_weight", view.every_weight);
  return view;
}

FigureLook look_of(Reader& reader) {
  FigureLook look;
  reader.number("width_mm", look.width_mm);
  reader.number("font_size", look.font_size);
  reader.number("dpi", look.dpi);
  reader.choice<Theme>("theme", look.theme, {{"light", Theme::light}, {"dark", Theme::dark}});
  reader.choice<Transfer>(
      "transfer", look.transfer,
      {{"linear", Transfer::linear}, {"sqrt", Transfer::square_root}, {"log", Transfer::logarithm}});
  reader.choice<Palette>("palette", look.palette,
                         {{"cividis", Palette::cividis},
                          {"viridis", Palette::viridis},
                          {"magma", Palette::magma},
                          {"grey", Palette::grey}});
  reader.flag("auto_range", look.auto_range);
  reader.flag("numbers", look.numbers);
  return look;
}

Bytes draw_figure(const Run& run, const std::string& format, const Dict& options) {
  Reader reader(options);
  FigureRequest request;
  request.format = choose<FigureFormat>(
      "format", format, {{"png", FigureFormat::png}, {"svg", FigureFormat::svg}, {"pdf", FigureFormat::pdf}});
  request.view = view_of(reader);
  request.look = look_of(reader);
  if (reader.has("bars")) request.bars = to_index(reader.take("bars"), "bars");
  if (reader.has("caption")) request.caption = to_text(reader.take("caption"), "caption");
  reader.finish();
  std::string bytes;
  {
    const ReleaseLock free;
    bytes = figure(run, request);
  }
  return Bytes(bytes);
}

Bytes draw_page(const Run& run, const Object& part, int layer, int head, std::size_t most_bytes) {
  serve::RunRequest request;
  request.model = run.model().info().name;
  request.text = run.source().text;
  serve::OfflineOptions options;
  options.part = to_part(part);
  options.layer = std::max(0, layer);
  options.most_bytes = most_bytes;
  options.at = serve::view_address({.part = options.part, .layer = layer, .head = head});
  std::string page;
  {
    const ReleaseLock free;
    const Index longest = std::max(run.source().size(), run.target().size());
    if (longest > serve::kMostTokens)
      throw Error(ErrorKind::resource, "serve.length",
                  concat("the text has ", longest, " tokens; the page shows at most ", serve::kMostTokens,
                         "\nfigure() draws longer ones."));
    page = serve::offline_page(default_context(), {request.id(), request, run}, options);
  }
  return Bytes(page);
}

}  // namespace

void define_pictures(const Module& module) {
  module.def<&draw_figure>("figure");
  module.def<&draw_page>("page");
}

}  // namespace headlight::python
