// Recurrent models from files, for those who want to compare.
#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "models/file_format.h"
#include "models/load.h"
#include "models/recurrent.h"

namespace headlight::models {
namespace {

io::Json read_json(const io::Folder& folder) {
  return io::Json::parse(read_config_text(folder), folder.path_of("config.json"));
}

// A config may say anything; memory is taken only for what the files can fill.
void check_amount(const RecurrentModelConfig& c, const WeightSource& weights) {
  const auto width = static_cast<double>(c.width);
  const double wanted =
      static_cast<double>(c.vocabulary) * width + static_cast<double>(c.layers) * 6 * width * width;
  if (wanted <= weights.elements()) return;
  throw Error(ErrorKind::input, "model.size",
              concat(escaped(weights.name()), ": config.json describes a model of ", wanted,
                     " parameters or more; its files have ", weights.elements(), " numbers"));
}

enum class Numbers { load, skip };

std::unique_ptr<RecurrentModel> open(const std::string& path, Numbers numbers) {
  const io::Folder folder(path);
  const SafetensorsWeights weights(folder);
  const RecurrentModelConfig config = read_recurrent_config(read_json(folder));
  check_amount(config, weights);
  try {
    auto model = std::make_unique<RecurrentModel>(config);
    const ParameterPlan plan = plan_parameters(weights, model->parameters(), "");
    if (numbers == Numbers::load) (void)load_parameters(weights, plan);
    return model;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::usage) throw;
    throw Error(ErrorKind::input, error.code(), concat(escaped(weights.name()), ": ", error.what()));
  }
}

}  // namespace

bool is_recurrent(const std::string& path) {
  if (is_gguf(path)) return false;
  const io::Folder folder(path);
  if (!folder.has("config.json")) return false;
  const io::Json json = read_json(folder);
  const io::Json* type = json.find("model_type");
  return type != nullptr && type->is(io::Json::Kind::text) && type->text() == kRecurrentType;
}

std::unique_ptr<RecurrentModel> load_recurrent(const std::string& path) { return open(path, Numbers::load); }

RecurrentModelConfig check_recurrent(const std::string& path) { return open(path, Numbers::skip)->config(); }

}  // namespace headlight::models
