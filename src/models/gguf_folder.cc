#include "models/gguf_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/escape.h"
#include "headlight/error.h"
#include "io/json_writer.h"
#include "models/chat_files.h"
#include "models/families.h"
#include "models/load.h"
#include "models/sentence_piece_write.h"
#include "models/tokenizer_gguf.h"

namespace headlight::models {
namespace {

// The config of the same model as a folder: rows of queries and keys in halves, GPT-2's matrices as [in, out].
TransformerConfig as_in_folder(TransformerConfig config) {
  config.source.clear();
  if (config.family == "gpt2")
    each_layer(config, [](nn::BlockConfig& block) {
      block.attention.layout = block.feed_forward.layout = nn::WeightLayout::in_out;
    });
  each_attention(config, [](nn::MultiHeadAttentionConfig& attention) {
    if (attention.rope) attention.rope->interleaved = false;
  });
  return config;
}

std::string config_text(const TransformerConfig& config, const std::string& path) {
  try {
    return write_config(config);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::usage) throw;
    throw Error(
        ErrorKind::usage, "convert.folder",
        fmt::format(
            "{}: cannot be written as a folder\n{}\nConvert it to another .gguf file instead: -o NAME.gguf",
            escaped(path), error.what()));
  }
}

bool turns(std::string_view parameter) {
  return parameter.find(".attention.query.") != std::string_view::npos ||
         parameter.find(".attention.key.") != std::string_view::npos;
}

// A matrix that the folder stores transposed.
bool is_transposed(const TransformerConfig& file, const TransformerConfig& folder,
                   const Parameter& parameter) {
  const bool of_layer = parameter.name.find(".attention.") != std::string::npos ||
                        parameter.name.find(".feed_forward.") != std::string::npos;
  return of_layer && parameter.shape().rank == 2 &&
         file.main().front().attention.layout != folder.main().front().attention.layout;
}

}  // namespace

GgufFolder::GgufFolder(const ModelFiles& files) : files_(files) {
  const TransformerConfig config = files.describe().config, folder = as_in_folder(config);
  texts_.emplace_back("config.json", config_text(folder, files.path()));
  add_parameters(config, folder);
  add_tokenizer();
}

void GgufFolder::add_parameters(const TransformerConfig& config, const TransformerConfig& folder) {
  TransformerConfig empty = config;
  empty.weights = nn::Weights::stored;
  const std::unique_ptr<Transformer> model = make_transformer(empty, files_.weights());
  const ParameterPlan plan = plan_parameters(files_.weights(), model->parameters(), &files_.names(config));
  files_.check_unused(config, plan.unused);
  const Names& names = names_of(folder, Files::folder);
  for (const auto& [parameter, stored] : plan.present) {
    const std::string name = file_name(names, parameter->name);
    if (name.empty() || name.ends_with(']'))
      throw Error(ErrorKind::usage, "convert.folder",
                  fmt::format("{}: folders of the family {} have no tensor for {}", escaped(files_.path()),
                              config.family, parameter->name));
    Place place{std::string(stored.name), stored.shape};
    place.transposed = is_transposed(config, folder, *parameter);
    if (place.transposed) std::swap(place.shape[0], place.shape[1]);
    const nn::MultiHeadAttentionConfig& attention = config.main().front().attention;
    if (attention.rope && attention.rope->interleaved && turns(parameter->name)) {
      place.head_dim = attention.head_dim;
      place.pairs = (attention.rope->dims > 0 ? attention.rope->dims : attention.head_dim) / 2;
    }
    places_.emplace(name, std::move(place));
  }
}

