#include "cli/show_files.h"

#include <filesystem>

#include "core/concat.h"
#include "core/escape.h"
#include "draw/figures.h"
#include "headlight/error.h"
#include "io/json_writer.h"
#include "io/npy.h"

namespace headlight::cli {
namespace {

constexpr std::size_t kPanels = 4;  // more maps than this are drawn small

draw::Drawing figure_of(const View& view, const draw::FigureStyle& style, Index top) {
  switch (view.kind) {
    case ViewKind::bars:
      if (view.maps.size() == 1) return draw::bars_figure(view.maps[0], style, top);
      break;
    case ViewKind::atlas:
      if (view.maps.size() > kPanels) return draw::atlas_figure(view.maps, view.in_row, style);
      break;
    case ViewKind::maps: break;
    case ViewKind::tops:
      throw Error(ErrorKind::usage, "show.figure",
                  "--by-head is a list of words and has no figure; leave it out, or name a --head");
  }
  return draw::heat_map_figure(view.maps, style);
}

std::string caption_of(const inspect::Subject& subject, const inspect::Question& question) {
  constexpr std::size_t most = 240;
  const auto quoted = [&](const std::string& text) {
    return text.empty() ? "" : concat("“", escaped(text, most), "” ");
  };
  const std::string target = quoted(question.written.text);
  return concat(quoted(question.source.text), target.empty() ? "" : "→ ", target, "Model ",
                escaped(subject.name), ".");
}

draw::FigureStyle style_of(const ShowSettings& s) {
  draw::FigureStyle style = s.figure;
  style.theme = s.theme.value_or(draw::Theme::light);
  style.transfer = s.transfer;
  style.palette = s.palette;
  style.numbers = s.numbers;
  style.caption = s.caption.value_or("");
  return style;
}

void write(io::JsonWriter& w, const inspect::Reading& reading) {
  w.begin_list();
  for (const inspect::ReadToken& token : reading.tokens) {
    w.begin_object().field("id", token.id).field("text", token.label);
    w.field("begin", token.begin).field("end", token.end).field("added", token.added).end_object();
  }
  w.end_list();
}

void write(io::JsonWriter& w, const draw::WeightMap& map, const inspect::AttentionMap& numbers) {
  w.begin_object().field("title", map.title).field("part", name_of(numbers.part));
  if (numbers.layer >= 0) w.field("layer", numbers.layer);
  if (numbers.head >= 0) w.field("head", numbers.head);
  if (!map.quantity.empty()) w.field("quantity", map.quantity);
  w.field("origin", draw::name_of(map.origin));
  if (!map.derivation.empty()) w.field("derivation", map.derivation);
  w.field("rows", map.row_axis).field("columns", map.column_axis);
  w.field("queries", map.queries).field("keys", map.keys);
  write_weights(w.key("weights"), map);
  w.end_object();
}

}  // namespace

void write_drawing(io::Outputs& outputs, const ShowSettings& s,
                   const std::function<draw::Drawing(const draw::FigureStyle&)>& make) {
  const draw::FigureStyle style = style_of(s);
  write_figures(outputs, s, make(style), style.dpi);
}

std::string figure_bytes(const View& view, const inspect::Subject& subject, const inspect::Question& question,
                         const ShowSettings& s, draw::PictureFormat format) {
  draw::FigureStyle style = style_of(s);
  style.top = scale_top(view, s);
  if (!s.caption) style.caption = caption_of(subject, question);
  return draw::encoded(figure_of(view, style, s.top), format, style.dpi);
}

void write_figures(io::Outputs& outputs, const View& view, const inspect::Subject& subject,
                   const inspect::Question& question, const ShowSettings& s) {
  ShowSettings looks = s;
  if (!looks.caption) looks.caption = caption_of(subject, question);
  looks.figure.top = scale_top(view, s);
  write_drawing(outputs, looks,
                [&](const draw::FigureStyle& style) { return figure_of(view, style, s.top); });
}

void write_weights(io::JsonWriter& w, const draw::WeightMap& map) {
  w.begin_list(io::JsonLayout::lines);
  for (Index i = 0; i < map.rows(); ++i) {
    w.begin_list();
    for (Index j = 0; j < map.columns(); ++j) {
      if (map.sees(i, j)) w.value(static_cast<float>(map.weight(i, j)));
      else w.value(nullptr);
    }
    w.end_list();
  }
  w.end_list();
}

std::string view_json(const View& view, const inspect::Subject& subject, const inspect::Question& question) {
  io::JsonWriter w;
  w.begin_object(io::JsonLayout::lines).field("model", subject.name).field("text", question.source.text);
  write(w.key("tokens"), question.source);
  if (question.runs_decoder()) {
    w.field("target", question.written.text);
    write(w.key("target_tokens"),
          question.written.tokens.empty() ? question.decoder_input : question.written);
  }
  w.key("maps").begin_list(io::JsonLayout::lines);
  for (std::size_t i = 0; i < view.maps.size(); ++i) write(w, view.maps[i], view.numbers[i]);
  return w.end_list().end_object().take_line();
}

void write_arrays(Context& ctx, const inspect::Subject& subject, const inspect::Question& question,
                  const ShowSettings& s) {
  inspect::ArrayRecorder recorder(s.what);
  Tensor logits = inspect::watch(ctx, subject, question, recorder);
  std::vector<inspect::NamedArray>& arrays = recorder.arrays();
  if (!logits.empty()) arrays.push_back({"logits", std::move(logits)});
  std::error_code problem;
  std::filesystem::create_directories(s.npy, problem);
  if (problem)
    throw Error(ErrorKind::file, "file.create",
                concat(escaped(s.npy), ": ", problem.message(), " (cannot make this folder)"));
  io::Outputs outputs(s.json.force ? io::Existing::replace : io::Existing::refuse);
  const auto path = [&](const inspect::NamedArray& array) {
    return (std::filesystem::path(s.npy) / (array.name + ".npy")).string();
  };
  for (const inspect::NamedArray& array : arrays) outputs.reserve(path(array));
  for (const inspect::NamedArray& array : arrays)
    io::write_npy(outputs, path(array), array.tensor, array.tensor.shape());
  outputs.commit();
}

}  // namespace headlight::cli
