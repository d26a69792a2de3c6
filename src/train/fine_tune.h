// The default recipe of fine-tuning: a model, a text, and settings that suit most cases.
#pragma once

#include "headlight/train.h"
#include "train/settings.h"

namespace headlight::train {

[[nodiscard]] Settings fine_tune_settings(const std::string& model, const FineTuneOptions& options);

}  // namespace headlight::train
