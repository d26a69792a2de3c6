// headlight plan: memory and time of a model on several processes.
#pragma once

namespace CLI {
class App;
}

namespace headlight::cli {

void add_plan(CLI::App& program);

}  // namespace headlight::cli
