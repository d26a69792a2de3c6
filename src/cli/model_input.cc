#include "cli/model_input.h"

#include <CLI/App.hpp>
#include <limits>

#include "cli/model_places.h"
#include "cli/numbers.h"
#include "cli/ranks.h"
#include "cli/standard_input.h"
#include "cli/terminal.h"
#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "inspect/model_run.h"
#include "io/npy.h"
#include "serve/run.h"
#include "session/state.h"

namespace headlight::cli {
namespace {

constexpr std::size_t kLongestText = std::size_t{1} << 24;
constexpr const char* kModelHelp = "Model name, folder or .gguf file";
constexpr const char* kAdapterHelp = "An adapter for the model, from headlight train or PEFT";

void read_heads(const std::string& name, const std::string& text, std::vector<HeadPlace>& heads) {
  constexpr Index most = 100000;
  for (const std::string& part : split_list(text)) {
    const std::size_t point = part.find('.');
    const auto layer = parse_integer(std::string_view(part).substr(0, point));
    const auto head =
        point == std::string::npos ? std::nullopt : parse_integer(std::string_view(part).substr(point + 1));
    if (!layer || !head || *layer < 0 || *head < 0 || *layer > most || *head > most)
      refuse_value(name, text, "LAYER.HEAD, both counted from 0, separated by commas: 2.5 or 2.5,3.0");
    heads.push_back({static_cast<int>(*layer), static_cast<int>(*head)});
  }
}

std::string text_to_read(const InputOptions& input) {
  if (!input.text.empty()) return input.text;
  std::string text = input_is_piped() ? read_standard_input(kLongestText) : "";
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text.empty() ? std::string(serve::kSentence) : text;
}

std::string range_of(const Model& model, Part part) {
  const PartInfo& heads = *model.info().find(part);
  return concat("the ", name_of(part), " attention of \"", escaped(model.info().name), "\" has layers 0 to ",
                heads.layers() - 1, " and heads 0 to ", heads.heads.front() - 1, " in each");
}

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorKind::usage, "input.options", what); }

// As f32, for any real type in the file.
std::shared_ptr<const Tensor> read_features(const std::string& path) {
  if (path.empty()) return nullptr;
  const io::NpyArray array = io::read_npy(path);
  const Shape& shape = array.shape;
  if (shape.rank < 2 || shape.rank > 3 || (shape.rank == 3 && shape[0] != 1))
    throw Error(ErrorKind::input, "input.features",
                concat(escaped(path), ": has the shape ", shape.text(), "; need [band, frame]"));
  Tensor out({shape[shape.rank - 2], shape[shape.rank - 1]});
  for (Index r = 0; r < out.dim(0); ++r)
    for (Index c = 0; c < out.dim(1); ++c)
      out.view().set(r, c, shape.rank == 2 ? array.tensor.at(r, c) : array.tensor.at(Index{0}, r, c));
  return std::make_shared<const Tensor>(std::move(out));
}

void check_input(const Model& model, const InputOptions& input) {
  const bool has_target = !input.target.empty() || !input.target_ids.empty();
  if (!input.text.empty() && !input.ids.empty())
    refuse("TEXT and --ids exclude each other; give one of them");
  if (!input.target.empty() && !input.target_ids.empty())
    refuse("--target and --target-ids exclude each other; give one of them");
  if (!input.second.empty() && (!input.ids.empty() || !input.type_ids.empty() || has_target))
    refuse("--second needs TEXT; leave out --ids, --type-ids, --target and --target-ids");
  if (has_target && model.info().kind != ModelKind::encoder_decoder)
    refuse(concat("--target: \"", escaped(model.info().name),
                  "\" is not an encoder-decoder and has no translation"));
  if (!input.features.empty() && (!input.text.empty() || !input.ids.empty()))
    refuse("TEXT, --ids and --features exclude each other; give one of them");
  if (!input.features.empty() && model.info().sound_bands == 0)
    refuse(concat("--features: \"", escaped(model.info().name), "\" reads text, not sound"));
  if (input.features.empty() && model.info().sound_bands > 0)
    refuse(concat("\"", escaped(model.info().name),
                  "\" reads sound features; give them with --features FILE.npy, ", model.info().sound_bands,
                  " bands of ", model.info().sound_frames, " frames"));
  if (model.tokenizer() != nullptr) return;
  const bool read = !input.ids.empty() || !input.features.empty();
  const char* option = !read ? "--ids" : !input.target.empty() ? "--target-ids" : nullptr;
  if (option != nullptr)
    throw Error(ErrorKind::usage, "input.tokenizer",
                concat("\"", escaped(model.info().name),
                       "\" has no tokenizer, so it cannot read text; give token ids with ", option,
                       model.info().notices.empty() ? "" : "\n",  // why its tokenizer was refused
                       model.info().notices.empty() ? "" : model.info().notices.front()));
}

}  // namespace

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

void add_model(CLI::App& command, std::string& model) {
  add_text(command, "--model", model,
           concat(kModelHelp, model.empty() ? "" : concat(" (default: ", model, ")")))
      ->type_name("NAME|PATH");
  // Options are parsed in the order in which they were added, so the model's name is known here.
  add_reader(
      command, "--adapter", [&model](const std::string& folder) { model += "+" + folder; }, kAdapterHelp)
      ->type_name("FOLDER");
}

