#include "train/checkpoint_manifest.h"

#include <cmath>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "io/file.h"
#include "io/hash.h"
#include "io/json.h"
#include "io/json_writer.h"

namespace headlight::train {
namespace {

constexpr std::string_view kFormat = "headlight-checkpoint";
constexpr std::string_view kChecksum = "checksum";
constexpr std::string_view kClosing = "\"checksum\": \"";
constexpr std::uint64_t kLargest = std::uint64_t{64} << 20;

void write(io::JsonWriter& w, const Facts& facts) {
  w.begin_object(io::JsonLayout::lines);
  for (const auto& [key, value] : facts) w.field(key, value);
  w.end_object();
}

void write(io::JsonWriter& w, const TrainingState& p) {
  w.begin_object().field("step", p.step).field("tokens", p.tokens);
  w.field("smoothed", io::significant(p.smoothed, 17)).field("best_step", p.best_step);
  w.field("stale", p.stale).field("evaluated_step", p.evaluated_step);
  if (std::isfinite(p.best_loss)) w.field("best_loss", io::significant(p.best_loss, 17));
  w.field("metrics_bytes", p.metrics_bytes).field("metrics_hash", p.metrics_hash);
  w.field("table_bytes", p.table_bytes).field("samples_bytes", p.samples_bytes);
  w.field("events_bytes", p.events_bytes).end_object();
}

Facts read_facts(const io::Json& json) {
  Facts facts;
  for (std::size_t i = 0; i < json.keys().size(); ++i)
    facts.emplace_back(json.keys()[i], json.items()[i].text());
  return facts;
}

std::int64_t count(const io::Json& json, std::string_view key) {
  constexpr std::int64_t kMost = std::int64_t{1} << 53;  // larger numbers lose digits in other programs
  const std::int64_t value = json.integer(key);
  if (value < 0 || value > kMost) {
    throw Error(ErrorKind::input, "checkpoint.damaged",
                concat(escaped(json.file()), ": ", key, " is ", value, ", which is too large"));
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

TrainingState read_progress(const io::Json& json) {
  TrainingState p;
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
  // Earlier versions did not write these files.
  const auto bytes = [&](std::string_view key) {
    return json.find(key) != nullptr ? static_cast<std::uint64_t>(count(json, key)) : 0;
  };
  p.table_bytes = bytes("table_bytes");
  p.samples_bytes = bytes("samples_bytes");
  p.events_bytes = bytes("events_bytes");
  return p;
}

// The text without its last line, which must be the checksum of the lines before it.
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
  io::JsonWriter w;
  w.begin_object(io::JsonLayout::lines).field("format", kFormat).field("version", m.version);
  write(w.field("program", m.program).key("progress"), m.progress);
  write(w.field("optimizer", m.has_optimizer).key("recipe"), m.recipe);
  w.key("data").begin_list(io::JsonLayout::lines);
  for (const auto& file : m.data) {
    w.begin_object().field("path", file.path).field("bytes", file.bytes);
    w.field("hash", file.hash).end_object();
  }
  w.end_list().key("files").begin_list(io::JsonLayout::lines);
  for (const auto& file : m.files) {
    w.begin_object().field("name", file.name).field("bytes", file.bytes).field("hash", file.hash);
    write(w.key("tensors"), file.tensors);
    w.end_object();
  }
  // The checksum is that of everything before its own name.
  w.end_list().key(kChecksum);
  const std::string_view all = w.so_far();
  return w.value(io::hash_text(all.substr(0, all.rfind('"' + std::string(kChecksum)))))
      .end_object()
      .take_line();
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
