// Generates cases of a task. Id 0 begins every sequence, id 1 represents words outside the task's vocabulary.
#pragma once

#include <string>
#include <vector>

#include "playground/toy_task.h"

namespace headlight::playground {

[[nodiscard]] std::vector<std::string> toy_words(ToyKind kind);  // by id
[[nodiscard]] Index longest_case(ToyKind kind);                  // in tokens
[[nodiscard]] ToyCase draw_case(ToyKind kind, train::Dice& dice);

}  // namespace headlight::playground
