#include "inspect/subject.h"

#include <filesystem>
#include <fstream>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "models/adapter_file.h"
#include "models/file_format.h"
#include "models/load.h"
#include "models/tokenizer_file.h"

namespace headlight::inspect {
namespace {

namespace fs = std::filesystem;
using models::ModelKind;

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// Says early and clearly what a newcomer's folder lacks.
void check_folder(const std::string& folder) {
  const fs::path base(folder);
  if (!is_there(base / "config.json")) {
    throw Error(ErrorKind::input, "model.folder",
                concat(escaped(folder), ": has no config.json, so it is not a model folder"));
  }
  const bool safe = is_there(base / "model.safetensors") || is_there(base / "model.safetensors.index.json");
  if (!safe && (is_there(base / "pytorch_model.bin") || is_there(base / "pytorch_model.bin.index.json"))) {
    throw Error(
        ErrorKind::input, "model.pickle",
        concat(escaped(folder), ": has only pytorch_model.bin, a pickle file that can run code when loaded\n",
               "If you trust it, convert it once: python3 -c \"from transformers import AutoModel; "
               "AutoModel.from_pretrained('FOLDER').save_pretrained('FOLDER', safe_serialization=True)\""));
  }
}

// The folder that a Hugging Face cache (models--owner--name) has of a model: the snapshot that refs/main names, or the
// only one. A folder that is none is returned as it is.
std::string snapshot_of(const std::string& folder) {
  const fs::path snapshots = fs::path(folder) / "snapshots";
  if (is_there(fs::path(folder) / "config.json") || !is_folder(snapshots)) return folder;
  std::ifstream file(fs::path(folder) / "refs" / "main");
  std::string revision;
  constexpr std::size_t most = 64;
  if (file >> revision && revision.size() <= most &&
      revision.find_first_not_of("0123456789abcdef") == std::string::npos && is_folder(snapshots / revision))
    return (snapshots / revision).string();
  std::vector<std::string> found;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(snapshots, ignored))
    if (is_there(entry.path() / "config.json")) found.push_back(entry.path().string());
  if (found.size() == 1) return found.front();
  throw Error(ErrorKind::input, "model.snapshot",
              concat(escaped(folder), ": is a Hugging Face cache folder with ", found.size(),
                     " snapshots, and refs/main names none of them; give one of the folders in ",
                     escaped(snapshots.string())));
}

void check_length(const Subject& subject, const Reading& reading, std::string_view what) {
  const models::TransformerConfig& config = subject.model->config();
  const Index most = config.max_positions;
  if (reading.features != nullptr) return;  // whose length the encoder checks
  if (most > 0 && reading.size() > most) {
    throw Error(ErrorKind::input, "inspect.length",
                concat(what, " has ", reading.size(), " tokens; the model \"", escaped(subject.name),
                       "\" reads at most ", most,
                       "\n"
                       "Shorten the text, or use a model with a longer context."));
  }
}

// A translation is rarely more than twice as long as its source.
Index most_written(const Subject& subject, const Reading& source) {
  const Index positions = subject.model->config().max_positions;
  return std::min<Index>(positions > 0 ? positions - 1 : 512, 2 * source.size() + 16);
}

// Written tokens as they are shown, with the end.
Reading written_reading(const Subject& subject, std::vector<std::int32_t> ids) {
  const models::TransformerConfig& config = subject.model->config();
  if (config.end() >= 0) ids.push_back(config.end());
  if (subject.tokenizer) return read_written(*subject.tokenizer, ids);
  Reading reading = read_ids(nullptr, ids, config.vocabulary);
  if (config.end() >= 0) reading.tokens.back().added = true;
  return reading;
}

// "gpt2" for …/models--openai--gpt2/snapshots/607a30d…: the hash says nothing to people.
std::string name_of_folder(const fs::path& path) {
  const std::string cache = path.parent_path().parent_path().filename().string();
  if (path.parent_path().filename() == "snapshots" && cache.starts_with("models--"))
    return cache.substr(cache.rfind("--") + 2);
  return path.filename().string();
}

std::string last_name(const std::string& folder) {
  fs::path path(folder);
  if (path.filename().empty()) path = path.parent_path();
  return name_of_folder(path);
}

}  // namespace

