#include "train/checkpoint_manifest.h"

#include <fmt/format.h>

#include <cmath>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "io/file.h"
#include "io/hash.h"
#include "io/json.h"

namespace headlight::train {
namespace {

constexpr std::string_view kFormat = "headlight-checkpoint";
constexpr std::string_view kClosing = "\"checksum\": \"";
constexpr std::uint64_t kLargest = std::uint64_t{64} << 20;

std::string object(const Facts& facts, std::string_view indent) {
  std::string text = "{";
  for (const auto& [key, value] : facts) {
    text += fmt::format("{}\n{}  {}: {}", text.size() > 1 ? "," : "", indent, io::json_quoted(key),
                        io::json_quoted(value));
  }
  return text + (facts.empty() ? "}" : fmt::format("\n{}}}", indent));
}

std::string progress_text(const Progress& p) {
  std::string text = fmt::format(
      "{{\"step\": {}, \"tokens\": {}, \"smoothed\": {:.17g}, \"best_step\": {}, \"stale\": {}, "
      "\"evaluated_step\": {}",
      p.step, p.tokens, p.smoothed, p.best_step, p.stale, p.evaluated_step);
  if (std::isfinite(p.best_loss)) text += fmt::format(", \"best_loss\": {:.17g}", p.best_loss);
  return text + fmt::format(", \"metrics_bytes\": {}, \"metrics_hash\": {}}}", p.metrics_bytes,
                            io::json_quoted(p.metrics_hash));
}

Facts read_facts(const io::Json& json) {
  Facts facts;
  for (std::size_t i = 0; i < json.keys().size(); ++i)
    facts.emplace_back(json.keys()[i], json.items()[i].text());
  return facts;
}

std::int64_t count(const io::Json& json, std::string_view key) {
  constexpr std::int64_t kMost = std::int64_t{1} << 53;  // above, numbers of other programs lose digits
  const std::int64_t value = json.integer(key);
  if (value < 0 || value > kMost) {
    throw Error(ErrorKind::input, "checkpoint.damaged",
                concat(escaped(json.file()), ": ", key, " is ", value, ", which no run reaches"));
  }
  return value;
}

double finite(const io::Json& json, std::string_view key) {
  const double value = json.real(key);
  if (!std::isfinite(value))
    throw Error(ErrorKind::input, "checkpoint.damaged",
                concat(escaped(json.file()), ": ", key, " is not finite"));
  return value;
}

Progress read_progress(const io::Json& json) {
  Progress p;
  p.step = count(json, "step");
  p.tokens = count(json, "tokens");
  p.smoothed = finite(json, "smoothed");
  p.best_step = count(json, "best_step");
  p.stale = count(json, "stale");
  // Checkpoints of earlier versions were saved after the evaluation of their step.
  p.evaluated_step = json.find("evaluated_step") != nullptr ? count(json, "evaluated_step") : p.step;
  if (json.find("best_loss") != nullptr) p.best_loss = finite(json, "best_loss");
  p.metrics_bytes = static_cast<std::uint64_t>(count(json, "metrics_bytes"));
  p.metrics_hash = json.text("metrics_hash");
  return p;
}

// The text without its last line, which must be the checksum of what stands before it.
void check_whole(const std::string& folder, std::string_view text) {
  const std::size_t at = text.rfind(kClosing);
  if (at == std::string_view::npos) refuse_damaged(folder, concat(kManifestName, " is cut off"));
  const std::string expected = concat(kClosing, io::hash_text(text.substr(0, at)), "\"\n}\n");
  if (text.substr(at) != expected)
    refuse_damaged(folder, concat(kManifestName, " does not match its checksum"));
}

Manifest read_body(const io::Json& json) {
  Manifest manifest;
  manifest.version = json.integer("version");
  manifest.program = json.text("program");
  manifest.progress = read_progress(json.object("progress"));
  manifest.has_optimizer = json.boolean("optimizer");
  manifest.recipe = read_facts(json.object("recipe"));
  for (const io::Json& file : json.list("data").items()) {
    manifest.data.push_back(
        {file.text("path"), static_cast<std::uint64_t>(count(file, "bytes")), file.text("hash")});
  }
  for (const io::Json& file : json.list("files").items()) {
    manifest.files.push_back({file.text("name"), static_cast<std::uint64_t>(count(file, "bytes")),
                              file.text("hash"), read_facts(file.object("tensors"))});
  }
  return manifest;
}

}  // namespace

void refuse_damaged(const std::string& folder, const std::string& what) {
  throw Error(ErrorKind::input, "checkpoint.damaged",
              concat(escaped(folder), ": ", what, " (damaged checkpoint)"));
}

std::string manifest_text(const Manifest& m) {
  std::string text = fmt::format("{{\n\"format\": \"{}\",\n\"version\": {},\n\"program\": {},\n", kFormat,
                                 m.version, io::json_quoted(m.program));
  text += fmt::format("\"progress\": {},\n\"optimizer\": {},\n\"recipe\": {},\n\"data\": [",
                      progress_text(m.progress), m.has_optimizer, object(m.recipe, ""));
  for (std::size_t i = 0; i < m.data.size(); ++i) {
    text += fmt::format("{}\n  {{\"path\": {}, \"bytes\": {}, \"hash\": \"{}\"}}", i > 0 ? "," : "",
                        io::json_quoted(m.data[i].path), m.data[i].bytes, m.data[i].hash);
  }
  text += "],\n\"files\": [";
  for (std::size_t i = 0; i < m.files.size(); ++i) {
    text += fmt::format("{}\n  {{\"name\": {}, \"bytes\": {}, \"hash\": \"{}\", \"tensors\": {}}}",
                        i > 0 ? "," : "", io::json_quoted(m.files[i].name), m.files[i].bytes, m.files[i].hash,
                        object(m.files[i].tensors, "  "));
  }
  text += "],\n";
  return text + fmt::format("{}{}\"\n}}\n", kClosing, io::hash_text(text));
}

Manifest parse_manifest(std::string_view text, const std::string& folder) {
  try {
    check_whole(folder, text);
    const io::Json json = io::Json::parse(text, folder + "/" + kManifestName);
    if (json.text("format") != kFormat) refuse_damaged(folder, concat(kManifestName, " is of another kind"));
    const std::int64_t version = json.integer("version");
    if (version != kCheckpointVersion) {
      throw Error(ErrorKind::input, "checkpoint.version",
                  concat(escaped(folder), ": has checkpoint format ", version, "; this program reads ",
                         kCheckpointVersion));
    }
    return read_body(json);
  } catch (const Error& error) {
    if (error.code() == "checkpoint.version" || error.code() == "checkpoint.damaged") throw;
    refuse_damaged(folder, error.what());
  }
}

Manifest read_manifest(const std::string& folder) {
  std::vector<std::byte> bytes;
  try {
    bytes = io::read_file(folder + "/" + kManifestName, kLargest);
  } catch (const Error& error) { refuse_damaged(folder, error.what()); }
  return parse_manifest({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, folder);
}

}  // namespace headlight::train