void add_models(CLI::App& command, ModelList& models) {
  add_words(command, "--model", models.names, concat(kModelHelp, "; repeatable"))
      ->one_at_a_time()
      ->type_name("NAME|PATH");
  add_path(command, "--adapter", models.adapter, kAdapterHelp)->type_name("FOLDER");
}

std::vector<std::string> ModelList::all(const std::string& usual) const {
  std::vector<std::string> list = names;
  if (list.empty()) list.push_back(usual);
  if (adapter.empty()) return list;
  if (list.size() > 1) refuse("--adapter goes with one --model; name others as MODEL+FOLDER");
  list.front() += "+" + adapter;
  return list;
}

void add_model_or(CLI::App& command, const std::string& argument, std::string& model,
                  const std::string& description) {
  const auto read = [&model, argument](const std::string& text) {
    if (text.empty() || text.starts_with("--")) refuse_value(argument, text, "a file or a model name");
    if (!model.empty()) refuse_option("--model", concat("excludes ", argument, "; give one of them"));
    model = text;
  };
  add_reader(command, argument, read, description)->type_name("");
  add_reader(command, "--model", read, concat("The same as ", argument))->type_name("NAME|PATH");
}

void add_numbers(CLI::App& command, const std::string& name, std::vector<std::int32_t>& list,
                 const std::string& description) {
  const auto read = [&list, name](const std::string& text) {
    for (const std::string& part : split_list(text)) {
      const auto value = parse_integer(part);
      if (!value || *value < 0 || *value > std::numeric_limits<std::int32_t>::max())
        refuse_value(name, text, "integers separated by commas: 5,17,3");
      list.push_back(static_cast<std::int32_t>(*value));
    }
  };
  add_reader(command, name, read, description)->type_name("N,N,…");
}

void add_model_input(CLI::App& command, InputOptions& input, const std::string& text_description) {
  begin_group(command, "Model and text");
  add_text(command, "TEXT", input.text, text_description)->type_name("");
  add_model(command, input.model);
  add_text(command, "--target", input.target, "The translation to follow (default: the model's own)");
  begin_group(command, "Model and text (more)", Detail::full);
  add_text(command, "--second", input.second, "A second text, for models of pairs such as BERT");
  add_numbers(command, "--ids", input.ids, "Token ids instead of TEXT");
  add_numbers(command, "--target-ids", input.target_ids,
              "The decoder's exact input as ids, start token included");
  add_numbers(command, "--type-ids", input.type_ids, "Segment ids, for models that have them");
  add_path(command, "--features", input.features, "Sound features [band, frame] instead of TEXT, for Whisper")
      ->type_name("FILE.npy");
}

void add_part(CLI::App& command, std::optional<Part>& part) {
  add_choice<std::optional<Part>>(
      command, "--part", part,
      {{"encoder", Part::encoder}, {"decoder", Part::decoder}, {"cross", Part::cross}},
      "Attention of a translator to use");
}

void add_heads(CLI::App& command, std::vector<HeadPlace>& heads, const std::string& name,
               const std::string& description) {
  add_reader(
      command, name, [&heads, name](const std::string& text) { read_heads(name, text, heads); }, description)
      ->type_name("L.H");
}

Model open_model(const std::string& name, bool recurrent_too) {
  if (team() != nullptr)
    check_same_files({inspect::find_model(name.substr(0, name.find('+')), model_places())});
  return Model::open(name, {.places = model_places(), .recurrent_too = recurrent_too});
}

Prompt prompt_of(const Model& model, const InputOptions& input) {
  check_input(model, input);
  const bool reads_text = input.ids.empty() && input.features.empty();
  return {.text = reads_text ? text_to_read(input) : "",
          .target = input.target,
          .second = input.second,
          .ids = input.ids,
          .target_ids = input.target_ids,
          .type_ids = input.type_ids,
          .features = read_features(input.features)};
}

AttendOptions attend_to(Part part) { return {.parts = {part}, .keep_inputs = false}; }

void check_part(const Model& model, Part part) {
  const ModelInfo& info = model.info();
  if (info.find(part) != nullptr) return;
  const bool decoder = info.kind == ModelKind::decoder;
  throw Error(ErrorKind::usage, "input.part",
              concat("--part ", name_of(part), ": \"", escaped(info.name), "\" is ",
                     decoder ? "a decoder" : "an encoder", " alone; its only part is ",
                     decoder ? "decoder" : "encoder"));
}

Part chosen_part(const Model& model, const std::optional<Part>& part) {
  if (part) check_part(model, *part);
  return part.value_or(model.state().usual_part());
}

void check_layer(const Model& model, Part part, Index layer) {
  if (layer >= model.info().find(part)->layers())
    throw Error(ErrorKind::usage, "input.layer", concat("--layer ", layer, ": ", range_of(model, part)));
}

void check_head(const Model& model, Part part, const HeadPlace& place) {
  const PartInfo& heads = *model.info().find(part);
  if (place.layer >= heads.layers() || place.head >= heads.heads[static_cast<std::size_t>(place.layer)])
    throw Error(ErrorKind::usage, "input.head",
                concat("--head ", place_text(place), ": ", range_of(model, part)));
}

}  // namespace headlight::cli
