#include "cli/info/file_report.h"

#include <fmt/format.h>

#include <map>

#include "core/escape.h"
#include "io/json_writer.h"

namespace headlight::cli {
namespace {

using models::FileInfo;
using models::ModelKind;
using models::TensorInfo;

// "15,191,712"
std::string grouped(double count) {
  const std::string digits = fmt::format("{:.0f}", count);
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

std::string size_text(double bytes) {
  constexpr const char* kUnits[] = {"bytes", "KB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  for (; bytes >= 1000 && unit < 4; ++unit) bytes /= 1000;
  return unit == 0 ? fmt::format("{:.0f} {}", bytes, kUnits[unit])
                   : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

std::string shape_text(const std::vector<Index>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

struct TypeSum {
  std::size_t tensors = 0;
  double elements = 0;
  std::uint64_t bytes = 0;
};
std::map<std::string, TypeSum> by_type(const FileInfo& info) {
  std::map<std::string, TypeSum> sums;
  for (const TensorInfo& tensor : info.tensors) {
    TypeSum& sum = sums[tensor.type];
    ++sum.tensors;
    sum.elements += tensor.elements();
    sum.bytes += tensor.bytes;
  }
  return sums;
}

std::string_view kind_text(ModelKind kind) {
  switch (kind) {
    case ModelKind::decoder: return "decoder";
    case ModelKind::encoder: return "encoder";
    case ModelKind::encoder_decoder: return "encoder-decoder";
  }
  return "";
}

// One number, or those of the encoder and the decoder: "6 + 4".
std::string of_parts(const models::TransformerConfig& c,
                     Index (*number)(const std::vector<nn::BlockConfig>&)) {
  const Index main = number(c.main());
  const Index other = c.kind == ModelKind::encoder_decoder ? number(c.encoder) : main;
  return other == main ? fmt::format("{}", main) : fmt::format("{} + {}", other, main);
}

std::string sizes_text(const models::TransformerConfig& c) {
  using Layers = std::vector<nn::BlockConfig>;
  const nn::MultiHeadAttentionConfig& a = c.main().front().attention;
  const std::string layers = of_parts(c, [](const Layers& of) { return static_cast<Index>(of.size()); });
  const std::string inner = of_parts(c, [](const Layers& of) { return of.front().feed_forward.inner; });
  std::string text =
      fmt::format("{}: {} layers, width {}, {} heads", kind_text(c.kind), layers, c.width, a.heads);
  if (a.kv_heads != a.heads) text += fmt::format(" ({} of keys)", a.kv_heads);
  text += fmt::format(" of {}, feed-forward {}, vocabulary {}", a.head_dim, inner,
                      grouped(static_cast<double>(c.vocabulary)));
  if (c.max_positions > 0) text += fmt::format(", context {}", grouped(static_cast<double>(c.max_positions)));
  return text;
}

std::string recurrent_text(const models::RecurrentModelConfig& c) {
  const std::string_view cell = c.cell == nn::CellKind::gru ? "GRU" : "LSTM";
  return fmt::format("recurrent {} ({}{}): {} layers, width {}, vocabulary {}",
                     c.encoder_decoder ? "encoder-decoder" : "decoder", cell,
                     c.attention ? " with additive attention" : "", c.layers, c.width,
                     grouped(static_cast<double>(c.vocabulary)));
}

void row(std::string& out, std::string_view name, const std::string& text) {
  out += fmt::format("  {:<13} {}\n", name, text);
}

void add_model(std::string& out, const FileInfo& info) {
  if (!info.architecture.empty()) row(out, "architecture", escaped(info.architecture, 60));
  if (info.config) row(out, "model", sizes_text(*info.config));
  if (info.recurrent) row(out, "model", recurrent_text(*info.recurrent));
  if (!info.unsupported.empty()) row(out, "not supported", escaped(info.unsupported, 240));
  if (!info.adapter) return;
  row(out, "adapter",
      fmt::format("LoRA of rank {}, alpha {}, on {} matrices", info.adapter->rank, info.adapter->alpha,
                  info.adapter->matrices));
  row(out, "for",
      info.adapter->base.empty() ? "a model that is not named" : escaped(info.adapter->base, 240));
}

void add_tensors(std::string& out, const FileInfo& info) {
  if (info.tensors.empty()) return;
  std::string types;
  for (const auto& [type, sum] : by_type(info))
    types += fmt::format("{}{} {}", types.empty() ? "" : ", ", sum.tensors, type);
  row(out, "parameters", grouped(info.elements()));
  row(out, "tensors", fmt::format("{}: {}", info.tensors.size(), types));
  if (!info.nan) row(out, "NaN", "not counted in a file of this size; --scan counts them");
  else if (*info.nan > 0)
    row(out, "NaN", fmt::format("{} numbers are NaN", grouped(static_cast<double>(*info.nan))));
  else row(out, "NaN", "none");
}

void add_use(std::string& out, const FileInfo& info) {
  if (info.tokenizer) {
    row(out, "tokenizer",
        fmt::format("{}, {} tokens", info.tokenizer->kind,
                    grouped(static_cast<double>(info.tokenizer->tokens))));
  } else if (!info.tokenizer_refused.empty()) {
    row(out, "tokenizer", fmt::format("refused: {}", escaped(info.tokenizer_refused, 240)));
  } else if (info.config || info.recurrent) {
    row(out, "tokenizer", "none");
  }
  if (!info.config && !info.recurrent) return;
  const double token = info.memory_per_token();
  row(out, "memory",
      fmt::format("{} for parameters{}", size_text(info.memory_for_weights()),
                  token > 0 ? fmt::format(", {} for each token of context", size_text(token)) : ""));
}

void write(io::JsonWriter& w, const TensorInfo& tensor) {
  w.begin_object().field("name", tensor.name).field("type", tensor.type).field("shape", tensor.shape);
  w.field("bytes", tensor.bytes).end_object();
}

void write(io::JsonWriter& w, const models::TransformerConfig& c) {
  const nn::BlockConfig& b = c.main().front();
  const nn::MultiHeadAttentionConfig& a = b.attention;
  const std::size_t encoder_layers = c.kind == ModelKind::encoder_decoder ? c.encoder.size() : 0;
  w.begin_object().field("kind", kind_text(c.kind)).field("layers", c.main().size());
  w.field("encoder_layers", encoder_layers).field("width", c.width).field("heads", a.heads);
  w.field("kv_heads", a.kv_heads).field("head_dim", a.head_dim).field("inner", b.feed_forward.inner);
  w.field("vocabulary", c.vocabulary).field("context", c.max_positions).end_object();
}

// The field `heads` distinguishes it from a transformer.
void write(io::JsonWriter& w, const models::RecurrentModelConfig& c) {
  w.begin_object().field("kind", c.encoder_decoder ? "recurrent encoder-decoder" : "recurrent decoder");
  w.field("cell", c.cell == nn::CellKind::gru ? "gru" : "lstm").field("attention", c.attention);
  w.field("layers", c.layers).field("encoder_layers", c.encoder_decoder ? c.layers : 0);
  w.field("width", c.width).field("heads", 0).field("vocabulary", c.vocabulary).end_object();
}

std::optional<std::string_view> or_null(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional<std::string_view>(text);
}

// Counts that were summed as doubles.
io::Rounded whole(double count) { return io::decimals(count, 0); }

}  // namespace

std::string info_text(const FileInfo& info, ListTensors list) {
  std::string out = fmt::format("{}: {}, {}\n", escaped(info.path), info.format,
                                size_text(static_cast<double>(info.bytes)) + " of numbers");
  add_model(out, info);
  add_tensors(out, info);
  add_use(out, info);
  if (list == ListTensors::no) return out;
  for (const TensorInfo& tensor : info.tensors)
    out += fmt::format("  {:<6} {:<16} {}\n", tensor.type, shape_text(tensor.shape), escaped(tensor.name));
  return out;
}

std::string info_json(const FileInfo& info) {
  io::JsonWriter w;
  w.begin_object(io::JsonLayout::lines).field("path", info.path).field("format", info.format);
  w.field("bytes", info.bytes).field("architecture", or_null(info.architecture)).key("model");
  if (info.config) write(w, *info.config);
  else if (info.recurrent) write(w, *info.recurrent);
  else w.value(nullptr);
  if (info.adapter) {
    w.key("adapter").begin_object().field("rank", info.adapter->rank).field("alpha", info.adapter->alpha);
    w.field("matrices", info.adapter->matrices).field("base", or_null(info.adapter->base)).end_object();
  } else {
    w.field("adapter", nullptr);
  }
  w.field("unsupported", or_null(info.unsupported)).field("parameters", whole(info.elements()));
  w.key("types").begin_list();
  for (const auto& [type, sum] : by_type(info)) {
    w.begin_object().field("type", type).field("tensors", sum.tensors);
    w.field("elements", whole(sum.elements)).field("bytes", sum.bytes).end_object();
  }
  w.end_list().field("nan", info.nan).key("tokenizer");
  if (info.tokenizer) {
    w.begin_object().field("kind", info.tokenizer->kind);
    w.field("tokens", info.tokenizer->tokens).end_object();
  } else {
    w.value(nullptr);
  }
  w.field("tokenizer_refused", or_null(info.tokenizer_refused)).key("memory").begin_object();
  w.field("weights", whole(info.memory_for_weights()));
  w.field("per_token", whole(info.memory_per_token())).end_object();
  w.field("notices", info.notices).key("tensors").begin_list(io::JsonLayout::lines);
  for (const TensorInfo& tensor : info.tensors) write(w, tensor);
  return w.end_list().end_object().take_line();
}

std::string tensor_text(const models::LoadedTensor& loaded) {
  const TensorInfo& info = loaded.info;
  const models::TensorSummary s = models::summary_of(loaded.tensor);
  std::string out = fmt::format("{}: {} {}, {}\n", escaped(info.name), info.type, shape_text(info.shape),
                                size_text(static_cast<double>(info.bytes)));
  if (s.finite > 0)
    row(out, "numbers", fmt::format("{:.6g} to {:.6g}, mean {:.6g}", s.least, s.most, s.mean()));
  row(out, "NaN", s.nan > 0 ? grouped(static_cast<double>(s.nan)) : "none");
  if (s.infinite > 0) row(out, "infinite", grouped(static_cast<double>(s.infinite)));
  return out;
}

std::string tensor_json(const models::LoadedTensor& loaded) {
  const models::TensorSummary s = models::summary_of(loaded.tensor);
  io::JsonWriter w;
  write(w.begin_object().key("tensor"), loaded.info);
  // Infinite for a tensor without finite numbers; null in JSON.
  w.field("least", s.least).field("most", s.most).field("mean", s.mean());
  return w.field("nan", s.nan).field("infinite", s.infinite).end_object().take_line();
}

std::string verdict_text(const models::Verdict& verdict) {
  if (!verdict.refusal) {
    std::string out = fmt::format("{}: valid {}\n", escaped(verdict.path), verdict.level);
    for (const std::string& found : verdict.found) out += fmt::format("  {}\n", escaped(found));
    return out;
  }
  return fmt::format(
      "{}: refused as {}{}\n", escaped(verdict.path), verdict.level,
      verdict.rule != nullptr ? fmt::format(" by rule {}: {}", verdict.rule->id, verdict.rule->says) : "");
}

std::string verdict_json(const models::Verdict& verdict) {
  io::JsonWriter w;
  w.begin_object(io::JsonLayout::lines).field("path", verdict.path).field("valid", !verdict.refusal);
  w.field("level", verdict.level);
  if (verdict.rule != nullptr) w.field("rule", verdict.rule->id).field("says", verdict.rule->says);
  else w.field("rule", nullptr).field("says", nullptr);
  if (verdict.refusal) w.field("code", verdict.refusal->code()).field("message", verdict.refusal->what());
  else w.field("code", nullptr).field("message", nullptr);
  w.field("found", verdict.found).field("notices", verdict.notices);
  return w.end_object().take_line();
}

}  // namespace headlight::cli
