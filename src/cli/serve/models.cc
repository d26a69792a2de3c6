#include "cli/serve/models.h"

#include <algorithm>
#include <filesystem>

#include "cli/model_places.h"
#include "cli/numbers.h"
#include "core/concat.h"
#include "inspect/loaded_model.h"

namespace headlight::cli {
namespace {

namespace fs = std::filesystem;

std::string name_of_folder(const std::string& folder) {
  fs::path path(folder);
  if (path.filename().empty()) path = path.parent_path();
  return path.filename().string();
}

// The value of --model that opens this model from any working folder: its name if the model folders have
// it, otherwise its path.
std::string model_argument(const std::string& folder, const std::string& name,
                           const std::vector<std::string>& places) {
  std::error_code problem;
  for (const std::string& place : places) {
    const fs::path path = fs::path(place) / name;
    if (fs::exists(path, problem)) {
      if (fs::equivalent(path, folder, problem)) return name;
      break;  // the name means another model
    }
  }
  const auto absolute = [](const std::string& path) {
    return fs::absolute(path).lexically_normal().string();
  };
  const std::size_t plus = folder.rfind('+');
  if (fs::exists(folder, problem) || plus == std::string::npos) return absolute(folder);
  return concat(absolute(folder.substr(0, plus)), "+", absolute(folder.substr(plus + 1)));  // with an adapter
}

// A model, or the adapter of one.
bool has_model(const fs::path& folder) {
  std::error_code problem;
  return fs::exists(folder / "config.json", problem) || fs::exists(folder / "adapter_config.json", problem);
}

// The checkpoints of a training run, the newest first: folders such as step-00000500. Empty: not a training run.
std::vector<serve::ModelPlace> checkpoints_of(const std::string& folder) {
  std::error_code problem;
  std::vector<std::pair<Index, std::string>> found;
  if (has_model(folder)) return {};
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, problem)) {
    const std::string name = entry.path().filename().string();
    const std::string_view digits = std::string_view(name).substr(std::min<std::size_t>(5, name.size()));
    const bool is_step = name.starts_with("step-") && !digits.empty() && digits.size() < 16 &&
                         digits.find_first_not_of("0123456789") == std::string_view::npos;
    if (is_step && has_model(entry.path()))
      found.emplace_back(std::stoll(std::string(digits)), entry.path().string());
  }
  std::sort(found.rbegin(), found.rend());
  std::vector<serve::ModelPlace> list;
  for (const auto& [step, path] : found)
    list.push_back(
        {concat(name_of_folder(folder), "@", step), path, fs::absolute(path).lexically_normal().string()});
  return list;
}

}  // namespace

std::vector<serve::ModelPlace> served_models(const ModelList& models, bool to_network) {
  const std::vector<std::string> places = model_places();
  std::vector<serve::ModelPlace> list;
  const auto add = [&](const std::string& folder, bool must_be_new) {
    const std::string name = name_of_folder(folder);
    for (const serve::ModelPlace& known : list) {
      if (known.name != name) continue;
      if (must_be_new)
        refuse_value("--model", folder, "a model with a unique name; another model has the same name");
      return;
    }
    list.push_back({name, folder, model_argument(folder, name, places)});
  };
  for (const std::string& name : models.all(InputOptions{}.model)) {
    const std::vector<serve::ModelPlace> steps = checkpoints_of(name);
    list.insert(list.end(), steps.begin(), steps.end());
    if (steps.empty()) add(inspect::find_model(name, places), true);
  }
  if (to_network && models.given()) return list;  // other users get the default view
  for (const std::string& place : places) {
    std::error_code problem;
    std::vector<std::string> found;
    for (const fs::directory_entry& entry : fs::directory_iterator(place, problem))
      if (has_model(entry.path()) || entry.path().extension() == ".gguf")
        found.push_back(entry.path().string());
    std::sort(found.begin(), found.end());
    for (const std::string& folder : found) add(folder, false);
  }
  return list;
}

}  // namespace headlight::cli
