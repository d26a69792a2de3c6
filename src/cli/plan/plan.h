// headlight plan: what a model would take on several processes.
#pragma once

namespace CLI {
class App;
}

namespace headlight::cli {

void add_plan(CLI::App& program);

}  // namespace headlight::cli
