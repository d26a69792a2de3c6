// headlight lab: experiments by name.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "cli/json_output.h"
#include "cli/numbers.h"
#include "cli/terminal.h"
#include "headlight/error.h"
#include "lab/experiment.h"

namespace headlight::cli {
namespace {

struct LabSettings {
  std::string name;
  lab::LabOptions options;
  Index threads = 0;
  bool markdown = false;
  JsonTarget json;
};

void run(const LabSettings& s) {
  if (s.name.empty()) {
    std::string text = "Experiments: headlight lab NAME\n\n";
    for (const lab::Experiment& e : lab::experiments()) text += fmt::format("  {:<14}{}\n", e.name, e.what);
    print(text);
    return;
  }
  const lab::Experiment& experiment = lab::find_experiment(s.name);
  JsonOutput json(s.json);
  lab::LabOptions options = s.options;
  options.width = std::clamp(terminal_width(), 60, 110);
  options.threads = static_cast<int>(s.threads);
  const lab::Outcome outcome = experiment.run(options);
  if (s.markdown && outcome.markdown.empty())
    throw Error(ErrorKind::usage, "lab.markdown", "--markdown: \"" + s.name + "\" has no form for documents");
  json.write(outcome.json);
  if (!s.json.to_stdout()) print(s.markdown ? outcome.markdown : outcome.text);
  if (!outcome.holds)
    throw Error(ErrorKind::numeric, "lab.outcome",
                "lab " + s.name + ": not everything came out as it should; see above");
}

}  // namespace

void add_lab(CLI::App& program) {
  CLI::App* command =
      add_command(program, {.name = "lab",
                            .what = "Experiments: what tutorials claim, computed",
                            .usage = "headlight lab [NAME] [options]",
                            .examples = "  headlight lab                  lists the experiments\n"
                                        "  headlight lab errata           wrong numbers of tutorials\n"
                                        "  headlight lab seeds            all their claims\n"
                                        "  headlight lab seeds --row 32   one of them in full\n"});
  const auto s = std::make_shared<LabSettings>();
  add_text(*command, "NAME", s->name, "Which experiment (default: lists them)");
  add_count(*command, "--row", s->options.row, "One row of a list, in full", {1, 1000});
  add_switch(*command, "--markdown", s->markdown, "As a page of the documents");
  add_count(*command, "--threads", s->threads, "Threads (default: one per core)", {1, 1024});
  add_json(*command, s->json);
  keep_alive(*command, s);
  on_run(*command, [s] { run(*s); });
}

}  // namespace headlight::cli
