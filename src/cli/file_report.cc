#include "cli/file_report.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <map>

#include "core/escape.h"
#include "io/json.h"

namespace headlight::cli {
namespace {

using io::json_quoted;
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

std::string sizes_text(const models::TransformerConfig& c) {
  std::string text =
      fmt::format("{}: {} layers, width {}, {} heads", kind_text(c.kind), c.layers, c.width, c.heads);
  if (c.kv_heads > 0 && c.kv_heads != c.heads) text += fmt::format(" ({} of keys)", c.kv_heads);
  if (c.head_dim > 0) text += fmt::format(" of {}", c.head_dim);
  text +=
      fmt::format(", feed-forward {}, vocabulary {}", c.inner, grouped(static_cast<double>(c.vocabulary)));
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
}

void add_tensors(std::string& out, const FileInfo& info) {
  if (info.tensors.empty()) return;
  std::string types;
  for (const auto& [type, sum] : by_type(info))
    types += fmt::format("{}{} {}", types.empty() ? "" : ", ", sum.tensors, type);
  row(out, "parameters", grouped(info.elements()));
  row(out, "tensors", fmt::format("{}: {}", info.tensors.size(), types));
  if (!info.nan) row(out, "NaN", "not counted in so large a file; --scan does");
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
      fmt::format("{} for weights{}", size_text(info.memory_for_weights()),
                  token > 0 ? fmt::format(", {} for each token of context", size_text(token)) : ""));
}

std::string tensor_entry(const TensorInfo& tensor) {
  return fmt::format("{{\"name\": {}, \"type\": {}, \"shape\": {}, \"bytes\": {}}}", json_quoted(tensor.name),
                     json_quoted(tensor.type), shape_text(tensor.shape), tensor.bytes);
}

std::string config_json(const models::TransformerConfig& c) {
  return fmt::format(
      "{{\"kind\": \"{}\", \"layers\": {}, \"encoder_layers\": {}, \"width\": {}, \"heads\": {}, "
      "\"kv_heads\": {}, "
      "\"head_dim\": {}, \"inner\": {}, \"vocabulary\": {}, \"context\": {}}}",
      kind_text(c.kind), c.layers, c.encoder_layers, c.width, c.heads, c.kv_heads, c.head_dim, c.inner,
      c.vocabulary, c.max_positions);
}

// `heads` is what tells it from a transformer.
std::string recurrent_json(const models::RecurrentModelConfig& c) {
  return fmt::format(
      "{{\"kind\": \"recurrent {}\", \"cell\": \"{}\", \"attention\": {}, \"layers\": {}, "
      "\"encoder_layers\": {}, \"width\": {}, \"heads\": 0, \"vocabulary\": {}}}",
      c.encoder_decoder ? "encoder-decoder" : "decoder", c.cell == nn::CellKind::gru ? "gru" : "lstm",
      c.attention, c.layers, c.encoder_decoder ? c.layers : 0, c.width, c.vocabulary);
}

std::string model_json(const FileInfo& info) {
  if (info.config) return config_json(*info.config);
  return info.recurrent ? recurrent_json(*info.recurrent) : "null";
}

std::string list_json(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (const std::string& text : texts) out += (out.size() > 1 ? ", " : "") + json_quoted(text);
  return out + "]";
}

std::string or_null(const std::string& text) { return text.empty() ? "null" : json_quoted(text); }

// Numbers of a tensor at a glance.
struct Summary {
  double least = std::numeric_limits<double>::infinity(), most = -least, sum = 0;
  Index finite = 0, nan = 0, infinite = 0;