models::Tokens one_sequence(const Reading& reading) {
  models::Tokens tokens;
  tokens.append(reading.ids());
  tokens.features = reading.features;
  return tokens;
}

Index Subject::layers(Part part) const { return static_cast<Index>(model->config().layers(part).size()); }

Index Subject::heads(Part part) const { return model->config().layers(part).front().attention.heads; }

bool Subject::has(Part part) const {
  const ModelKind kind = model->config().kind;
  if (kind == ModelKind::encoder_decoder) return true;
  return part == (kind == ModelKind::encoder ? Part::encoder : Part::decoder);
}

Part Subject::usual_part() const {
  return model->config().kind == ModelKind::decoder ? Part::decoder : Part::encoder;
}

std::string find_model(const std::string& name, const std::vector<std::string>& places) {
  if (is_folder(name)) return snapshot_of(name);
  if (is_there(name)) {
    if (models::is_gguf(name)) return name;
    throw Error(ErrorKind::input, "model.folder",
                concat(escaped(name), ": is a file; give a model folder or a .gguf file"));
  }
  if (const std::size_t plus = name.rfind('+'); plus != std::string::npos)  // with an adapter
    return concat(find_model(name.substr(0, plus), places), name.substr(plus));
  std::string looked = concat("\"", escaped(name), "\"");
  if (name.find('/') == std::string::npos) {
    for (const std::string& place : places) {
      const fs::path path = fs::path(place) / name, own = fs::path(place) / ("headlight-" + name);
      if (is_folder(path)) return snapshot_of(path.string());
      if (models::is_gguf(path.string()) && is_there(path)) return path.string();
      if (is_folder(own)) return own.string();
      looked += concat(", \"", escaped(path.string(), 80), "\" and \"", escaped(own.string(), 80), "\"");
    }
  }
  throw Error(ErrorKind::file, "model.name",
              concat("model \"", escaped(name),
                     "\" was not found\n"
                     "Searched ",
                     looked,
                     ".\nHeadlight does not download; give a folder with config.json and model.safetensors, "
                     "or a .gguf file."));
}

ModelPath find_adapted_model(const std::string& name, const std::vector<std::string>& places) {
  const std::size_t plus = name.rfind('+');
  if (!is_there(name) && plus != std::string::npos) {
    const std::string adapter = name.substr(plus + 1);
    if (!models::is_adapter(adapter))
      throw Error(is_folder(adapter) ? ErrorKind::input : ErrorKind::file, "adapter.folder",
                  concat("\"", escaped(adapter), "\" is not the folder of an adapter: it has no ",
                         models::kAdapterConfig));
    return {find_model(name.substr(0, plus), places), adapter};
  }
  std::string path = find_model(name, places);
  if (!models::is_adapter(path)) return {std::move(path), {}};
  const std::string base = models::AdapterFile(path).base();
  try {
    return {find_model(base, places), path};
  } catch (const Error& error) {
    throw Error(error.kind(), error.code(),
                concat(escaped(path), ": is an adapter for \"", escaped(base, 100),
                       "\", which is not here; say where that model is with --model MODEL --adapter ",
                       escaped(path)));
  }
}

Subject open_subject(const std::string& name, const std::vector<std::string>& places, Accept accept) {
  Subject subject;
  const ModelPath found = find_adapted_model(name, places);
  subject.folder = found.model;
  if (!models::is_gguf(subject.folder)) check_folder(subject.folder);
  subject.name = last_name(subject.folder);
  if (!found.adapter.empty()) subject.name += concat("+", last_name(found.adapter));
  models::OpenedModel opened = models::open_model(subject.folder, {.adapter = found.adapter});
  subject.model = std::move(opened.transformer);
  subject.recurrent = std::move(opened.recurrent);
  subject.tokenizer = std::move(opened.tokenizer);
  subject.notices = std::move(opened.notices);
  if (subject.recurrent && accept == Accept::transformers) {
    throw Error(ErrorKind::input, "model.family",
                concat(escaped(subject.folder), ": is a recurrent model, which has no attention heads\n",
                       "To translate with it: headlight translate --model FOLDER"));
  }
  return subject;
}

