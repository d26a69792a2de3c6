#include "cli/show_files.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "core/concat.h"
#include "core/escape.h"
#include "draw/figures.h"
#include "headlight/error.h"
#include "io/json.h"
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

std::string number(float x) { return std::isfinite(x) ? fmt::format("{}", x) : "null"; }

std::string label_list(const std::vector<std::string>& labels) {
  std::string out = "[";
  for (std::size_t i = 0; i < labels.size(); ++i)
    out.append(i == 0 ? "" : ", ").append(io::json_quoted(labels[i]));
  return out + "]";
}

std::string tokens_json(const inspect::Reading& reading) {
  std::string out = "[";
  for (std::size_t i = 0; i < reading.tokens.size(); ++i) {
    const inspect::ReadToken& token = reading.tokens[i];
    out += fmt::format("{}{{\"id\": {}, \"text\": {}, \"begin\": {}, \"end\": {}, \"added\": {}}}",
                       i == 0 ? "" : ", ", token.id, io::json_quoted(token.label), token.begin, token.end,
                       token.added);
  }
  return out + "]";
}

std::string map_json(const draw::WeightMap& map, const inspect::AttentionMap& numbers) {
  std::string out = fmt::format("    {{\"title\": {}, \"part\": \"{}\", ", io::json_quoted(map.title),
                                name_of(numbers.part));
  if (numbers.layer >= 0) out += fmt::format("\"layer\": {}, ", numbers.layer);
  if (numbers.head >= 0) out += fmt::format("\"head\": {}, ", numbers.head);
  if (!map.quantity.empty()) out += fmt::format("\"quantity\": {}, ", io::json_quoted(map.quantity));
  out += fmt::format("\"origin\": \"{}\", ", draw::name_of(map.origin));
  if (!map.derivation.empty()) out += fmt::format("\"derivation\": {}, ", io::json_quoted(map.derivation));
  out += fmt::format(
      "\"rows\": {}, \"columns\": {},\n     \"queries\": {},\n     \"keys\": {},\n     \"weights\": [",
      io::json_quoted(map.row_axis), io::json_quoted(map.column_axis), label_list(map.queries),
      label_list(map.keys));
  for (Index i = 0; i < map.rows(); ++i) {
    out += i == 0 ? "[" : ",\n                 [";
    for (Index j = 0; j < map.columns(); ++j) {
      out += j == 0 ? "" : ", ";
      out += map.sees(i, j) ? number(static_cast<float>(map.weight(i, j))) : "null";
    }
    out += "]";
  }
  return out + "]}";
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

std::string view_json(const View& view, const inspect::Subject& subject, const inspect::Question& question) {
  std::string out =
      fmt::format("{{\n  \"model\": {},\n  \"text\": {},\n  \"tokens\": {},\n", io::json_quoted(subject.name),
                  io::json_quoted(question.source.text), tokens_json(question.source));
  if (question.runs_decoder()) {
    const bool verbatim = question.written.tokens.empty();
    out +=
        fmt::format("  \"target\": {},\n  \"target_tokens\": {},\n", io::json_quoted(question.written.text),
                    tokens_json(verbatim ? question.decoder_input : question.written));
  }
  out += "  \"maps\": [\n";
  for (std::size_t i = 0; i < view.maps.size(); ++i)
    out += concat(map_json(view.maps[i], view.numbers[i]), i + 1 < view.maps.size() ? ",\n" : "\n");
  return out + "  ]\n}\n";
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