// A vocabulary of SentencePiece becomes its own file, any other tokenizer.json; a chat template is written next to them.
void GgufFolder::add_tokenizer() {
  const std::optional<GgufVocabulary> vocabulary = read_gguf_vocabulary(*files_.gguf());
  if (!vocabulary) {
    notices_.push_back("the file has no tokenizer");
    return;
  }
  const bool pieces = vocabulary->model == "llama" || vocabulary->model == "t5";
  const Tokenizer tokenizer = tokenizer_from_gguf(*vocabulary, files_.path());
  if (pieces) texts_.emplace_back("tokenizer.model", sentence_piece_model(*vocabulary));
  else texts_.emplace_back("tokenizer.json", tokenizer_to_json(tokenizer));
  const std::optional<ChatFile> chat = find_chat_template(files_.path(), &tokenizer);
  io::JsonWriter w;
  w.begin_object(io::JsonLayout::lines);
  w.field("add_bos_token", vocabulary->add_begin.value_or(vocabulary->model == "llama"));
  w.field("add_eos_token", vocabulary->add_end.value_or(false));
  const auto token = [&](const char* key, std::optional<TokenId> id) {
    if (id && *id >= 0 && static_cast<std::size_t>(*id) < vocabulary->tokens.size())
      w.field(key, vocabulary->tokens[static_cast<std::size_t>(*id)]);
  };
  token("bos_token", vocabulary->begin);
  token("eos_token", vocabulary->end);
  token("unk_token", vocabulary->unknown);
  w.end_object();
  texts_.emplace_back("tokenizer_config.json", w.take_line());
  if (chat) texts_.emplace_back("chat_template.jinja", chat->source);
}

std::vector<StoredTensor> GgufFolder::tensors() const {
  std::vector<StoredTensor> all;
  for (const auto& [name, place] : places_) all.push_back(*find(name));
  return all;
}

std::optional<StoredTensor> GgufFolder::find(std::string_view name) const {
  const auto found = places_.find(name);
  if (found == places_.end()) return std::nullopt;
  std::uint64_t size = sizeof(float);
  for (const Index n : found->second.shape) size *= static_cast<std::uint64_t>(n);
  return StoredTensor{found->first, "F32", found->second.shape, size};
}

const GgufFolder::Place& GgufFolder::place(std::string_view name) const {
  const auto found = places_.find(name);
  if (found == places_.end())
    throw Error(ErrorKind::usage, "weights.name", fmt::format("no tensor is called {}", escaped(name)));
  return found->second;
}

// Row 2j + s of a head's pairs is row j + s · pairs of its halves.
void GgufFolder::load(std::string_view name, TensorView to) const {
  const Place& from = place(name);
  auto* values = to.as<float>();
  if (from.transposed) {
    const Index rows = from.shape[0], columns = from.shape[1];
    std::vector<float> stored(static_cast<std::size_t>(rows * columns));
    files_.weights().load(from.stored, TensorView(stored.data(), {rows * columns}));
    for (Index r = 0; r < rows; ++r)
      for (Index c = 0; c < columns; ++c)
        values[r * columns + c] = stored[static_cast<std::size_t>(c * rows + r)];
    return;
  }
  files_.weights().load(from.stored, to);
  if (from.pairs == 0) return;
  const Index rows = from.shape[0], step = to.shape().elements() / rows;
  std::vector<float> head(static_cast<std::size_t>(2 * from.pairs * step));
  for (Index first = 0; first < rows; first += from.head_dim) {
    std::copy_n(values + first * step, head.size(), head.data());
    for (Index row = 0; row < 2 * from.pairs; ++row)
      std::copy_n(head.data() + row * step, step, values + (first + row / 2 + row % 2 * from.pairs) * step);
  }
}

GgufFolder::Copy GgufFolder::copy(std::string_view name) const {
  Copy& kept = copies_[std::string(name)];
  if (kept == nullptr) {
    const Place& from = place(name);
    Index count = 1;
    for (const Index n : from.shape) count *= n;
    auto values = std::make_shared<std::vector<float>>(static_cast<std::size_t>(count));
    load(name, TensorView(values->data(), {count}));
    kept = std::move(values);
  }
  return kept;
}

std::span<const std::byte> GgufFolder::bytes(std::string_view name) const {
  return std::as_bytes(std::span(*copy(name)));
}

std::shared_ptr<const void> GgufFolder::owner(std::string_view name) const { return copy(name); }

void GgufFolder::read(std::string_view name, std::uint64_t offset, std::span<std::byte> to) const {
  std::memcpy(to.data(), bytes(name).data() + offset, to.size());
}

}  // namespace headlight::models