Question pair_question(const Subject& subject, const std::string& first, const std::string& second) {
  if (subject.model->config().kind != ModelKind::encoder) {
    throw Error(
        ErrorKind::usage, "inspect.pair",
        concat("\"", escaped(subject.name), "\" reads one text; only encoders such as BERT read two"));
  }
  if (!subject.tokenizer) {
    throw Error(
        ErrorKind::usage, "inspect.pair",
        concat("\"", escaped(subject.name),
               "\" has no tokenizer, so it cannot read text; give token ids with --ids and --type-ids"));
  }
  Question question;
  question.source = read_pair(*subject.tokenizer, first, second);
  const bool told_apart = subject.model->config().embedding.token_types > 1;
  for (const ReadToken& token : question.source.tokens)
    if (told_apart) question.types.push_back(token.type);
  return question;
}

Reading decoder_input(const Subject& subject, const Reading& written) {
  const models::TransformerConfig& config = subject.model->config();
  const std::int32_t start = config.decoder_start >= 0 ? config.decoder_start : config.bos;
  if (start < 0) {
    throw Error(ErrorKind::input, "inspect.start", "config.json of the model has no decoder_start_token_id");
  }
  Reading input = read_ids(subject.tokenizer ? &*subject.tokenizer : nullptr, {start}, config.vocabulary);
  input.tokens.insert(input.tokens.end(), written.tokens.begin(), written.tokens.end() - 1);
  input.tokens[0].added = true;
  input.text = written.text;
  return input;
}

Reading decoder_input(const Subject& subject, const Question& question) {
  return question.decoder_input.tokens.empty() ? decoder_input(subject, question.written)
                                               : question.decoder_input;
}

Reading translate(Context& ctx, const Subject& subject, const Reading& source, Observer* observer,
                  Intervention* intervention) {
  check_length(subject, source, "the text");
  models::BeamOptions options;
  options.most = most_written(subject, source);
  const models::RunOptions run{.observer = observer, .intervention = intervention};
  return written_reading(
      subject, models::beam_search(ctx, *subject.model, one_sequence(source), options, run)[0].at(0).tokens);
}

Reading draw_translation(Context& ctx, const Subject& subject, const Reading& source,
                         models::SamplingOptions options) {
  check_length(subject, source, "the text");
  options.most = most_written(subject, source);
  return written_reading(subject, models::transform(ctx, *subject.model, one_sequence(source), options)[0]);
}

bool has_logits(const Subject& subject, const Question& question) {
  const models::TransformerConfig& config = subject.model->config();
  return !config.head.absent && (config.kind != ModelKind::encoder_decoder || question.runs_decoder());
}

Tensor hidden_states(Context& ctx, const Subject& subject, const Question& question,
                     models::RunOptions options) {
  const models::Transformer& model = *subject.model;
  check_length(subject, question.source, "the text");
  const models::Tokens source = one_sequence(question.source);
  options.types = question.types;
  if (!question.types.empty() && question.types.size() != question.source.tokens.size()) {
    throw Error(ErrorKind::usage, "inspect.types",
                concat(question.types.size(), " segment numbers for ", question.source.size(),
                       " tokens; need one for each"));
  }
  if (model.config().kind != ModelKind::encoder_decoder) return model.hidden_states(ctx, source, options);
  if (!question.runs_decoder()) return model.encode(ctx, source, options);
  const Reading input = decoder_input(subject, question);
  check_length(subject, input, "the target");
  return model.hidden_states(ctx, source, one_sequence(input), options);
}

namespace {

Tensor run(Context& ctx, const Subject& subject, const Question& question,
           const models::RunOptions& options) {
  const Tensor hidden = hidden_states(ctx, subject, question, options);
  return has_logits(subject, question) ? subject.model->logits_of(ctx, hidden) : Tensor();
}

}  // namespace

Tensor watch(Context& ctx, const Subject& subject, const Question& question, Observer& observer) {
  return run(ctx, subject, question, models::RunOptions{.observer = &observer});
}

Tensor run(Context& ctx, const Subject& subject, const Question& question, Intervention* intervention) {
  return run(ctx, subject, question, models::RunOptions{.intervention = intervention});
}

}  // namespace headlight::inspect
