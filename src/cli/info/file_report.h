// Output of `headlight info` and `headlight verify`, as text and as JSON.
#pragma once

#include <string>

#include "models/file_info.h"
#include "models/verify.h"

namespace headlight::cli {

enum class ListTensors { no, yes };

[[nodiscard]] std::string info_text(const models::FileInfo& info, ListTensors list);
[[nodiscard]] std::string info_json(const models::FileInfo& info);
[[nodiscard]] std::string tensor_text(const models::LoadedTensor& loaded);
[[nodiscard]] std::string tensor_json(const models::LoadedTensor& loaded);
[[nodiscard]] std::string verdict_text(const models::Verdict& verdict);
[[nodiscard]] std::string verdict_json(const models::Verdict& verdict);

}  // namespace headlight::cli
