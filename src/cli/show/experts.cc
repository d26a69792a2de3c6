// headlight show --experts: the experts that each layer selects for the tokens.
#include <fmt/format.h>

#include "cli/page.h"
#include "cli/ranks.h"
#include "cli/show/settings.h"
#include "cli/terminal.h"
#include "cli/text_table.h"
#include "core/concat.h"
#include "core/escape.h"
#include "draw/weight_map.h"
#include "headlight/error.h"
#include "headlight/version.h"
#include "io/json_writer.h"

namespace headlight::cli {
namespace {

using inspect::LayerExperts;

// "3 0.71, 1 0.29"
std::string cell(const LayerExperts& layer, Index token) {
  std::string out;
  for (Index i = 0; i < layer.used; ++i) {
    const auto at = static_cast<std::size_t>(token * layer.used + i);
    out += fmt::format("{}{} {:.2f}", out.empty() ? "" : ", ", layer.experts[at], layer.weights[at]);
  }
  return out;
}

std::string json_of(const std::vector<LayerExperts>& layers, const TokenizedText& text,
                    const std::string& model) {
  io::JsonWriter w;
  w.begin_object(io::JsonLayout::lines).field("version", kVersion).field("model", model);
  w.key("tokens").begin_list();
  for (const Token& token : text.tokens) w.value(token.text);
  w.end_list();
  w.key("layers").begin_list();
  for (const LayerExperts& layer : layers) {
    w.begin_object().field("part", name_of(layer.part)).field("layer", layer.layer);
    w.field("experts", layer.count).field("used", layer.used);
    const auto rows = [&](std::string_view name, const auto& values) {
      w.key(name).begin_list();
      for (Index t = 0; t < text.size(); ++t) {
        w.begin_list();
        for (Index i = 0; i < layer.used; ++i) w.value(values[static_cast<std::size_t>(t * layer.used + i)]);
        w.end_list();
      }
      w.end_list();
    };
    rows("chosen", layer.experts);
    rows("weights", layer.weights);
    w.end_object();
  }
  w.end_list();
  return w.end_object().take_line();
}

}  // namespace

void run_show_experts(const ShowSettings& s) {
  if (s.figures.any() || !s.html.empty() || !s.npy.empty() || !s.corpus.empty() || s.view.all ||
      !s.view.heads.empty() || s.view.rollout)
    throw Error(ErrorKind::usage, "show.options",
                "--experts prints a table or JSON; leave out figures, --html, --npy, --corpus, --head, --all "
                "and --rollout (--npy --what experts writes arrays)");
  JsonOutput json(s.json);
  const Model model = open_model(s.input.model);
  Context ctx(shared(Together::products, {.threads = static_cast<int>(s.threads)}));
  inspect::ExpertsRecorder recorder;
  AttendOptions options;
  options.keep_inputs = false;
  options.observer = &recorder;
  const Run run = attend(ctx, model, prompt_of(model, s.input), options);
  std::vector<LayerExperts> layers;
  for (const LayerExperts& layer : recorder.layers())
    if (!s.view.layer || layer.layer == *s.view.layer) layers.push_back(layer);
  if (layers.empty())
    throw Error(ErrorKind::usage, "show.experts",
                concat(escaped(model.info().name), recorder.layers().empty()
                                                       ? ": this model has no experts; leave out --experts"
                                                       : ": that layer has no experts; leave out --layer"));
  const TokenizedText& text = run.queries(layers.front().part);
  json.write(json_of(layers, text, model.info().name));
  if (s.json.to_stdout()) return;
  std::vector<TextTable::Column> columns = {{"", TextTable::Align::right},
                                            {"token", TextTable::Align::left, 24}};
  for (const LayerExperts& layer : layers)
    columns.push_back({fmt::format("layer {}", layer.layer), TextTable::Align::left});
  TextTable table(columns);
  for (Index t = 0; t < text.size(); ++t) {
    std::vector<std::string> row = {fmt::format("{}", t),
                                    draw::shown(text.tokens[static_cast<std::size_t>(t)].text)};
    for (const LayerExperts& layer : layers) row.push_back(cell(layer, t));
    table.add(std::move(row));
  }
  PageStyle style;
  style.color = color_depth(Color::automatic);
  style.glyphs = output_is_utf8() ? draw::Glyphs::unicode : draw::Glyphs::ascii;
  style.width = terminal_width();
  Page page(style);
  page.line(fmt::format("{} of {} experts for each token: index and weight", layers.front().used,
                        layers.front().count));
  page.line();
  table.print(page);
  print(page.text());
}

}  // namespace headlight::cli