  explicit Summary(const Tensor& tensor) {
    const ConstTensorView flat(tensor.view().data(), tensor.dtype(), {tensor.shape().elements()});
    for (Index i = 0; i < flat.dim(0); ++i) {
      const double x = flat.at(i);
      if (std::isnan(x)) ++nan;
      else if (std::isinf(x)) ++infinite;
      else ++finite, sum += x, least = std::min(least, x), most = std::max(most, x);
    }
  }
  [[nodiscard]] double mean() const { return sum / static_cast<double>(finite); }
};

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
  std::string types, tensors;
  for (const auto& [type, sum] : by_type(info))
    types += fmt::format("{}{{\"type\": {}, \"tensors\": {}, \"elements\": {:.0f}, \"bytes\": {}}}",
                         types.empty() ? "" : ", ", json_quoted(type), sum.tensors, sum.elements, sum.bytes);
  for (const TensorInfo& tensor : info.tensors)
    tensors += fmt::format("{}\n    {}", tensors.empty() ? "" : ",", tensor_entry(tensor));
  const std::string tokenizer = info.tokenizer
                                    ? fmt::format("{{\"kind\": {}, \"tokens\": {}}}",
                                                  json_quoted(info.tokenizer->kind), info.tokenizer->tokens)
                                    : "null";
  return fmt::format(
      "{{\n  \"path\": {},\n  \"format\": {},\n  \"bytes\": {},\n  \"architecture\": {},\n  \"model\": {},\n"
      "  \"unsupported\": {},\n  \"parameters\": {:.0f},\n  \"types\": [{}],\n  \"nan\": {},\n  "
      "\"tokenizer\": {},\n"
      "  \"tokenizer_refused\": {},\n  \"memory\": {{\"weights\": {:.0f}, \"per_token\": {:.0f}}},\n"
      "  \"notices\": {},\n  \"tensors\": [{}]\n}}\n",
      json_quoted(info.path), json_quoted(info.format), info.bytes, or_null(info.architecture),
      model_json(info), or_null(info.unsupported), info.elements(), types,
      info.nan ? fmt::format("{}", *info.nan) : "null", tokenizer, or_null(info.tokenizer_refused),
      info.memory_for_weights(), info.memory_per_token(), list_json(info.notices), tensors);
}

std::string tensor_text(const models::LoadedTensor& loaded) {
  const TensorInfo& info = loaded.info;
  const Summary s(loaded.tensor);
  std::string out = fmt::format("{}: {} {}, {}\n", escaped(info.name), info.type, shape_text(info.shape),
                                size_text(static_cast<double>(info.bytes)));
  if (s.finite > 0)
    row(out, "numbers", fmt::format("{:.6g} to {:.6g}, mean {:.6g}", s.least, s.most, s.mean()));
  row(out, "NaN", s.nan > 0 ? grouped(static_cast<double>(s.nan)) : "none");
  if (s.infinite > 0) row(out, "infinite", grouped(static_cast<double>(s.infinite)));
  return out;
}

std::string tensor_json(const models::LoadedTensor& loaded) {
  const Summary s(loaded.tensor);
  const auto real = [&](double x) { return s.finite > 0 ? fmt::format("{}", x) : std::string("null"); };
  return fmt::format(
      "{{\"tensor\": {}, \"least\": {}, \"most\": {}, \"mean\": {}, \"nan\": {}, \"infinite\": {}}}\n",
      tensor_entry(loaded.info), real(s.least), real(s.most), real(s.mean()), s.nan, s.infinite);
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
  const bool valid = !verdict.refusal;
  return fmt::format(
      "{{\n  \"path\": {},\n  \"valid\": {},\n  \"level\": {},\n  \"rule\": {},\n  \"says\": {},\n  "
      "\"code\": {},\n"
      "  \"message\": {},\n  \"found\": {},\n  \"notices\": {}\n}}\n",
      json_quoted(verdict.path), valid, json_quoted(verdict.level),
      verdict.rule != nullptr ? json_quoted(verdict.rule->id) : "null",
      verdict.rule != nullptr ? json_quoted(verdict.rule->says) : "null",
      valid ? "null" : json_quoted(verdict.refusal->code()),
      valid ? "null" : json_quoted(verdict.refusal->what()), list_json(verdict.found),
      list_json(verdict.notices));
}

}  // namespace headlight::cli
